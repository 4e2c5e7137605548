# pyright: standard
"""`minitriton-ordered-indices`: comparisons of indices within a thread are known, and the index found is the same as ever."""

from __future__ import annotations

import numpy as np
import pytest

import minitriton as triton
import minitriton.language as tl
from minitriton.compiler import ASTSource
from minitriton.target import GPUTarget

PASS = "minitriton-ordered-indices"


@triton.jit
def along(
    x, out, value, ROWS: tl.constexpr, COLS: tl.constexpr, AXIS: tl.constexpr, KIND: tl.constexpr, LEFT: tl.constexpr
):
    tile = tl.load(x + tl.arange(0, ROWS)[:, None] * COLS + tl.arange(0, COLS))
    kept = tl.arange(0, ROWS if AXIS else COLS)
    if KIND == "argmax":
        tl.store(out + kept, tl.argmax(tile, AXIS, tie_break_left=LEFT))
    elif KIND == "argmin":
        tl.store(out + kept, tl.argmin(tile, AXIS, tie_break_left=LEFT))
    else:
        most, index = tl.max(tile, AXIS, return_indices=True, return_indices_tie_break_left=LEFT)
        tl.store(out + kept, index)
        tl.store(value + kept, most)


@triton.jit
def last_of_equals(a, i, b, j):
    later = (a > b) | ((a == b) & (i > j))
    return tl.where(later, a, b), tl.where(later, i, j)


@triton.jit
def greatest_index(a, i, b, j):
    return tl.maximum(a, b), tl.maximum(i, j)


@triton.jit
def sum_of_indices(a, i, b, j):
    return tl.where(i < j, a, b), i + j


@triton.jit
def custom(x, out, value, N: tl.constexpr, BACK: tl.constexpr, KIND: tl.constexpr):
    index = tl.arange(0, N)
    if BACK:
        index = N - 1 - index
    data = tl.load(x + tl.arange(0, N))
    if KIND == "last":
        found, at = tl.reduce((data, index), 0, last_of_equals)
    elif KIND == "greatest":
        found, at = tl.reduce((data, index), 0, greatest_index)
    else:
        found, at = tl.reduce((data, index), 0, sum_of_indices)
    tl.store(value, found)
    tl.store(out, at)


def numbers(shape: tuple[int, ...], dtype: type[np.generic]) -> np.ndarray:
    """Few different ones, so that most are met again."""
    return np.random.default_rng(7).integers(-3, 4, shape).astype(dtype)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int32])
@pytest.mark.parametrize("kind", ["argmax", "argmin", "max"])
@pytest.mark.parametrize(
    ("rows", "columns", "axis", "warps"), [(4, 256, 1, 4), (64, 32, 0, 1), (1, 1024, 1, 1), (256, 4, 0, 4)]
)
def test_the_first_of_equals_is_found(
    rows: int, columns: int, axis: int, warps: int, kind: str, dtype: type[np.generic]
) -> None:
    x = numbers((rows, columns), dtype)
    out, value = np.zeros(rows if axis else columns, np.int32), np.zeros(rows if axis else columns, dtype)
    along[(1,)](x, out, value, rows, columns, axis, kind, True, num_warps=warps)
    np.testing.assert_array_equal(out, (x.argmin if kind == "argmin" else x.argmax)(axis))


