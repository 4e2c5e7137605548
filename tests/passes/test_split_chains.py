"""`minitriton-split-chains` reads operands part by part between the parts of a dot, an iteration ahead if asked to, and gives the same bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from filecheck_ir import check, run

import minitriton as triton
import minitriton.language as tl
from minitriton.passes.chains.split_chains import SplitChains
from minitriton.pipeline.pipelines import pipeline_for
from minitriton.target import CUDAOptions, GPUTarget

TYPES = """
    #mma = #ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [2, 2], instrShape = [16, 8]}>
    #a = #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>
    #b = #ttg.dot_op<{opIdx = 1, parent = #mma, kWidth = 2}>
    #shared = #ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0]}>
    #smem = #ttg.shared_memory
"""
HEAD = 'module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:80", "ttg.threads-per-warp" = 32 : i32} {'
ALL = SplitChains(least_need=0)

STRAIGHT = f"""{TYPES}
    {HEAD}
      tt.func public @f(%x: !ttg.memdesc<64x32xf16, #shared, #smem, mutable>, %y: !ttg.memdesc<32x64xi8, #shared, #smem, mutable>, %c: tensor<64x64xf32, #mma>) -> tensor<64x64xf32, #mma> {{
        %a = ttg.local_load %x : !ttg.memdesc<64x32xf16, #shared, #smem, mutable> -> tensor<64x32xf16, #a>
        %b = ttg.local_load %y : !ttg.memdesc<32x64xi8, #shared, #smem, mutable> -> tensor<32x64xi8, #b>
        %w = arith.sitofp %b : tensor<32x64xi8, #b> to tensor<32x64xf16, #b>
        MIDDLE
        %d = tt.dot %a, %w, %c : tensor<64x32xf16, #a> * tensor<32x64xf16, #b> -> tensor<64x64xf32, #mma>
        tt.return %d : tensor<64x64xf32, #mma>
      }}
    }}
