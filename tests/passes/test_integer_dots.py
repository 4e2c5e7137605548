"""`tritongpu-accelerate-matmul{wide-integers=true}` and `tritongpu-pipeline{async-integer-dots=true}`: int8 on `wgmma` with as many columns as it
has, running while the loop goes on. The numbers are NumPy's, bit by bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from xdsl.dialects import scf

import minitriton as triton
import minitriton.language as tl
from minitriton.dialects import ttng
from minitriton.dialects.fast_paths.op_access import ops_of
from minitriton.dialects.narrowing import instance_of
from minitriton.dialects.text import parse_module
from minitriton.layouts.encodings import NvidiaMma
from minitriton.passes.tensor_layouts import layout_of_value

LOADED, COMPUTED, UNPACKED = range(3)


@triton.jit
def product(
    a_ptr, b_ptr, c_ptr, K, M: tl.constexpr, N: tl.constexpr, BK: tl.constexpr, WAY: tl.constexpr, SUM: tl.constexpr
):  # fmt: skip
    """c = a @ b, b column by column; with SUM a sum of floats takes each product."""
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, BK)
    total = tl.zeros((M, N), tl.int32)
    scaled = tl.zeros((M, N), tl.float32)
    for i in range(0, K, BK):
        b = tl.load(b_ptr + n[None, :] * K + (i + k)[:, None])
        if WAY == 2:
            half = tl.load(a_ptr + m[:, None] * (K // 2) + i // 2 + tl.arange(0, BK // 2)[None, :])
            a = tl.join((half << 4) >> 4, half >> 4).reshape(M, BK)
        else:
            a = tl.load(a_ptr + m[:, None] * K + i + k[None, :])
        if WAY == 1:
            a = (a ^ 5).to(tl.int8)
        if SUM:
            scaled += tl.dot(a, b).to(tl.float32) * (i + 1)
        else:
            total = tl.dot(a, b, total, out_dtype=tl.int32)
    at = c_ptr + m[:, None] * N + n[None, :]
    tl.store(at, scaled if SUM else total)


def run(way: int, m: int, n: int, bk: int, sums: bool = False, **options: Any) -> Any:
    """The kernel, whose result is NumPy's."""
    k, rng = 4 * bk, np.random.default_rng(way)
    a, b = rng.integers(-128, 128, (m, k), np.int8), rng.integers(-128, 128, (n, k), np.int8)
    c = np.zeros((m, n), np.float32 if sums else np.int32)
    if way == UNPACKED:
        a = (a >> 4).astype(np.int8)
    stored = ((a[:, ::2] & 15) | (a[:, 1::2] << 4)).astype(np.int8) if way == UNPACKED else a
    kernel = product[(1,)](stored, b, c, k, M=m, N=n, BK=bk, WAY=way, SUM=sums, **options)
    wide = (a ^ 5 if way == COMPUTED else a).astype(np.int64)
    if sums:
        parts = [wide[:, i : i + bk] @ b[:, i : i + bk].T.astype(np.int64) * (i + 1) for i in range(0, k, bk)]
        wanted = sum(parts[1:], parts[0])
        assert np.abs(c - wanted).max() <= 1e-6 * np.abs(wanted).max()
    else:
        assert np.array_equal(c, wide @ b.T.astype(np.int64))
    return kernel


def columns_and_pendings(kernel: Any) -> tuple[int, int]:
    """Columns of an instruction, and the most products that a wait in the loop leaves running."""
    (loop,) = ops_of(parse_module(kernel.asm["ttgir"]), scf.ForOp)
    dots, waits = ([op for op in loop.body.block.ops if isinstance(op, kind)] for kind in (ttng.WarpGroupDotOp, ttng.WarpGroupDotWaitOp))  # fmt: skip
    layout = layout_of_value(dots[0].results[0])
    assert instance_of(layout, NvidiaMma)
    return layout.instr_shape[1], max(wait.pendings.value.data for wait in waits)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("way", [LOADED, COMPUTED, UNPACKED])
@pytest.mark.parametrize("tile, warps, stages", [
    ((64, 256, 64), 4, 3), ((128, 256, 32), 8, 2), ((64, 128, 128), 4, 4), ((64, 16, 64), 4, 3), ((128, 64, 32), 8, 1),
])  # fmt: skip
def test_products_of_integers_are_right(way: int, tile: tuple[int, int, int], warps: int, stages: int) -> None:
    kernel = run(way, *tile, num_warps=warps, num_stages=stages)
    assert f"n{tile[1]}k32.s32.s8.s8" in kernel.asm["ptx"]


def test_a_product_runs_on_while_the_loop_goes_on() -> None:
    assert columns_and_pendings(run(LOADED, 64, 256, 64, num_warps=4)) == (256, 1)


def test_without_it_is_as_in_triton() -> None:
    assert columns_and_pendings(run(LOADED, 64, 256, 64, num_warps=4, without="minitriton")) == (128, 0)


def test_a_product_that_the_loop_reads_is_waited_for() -> None:
    assert columns_and_pendings(run(LOADED, 64, 256, 64, sums=True, num_warps=4)) == (256, 0)
