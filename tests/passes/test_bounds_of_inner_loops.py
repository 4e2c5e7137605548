"""What a loop carries only for the bounds of a loop in it is carried: Triton 3.6.0 drops it, and reads the first bound again and again."""

from __future__ import annotations

import numpy as np
import pytest

import minitriton as triton
import minitriton.language as tl
from minitriton.runtime.jit import JITFunction


@triton.jit
def last_index(lengths, out):
    last = tl.full([1], 5.0, tl.float32)
    length = lengths + tl.arange(0, 1)
    for _ in range(3):
        for i in range(tl.max(tl.load(length), axis=None)):
            last = last * 0 + i
        length = length + 1
    tl.store(out + tl.arange(0, 1), last)


@triton.jit
def last_is_an_outer_value(lengths, out):
    last = tl.full([1], 5.0, tl.float32)
    length = lengths + tl.arange(0, 1)
    for _ in range(3):
        zero = tl.full([1], 0.0, tl.float32)
        for _ in range(tl.max(tl.load(length), axis=None)):
            last = zero
        length = length + 1
    tl.store(out + tl.arange(0, 1), last)


@triton.jit
def stores(lengths, out):
    length = lengths + tl.arange(0, 1)
    for _ in range(3):
        for i in range(tl.max(tl.load(length), axis=None)):
            tl.store(out + tl.arange(0, 1), i)
        length = length + 1


@triton.jit
def steps_of_a_while(lengths, out):
    length = lengths + tl.arange(0, 1)
    for _ in range(3):
        more = tl.max(tl.load(length), axis=None)
        n = 0
        while n < 3:
            tl.store(out + n, 7.0)
            n += 1 + more
        length = length + 1


def _last(lengths: list[int], none: float) -> list[float]:
    return [float(next((n for n in reversed(lengths) if n), none + 1) - 1), 0, 0]


def _steps(lengths: list[int]) -> list[float]:
    return [7.0 if any(n % (1 + more) == 0 for more in lengths) else 0.0 for n in range(3)]


@pytest.mark.parametrize("lengths", [[0, 0, 0], [0, 2, 0], [0, 0, 1], [1, 0, 0], [1, 1, 3]])
@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        (last_index, lambda lengths: _last(lengths, 5.0)),
        (last_is_an_outer_value, lambda lengths: [0.0 if any(lengths) else 5.0, 0, 0]),
        (stores, lambda lengths: _last(lengths, 0.0)),
        (steps_of_a_while, _steps),
    ],
    ids=lambda each: each.fn.__name__ if isinstance(each, JITFunction) else "",
)  # fmt: skip
def test_bounds_of_inner_loops(kernel, expected, lengths: list[int]) -> None:
    out = np.zeros(3, np.float32)
    kernel[(1,)](np.array(lengths, np.int32), out, num_warps=1)
    assert out.tolist() == expected(lengths)
