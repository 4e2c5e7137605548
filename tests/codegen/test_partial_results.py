"""Reductions whose partial results the lanes of a warp combine: the same numbers, with fewer instructions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minitriton as triton
import minitriton.language as tl


@triton.jit
def sums(x, out, ROWS: tl.constexpr, COLS: tl.constexpr, AXIS: tl.constexpr):
    rows, columns = tl.arange(0, ROWS), tl.arange(0, COLS)
    tile = tl.load(x + rows[:, None] * COLS + columns[None, :])
    kept = rows if AXIS == 1 else columns
    tl.store(out + kept, tl.sum(tile, AXIS))


@triton.jit
def firsts_of_most(x, out, ROWS: tl.constexpr, COLS: tl.constexpr, AXIS: tl.constexpr):
    rows, columns = tl.arange(0, ROWS), tl.arange(0, COLS)
    tile = tl.load(x + rows[:, None] * COLS + columns[None, :])
    kept = rows if AXIS == 1 else columns
    tl.store(out + kept, tl.argmax(tile, AXIS).to(tl.float32))


@triton.jit
def total(x, out, ROWS: tl.constexpr, COLS: tl.constexpr, AXIS: tl.constexpr):
    i = tl.arange(0, ROWS * COLS)
    values = tl.load(x + i)
    tl.store(out + i, values - tl.sum(values, 0))


@triton.jit
def later(a, b):
    """Does not commute."""
    return tl.where(b != 0, b, a)


@triton.jit
def last(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.load(x + i) * 0 + tl.reduce(tl.load(x + i), 0, later))


EXPECTED = {
    "sums": lambda x, axis: x.sum(axis),
    "firsts_of_most": lambda x, axis: x.argmax(axis).astype(np.float32),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kernel", [sums, firsts_of_most], ids=lambda k: k.__name__)
@pytest.mark.parametrize(
    ("rows", "columns", "warps"), [(1, 2048, 16), (2, 512, 8), (4, 512, 8), (8, 256, 8), (16, 64, 16), (64, 128, 32)]
)
@pytest.mark.parametrize("axis", [0, 1])
def test_results_are_those_of_numpy(kernel: Any, rows: int, columns: int, warps: int, axis: int) -> None:
    x = np.random.default_rng(rows + columns).integers(-3, 4, (rows, columns)).astype(np.float32)
    out = np.zeros(rows if axis else columns, np.float32)
    kernel[(1,)](x, out, rows, columns, axis, num_warps=warps)
    np.testing.assert_array_equal(out, EXPECTED[kernel.fn.__name__](x, axis))


def test_all_threads_have_one_sum() -> None:
    x = np.random.default_rng(0).integers(-3, 4, 4096).astype(np.float32)
    out = np.zeros_like(x)
    kernel = total[(1,)](x, out, 1, 4096, 0, num_warps=16)
    np.testing.assert_array_equal(out, x - x.sum())
    behind = kernel.asm["ptx"].split("bar.sync")[1]
    assert behind.count("ld.shared.b32") == 2 and behind.count("shfl.sync.bfly") == 3


@pytest.mark.parametrize("warps", [8, 16, 32])
def test_all_threads_have_one_result_of_a_region_that_does_not_commute(warps: int) -> None:
    x = np.arange(1, 4097, dtype=np.float32)
    out = np.zeros_like(x)
    last[(1,)](x, out, 4096, num_warps=warps)
    assert len(np.unique(out)) == 1
