"""Where the language deliberately differs from Triton's (docs/differences-from-triton.md)."""

from __future__ import annotations

from typing import Any

import pytest

import minitriton as triton
import minitriton.language as tl
from minitriton.dialects.text import print_module
from minitriton.frontend.code_generator import ast_to_ttir
from minitriton.target import CUDAOptions, GPUTarget

HOPPER = GPUTarget("cuda", 90, 32)


def ttir(kernel: Any, *types: str, **constants: Any) -> str:
    signature = dict(zip(kernel.arg_names, types, strict=False)) | dict.fromkeys(constants, "constexpr")
    module = ast_to_ttir(kernel, signature, constants, {}, CUDAOptions.for_target(HOPPER), HOPPER)
    module.verify()
    return print_module(module)


@triton.jit
def adds_minus_zero(ptr):
    tl.store(ptr, tl.load(ptr) + -0.0)


def test_minus_zero_keeps_its_sign() -> None:
    assert "arith.constant -0.000000e+00 : f32" in ttir(adds_minus_zero, "*fp32")


@triton.jit
def first_or_second(x, FIRST: tl.constexpr):
    if FIRST:
        return tl.arange(0, 4)
    return tl.arange(0, 8)


@triton.jit
def uses_first_or_second(ptr, FIRST: tl.constexpr):
    tl.store(ptr, tl.sum(first_or_second(1, FIRST)))


@pytest.mark.parametrize(("first", "size"), [(True, 4), (False, 8)])
def test_what_follows_a_return_at_compile_time_is_dead(first: bool, size: int) -> None:
    text = ttir(uses_first_or_second, "*i32", FIRST=first)
    assert f"-> tensor<{size}xi32>" in text
    assert text.count("tt.make_range") == 1


@triton.jit
def none_in_one_branch(ptr, n):
    x = None
    if n > 0:
        x = n
    if x is None:
        tl.store(ptr, 1)


def test_none_reassigned_in_one_branch_is_not_defined_afterwards() -> None:
    with pytest.raises(triton.CompilationError, match="x is not defined"):
        ttir(none_in_one_branch, "*i32", "i32")


@triton.jit
def unpacks_a_shape(ptr):
    x = tl.zeros([4, 8], tl.float32)
    tl.store(ptr + tl.zeros([*x.shape[:-1], 16], tl.int32), 1.0)


def test_starred_elements_are_unpacked() -> None:
    assert "tensor<4x16x!tt.ptr<f32>>" in ttir(unpacks_a_shape, "*fp32")


@triton.jit
def reuses_a_name_as_loop_variable(ptr, n):
    k = tl.load(ptr + tl.arange(0, 16)) * n
    tl.store(ptr + tl.arange(0, 16), k)
    for i in range(n):
        for k in range(i):
            tl.store(ptr + k, i)
        if i > 3:
            for k in range(2):
                tl.store(ptr + k, i)
    k = 7
    tl.store(ptr, k)


def test_a_name_can_become_a_loop_variable_and_a_variable_of_another_type_again() -> None:
    text = reuses_a_name_as_loop_variable.warmup(tl.int32, 3, grid=(1,)).asm["ttir"]
    assert text.count("scf.for") == 3 and "iter_args" not in text


@triton.jit
def reads_a_spent_loop_variable(ptr, n):
    k = tl.load(ptr + tl.arange(0, 16)) * n
    for i in range(n):
        tl.store(ptr + tl.arange(0, 16), k)
        for k in range(i):
            tl.store(ptr + k, i)


def test_reading_a_spent_loop_variable_in_the_next_iteration_is_an_error() -> None:
    with pytest.raises(triton.CompilationError, match="give the inner loop's variable another name"):
        ttir(reads_a_spent_loop_variable, "*i32", "i32")


@triton.jit
def iterates_until_nothing(ptr, n):
    while n:
        n -= 1
    while 1 < 0:
        tl.store(ptr, 1)
    tl.store(ptr, n)


def test_any_number_is_a_condition_of_a_loop() -> None:
    assert "arith.cmpi ne" in ttir(iterates_until_nothing, "*i32", "i32")
