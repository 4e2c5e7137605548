"""A loop over unsigned bounds runs as often as Python's `range`, and its variable has Python's values in its dtype."""

# ruff: noqa: B007 - what a loop leaves in its variable is the subject of the last test
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minitriton as triton
import minitriton.language as tl

U8, U16, U32, U64, I8, I32 = np.uint8, np.uint16, np.uint32, np.uint64, np.int8, np.int32


@triton.jit
def counted(
    out, low, high, step, DOWN: tl.constexpr, STAGES: tl.constexpr, FLATTEN: tl.constexpr, UNROLL: tl.constexpr
):
    low, high, step = tl.load(low), tl.load(high), tl.load(step)
    count = 0
    total = tl.full((), 0, tl.uint64)
    if DOWN:
        for i in tl.range(high, low, -3, loop_unroll_factor=UNROLL):
            total += i.to(tl.uint64)
            count += 1
    else:
        for _ in tl.range(0, 2, flatten=FLATTEN):
            for i in tl.range(low, high, step, num_stages=STAGES, loop_unroll_factor=UNROLL):
                total += i.to(tl.uint64)
                count += 1
    tl.store(out, total)
    tl.store(out + 1, count.to(tl.uint64))


def run(low: Any, high: Any, step: Any, **how: Any) -> list[int]:
    """The sum of what the loop counts, mod 2^64, and how often it runs."""
    out = np.zeros(2, U64)
    how = {"DOWN": False, "STAGES": 1, "FLATTEN": False, "UNROLL": 1, "num_warps": 1} | how
    counted[(1,)](out, np.array([low]), np.array([high]), np.array([step]), **how)
    return out.tolist()


BOUNDS = [
    (U8(100), U8(200), I32(1)),
    (U8(5), U8(255), U8(100)),
    (U16(2**15 - 3), U16(2**15 + 3), I32(2)),
    (U32(2**31 - 4), U32(2**31 + 5), I32(2)),
    (U32(2**32 - 4), U32(2**32 - 1), U32(3)),
    (U32(2**31 + 5), U32(3), I32(2)),
    (U32(0), U32(2**31 + 5), I32(2**30)),
    (I32(-2), U32(3), I32(1)),
    (U64(2**63 - 4), U64(2**63 + 5), I32(2)),
    (U64(2**64 - 5), U64(2**64 - 1), U64(1)),
    (U64(2**63 + 5), U64(3), I32(2)),
    (I8(120), I8(127), I8(5)),
    (np.int16(32760), np.int16(32767), np.int16(5)),
]


@pytest.mark.parametrize(("low", "high", "step"), BOUNDS, ids=lambda x: f"{x.dtype}({x})")
@pytest.mark.parametrize(
    "how", [{}, {"STAGES": 3, "FLATTEN": True}, {"UNROLL": 2}], ids=["plain", "flattened", "unrolled"]
)
def test_a_range_of_unsigned_bounds_is_python_s(low: Any, high: Any, step: Any, how: dict[str, Any]) -> None:
    dtype = U32 if U32 in (type(low), type(high)) else U64
    numbers = [2 * (i % 2 ** (8 * dtype().itemsize)) for i in range(int(low), int(high), int(step))]
    assert run(low, high, step, **how) == [sum(numbers) % 2**64, 2 * len(numbers)]


@pytest.mark.parametrize(
    ("low", "high"), [(U8(3), U8(250)), (U32(2**31 - 4), U32(2**31 + 5)), (U64(0), U64(2**63 + 5))]
)
def test_a_range_counts_down_over_unsigned_bounds(low: Any, high: Any) -> None:
    low = max(int(low), int(high) - 20)
    numbers = range(int(high), low, -3)
    assert run(type(high)(low), high, I32(1), DOWN=True) == [sum(numbers) % 2**64, len(numbers)]


@pytest.mark.parametrize(("low", "high", "step"), [(131, 5, 2), (9, 9, 7), (-3, 126, 1)])
def test_an_unrolled_loop_runs_as_often_as_it_did(low: int, high: int, step: int) -> None:
    dtype = I8 if low < 0 else I32
    expected = [2 * sum(range(low, high, step)), 2 * len(range(low, high, step))]
    assert run(dtype(low), dtype(high), dtype(step), UNROLL=2) == expected


@triton.jit
def last_value(out, n: tl.uint32):
    k = 7
    for k in range(n - 3, n):
        tl.store(out, 0)
    tl.store(out + 1, k.to(tl.uint32))


def test_the_variable_of_an_unsigned_range_has_its_last_value_after_the_loop() -> None:
    out = np.zeros(2, U32)
    last_value[(1,)](out, 2**32 - 1)
    assert out[1] == 2**32 - 2
