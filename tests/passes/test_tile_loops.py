"""`minitriton-tile-loops` gives parts of an accumulator, and of a stored tile, registers of their own, and keeps every bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from filecheck_ir import check, run

import minitriton as triton
import minitriton.language as tl
from minitriton.passes.chains.tile_loops import TileLoops
from minitriton.pipeline.pipelines import pipeline_for
from minitriton.target import CUDAOptions, GPUTarget

LOOP = """
    #mma = #ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [2, 1], instrShape = [16, 8]}>
    #a = #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>
    #b = #ttg.dot_op<{opIdx = 1, parent = #mma, kWidth = 2}>
    #shared = #ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0]}>
    #smem = #ttg.shared_memory
    module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 2 : i32, ttg.target = "cuda:80", "ttg.threads-per-warp" = 32 : i32} {
      tt.func public @f(%x: !ttg.memdesc<64x16xf16, #shared, #smem, mutable>, %y: !ttg.memdesc<16x32xf16, #shared, #smem, mutable>, %n: i32) -> tensor<64x32xf32, #mma> {
        %zero = arith.constant dense<0.000000e+00> : tensor<64x32xf32, #mma>
        %c0 = arith.constant 0 : i32
        %c1 = arith.constant 1 : i32
        %r = scf.for %i = %c0 to %n step %c1 iter_args(%c = %zero) -> (tensor<64x32xf32, #mma>) : i32 {
          %a = ttg.local_load %x : !ttg.memdesc<64x16xf16, #shared, #smem, mutable> -> tensor<64x16xf16, #a>
          %b = ttg.local_load %y : !ttg.memdesc<16x32xf16, #shared, #smem, mutable> -> tensor<16x32xf16, #b>
          %d = tt.dot %a, %b, %c : tensor<64x16xf16, #a> * tensor<16x32xf16, #b> -> tensor<64x32xf32, #mma>
          MORE
          scf.yield %d : tensor<64x32xf32, #mma>
        }
        tt.return %r : tensor<64x32xf32, #mma>
      }
    }
