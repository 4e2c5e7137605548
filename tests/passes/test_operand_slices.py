"""`tritongpu-pipeline{slice-from=N}`: operands of `wgmma` in registers are made part by part, between the products, and come out right."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from xdsl.dialects import scf

import minitriton as triton
import minitriton.language as tl
from minitriton.dialects import ttg, ttng
from minitriton.dialects.fast_paths.op_access import ops_of
from minitriton.dialects.text import parse_module
from minitriton.pipeline.pipelines import pipeline_for
from minitriton.target import CUDAOptions, GPUTarget

PLAIN, SCALED, CHOSEN, SUMMED, PACKED = range(5)


@triton.jit
def product(a_ptr, s_ptr, b_ptr, c_ptr, K, M: tl.constexpr, N: tl.constexpr, BK: tl.constexpr, WAY: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, BK)
    scale = tl.load(s_ptr + m)
    total = tl.zeros((M, N), tl.float32)
    for i in range(0, K, BK):
        b = tl.load(b_ptr + (i + k)[:, None] * N + n[None, :])
        if WAY == 4:
            half = tl.load(a_ptr + m[:, None] * (K // 2) + i // 2 + tl.arange(0, BK // 2)[None, :])
            a = tl.join((half << 4) >> 4, half >> 4).reshape(M, BK).to(tl.float16)
        else:
            a = tl.load(a_ptr + m[:, None] * K + i + k[None, :]).to(tl.float16)
        if WAY == 1:
            a = a * scale[:, None].to(tl.float16) + 0.5
        if WAY == 2:
            a = tl.where(a > 3, a, -a)
        if WAY == 3:
            a = a + tl.sum(a, 1)[:, None]
        total = tl.dot(a, b, total)
    tl.store(c_ptr + m[:, None] * N + n[None, :], total)


def sliced(warps: int, stages: int) -> dict[str, Any]:
    options: dict[str, Any] = {"num_warps": warps, "num_stages": stages}
    pipeline = pipeline_for(GPUTarget("cuda", 90, 32), CUDAOptions(**options))
    given = f"tritongpu-pipeline{{num-stages={stages} slice-from=1}}"
    return {**options, "pipeline": str(pipeline.replace("tritongpu-pipeline", given))}


def run(way: int, warps: int, stages: int, m: int, n: int, bk: int) -> Any:
    """The kernel, whose result is compared with NumPy's."""
    k, rng = 3 * bk, np.random.default_rng(way)
    a, scale = rng.integers(-8, 8, (m, k), np.int8), rng.integers(1, 4, m).astype(np.float32)
    b, c = rng.integers(-4, 5, (k, n)).astype(np.float16), np.zeros((m, n), np.float32)
    stored = a
    if way == PACKED:
        stored = ((a[:, ::2] & 15) | (a[:, 1::2] << 4)).astype(np.int8)
    kernel = product[(1,)](stored, scale, b, c, k, M=m, N=n, BK=bk, WAY=way, **sliced(warps, stages))
    wide = a.astype(np.float32)
    if way == SCALED:
        wide = wide * scale[:, None] + 0.5
    elif way == CHOSEN:
        wide = np.where(wide > 3, wide, -wide)
    elif way == SUMMED:
        parts = wide.reshape(m, 3, bk)
        wide = (parts + parts.sum(2, keepdims=True)).reshape(m, k).astype(np.float32)
    wanted = wide @ b.astype(np.float32)
    assert np.abs(c - wanted).max() <= 1e-2 * np.abs(wanted).max()
    return kernel


def body_of(kernel: Any) -> list[Any]:
    """The ops of the loop."""
    (loop,) = ops_of(parse_module(kernel.asm["ttgir"]), scf.ForOp)
    return list(loop.body.block.ops)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("way", [PLAIN, SCALED, CHOSEN])
@pytest.mark.parametrize("warps, stages, m, n, bk", [(4, 2, 64, 64, 32), (8, 3, 128, 64, 64), (4, 4, 64, 128, 64)])
def test_a_part_is_loaded_between_the_products(way: int, warps: int, stages: int, m: int, n: int, bk: int) -> None:
    body = body_of(run(way, warps, stages, m, n, bk))
    loads = [at for at, op in enumerate(body) if isinstance(op, ttg.LocalLoadOp)]
    dots = [at for at, op in enumerate(body) if isinstance(op, ttng.WarpGroupDotOp)]
    waits = [op.pendings.value.data for op in body if isinstance(op, ttng.WarpGroupDotWaitOp)]
    assert len(loads) == len(dots) == bk // 16
    assert sorted((*loads, *dots)) == [at for pair in zip(loads, dots, strict=True) for at in pair]
    assert waits == [len(dots) - 1] * len(dots)


def test_what_is_known_of_whole_rows_is_repeated_along_each_part() -> None:
    run(SUMMED, 4, 3, 64, 64, 64)


def test_an_operand_that_is_joined_of_halves_is_made_at_once() -> None:
    body = body_of(run(PACKED, 4, 3, 64, 64, 64))
    assert len([op for op in body if isinstance(op, ttng.WarpGroupDotOp)]) == 4
    assert len([op for op in body if isinstance(op, ttg.LocalLoadOp)]) == 1