"""


def test_loads_and_casts_of_the_next_part_stand_between_the_dots() -> None:
    check(
        STRAIGHT.replace("MIDDLE", ""),
        ALL,
        """
        // CHECK: ttg.memdesc_subslice %arg0[0, 0]
        // CHECK-NEXT: %[[A0:.*]] = ttg.local_load {{.*}} -> tensor<64x16xf16
        // CHECK-NEXT: ttg.memdesc_subslice %arg1[0, 0]
        // CHECK-NEXT: ttg.local_load {{.*}} -> tensor<16x64xi8
        // CHECK-NEXT: %[[B0:.*]] = arith.sitofp
        // CHECK: ttg.memdesc_subslice %arg0[0, 16]
        // CHECK: ttg.memdesc_subslice %arg1[16, 0]
        // CHECK: arith.sitofp
        // CHECK-NEXT: %[[D0:.*]] = tt.dot %[[A0]], %[[B0]], %arg2
        // CHECK-NEXT: tt.dot {{.*}}, {{.*}}, %[[D0]]
        // CHECK-NEXT: tt.return
        """,
    )


@pytest.mark.parametrize(
    "middle",
    [
        "ttg.local_store %w2, %y : tensor<32x64xi8, #b> -> !ttg.memdesc<32x64xi8, #shared, #smem, mutable>",
        "ttg.local_store %a, %x : tensor<64x32xf16, #a> -> !ttg.memdesc<64x32xf16, #shared, #smem, mutable>",
    ],
)
def test_loads_do_not_move_past_a_write(middle: str) -> None:
    source = STRAIGHT.replace(
        "MIDDLE", "%w2 = arith.fptosi %w : tensor<32x64xf16, #b> to tensor<32x64xi8, #b>\n" + middle
    )
    assert "memdesc_subslice" not in run(source, ALL)


def test_kernels_whose_operands_fit_are_left_alone() -> None:
    assert "memdesc_subslice" not in run(STRAIGHT.replace("MIDDLE", ""), SplitChains())


def test_results_that_take_all_registers_leave_nothing_to_order() -> None:
    source = STRAIGHT.replace("MIDDLE", "").replace("64x64x", "ROWSx128x").replace("32x64x", "32x128x")
    narrow, wide = (source.replace("64x32x", f"{m}x32x").replace("ROWS", str(m)) for m in (128, 256))
    assert "memdesc_subslice" in run(narrow, ALL) and "memdesc_subslice" not in run(wide, ALL)


def test_no_part_is_smaller_than_what_an_instruction_pairs() -> None:
    wide = STRAIGHT.replace("kWidth = 2", "kWidth = 4").replace("MIDDLE", "")
    assert "memdesc_subslice" not in run(wide, ALL), "32 of K are one step of two runs of four"


def test_a_value_that_something_else_needs_is_computed_once() -> None:
    other = "%z = arith.addf %w, %w : tensor<32x64xf16, #b>"
    text = run(STRAIGHT.replace("MIDDLE", other), ALL)
    assert text.count("arith.sitofp") == 1
    assert text.count("tt.dot") == 2


@triton.jit
def matmul(a_ptr, b_ptr, c_ptr, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, WAY: tl.constexpr):
    m, n, i = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    total = tl.zeros((M, N), tl.float32)
    other = tl.zeros((M, N), tl.float32)
    for start in range(0, k, K):
        a = tl.load(a_ptr + m[:, None] * k + start + i[None, :])
        b = tl.load(b_ptr + (start + i)[:, None] * N + n[None, :]).to(tl.float16)
        if WAY == 2:
            b = b * 0.5 + 1
        total = tl.dot(a, b, total)
        if WAY == 1:
            other = tl.dot(a, tl.load(b_ptr + (start + i)[:, None] * N + (n ^ 1)[None, :]).to(tl.float16), other)
        if WAY == 3:
            total = tl.dot(
                (total * 0.01).to(tl.float16), tl.load(b_ptr + n[:, None] * N + n[None, :]).to(tl.float16), total
            )
    tl.store(c_ptr + m[:, None] * N + n[None, :], total + other)


def pipeline(arch: int, step: str, options: dict[str, Any]) -> str:
    made = pipeline_for(GPUTarget("cuda", arch, 32), CUDAOptions(**options)).skip("minitriton-split-chains")
    return str(made.insert(step, after="minitriton-sink-widening-casts") if step else made)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("way", range(4), ids=["plain", "shared", "scaled", "chained"])
@pytest.mark.parametrize("kind", [np.float16, np.int8])
@pytest.mark.parametrize("stages", [1, 3])
@pytest.mark.parametrize(
    "step",
    ["{least-need=0 read-ahead=never}", "{least-need=0 parts=2 read-ahead=never}", "{least-need=0 read-ahead=always}"],
)
def test_bits_stay(monkeypatch: pytest.MonkeyPatch, way: int, kind: type, stages: int, step: str) -> None:
    monkeypatch.setenv("TRITON_OVERRIDE_ARCH", "sm80")
    rng = np.random.default_rng(way)
    deep = 32 if kind is np.float16 else 128
    k = 2 * deep
    options: dict[str, Any] = {"num_warps": 2, "num_stages": stages}
    a, b = rng.standard_normal((32, k)).astype(np.float16), (4 * rng.standard_normal((k, 32))).astype(kind)

    def result(step: str) -> tuple[np.ndarray, Any]:
        c = np.zeros((32, 32), np.float32)
        kernel = matmul[(1,)](a, b, c, k, M=32, N=32, K=deep, WAY=way, **options, pipeline=pipeline(80, step, options))
        return c, kernel

    (before, _), (after, kernel) = result(""), result("minitriton-split-chains" + step)
    assert "memdesc_subslice" in kernel.asm["ttgir"]
    assert before.tobytes() == after.tobytes()
    if way == 0:
        wanted = a.astype(np.float64) @ b
        assert np.abs(after - wanted).max() <= 1e-2 * np.abs(wanted).max()


def test_an_iteration_reads_for_the_next_one_before_it_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    """One wait an iteration, and one barrier, though reads of one buffer and copies to another meet there."""
    monkeypatch.setenv("TRITON_OVERRIDE_ARCH", "sm80")
    options: dict[str, Any] = {"num_warps": 2, "num_stages": 3}
    a, b, c = np.ones((32, 128), np.float16), np.ones((128, 32), np.float16), np.zeros((32, 32), np.float32)
    kernels = [
        matmul[(1,)](a, b, c, 128, M=32, N=32, K=32, WAY=0, **options, pipeline=pipeline(80, step, options))
        for step in (
            "minitriton-split-chains{least-need=0 read-ahead=never}",
            "minitriton-split-chains{least-need=0 read-ahead=always}",
        )
    ]
    assert (c == 128).all()
    bodies = [kernel.asm["ttgir"].partition("scf.for")[2].partition("scf.yield")[0] for kernel in kernels]
    assert [body.count("ttg.async_wait") for body in bodies] == [1, 1]
    assert [body.count("num = 0") for body in bodies] == [0, 1], "it waits before its own two copies"
    loops = [kernel.asm["ptx"].partition("$L__BB0_")[2].rpartition("bra")[0] for kernel in kernels]
    assert [loop.count("bar.sync") for loop in loops] == [loops[0].count("bar.sync"), loops[0].count("bar.sync") - 1]


@pytest.mark.parametrize(
    ("rows", "columns", "depth", "stages", "is_ahead"),
    [
        (64, 128, 64, 3, False),
        (64, 64, 64, 3, True),
        (32, 64, 32, 3, False),
        (32, 32, 128, 3, False),
        (32, 32, 128, 4, True),
    ],
)
def test_plain_dots_read_ahead_unless_that_costs_a_cta_or_shows_a_load(
    rows: int, columns: int, depth: int, stages: int, is_ahead: bool
) -> None:
    """64x128x64 needs 160 registers for accumulators and whole operands; of 64x64x64 shared memory holds no more CTAs either way. 32x64x32 takes
    less time than half a load takes, of all CTAs of an SM."""
    options: dict[str, Any] = {"num_warps": 4, "num_stages": stages}
    types = {"a_ptr": "*fp16", "b_ptr": "*fp16", "c_ptr": "*fp32", "k": "i32"}
    constants = {"M": rows, "N": columns, "K": depth, "WAY": 0}
    attributes = {(index,): [["tt.divisibility", 16]] for index in range(4)}
    text = pipeline(80, "minitriton-split-chains", options)
    source = triton.compiler.ASTSource(matmul, types, constants, attributes)
    made = triton.compile(source, GPUTarget("cuda", 80, 32), {**options, "pipeline": text}, assemble=False)
    assert "memdesc_subslice" in made.asm["ttgir"]
    assert ("apart-until-wait" in made.asm["ttgir"]) == is_ahead
