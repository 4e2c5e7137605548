"""What is wrong only for the values that a kernel is compiled for: constants that break an assumption, arguments equal to 1."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minitriton as triton
import minitriton.language as tl


@triton.jit
def assumes_more(out, n):
    tl.assume(n > 5)  # wrong
    tl.store(out, n)


@triton.jit
def assumes_a_stride(out, STRIDE: tl.constexpr):
    tl.assume(STRIDE == 2)  # wrong
    tl.store(out, STRIDE)


@triton.jit
def asserts_without_a_message(out, N: tl.constexpr):
    tl.static_assert(N % 2 == 0)  # wrong
    tl.store(out, N)


@triton.jit
def doubles_in_a_for_loop(out, n):
    for _ in range(3):  # wrong
        n = n * 2
    tl.store(out, n)


@triton.jit
def doubles_in_a_while_loop(out, n):
    while n < 10:  # wrong
        n += n
    tl.store(out, n)


@triton.jit
def converts(out, n):
    tl.store(out, n.to(tl.float32))  # wrong


@triton.jit
def asks_for_the_type(out, n):
    tl.store(out, 0 + n.dtype.primitive_bitwidth)  # wrong


_WHY = "parameter n was given 1, and arguments equal to 1 are compile-time constants"


@pytest.mark.parametrize(
    ("kernel", "pieces"),
    [
        (assumes_more, ["always false", "launch the kernel with values that fit it"]),
        (assumes_a_stride, ["always false"]),
        (asserts_without_a_message, ["static_assert: `N % 2 == 0` does not hold"]),
        (doubles_in_a_for_loop, ["cannot reassign constexpr[1]", _WHY, "`copy = n`", "do_not_specialize=['n']"]),
        (doubles_in_a_while_loop, ["cannot reassign constexpr[1]", _WHY]),
        (converts, ["n is the compile-time constant 1", "lacks the attribute 'to'", _WHY, "tl.cast(n, dtype)"]),
        (asks_for_the_type, ["n is the compile-time constant 1", "lacks the attribute 'dtype'", _WHY]),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_an_error_of_one_value_says_so_at_its_line(
    kernel: Any, pieces: list[str], refused: Callable[..., Any], wrong_line: Callable[[Any], str]
) -> None:
    refused(lambda: kernel[(1,)](np.zeros(1, np.int32), 1), wrong_line(kernel), *pieces)


@triton.jit
def doubles_a_copy(out, n):
    copy = n
    for _ in range(3):
        copy = copy * 2
    tl.store(out, tl.cast(n, tl.int32) + copy)


@pytest.mark.parametrize("n", [1, 3])
def test_what_the_errors_advise_works(n: int) -> None:
    out = np.zeros(1, np.int32)
    doubles_a_copy[(1,)](out, n)
    assert out[0] == 9 * n


@triton.jit
def assumes_where_nothing_runs(out, n, N: tl.constexpr):
    if n > 3:
        tl.assume(N == 0)
    tl.store(out, n)


def test_an_assumption_of_a_branch_that_is_not_taken_is_not_an_error() -> None:
    out = np.zeros(1, np.int32)
    assumes_where_nothing_runs[(1,)](out, 2, 1)
    assert out[0] == 2
