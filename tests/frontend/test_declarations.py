"""What the language declares, the frontend emits, under the names and signatures of Triton."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

import minitriton.language as tl
from minitriton.frontend.emitters import EMITTERS
from minitriton.language import core, descriptors, iterators, math, memory, shapes, target_info
from minitriton.language.declare import Builtin
from minitriton.language.values import constexpr, tensor, unwrap

STATIC = {core.static_assert, core.static_print}
"""Handled by the code generator itself."""

BUILTINS = {
    value
    for module in (core, descriptors, math, memory, shapes, target_info)
    for value in vars(module).values()
    if isinstance(value, Builtin)
} - STATIC


def test_every_declared_operation_has_an_emitter_and_no_other() -> None:
    assert set(EMITTERS) == BUILTINS


@pytest.mark.parametrize("declaration", sorted(BUILTINS, key=str), ids=lambda d: d.__name__)
def test_emitter_takes_the_declared_arguments(declaration: Builtin) -> None:
    def shape(fn: Any, skip: int) -> list[tuple[Any, ...]]:
        parameters = list(inspect.signature(fn).parameters.values())[skip:]
        return [(p.name, p.kind, p.default) for p in parameters]

    emitted, declared = shape(EMITTERS[declaration], 1), shape(declaration.fn, 0)
    assert len(emitted) == len(declared)
    for (name, kind, default), wanted in zip(emitted, declared, strict=True):
        assert (kind, default) == wanted[1:]
        # The first value is never passed by name.
        assert name == wanted[0] or wanted is declared[0]


@pytest.mark.oracle
def test_all_public_names_of_triton_exist_but_the_listed() -> None:
    triton_language = pytest.importorskip("triton.language")
    missing = set(triton_language.__all__) - set(dir(tl))
    assert missing == {"dot_scaled", "extra"}


@pytest.mark.oracle
def test_tensor_methods_are_those_of_triton() -> None:
    triton_language = pytest.importorskip("triton.language")
    public = {n for n in dir(triton_language.tensor) if not n.startswith("_")} - {"T", "to", "type"}
    assert public - set(tensor.members) == {"logical_and", "logical_or"}


@pytest.mark.parametrize("name", ["load", "sum", "exp"])
def test_calling_an_operation_on_the_host_says_what_is_missing(name: str) -> None:
    with pytest.raises(ValueError, match=r"Did you forget to add @triton\.jit"):
        getattr(tl, name)(1)


def test_constexpr_arithmetic_works_on_the_host() -> None:
    two = tl.constexpr(2)
    assert (two + 3, 3 - two, two**3, -two, two // 2, two < 3) == (5, 1, 8, -2, 1, True)
    assert tl.constexpr(two).value == 2
    assert unwrap(tl.tuple([constexpr(1), (two, 3)])) == (1, (2, 3))


def test_types_are_equal_by_value_and_printed_as_in_triton() -> None:
    assert tl.block_type(tl.float32, [8, 4]) == tl.block_type(tl.dtype("fp32"), (8, 4))
    assert tl.pointer_type(tl.int8) != tl.pointer_type(tl.int8, const=True)
    assert repr(tl.bfloat16) == "triton.language.bfloat16"
    assert tl.str_to_ty("*kfp16", None).is_const()
    assert tl.block_type(tl.float32, [8, 4]).mangle() == "fp32S8_4S"


@pytest.mark.parametrize(
    ("shape", "reason"),
    [([3], "must be a power of 2"), ([2**21], "exceeds triton maximum"), ([2.0], "must have type"), ([], "0d")],
)
def test_blocks_of_impossible_shapes_are_refused(shape: list[Any], reason: str) -> None:
    with pytest.raises((TypeError, ValueError), match=reason):
        tl.block_type(tl.float32, shape)


def test_range_refuses_host_iteration_and_static_range_needs_constants() -> None:
    with pytest.raises(RuntimeError, match="only be used in"):
        iter(iterators.range(4))
    with pytest.raises(TypeError, match="is not a constexpr"):
        iterators.static_range(4)