"""


def test_each_part_has_its_loads_and_its_dot() -> None:
    check(
        LOOP.replace("MORE", ""),
        TileLoops(loop=2, least_need=0),
        """
        // CHECK: scf.for {{.*}} -> (tensor<32x32xf32, #mma>, tensor<32x32xf32, #mma>)
        // CHECK: ttg.memdesc_subslice %arg0[0, 0]
        // CHECK-NEXT: %[[A0:.*]] = ttg.local_load
        // CHECK-NEXT: %[[B0:.*]] = ttg.local_load %arg1
        // CHECK-NEXT: %[[D0:.*]] = tt.dot %[[A0]], %[[B0]]
        // CHECK-NEXT: ttg.memdesc_subslice %arg0[32, 0]
        // CHECK-NEXT: %[[A1:.*]] = ttg.local_load
        // CHECK-NEXT: %[[B1:.*]] = ttg.local_load %arg1
        // CHECK-NEXT: %[[D1:.*]] = tt.dot %[[A1]], %[[B1]]
        // CHECK-NEXT: scf.yield %[[D0]], %[[D1]]
        // CHECK: tt.join
        """,
    )


def test_along_n_the_second_operand_is_in_parts() -> None:
    text = run(LOOP.replace("MORE", ""), TileLoops(loop=2, least_need=0, axis=1))
    assert text.count("-> tensor<16x16xf16, #ttg.dot_op<{opIdx = 1") == 2
    assert text.count("-> tensor<64x16xf16, #ttg.dot_op<{opIdx = 0") == 2


@pytest.mark.parametrize(
    "more",
    [
        "ttg.local_store %d16, %z : tensor<64x32xf16, #mma> -> !ttg.memdesc<64x32xf16, #shared, #smem, mutable>",
        'tt.print "d" {hex = false, isSigned = array<i32: 0>} : %d : tensor<64x32xf32, #mma>',
    ],
)
def test_a_loop_that_needs_the_whole_accumulator_is_left_alone(more: str) -> None:
    before = "%d16 = arith.truncf %d : tensor<64x32xf32, #mma> to tensor<64x32xf16, #mma>\n"
    before += "%z = ttg.local_alloc : () -> !ttg.memdesc<64x32xf16, #shared, #smem, mutable>\n"
    text = run(LOOP.replace("MORE", before + more), TileLoops(loop=2, least_need=0))
    assert text.count("tt.dot") == 1


def test_a_loop_that_fits_is_left_alone() -> None:
    assert run(LOOP.replace("MORE", ""), TileLoops(loop=2)).count("tt.dot") == 1


@triton.jit
def attention(q_ptr, k_ptr, v_ptr, o_ptr, length, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    m, n, d = tl.arange(0, M), tl.arange(0, N), tl.arange(0, D)
    q = tl.load(q_ptr + m[:, None] * D + d[None, :])
    largest, weight = tl.full((M,), float("-inf"), tl.float32), tl.zeros((M,), tl.float32)
    total = tl.zeros((M, D), tl.float32)
    for start in range(0, length, N):
        score = tl.dot(q, tl.load(k_ptr + (start + n)[None, :] * D + d[:, None]))
        new = tl.maximum(largest, tl.max(score, 1))
        p = tl.exp2(score - new[:, None])
        shrink = tl.exp2(largest - new)
        weight = weight * shrink + tl.sum(p, 1)
        total = tl.dot(
            p.to(tl.float16), tl.load(v_ptr + (start + n)[:, None] * D + d[None, :]), total * shrink[:, None]
        )
        largest = new
    tl.store(o_ptr + m[:, None] * D + d[None, :], total / weight[:, None])


@triton.jit
def sums(x_ptr, o_ptr, rows, M: tl.constexpr, N: tl.constexpr):
    n = tl.arange(0, N)
    total = tl.zeros((M, N), tl.float32)
    for start in range(0, rows, M):
        x = tl.load(x_ptr + (start + tl.arange(0, M))[:, None] * N + n[None, :]).to(tl.float32)
        total += x * tl.sigmoid(x)
    tl.store(o_ptr + n, tl.sum(total, 0))
    tl.store(o_ptr + N + tl.arange(0, M), tl.sum(total, 1))


def pipeline(step: str, options: dict[str, Any]) -> str:
    made = pipeline_for(GPUTarget("cuda", 80, 32), CUDAOptions(**options))
    for name in ("minitriton-tile-loops", "minitriton-split-chains"):
        made = made.skip(name)
    for each in reversed(step.split(",")) if step else ():
        made = made.insert(each, after="minitriton-sink-widening-casts")
    return str(made)


@pytest.mark.parametrize(
    ("step", "parts"),
    [
        ("minitriton-tile-loops{loop=2 least-need=0}", 2),
        ("minitriton-tile-loops{loop=2 least-need=0 axis=1}", 2),
        ("minitriton-tile-loops{epilogue=2}", 1),
        (
            "minitriton-tile-loops{loop=2 least-need=0 epilogue=2},minitriton-split-chains{least-need=0 read-ahead=always}",
            2,
        ),
    ],
)
def test_attention_keeps_its_bits(monkeypatch: pytest.MonkeyPatch, step: str, parts: int) -> None:
    monkeypatch.setenv("TRITON_OVERRIDE_ARCH", "sm80")
    options: dict[str, Any] = {"num_warps": 1, "num_stages": 3}
    rng, length = np.random.default_rng(0), 96
    q, k, v = (rng.standard_normal((rows, 32)).astype(np.float16) for rows in (32, length, length))

    def result(step: str) -> tuple[np.ndarray, Any]:
        o = np.zeros((32, 32), np.float32)
        kernel = attention[(1,)](q, k, v, o, length, M=32, N=32, D=32, **options, pipeline=pipeline(step, options))
        return o, kernel

    (before, plain), (after, kernel) = result(""), result(step)
    assert kernel.asm["ttgir"] != plain.asm["ttgir"]
    assert kernel.asm["ttgir"].partition("scf.for")[2].count("tt.dot") >= 2 * parts - (parts == 2 and "axis=1" in step)
    assert before.tobytes() == after.tobytes()
    score = q.astype(np.float64) @ k.T
    p = np.exp2(score - score.max(1, keepdims=True))
    assert np.abs(after - p @ v / p.sum(1, keepdims=True)).max() < 1e-2


@pytest.mark.parametrize("axis", [0, 1])
def test_sums_of_loaded_tiles_keep_their_bits(axis: int) -> None:
    options: dict[str, Any] = {"num_warps": 1, "num_stages": 1}
    x = np.random.default_rng(1).standard_normal((16, 512)).astype(np.float16)
    found: list[np.ndarray] = []
    for step in ("", f"minitriton-tile-loops{{loop=2 least-need=0 axis={axis}}}"):
        o = np.zeros(520, np.float32)
        kernel = sums[(1,)](x, o, 16, M=8, N=512, **options, pipeline=pipeline(step, options))
        found.append(o)
    assert found[0].tobytes() == found[1].tobytes()
    assert "tt.join" in kernel.asm["ttgir"]
    wide = x.astype(np.float64)
    wide = (wide / (1 + np.exp(-wide))).reshape(2, 8, 512).sum(0)
    assert np.allclose(found[1], np.concatenate((wide.sum(0), wide.sum(1))), rtol=1e-4, atol=1e-4)
