"""Named tuples that a kernel makes: inside each other, given to functions, given back, carried through loops."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

import minitriton as triton
import minitriton.language as tl


class Pair(NamedTuple):
    a: Any
    b: Any


class Swapped(NamedTuple):
    b: Any
    a: Any


FIXED = tl.constexpr(Pair(1, Swapped(2, 3)))


@triton.jit
def first(pair):
    return pair.a


@triton.jit
def make(x, y):
    return Pair(x * 2, y)


@triton.jit
def fixed():
    return FIXED


@triton.constexpr_function
def sum_of(pair):
    return pair.a + 10 * pair.b.b


@triton.jit
def made_in_the_kernel(out):
    inner = Pair(1, 2)
    tl.store(out, Pair(inner, 3).a.b)


@triton.jit
def given_by_name(out):
    tl.store(out, Pair(a=0, b=Swapped(b=2, a=1)).b.b)


@triton.jit
def through_a_function(out):
    tl.store(out, make(1, Pair(5, 2)).b.b)


@triton.jit
def returned_constant(out):
    tl.store(out, fixed().b.b)


@triton.jit
def carried(out):
    pair = Pair(tl.load(out), Pair(3, 2))
    for _ in range(3):
        pair = Pair(pair.a + 1, pair.b)
    tl.store(out, pair.b.b)


@triton.jit
def from_a_branch(out):
    pair = Pair(1, Pair(1, 1))
    if tl.load(out) == 0:
        pair = Pair(pair.a, Pair(3, 2))
    tl.store(out, pair.b.b)


@triton.jit
def same_types_and_other_fields(out):
    x = tl.load(out)
    tl.store(out, first(Pair(x, x + 1)) + first(Swapped(x + 1, x + 2)))


@triton.jit
def in_a_compile_time_function(out):
    tl.store(out, sum_of(Pair(2, Swapped(0, 7))))


@pytest.mark.parametrize(
    "kernel",
    [
        made_in_the_kernel,
        given_by_name,
        through_a_function,
        returned_constant,
        carried,
        from_a_branch,
        same_types_and_other_fields,
        in_a_compile_time_function,
    ],
    ids=lambda kernel: kernel.__name__,
)
def test_a_named_tuple_keeps_its_fields(kernel: Any) -> None:
    out = np.zeros(1, np.int32)
    kernel[(1,)](out)
    assert out[0] == 2
