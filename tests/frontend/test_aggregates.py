"""Aggregates: objects of several values, with methods, through calls, branches and loops."""

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


@tl.core._aggregate
class Pair:
    first: tl.tensor
    second: tl.tensor

    def __init__(self, first, second):
        self.first = first
        self.second = second

    @triton.jit
    def swapped(self):
        return Pair(self.second, self.first)

    def set_first(self, value, _semantic=None):
        self.first = tl.add(value, 1, _semantic=_semantic)

    def __getitem__(self, index, _semantic=None):
        return self.first if tl.core.unwrap(index) == 0 else self.second


@triton.jit
def stores_swapped(ptr, n):
    pair = Pair(n, n * 2).swapped()
    tl.store(ptr, pair.first)
    tl.store(ptr + 1, pair[1])


def test_methods_and_subscripts_see_the_fields() -> None:
    text = ttir(stores_swapped, "*i32", "i32")
    assert "%1:2 = tt.call" in text
    assert "tt.store %arg0, %1#0" in text and "%1#1" in text


@triton.jit
def changes_in_a_loop(ptr, n):
    pair = Pair(n, n * 2)
    for i in range(n):
        pair.set_first(i)
    tl.store(ptr, pair.first + pair.second)


def test_a_field_changed_in_a_loop_is_carried() -> None:
    text = ttir(changes_in_a_loop, "*i32", "i32")
    assert text.count("scf.yield") == 1
    assert "iter_args(%arg3 = %arg1" in text


@triton.jit
def changes_in_a_branch(ptr, n):
    pair = Pair(n, n)
    if n > 3:
        pair.set_first(n)
    tl.store(ptr, pair.first)


def test_a_field_changed_in_a_branch_is_merged() -> None:
    text = ttir(changes_in_a_branch, "*i32", "i32")
    assert "scf.if" in text and "-> (i32, i32)" in text


@triton.jit
def assigns_a_field(ptr, n):
    pair = Pair(n, n)
    pair.first = n


def test_fields_are_not_assigned_in_kernels() -> None:
    with pytest.raises(triton.CompilationError, match="Attribute assignment is not supported"):
        ttir(assigns_a_field, "*i32", "i32")


@triton.jit
def fills_a_field_with_a_number(ptr):
    Pair(1, 2)


def test_fields_hold_what_their_annotation_says() -> None:
    with pytest.raises(triton.CompilationError, match="for attribute 'first'"):
        ttir(fills_a_field_with_a_number, "*i32")