@pytest.mark.parametrize("back", [False, True])
@pytest.mark.parametrize("kind", ["last", "greatest", "sum"])
def test_regions_of_one_s_own_keep_their_meaning(kind: str, back: bool) -> None:
    n = 512
    x = numbers((n,), np.float32)
    found = [(np.zeros(1, np.int32), np.zeros(1, np.float32)) for _ in range(2)]
    for (out, value), without in zip(found, ("", PASS), strict=True):
        custom[(1,)](x, out, value, n, back, kind, num_warps=1, without=without)
    assert (found[0][0] == found[1][0]).all() and (found[0][1] == found[1][1]).all()
    if kind == "last":
        index = n - 1 - np.arange(n) if back else np.arange(n)
        assert found[0][0][0] == index[x == x.max()].max()


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize(("kind", "left"), [("argmax", True), ("argmin", True), ("argmax", False), ("max", True)])
def test_nan_is_left_out_wherever_it_is(kind: str, left: bool, dtype: type[np.generic]) -> None:
    """First and last of a thread's chains, everywhere, next to infinities and zeros of both signs; 32 elements a thread along either axis."""
    sign = -1 if kind == "argmin" else 1
    x = numbers((8, 1024), dtype)
    x[np.random.default_rng(3).random(x.shape) < 0.4] = np.nan
    x[1], x[2, ::2], x[3], x[4, 1:] = np.nan, np.nan, -np.inf * sign, np.nan
    x[3, ::3], x[5] = np.nan, np.where(np.arange(1024) % 2, 0.0, -0.0)
    cleaned = np.where(np.isnan(x), -np.inf, x * sign)
    expected = cleaned.argmax(1)
    for axis, data in ((1, x), (0, np.ascontiguousarray(x.T))):
        out, value = np.zeros(8, np.int32), np.zeros(8, dtype)
        along[(1,)](data, out, value, *data.shape, axis, kind, left, num_warps=8)
        if not left:  # which of equals, lanes decide: the same as without the pass
            expected = np.zeros(8, np.int32)
            along[(1,)](data, expected, value, *data.shape, axis, kind, left, num_warps=8, without=PASS)
        np.testing.assert_array_equal(out, expected)
        if kind == "max":
            most = np.take_along_axis(cleaned, expected[:, None], 1)[:, 0].astype(dtype)
            np.testing.assert_array_equal(value.view(np.uint8), most.view(np.uint8))


def test_a_choice_of_bf16_is_one_of_16_bits() -> None:
    """Three instructions an element: a comparison, the number, and an index that is a constant."""
    source = ASTSource(
        along,
        {"x": "*bf16", "out": "*i32", "value": "*fp32"}
        | dict.fromkeys(("ROWS", "COLS", "AXIS", "KIND", "LEFT"), "constexpr"),
        {"ROWS": 1, "COLS": 1024, "AXIS": 1, "KIND": "argmax", "LEFT": True},
    )
    ptx = triton.compile(source, GPUTarget("cuda", 90, 32), {"num_warps": 1}, assemble=False).asm["ptx"]
    assert ptx.count("setp.geu.bf16") == 31 and ptx.count("max.bf16") == 4


def comparisons(kernel: object, *arguments: object, **options: object) -> int:
    compiled = kernel.warmup(*arguments, grid=(1,), **options)  # type: ignore[attr-defined]
    return compiled.asm["ptx"].count("setp.lt.s32") + compiled.asm["ptx"].count("setp.lt.u32")


@pytest.mark.parametrize(("rows", "columns", "axis"), [(1, 1024, 1), (128, 32, 0)])
def test_elements_of_a_thread_need_no_comparison_of_indices(rows: int, columns: int, axis: int) -> None:
    x, out = np.zeros((rows, columns), np.float32), np.zeros(1024, np.int32)
    arguments = (x, out, x, rows, columns, axis, "argmax", True)
    without = comparisons(along, *arguments, num_warps=1, without=PASS)
    assert comparisons(along, *arguments, num_warps=1) <= without - 8


def test_indices_that_do_not_increase_are_compared() -> None:
    x, out = np.zeros(512, np.float32), np.zeros(1, np.int32)
    ttgir = custom.warmup(x, out, x, 512, True, "last", grid=(1,), num_warps=1).asm["ptx"]
    plain = custom.warmup(x, out, x, 512, True, "last", grid=(1,), num_warps=1, without=PASS).asm["ptx"]
    assert ttgir == plain
