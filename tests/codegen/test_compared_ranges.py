"""Many registers of a range are compared with a bound by their offsets, and mean the same, also where base, bound or their difference overflows."""

from __future__ import annotations

import re

import numpy as np
import pytest

import minitriton as triton
import minitriton.language as tl
from minitriton.compiler import ASTSource
from minitriton.target import GPUTarget

BLOCK = 4096
LEAST, MOST = -(2**31), 2**31 - 1


@triton.jit(do_not_specialize=["start", "bound"])
def compared(out_ptr, start, bound, HOW: tl.constexpr, BLOCK: tl.constexpr):
    offsets = start * BLOCK + tl.arange(0, BLOCK)
    if HOW == "<":
        found = offsets < bound
    elif HOW == "<=":
        found = offsets <= bound
    elif HOW == ">":
        found = offsets > bound
    elif HOW == ">=":
        found = offsets >= bound
    elif HOW == "bound <":
        found = bound < offsets
    else:
        found = bound >= offsets
    tl.store(out_ptr + tl.arange(0, BLOCK), found.to(tl.int8))


MEANING = {
    "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal, "bound <": np.greater, "bound >=": np.less_equal,
}  # fmt: skip


@pytest.mark.parametrize("how", MEANING)
def test_offsets_compare_with_the_room_as_numbers_with_the_bound(how: str) -> None:
    for start in (0, 3, -1, LEAST // BLOCK, MOST // BLOCK):
        for bound in (0, 1, 3 * BLOCK + 77, 3 * BLOCK, 4 * BLOCK - 1, -5, LEAST, LEAST + 77, MOST, MOST - 77):
            out = np.full(BLOCK, 7, np.int8)
            compared[(1,)](out, start, bound, how, BLOCK)
            numbers = start * BLOCK + np.arange(BLOCK)
            np.testing.assert_array_equal(out, MEANING[how](numbers, bound).astype(np.int8), f"{start} {how} {bound}")


def ptx_of(attributes: dict[tuple[int, ...], list[list[object]]]) -> str:
    signature = {
        "out_ptr": "*i8", "start": "i32", "bound": "i32", "HOW": "constexpr", "BLOCK": "constexpr",
    }  # fmt: skip
    source = ASTSource(compared, signature, {"HOW": "<", "BLOCK": BLOCK}, attributes)
    return triton.compile(source, GPUTarget("cuda", 90, 32), {}).asm["ptx"]


def test_a_comparison_takes_no_sum_of_base_and_offset() -> None:
    ptx = ptx_of({(0,): [["tt.divisibility", 16]]})
    assert ptx.count("setp.gt.s32") >= 32
    assert ptx.count("\tor.b32") + ptx.count("\tadd.s32") < 10


def test_few_comparisons_are_made_of_sums() -> None:
    """With a bound that 16 divides, 16 neighbours compare alike."""
    ptx = ptx_of({(0,): [["tt.divisibility", 16]], (2,): [["tt.divisibility", 16]]})
    assert ptx.count("setp.") == 2
    assert "selp.b32 \t%r" not in ptx or "-2147483648" not in ptx


@triton.jit(do_not_specialize=["start", "bound"])
def less_than_most(x_ptr, out_ptr, start, bound, BLOCK: tl.constexpr):
    mask = start * BLOCK + tl.arange(0, BLOCK) < bound
    x = tl.load(x_ptr + tl.arange(0, BLOCK), mask=mask, other=0)
    tl.store(out_ptr + tl.arange(0, BLOCK), tl.max(x, 0) - x, mask=mask)


@pytest.mark.parametrize("block", [1024, 4096])
def test_a_mask_that_is_computed_again_after_a_reduction_means_the_same(block: int) -> None:
    """Eight comparisons of sums, and 32 of offsets with the room."""
    x = np.arange(block, dtype=np.int32)
    for start in (0, 3, -1, LEAST // block, MOST // block):
        for bound in (0, 3 * block + 77, 4 * block - 1, -5, LEAST, LEAST + 77, MOST, MOST - 77):
            out = np.full(block, -7, np.int32)
            less_than_most[(1,)](x, out, start, bound, block)
            mask = start * block + x < bound
            most = np.where(mask, x, 0).max()
            np.testing.assert_array_equal(out, np.where(mask, most - x, -7), f"{start} {bound}")


@pytest.mark.parametrize(("block", "are_kept"), [(256, True), (1024, False), (4096, False)])
def test_more_masks_than_a_thread_keeps_are_compared_again(block: int, are_kept: bool) -> None:
    signature = {"x_ptr": "*i32", "out_ptr": "*i32", "start": "i32", "bound": "i32", "BLOCK": "constexpr"}
    source = ASTSource(less_than_most, signature, {"BLOCK": block}, {})
    ptx = triton.compile(source, GPUTarget("cuda", 90, 32), {}).asm["ptx"]
    loads, stores = (set(re.findall(rf"@(%p\d+) {op}\.global", ptx)) for op in ("ld", "st"))
    assert len(loads) == len(stores) == block // 128
    assert (
        loads == stores if are_kept else len(loads & stores) <= 1
    )  # LLVM knows that a number is above 0 when a difference is


@triton.jit
def transpose_tile(x_ptr, out_ptr, rows, columns):
    r, c = tl.program_id(0) * 16 + tl.arange(0, 16), tl.program_id(1) * 32 + tl.arange(0, 32)
    mask = (r < rows)[:, None] & (c < columns)[None, :]
    x = tl.load(x_ptr + r[:, None] * columns + c[None, :], mask=mask)
    tl.store(out_ptr + c[:, None] * rows + r[None, :], tl.trans(x), mask=tl.trans(mask))


@triton.jit
def transposed(x_ptr, out_ptr, rows, columns, LOOP: tl.constexpr):
    if LOOP:
        for _ in range(rows):
            transpose_tile(x_ptr, out_ptr, rows, columns)
    else:
        transpose_tile(x_ptr, out_ptr, rows, columns)


@pytest.mark.parametrize(("loop", "is_aligned"), [(0, True), (0, False), (1, True)])
def test_rows_are_multiples_of_the_stride_on_top_of_the_first(loop: int, is_aligned: bool) -> None:
    """Where a mask needs the rows themselves, or a loop would keep the multiples, they are products."""
    signature = {"x_ptr": "*bf16", "out_ptr": "*bf16", "rows": "i32", "columns": "i32", "LOOP": "constexpr"}
    aligned: dict[tuple[int, ...], list[list[object]]] = {(i,): [["tt.divisibility", 16]] for i in (0, 1, 3)}
    source = ASTSource(transposed, signature, {"LOOP": loop}, aligned if is_aligned else {})
    ptx = triton.compile(source, GPUTarget("cuda", 90, 32), {"num_warps": 1}, assemble=False).asm["ptx"]
    assert (ptx.count("mul.lo.s32") < 8) == (is_aligned and not loop)


@triton.jit
def strided(x_ptr, out_ptr, n, stride, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at * stride, mask=at < n), mask=at < n)


def test_offsets_that_vectors_need_too_are_multiples_of_the_stride() -> None:
    """A store of 8 elements needs one offset of 8: the others would be made for the products alone."""
    aligned: dict[tuple[int, ...], list[list[object]]] = {(i,): [["tt.divisibility", 16]] for i in range(3)}
    signature = {"x_ptr": "*fp16", "out_ptr": "*fp16", "n": "i32", "stride": "i32", "BLOCK": "constexpr"}
    source = ASTSource(strided, signature, {"BLOCK": 2048}, aligned)
    ptx = triton.compile(source, GPUTarget("cuda", 90, 32), {"num_warps": 2}, assemble=False).asm["ptx"]
    assert ptx.count("mul.lo.s32") == 1 and ptx.count("\tor.b32") < 8
    x, out = np.arange(900, dtype=np.float32), np.zeros(300, np.float32)
    strided[(2,)](x, out, 300, 3, 256)
    np.testing.assert_array_equal(out, x[::3])


@pytest.mark.parametrize(("rows", "columns"), [(16, 32), (13, 27)])
def test_rows_by_multiples_are_the_same_rows(rows: int, columns: int) -> None:
    x = np.arange(rows * columns, dtype=np.float32).reshape(rows, columns)
    out = np.zeros((columns, rows), np.float32)
    transposed[(1,)](x, out, rows, columns, 0, num_warps=1)
    np.testing.assert_array_equal(out, x.T)


@triton.jit
def may_return(x_ptr, out_ptr, stride, n, ROWS: tl.constexpr, COLS: tl.constexpr):
    if tl.program_id(0) >= n:
        return
    rows, cols = tl.arange(0, ROWS), tl.arange(0, COLS)
    x = tl.load(x_ptr + rows[:, None] * stride + cols[None, :])
    tl.store(out_ptr + rows[:, None] * stride + cols[None, :], x + 1)


def test_rows_of_a_function_that_may_return_early() -> None:
    x = np.arange(32 * 32, dtype=np.float32).reshape(32, 32)
    out = np.zeros_like(x)
    may_return[(2,)](x, out, 32, 1, 32, 32, num_warps=1)
    np.testing.assert_array_equal(out, x + 1)
