"""How a kernel's arguments reach its body: types, attributes, tuples, compile-time values, scopes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

import minitriton as triton
import minitriton.language as tl
from minitriton.dialects.text import print_module
from minitriton.errors import MinitritonError
from minitriton.frontend.code_generator import ast_to_ttir
from minitriton.target import CUDAOptions, GPUTarget

HOPPER = GPUTarget("cuda", 90, 32)


def ttir(kernel: Any, signature: dict[str, Any], constants: dict[Any, Any] | None = None, attrs: Any = None) -> str:
    options = CUDAOptions.for_target(HOPPER)
    module = ast_to_ttir(kernel, signature, constants or {}, attrs or {}, options, HOPPER)
    module.verify()
    return print_module(module)


@triton.jit
def copy(x_ptr, out_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out_ptr + i, tl.load(x_ptr + i), mask=i < n)


SIGNATURE = {"x_ptr": "*fp32", "out_ptr": "*fp32", "n": "i32", "N": "constexpr"}


def test_kernel_is_public_and_arguments_carry_their_attributes() -> None:
    text = ttir(copy, SIGNATURE, {(3,): 64}, {(0,): [["tt.divisibility", 16]]})
    assert (
        "tt.func public @copy(%arg0: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %arg1: !tt.ptr<f32>, %arg2: i32)"
        in text
    )
    assert "attributes {noinline = false}" in text


def test_compile_time_values_may_be_named() -> None:
    assert ttir(copy, SIGNATURE, {"N": 64}) == ttir(copy, SIGNATURE, {(3,): 64})


def test_run_time_parameter_can_be_fixed_at_compile_time() -> None:
    text = ttir(copy, {**SIGNATURE, "n": "constexpr"}, {(3,): 64, (2,): 1})
    assert "@copy(%arg0: !tt.ptr<f32>, %arg1: !tt.ptr<f32>) " in text and "dense<1> : tensor<64xi32>" in text


def test_signature_must_name_every_parameter() -> None:
    with pytest.raises(MinitritonError, match="no type given for parameter 'n'"):
        ttir(copy, {"x_ptr": "*fp32", "out_ptr": "*fp32", "N": "constexpr"}, {(3,): 64})


class Sizes(NamedTuple):
    rows: Any
    width: Any


@triton.jit
def takes_tuples(ptrs, sizes):
    tl.store(ptrs[0] + sizes.rows, tl.load(ptrs[1]) + sizes.width)


def test_tuples_are_flattened_and_keep_their_field_names() -> None:
    text = ttir(
        takes_tuples,
        {"ptrs": ("*fp32", "*fp32"), "sizes": Sizes("i32", "constexpr")},
        {(1, 1): 8},
        {(0, 1): [["tt.divisibility", 16]]},
    )
    assert "(%arg0: !tt.ptr<f32>, %arg1: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %arg2: i32)" in text
    assert "8.000000e+00 : f32" in text


def make_kernel(width: Any) -> Any:
    @triton.jit
    def kernel(ptr):
        tl.store(ptr + tl.arange(0, width), 1.0)

    return kernel


def test_variables_of_an_enclosing_function_are_seen_if_they_are_constexprs() -> None:
    assert "tensor<32xi32>" in ttir(make_kernel(tl.constexpr(32)), {"ptr": "*fp32"})
    with pytest.raises(triton.CompilationError, match="Cannot access global variable width"):
        ttir(make_kernel(32), {"ptr": "*fp32"})


@triton.jit
def comprehended(ptr, n):
    at = n * 7
    both = [at + 1 for at in (n, 2)]
    tl.store(ptr, both[0] + both[1] + at)


def test_the_variable_of_a_comprehension_is_its_own() -> None:
    out = np.zeros(1, np.int32)
    comprehended[(1,)](out, 10)
    assert out[0] == 11 + 3 + 70


@triton.jit
def annotated(x: tl.tensor, n: int, flag: tl.constexpr = True, name: tl.constexpr = "a") -> None:
    """Documented."""
    y: tl.tensor = x + n
    if flag and name == "a":
        tl.store(y, 1.0)


def test_annotations_docstrings_and_defaults_do_no_harm() -> None:
    signature = {"x": "*fp32", "n": "i64", "flag": "constexpr", "name": "constexpr"}
    assert "tt.store" in ttir(annotated, signature, {"flag": True, "name": "a"})
    assert "tt.store" not in ttir(annotated, signature, {"flag": True, "name": "b"})


def test_each_function_is_compiled_once_for_equal_types() -> None:
    @triton.jit
    def kernel(ptr):
        x = tl.load(ptr)
        tl.store(ptr, tl.cdiv(x, 2) + tl.cdiv(x + 1, 2) + tl.cdiv(x, 3))

    text = ttir(kernel, {"ptr": "*i32"})
    assert text.count("tt.call") == 3
    assert text.count("tt.func private") == 2


@tl.core.builtin
def doubled(x, _semantic=None):
    """An operation written by a user."""
    return tl.add(x, x, _semantic=_semantic)


def test_users_can_write_operations_from_operations() -> None:
    @triton.jit
    def kernel(ptr):
        tl.store(ptr, doubled(tl.load(ptr)))

    assert "arith.addf" in ttir(kernel, {"ptr": "*fp32"})


def test_static_print_of_a_tensor_has_its_type_as_triton_writes_it(capsys: pytest.CaptureFixture[str]) -> None:
    @triton.jit
    def kernel(ptr):
        tl.static_print("x:", tl.load(ptr + tl.arange(0, 8)[:, None] + tl.arange(0, 4)))

    ttir(kernel, {"ptr": "*i32"})
    assert capsys.readouterr().out == "x: int32[constexpr[8], constexpr[4]]\n"


def test_static_print_prints_while_compiling(capsys: pytest.CaptureFixture[str]) -> None:
    @triton.jit
    def kernel(ptr, N: tl.constexpr):
        tl.static_print(f"N={N}", N * 2, sep="; ")

    ttir(kernel, {"ptr": "*fp32", "N": "constexpr"}, {"N": 4})
    assert capsys.readouterr().out == "N=4; 8\n"


@triton.jit
def counts_on(out, n: int, m: tl.int64, f: float):
    sum = n.to(tl.int64) + m
    for _ in range(3):
        n *= 2
    tl.store(out, sum)
    tl.store(out + 1, n)
    tl.store(out + 2, m.dtype.primitive_bitwidth + f.dtype.primitive_bitwidth)


@pytest.mark.parametrize("value", [1, 2, True])
def test_an_annotated_argument_is_a_run_time_value_also_where_it_is_1(value: int) -> None:
    """As in Triton 3.6.0, whose annotations set the type that values alone would decide (`create_function_from_signature`)."""
    out = np.zeros(3, np.int64)
    counts_on[(1,)](out, value, value, value)
    assert out.tolist() == [2 * value, 8 * value, 96]
