"""Gluon for AMD's GPUs: kernels become IR, and assembly that the emulator runs. Layouts were compared with those that Triton 3.6.0 gives for 3,894 shapes and instructions."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minitriton import compile
from minitriton.errors import MinitritonError
from minitriton.experimental import gluon
from minitriton.experimental.gluon import language as gl
from minitriton.experimental.gluon.amd.gfx1250 import TensorDescriptor
from minitriton.experimental.gluon.language import amd
from minitriton.experimental.gluon.language.amd import cdna3, cdna4, gfx1250, rdna3, rdna4
from minitriton.layouts.to_linear import to_linear_layout
from minitriton.runtime.jit import MockTensor
from minitriton.target import GPUTarget

sys.path.insert(0, str(Path(__file__).parent))
from ir_text import lines_of

CDNA3, CDNA4 = GPUTarget("hip", "gfx942", 64), GPUTarget("hip", "gfx950", 64)
RDNA4, GFX1250 = GPUTarget("hip", "gfx1200", 32), GPUTarget("hip", "gfx1250", 32)


@gluon.jit
def buffers(x, y, n):
    layout: gl.constexpr = gl.BlockedLayout([4], [64], [4], [0])
    i = gl.arange(0, 1024, layout=layout)
    v = cdna3.buffer_load(x, i, mask=i < n, other=0.0, cache=".cg")
    cdna3.buffer_store(v, y, i)
    cdna3.buffer_atomic_add(y, i, v, mask=i < n, scope="cta", sem="relaxed")


def test_buffer_instructions() -> None:
    ir = "\n".join(lines_of(buffers, CDNA3, MockTensor(gl.float32), MockTensor(gl.float32), 100))
    assert 'ttg.target = "hip:gfx942", "ttg.threads-per-warp" = 64 : i32' in ir
    assert "amdg.buffer_load %arg0[" in ir and " cacheModifier = cg : tensor<1024xf32, #blocked>" in ir
    assert "amdg.buffer_store %" in ir and "amdg.buffer_atomic_rmw fadd, relaxed, cta, %" in ir


@gluon.jit
def atomic(x):
    i = gl.arange(0, 64, layout=gl.BlockedLayout([1], [64], [1], [0]))
    cdna4.buffer_atomic_add(x, i, 1)


@gluon.jit
def atomic_of_cdna3(x):
    i = gl.arange(0, 64, layout=gl.BlockedLayout([1], [64], [1], [0]))
    cdna3.buffer_atomic_add(x, i, 1.0)


def test_what_no_atomic_adds() -> None:
    with pytest.raises(MinitritonError, match=r"test_amd.py:\d+.*add with int32 is not supported"):
        lines_of(atomic, CDNA4, MockTensor(gl.int32), num_warps=1)
    with pytest.raises(MinitritonError, match="add with bf16 is not supported on CDNA3"):
        lines_of(atomic_of_cdna3, CDNA3, MockTensor(gl.bfloat16), num_warps=1)


@gluon.jit
def dot(result: gl.constexpr, K: gl.constexpr, is_mfma: gl.constexpr):
    a = gl.full([64, 32], 1.0, gl.float16, gl.DotOperandLayout(0, result, K))
    b = gl.full([32, 64], 1.0, gl.float16, gl.DotOperandLayout(1, result, K))
    acc = gl.zeros([64, 64], gl.float32, result)
    if is_mfma:
        cdna3.mfma(a, b, acc)
    else:
        rdna4.wmma(a, b, acc)


def test_dots() -> None:
    mfma = amd.AMDMFMALayout(3, [32, 32, 8], True, [2, 2], tiles_per_warp=[2, 1])
    wmma = amd.AMDWMMALayout(2, False, [2, 2])
    ir = lines_of(dot, CDNA3, mfma, 4, True)
    assert ir[0] == (
        "#mma = #ttg.amd_mfma<{version = 3, warpsPerCTA = [2, 2], instrShape = [32, 32, 8], isTransposed = true, tilesPerWarp = [2, 1]}>"
    )
    ir = lines_of(dot, RDNA4, wmma, 8, False)
    assert ir[0] == "#mma = #ttg.amd_wmma<{version = 2, isTranspose = false, warpsPerCTA = [2, 2]}>"
    assert any("tt.dot %" in line and "inputPrecision" not in line for line in ir)
    with pytest.raises(MinitritonError, match="AMDWMMALayout with version 2"):
        lines_of(dot, RDNA4, amd.AMDWMMALayout(1, False, [2, 2]), 8, False)


@gluon.jit
def scaled(acc_layout: gl.constexpr, is_mfma: gl.constexpr, operands: gl.constexpr):
    a = gl.full([32, 64], 0, gl.uint8, gl.DotOperandLayout(0, operands, 16))
    b = gl.full([64, 32], 0, gl.uint8, gl.DotOperandLayout(1, operands, 16))
    acc = gl.zeros([32, 32], gl.float32, acc_layout)
    if is_mfma:
        cdna4.mfma_scaled(a, None, "e2m1", b, 3, "e2m1", acc)
    else:
        gfx1250.wmma_scaled(a, None, "e2m1", b, 3, "e2m1", acc)


def test_scaled_dots_and_the_layouts_of_scales() -> None:
    mfma = amd.AMDMFMALayout(4, [32, 32, 64], True, [1, 1])
    scales = cdna4.get_mfma_scale_layout(gl.DotOperandLayout(0, mfma, 16), [32, 4])
    assert (scales.reg_bases, scales.lane_bases[-1], scales.warp_bases) == ([[0, 2]], [0, 1], [])
    ir = "\n".join(lines_of(scaled, CDNA4, mfma, True, mfma, num_warps=1))
    assert "dense<127> : tensor<32x4xi8, #linear>" in ir and "dense<3> : tensor<32x4xi8, #linear>" in ir
    wmma, packed = (amd.AMDWMMALayout(3, True, [1, 1], [16, 16, k]) for k in (128, 64))
    assert any("tt.dot_scaled" in line for line in lines_of(scaled, GFX1250, wmma, False, packed, num_warps=1))
    with pytest.raises(MinitritonError, match=r"acc must have instr_shape \[16, 16, 128\]"):
        lines_of(scaled, GFX1250, packed, False, packed, num_warps=1)


@gluon.jit
def copies(x):
    layout: gl.constexpr = gl.BlockedLayout([1, 8], [32, 2], [4, 1], [1, 0])
    i = gl.arange(0, 128, layout=gl.SliceLayout(1, layout))[:, None]
    offsets = i * 16 + gl.arange(0, 16, layout=gl.SliceLayout(0, layout))[None, :]
    buffer = gl.allocate_shared_memory(gl.float16, [128, 16], gl.SwizzledSharedLayout(1, 1, 1, [1, 0]))
    cdna4.async_copy.global_load_to_shared(buffer, x + offsets)
    cdna4.async_copy.buffer_load_to_shared(buffer, x, offsets)
    cdna4.async_copy.buffer_load_to_shared(buffer, x, offsets, mask=i < 64, other=0.0)
    cdna4.async_copy.commit_group()
    cdna4.async_copy.wait_group(0)
    cdna4.async_copy.load_shared_relaxed(buffer, layout)


def test_copies_to_shared_memory() -> None:
    ir = "\n".join(lines_of(copies, CDNA4, MockTensor(gl.float16)))
    assert "ttg.async_copy_global_to_local" in ir and "ttg.amdg.syncedViaAsyncWait = true" in ir
    assert ": <f16>[tensor<128x16xi32, #blocked>]  -> <128x16xf16, #shared, #smem, mutable>" in ir
    assert ": <f16>[tensor<128x16xi32, #blocked>] tensor<128x16xf16, #blocked> -> <128x16xf16" in ir


@gluon.jit
def blocks(x, described):
    layout: gl.constexpr = gl.PaddedSharedLayout.with_identity_for([[32, 4]], [16, 64], [1, 0])
    desc = gfx1250.tdm.make_tensor_descriptor(x, (32, 128), (128, 1), (16, 64), layout)
    buffer = gl.allocate_shared_memory(gl.float16, [16, 64], layout)
    bar = gl.allocate_shared_memory(gl.int64, [1], gfx1250.mbarrier.MBarrierLayout())
    gfx1250.mbarrier.init(bar, count=1)
    gfx1250.tdm.async_load(desc, [0, 64], buffer, mbarrier=bar)
    gfx1250.tdm.async_load(described, [16, 0], buffer)
    gfx1250.mbarrier.wait(bar, gfx1250.mbarrier.arrive(bar))
    gfx1250.tdm.async_store(desc, [0, 64], buffer)
    gfx1250.tdm.async_wait(0)
    gfx1250.async_copy.mbarrier_arrive(bar)


def test_copies_of_blocks() -> None:
    layout = gl.PaddedSharedLayout.with_identity_for([[32, 4]], [16, 64], [1, 0])
    described = TensorDescriptor.from_tensor(MockTensor(gl.float16, (32, 128)), [16, 64], layout)
    ir = "\n".join(lines_of(blocks, GFX1250, MockTensor(gl.float16), described))
    for op in (
        "init_barrier",
        "arrive_barrier",
        "wait_barrier",
        "async_tdm_copy_local_to_global",
        "async_tdm_wait  {num = 0",
    ):
        assert f"amdg.{op}" in ir
    assert ", barrier = %" in ir and ir.count("amdg.async_tdm_copy_global_to_local") == 2
    with pytest.raises(AssertionError, match="max_phase"):
        TensorDescriptor.from_tensor(MockTensor(gl.float16, (32, 128)), [16, 64], gl.SwizzledSharedLayout(8, 1, 8, [1, 0]))  # fmt: skip


@pytest.mark.parametrize(
    ("layout", "registers", "lanes"),
    [
        (amd.AMDMFMALayout(3, [16, 16, 16], False, [1, 1]), [(1, 0), (2, 0)], [(0, 1), (0, 2), (0, 4), (0, 8), (4, 0), (8, 0)]),
        (amd.AMDWMMALayout(1, False, [1, 1]), [(2, 0), (4, 0), (8, 0)], [(0, 1), (0, 2), (0, 4), (0, 8), (1, 0)]),
        (amd.AMDWMMALayout(2, True, [1, 1]), [(0, 1), (0, 2), (0, 4)], [(1, 0), (2, 0), (4, 0), (8, 0), (0, 8)]),
    ],
)  # fmt: skip
def test_where_the_elements_of_a_result_are(layout: amd.AMDMFMALayout, registers: object, lanes: object) -> None:
    bases = to_linear_layout(layout.encoding(), (16, 16)).bases
    assert (list(bases["register"]), list(bases["lane"])) == (registers, lanes)


@gluon.jit
def matmul(
    a,
    b,
    c,
    M: gl.constexpr,
    N: gl.constexpr,
    K: gl.constexpr,
    blocked: gl.constexpr,
    result: gl.constexpr,
    k_width: gl.constexpr,
    kind: gl.constexpr,
):
    m, n = gl.arange(0, M, layout=gl.SliceLayout(1, blocked)), gl.arange(0, N, layout=gl.SliceLayout(0, blocked))
    k, rows = gl.arange(0, K, layout=gl.SliceLayout(0, blocked)), gl.arange(0, K, layout=gl.SliceLayout(1, blocked))
    x = cdna3.buffer_load(a, m[:, None] * K + k[None, :])
    y = cdna3.buffer_load(b, rows[:, None] * N + n[None, :])
    left = gl.convert_layout(x, gl.DotOperandLayout(0, result, k_width))
    right = gl.convert_layout(y, gl.DotOperandLayout(1, result, k_width))
    acc = gl.zeros([M, N], gl.float32, layout=result)
    if kind == "mfma":
        acc = cdna3.mfma(left, right, acc)
    elif kind == "rdna3":
        acc = rdna3.wmma(left, right, acc)
    else:
        acc = rdna4.wmma(left, right, acc)
    cdna3.buffer_store(gl.convert_layout(acc, blocked), c, m[:, None] * N + n[None, :])


@pytest.mark.parametrize(
    ("arch", "kind", "layout", "k_width", "instruction"),
    [
        ("gfx942", "mfma", amd.AMDMFMALayout(3, [32, 32, 8], True, [2, 2]), 4, "v_mfma_f32_32x32x8_f16"),
        ("gfx950", "mfma", amd.AMDMFMALayout(4, [16, 16, 32], True, [4, 1]), 8, "v_mfma_f32_16x16x32_f16"),
        ("gfx1100", "rdna3", amd.AMDWMMALayout(1, True, [2, 2]), 16, "v_wmma_f32_16x16x16_f16"),
        ("gfx1200", "rdna4", amd.AMDWMMALayout(2, False, [2, 2]), 8, "v_wmma_f32_16x16x16_f16"),
    ],
)
def test_a_matmul_runs_on_the_emulator(arch: str, kind: str, layout: Any, k_width: int, instruction: str) -> None:
    lanes = 64 if arch.startswith("gfx9") else 32
    blocked = gl.BlockedLayout([1, 8], [lanes // 4, 4], [4, 1], [1, 0])
    constants = {"M": 64, "N": 64, "K": 32, "blocked": blocked, "result": layout, "k_width": k_width, "kind": kind}
    source = matmul.ASTSource(matmul, {"a": "*fp16", "b": "*fp16", "c": "*fp32"}, constants)
    kernel = compile(source, target=GPUTarget("hip", arch, lanes))
    assert instruction in kernel.asm["amdgcn"]
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-4, 4, shape).astype(np.float16) for shape in ((64, 32), (32, 64)))
    c = np.zeros((64, 64), np.float32)
    kernel[(1,)](a, b, c)
    np.testing.assert_array_equal(c, a.astype(np.float32) @ b)
