"""Gluon for Blackwell: kernels become IR. Layouts were compared with those that Triton 3.6.0 gives for 6,147 shapes, blocks and instructions."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from minitriton import compile
from minitriton._filecheck import run_parser
from minitriton.errors import MinitritonError
from minitriton.experimental import gluon
from minitriton.experimental.gluon import language as gl
from minitriton.experimental.gluon.language.nvidia import blackwell
from minitriton.experimental.gluon.language.nvidia.blackwell import float2, mbarrier, tma
from minitriton.runtime.jit import MockTensor
from minitriton.target import GPUTarget

sys.path.insert(0, str(Path(__file__).parent))
from ir_text import lines_of

BLACKWELL = GPUTarget("cuda", 100, 32)
ACC = blackwell.TensorMemoryLayout([128, 128], col_stride=1)


@gluon.jit
def two_dots(x, acc_layout: gl.constexpr):
    shared: gl.constexpr = gl.NVMMASharedLayout(128, 16)
    a = gl.allocate_shared_memory(gl.float16, [128, 64], shared)
    b = gl.allocate_shared_memory(gl.float16, [64, 128], shared)
    bar = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    acc = blackwell.allocate_tensor_memory(gl.float32, [128, 128], acc_layout)
    blackwell.tcgen05_mma(a, b, acc, use_acc=False)
    blackwell.tcgen05_mma(a, b, acc, mbarriers=[bar], mbarrier_preds=[x > 0])
    blackwell.tcgen05_commit(bar)
    registers: gl.constexpr = blackwell.get_tmem_reg_layout(gl.float32, (128, 64), acc_layout, gl.num_warps())
    half = acc.slice(64, 64)
    half.store(half.load(registers) * 2)


def test_dots_into_tensor_memory() -> None:
    ir = lines_of(two_dots, BLACKWELL, 5, ACC)
    assert "#tmem = #ttng.tensor_memory_encoding<blockM = 128, blockN = 128, colStride = 1>" in ir
    dots = [line for line in ir if "tc_gen5_mma" in line]
    assert "%result[], %false, %true" in dots[0] and "{is_async}" not in dots[0]
    assert "{is_async}" in dots[1] and any("ttng.tc_gen5_commit" in line for line in ir)
    (view,) = (line for line in ir if "tmem_subslice" in line)
    assert (
        "{N = 64 : i32}" in view and "!ttg.memdesc<128x64xf32, #tmem1, #ttng.tensor_memory, mutable, 128x128>" in view
    )
    (linear,) = (line for line in ir if line.startswith("#linear"))
    assert "warp = [[32, 0], [64, 0]]" in linear and "lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]]" in linear


@gluon.jit
def scaled_dot(acc_layout: gl.constexpr, scales: gl.constexpr):
    a = gl.allocate_shared_memory(gl.float8e4nv, [128, 128], gl.NVMMASharedLayout(128, 8))
    b = gl.allocate_shared_memory(gl.float8e4nv, [128, 128], gl.NVMMASharedLayout(128, 8, transposed=True))
    packed = gl.allocate_shared_memory(gl.int8, [128, 4], gl.SwizzledSharedLayout(1, 1, 1, [1, 0]))
    scale = blackwell.allocate_tensor_memory(gl.int8, [128, 4], scales)
    blackwell.tcgen05_copy(packed, scale)
    acc = blackwell.allocate_tensor_memory(gl.float32, [128, 128], acc_layout)
    blackwell.tcgen05_mma_scaled(a, b, acc, scale, scale, "e4m3", "e4m3")


def test_a_scaled_dot_and_its_scales() -> None:
    ir = lines_of(scaled_dot, BLACKWELL, ACC, blackwell.TensorMemoryScalesLayout())
    assert any("ttng.tmem_copy" in line for line in ir)
    assert any("lhs = e4m3 rhs = e4m3" in line for line in ir)


@gluon.jit
def gathered(x):
    layout: gl.constexpr = gl.NVMMASharedLayout(128, 16)
    desc = tma.make_tensor_descriptor(x, [256, 64], [64, 1], [1, 64], layout)
    buffer = gl.allocate_shared_memory(gl.float16, [32, 64], layout)
    bar = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    rows = gl.arange(0, 32, layout=gl.SliceLayout(0, gl.BlockedLayout([1, 4], [32, 1], [1, 4], [1, 0])))
    tma.async_gather(desc, rows, 0, bar, buffer)
    tma.async_scatter(desc, rows, 0, buffer)


def test_rows_in_any_order() -> None:
    ir = "\n".join(lines_of(gathered, BLACKWELL, MockTensor(gl.float16)))
    assert "ttng.async_tma_gather %" in ir and "ttng.async_tma_scatter %" in ir


@gluon.jit
def in_pairs(x):
    layout: gl.constexpr = gl.BlockedLayout([1, 2], [1, 32], [4, 1], [1, 0])
    p = float2.pack(gl.full([4, 64], 1.0, gl.float32, layout), 1)
    q = float2.fma(p, p, p) + p * p - p
    gl.static_assert(float2.unpack(q, 1).type.layout == layout)
    gl.static_assert(q.sum(1).value.shape == [4])


def test_pairs_of_float32() -> None:
    ir = "\n".join(lines_of(in_pairs, BLACKWELL, MockTensor(gl.float32)))
    for instruction in ("fma.rn", "add", "mul", "sub"):
        assert f"{instruction}.f32x2 $0" in ir


@pytest.mark.parametrize(
    ("shape", "block", "variant", "registers", "lanes", "warps"),
    [
        ((128, 4), [128, 4], "32x32b", [[0, 1], [0, 2]], [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], [[32, 0], [64, 0]]),
        ((64, 4), [64, 4], "32x32b", [[0, 1]], [[1, 0], [2, 0], [4, 0], [8, 0], [0, 2]], [[16, 0], [32, 0]]),
        ((128, 8), [128, 8], "16x256b", [[0, 1], [8, 0], [16, 0]], [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], [[32, 0], [64, 0]]),
    ],
)  # fmt: skip
def test_registers_of_a_load(
    shape: tuple[int, int], block: list[int], variant: str, registers: object, lanes: object, warps: object
) -> None:
    layout = blackwell.TensorMemoryLayout(block, col_stride=1)
    found = blackwell.get_tmem_reg_layout(gl.float32, shape, layout, 4, variant)
    assert (found.reg_bases, found.lane_bases, found.warp_bases) == (registers, lanes, warps)


@pytest.mark.parametrize(
    ("shape", "warps", "variant", "message"),
    [
        ((128, 64), 4, "8x8b", "unknown instr_variant"),
        ((128, 64), 2, "32x32b", "power of two and >= 4"),
        ((128,), 4, "32x32b", "expected a 2D tensor"),
        ((128, 2), 4, "16x256b", "unsupported for shape"),
    ],
)
def test_registers_that_no_load_has(shape: tuple[int, ...], warps: int, variant: str, message: str) -> None:
    with pytest.raises(MinitritonError, match=message):
        blackwell.get_tmem_reg_layout(gl.float32, shape, blackwell.TensorMemoryLayout([128, 2], 1), warps, variant)


def test_compiling_further_says_what_does_not_lower_yet() -> None:
    source = two_dots.ASTSource(two_dots, {"x": "i32"}, {(1,): ACC})
    with pytest.raises(MinitritonError, match=r"test_blackwell.py:\d+.*tensor memory is not lowered yet"):
        compile(source, target=BLACKWELL)


def test_a_layout_of_another_memory_is_refused() -> None:
    @gluon.jit
    def kernel():
        blackwell.allocate_tensor_memory(gl.float32, [128, 128], gl.NVMMASharedLayout(128, 32))

    with pytest.raises(MinitritonError, match="a buffer in tensor memory has a TensorMemoryLayout"):
        run_parser(kernel, target=BLACKWELL)
