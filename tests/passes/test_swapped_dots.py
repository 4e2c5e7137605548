"""`tritongpu-accelerate-matmul{swap-tf32=true}`: tf32 operands with K not contiguous go through registers, and products come out right."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
from xdsl.dialects import scf

import minitriton as triton
import minitriton.language as tl
from minitriton.dialects import tt, ttg, ttng
from minitriton.dialects.fast_paths.op_access import ops_of
from minitriton.dialects.text import parse_module
from minitriton.layouts.encodings import NvidiaMma
from minitriton.pipeline.pipelines import pipeline_for
from minitriton.target import CUDAOptions, GPUTarget

PASS = "tritongpu-accelerate-matmul"


@triton.jit
def product(a_ptr, b_ptr, c_ptr, M, N, K, a_m, a_k, b_k, b_n, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m, n, k = tl.arange(0, BM), tl.program_id(0) * BN + tl.arange(0, BN), tl.arange(0, BK)
    a, b = a_ptr + m[:, None] * a_m + k[None, :] * a_k, b_ptr + k[:, None] * b_k + n[None, :] * b_n
    total = tl.zeros((BM, BN), tl.float32)
    for i in range(tl.cdiv(K, BK)):
        x = tl.load(a, mask=(m[:, None] < M) & (k[None, :] < K - i * BK), other=0.0)
        y = tl.load(b, mask=(n[None, :] < N) & (k[:, None] < K - i * BK), other=0.0)
        total = tl.dot(x, y, total)
        a += BK * a_k
        b += BK * b_k
    tl.store(c_ptr + m[:, None] * N + n[None, :], total, mask=(m[:, None] < M) & (n[None, :] < N))


@triton.jit
def sums(a_ptr, b_ptr, c_ptr, sums_ptr, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """The sum is read in the loop, too."""
    m, n, k = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    total = tl.zeros((BM, BN), tl.float32)
    for i in range(0, K, BK):
        x, y = tl.load(a_ptr + m[:, None] * K + i + k[None, :]), tl.load(b_ptr + (i + k)[:, None] * BN + n[None, :])
        total = tl.dot(x, y, total)
        tl.store(sums_ptr + i // BK * BM + m, tl.sum(total, 1))
    tl.store(c_ptr + m[:, None] * BN + n[None, :], total)


@triton.jit
def one(a_ptr, b_ptr, c_ptr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """No loop, a sum that is loaded."""
    m, n, k = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    at = c_ptr + m[:, None] * BN + n[None, :]
    x, y = tl.load(a_ptr + m[:, None] * BK + k[None, :]), tl.load(b_ptr + k[:, None] * BN + n[None, :])
    tl.store(at, tl.dot(x, y, tl.load(at)))


@functools.cache
def swapping(warps: int, stages: int, slices: bool = False) -> dict[str, Any]:
    """Options of a kernel whose products change sides; with `slices` their operands are made part by part."""
    options: dict[str, Any] = {"num_warps": warps, "num_stages": stages}
    pipeline = pipeline_for(GPUTarget("cuda", 90, 32), CUDAOptions(**options)).replace(PASS, PASS + "{swap-tf32=true}")
    if slices:
        pipeline = pipeline.replace("tritongpu-pipeline", f"tritongpu-pipeline{{num-stages={stages} slice-from=1}}")
    return {**options, "pipeline": str(pipeline)}


def operands_in_registers(kernel: Any) -> int:
    """How many `wgmma` of the kernel take their first operand from registers, of all or none."""
    dots = ops_of(parse_module(kernel.asm["ttgir"]), ttng.WarpGroupDotOp)
    by_registers = [dot for dot in dots if not isinstance(dot.operands[0].type, ttg.MemDescType)]
    assert dots and len(by_registers) in (0, len(dots))
    return len(by_registers)


def check(got: np.ndarray, wanted: np.ndarray) -> None:
    assert np.abs(got - wanted).max() < 2e-3 * np.abs(wanted).max()


@pytest.mark.sampled(6)
@pytest.mark.parametrize("slices", [False, True])
@pytest.mark.parametrize("rows_of_a, rows_of_b", [(True, True), (True, False), (False, True), (False, False)])
@pytest.mark.parametrize(
    "shape, tile, warps, stages",
    [
        ((128, 256, 96), (128, 256, 32), 8, 3),
        ((60, 100, 92), (64, 64, 32), 4, 4),
        ((64, 64, 64), (64, 64, 32), 4, 1),
        ((64, 32, 64), (64, 32, 32), 4, 2),
        ((128, 64, 40), (128, 64, 16), 4, 2),
    ],
)
def test_products_are_right_in_every_order(
    rows_of_a: bool,
    rows_of_b: bool,
    shape: tuple[int, ...],
    tile: tuple[int, ...],
    warps: int,
    stages: int,
    slices: bool,
) -> None:
    (m, n, k), (tile_m, tile_n, tile_k) = shape, tile
    rng = np.random.default_rng(m + k)
    a, b = rng.standard_normal((m, k), np.float32), rng.standard_normal((k, n), np.float32)
    c = np.zeros((m, n), np.float32)
    strides = (*((k, 1) if rows_of_a else (1, m)), *((n, 1) if rows_of_b else (1, k)))
    stored = (np.ascontiguousarray(a if rows_of_a else a.T), np.ascontiguousarray(b if rows_of_b else b.T))
    kernel = product[(-(-n // tile_n),)](
        *stored, c, m, n, k, *strides, BM=tile_m, BN=tile_n, BK=tile_k, **swapping(warps, stages, slices)
    )
    check(c, a.astype(np.float64) @ b)
    across = not rows_of_a or (rows_of_b and tile_n >= 64)
    assert bool(operands_in_registers(kernel)) == across
    if rows_of_a and stages > 1 and tile_n >= 64 and not (n % 16 or k % 16):
        assert "cp.async.ca.shared.global [" not in kernel.asm["ptx"]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("tile", [(256, 128, 32), (64, 256, 32), (128, 128, 32)])
@pytest.mark.parametrize("ctas", [2, 4])
def test_products_of_several_ctas_keep_their_sides(ctas: int, tile: tuple[int, int, int]) -> None:
    m, n, k = tile[0], tile[1], 2 * tile[2]
    rng = np.random.default_rng(m)
    a, b = rng.standard_normal((m, k), np.float32), rng.standard_normal((k, n), np.float32)
    c = np.zeros((m, n), np.float32)
    constants = dict(zip(("BM", "BN", "BK"), tile, strict=True))
    product[(1,)](a, b, c, m, n, k, k, 1, n, 1, **constants, num_warps=4, num_ctas=ctas)
    check(c, a.astype(np.float64) @ b)


def test_a_sum_that_a_loop_carries_turns_with_the_product() -> None:
    kernel = product.warmup(
        *(np.zeros((128, 128), np.float32),) * 3, 128, 128, 128, 128, 1, 128, 1, BM=128, BN=128, BK=32, grid=(1,),
        **swapping(4, 3),
    )  # fmt: skip
    module = parse_module(kernel.asm["ttgir"])
    (loop,) = ops_of(module, scf.ForOp)
    sums = [value.type for value in loop.results if isinstance(ttg.layout_of(value.type), NvidiaMma)]
    assert len(sums) == 1
    turned = [op for op in ops_of(module, tt.TransOp) if isinstance(ttg.layout_of(op.src.type), NvidiaMma)]
    assert [op.parent_op() is loop for op in turned] == [False]


def test_a_sum_that_is_read_in_the_loop_stays() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.standard_normal((64, 96), np.float32), rng.standard_normal((96, 64), np.float32)
    c, found = np.zeros((64, 64), np.float32), np.zeros((3, 64), np.float32)
    kernel = sums[(1,)](a, b, c, found, 96, BM=64, BN=64, BK=32, **swapping(4, 2))
    check(c, a @ b)
    check(found[1], (a[:, :64] @ b[:64]).sum(1))
    assert not operands_in_registers(kernel)


def test_a_product_outside_of_loops_is_turned_with_its_sum() -> None:
    rng = np.random.default_rng(2)
    a, b = rng.standard_normal((64, 32), np.float32), rng.standard_normal((32, 128), np.float32)
    before = rng.standard_normal((64, 128), np.float32)
    c = before.copy()
    kernel = one[(1,)](a, b, c, BM=64, BN=128, BK=32, **swapping(4, 2))
    check(c, a @ b + before)
    assert operands_in_registers(kernel)
