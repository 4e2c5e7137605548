"""Which combinations of two elements are the same number in either order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minitriton as triton
import minitriton.language as tl
from minitriton.analysis.exchangeable import exchangeable
from minitriton.dialects import tt
from minitriton.dialects.context import make_context
from minitriton.dialects.text import parse_module


@triton.jit
def welford(m, n, m2, n2):
    total = n + n2
    return m + (m2 - m) * n2 / total, total


@triton.jit
def sums(a, b, c, d):
    return a + c, b * d


@triton.jit
def later(a, b):
    return b


@triton.jit
def largest(a, b):
    return a if a > b else b


@triton.jit
def xor_where(a, i, b, j):
    first = (a > b) | ((a == b) & (i < j))
    return tl.where(first, a, b), tl.where(first, i, j)


@triton.jit
def crossed(a, i, b, j):
    first = a > j
    return tl.where(first, a, b), tl.where(first, i, j)


@triton.jit
def of_one(x, out, f: tl.constexpr):
    tl.store(out, tl.reduce(tl.load(x + tl.arange(0, 64)), 0, f))


@triton.jit
def of_two(x, out, f: tl.constexpr):
    values = tl.load(x + tl.arange(0, 64))
    first, _ = tl.reduce((values, values), 0, f)
    tl.store(out, first)


@triton.jit
def place(x, out, LEFT: tl.constexpr):
    tl.store(out, tl.argmax(tl.load(x + tl.arange(0, 64)), 0, tie_break_left=LEFT))


def combines_alike(kernel: Any, element: Any, **constants: Any) -> bool:
    text = kernel.warmup(element, tl.int32, grid=(1,), **constants).asm["ttir"]
    module = parse_module(text, make_context())
    (found,) = (op for op in module.walk() if isinstance(op, tt.ReduceOp))
    return exchangeable(found)


@pytest.mark.parametrize(
    "kernel, element, constants, expected",
    [
        (of_one, tl.float32, {"f": tl.standard._sum_combine}, True),
        (of_one, tl.float32, {"f": tl.standard._elementwise_max}, True),
        (of_one, tl.int32, {"f": largest}, True),
        (of_one, tl.float32, {"f": largest}, False),
        (of_one, tl.int32, {"f": later}, False),
        (of_two, tl.float32, {"f": sums}, True),
        (of_two, tl.float32, {"f": welford}, False),
        (of_two, tl.int32, {"f": xor_where}, True),
        (of_two, tl.int32, {"f": crossed}, False),
        (place, tl.int32, {"LEFT": True}, True),
        (place, tl.int32, {"LEFT": False}, False),
        (place, tl.float32, {"LEFT": True}, False),
    ],
)
def test_what_combines_to_the_same_in_either_order(
    kernel: Any, element: Any, constants: dict[str, Any], expected: bool
) -> None:
    assert combines_alike(kernel, element, **constants) == expected


@triton.jit
def places_of_rows(x, out, LEFT: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    rows = tl.arange(0, ROWS)
    tile = tl.load(x + rows[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :])
    tl.store(out + rows, tl.argmax(tile, 1, tie_break_left=LEFT))


@pytest.mark.parametrize("rows, columns", [(16, 32), (1, 32), (4, 1024), (64, 4)])
@pytest.mark.parametrize("dtype", [np.int32, np.float32])
def test_lanes_agree_on_the_place_of_one_of_equal_numbers(rows: int, columns: int, dtype: type) -> None:
    x = np.random.default_rng(0).integers(0, 3, (rows, columns)).astype(dtype)
    out = np.zeros(rows, np.int32)
    places_of_rows[(1,)](x, out, LEFT=False, ROWS=rows, COLUMNS=columns)
    assert (np.take_along_axis(x, out[:, None], 1)[:, 0] == x.max(1)).all()
    places_of_rows[(1,)](x, out, LEFT=True, ROWS=rows, COLUMNS=columns)
    assert (out == x.argmax(1)).all()


def test_lanes_agree_where_there_are_nans() -> None:
    x = np.random.default_rng(0).normal(size=(16, 32)).astype(np.float32)
    x[3, 5] = x[4, 0] = x[4, 31] = np.nan
    out = np.zeros(16, np.int32)
    places_of_rows[(1,)](x, out, LEFT=True, ROWS=16, COLUMNS=32)
    others = np.isfinite(x).all(1)
    assert (out[others] == x[others].argmax(1)).all()
