"""A matmul of fp8 with a scale for each 128 elements along K: of a row of `a`, and of 128 rows of `b` (sm_90).

    python -m minitriton.run_as_triton minitriton_kernels/gluon/fp8_matmul.py

Tensor cores add products of fp8 with fewer bits than float32 has. So each step along K, 128 elements, is a dot of its own that starts from
zero; threads add it, times both scales, to an accumulator of float32 while the dot of the other warp group runs. The roles are those of
`persistent_matmul.py`. `b` is given by columns, as `wgmma` reads fp8 only where K is contiguous.
"""

import numpy as np
import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    mbarrier,
    tma,
    warpgroup_mma,
    warpgroup_mma_wait,
)
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

from minitriton_kernels.gluon.persistent_matmul import tile_of

STEP = 128
"""Elements along K that share a scale."""


@gluon.jit
def produce(a, b, m, n, k, a_buffers, b_buffers, full, empty, GROUP: gl.constexpr):
    """Loads the steps of all tiles of this program."""
    STAGES: gl.constexpr = b_buffers.shape[0]
    HALF: gl.constexpr = a.block_type.shape[0]
    BK: gl.constexpr = a.block_type.shape[1]
    BN: gl.constexpr = b.block_type.shape[0]
    stage, phase = gl.to_tensor(0), gl.to_tensor(1)
    for tile in range(gl.program_id(0), gl.cdiv(m, 2 * HALF) * gl.cdiv(n, BN), gl.num_programs(0)):
        row, column = tile_of(tile, m, n, 2 * HALF, BN, GROUP)
        for at in range(0, k, BK):
            mbarrier.wait(empty.index(stage), phase)
            bar = full.index(stage)
            mbarrier.expect(bar, 2 * a.block_type.nbytes + b.block_type.nbytes)
            tma.async_copy_global_to_shared(a, [row, at], bar, a_buffers.index(2 * stage))
            tma.async_copy_global_to_shared(b, [column, at], bar, b_buffers.index(stage))
            tma.async_copy_global_to_shared(a, [row + HALF, at], bar, a_buffers.index(2 * stage + 1))
            stage += 1
            phase = gl.where(stage == STAGES, phase ^ 1, phase)
            stage = gl.where(stage == STAGES, 0, stage)


@gluon.jit
def as_fp8(buffer):
    """Bytes as numbers."""
    return buffer._reinterpret(gl.float8e4nv, buffer.type.shape, buffer.type.layout)


@gluon.jit
def consume(c, a_scales, b_scales, m, n, k, a_buffers, b_buffers, full, empty, out, half, GROUP: gl.constexpr):
    """Multiplies half number `half` of each tile, and stores it."""
    STAGES: gl.constexpr = b_buffers.shape[0]
    HALF: gl.constexpr = a_buffers.shape[1]
    BK: gl.constexpr = a_buffers.shape[2]
    BN: gl.constexpr = b_buffers.shape[1]
    layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, BN, 32])
    none = gl.zeros([HALF, BN], gl.float32, layout)
    stage, phase = gl.to_tensor(0), gl.to_tensor(0)
    for tile in range(gl.program_id(0), gl.cdiv(m, 2 * HALF) * gl.cdiv(n, BN), gl.num_programs(0)):
        row, column = tile_of(tile, m, n, 2 * HALF, BN, GROUP)
        row += half * HALF
        rows = row + gl.arange(0, HALF, gl.SliceLayout(1, layout))
        acc = gl.zeros([HALF, BN], gl.float32, layout)
        for step in range(gl.cdiv(k, BK)):
            mbarrier.wait(full.index(stage), phase)
            a_tile = as_fp8(a_buffers.index(2 * stage + half))
            b_tile = as_fp8(b_buffers.index(stage)).permute([1, 0])
            dot = warpgroup_mma(a_tile, b_tile, none, use_acc=False, is_async=True)
            scale = gl.load(a_scales + step * m + rows, mask=rows < m)
            scale = scale * gl.load(b_scales + step * gl.cdiv(n, BK) + column // BK)
            dot = warpgroup_mma_wait(0, deps=[dot])
            mbarrier.arrive(empty.index(stage))
            acc += dot * scale[:, None]
            stage += 1
            phase = gl.where(stage == STAGES, phase ^ 1, phase)
            stage = gl.where(stage == STAGES, 0, stage)
        buffer = out.index(half)
        tma.store_wait(0)
        buffer.store(acc.to(c.dtype))
        fence_async_shared()
        tma.async_copy_shared_to_global(c, [row, column], buffer)
    tma.store_wait(0)


@gluon.jit
def matmul_tiles(a, b, c, a_scales, b_scales, m, n, k, STAGES: gl.constexpr, GROUP: gl.constexpr):
    """c = a @ b.T, scaled, the tiles number program_id, program_id + num_programs, ..."""
    HALF: gl.constexpr = a.block_type.shape[0]
    BK: gl.constexpr = a.block_type.shape[1]
    BN: gl.constexpr = b.block_type.shape[0]
    a_buffers = gl.allocate_shared_memory(a.dtype, [2 * STAGES, HALF, BK], a.layout)
    b_buffers = gl.allocate_shared_memory(b.dtype, [STAGES, BN, BK], b.layout)
    out = gl.allocate_shared_memory(c.dtype, [2, HALF, BN], c.layout)
    full = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    empty = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    for i in gl.static_range(STAGES):
        mbarrier.init(full.index(i), count=1)
        mbarrier.init(empty.index(i), count=2)
    first = (c, a_scales, b_scales, m, n, k, a_buffers, b_buffers, full, empty, out, 0, GROUP)
    second = (c, a_scales, b_scales, m, n, k, a_buffers, b_buffers, full, empty, out, 1, GROUP)
    loads = (a, b, m, n, k, a_buffers, b_buffers, full, empty, GROUP)
    gl.warp_specialize([(consume, first), (consume, second), (produce, loads)], [4, 1], [240, 24])


def described(x, block, dtype):
    """`x`, a matrix, by blocks."""
    return TensorDescriptor.from_tensor(x, block, gl.NVMMASharedLayout.get_default_for(block, dtype))


def matmul(a, b, a_scales, b_scales, c, stages=5, group=16, programs=132):
    """`c` becomes `a @ b.T`, scaled: `a` m x k and `b` n x k, uint8 with the bits of float8e4nv, `c` of float16.

    `a_scales` is k/128 x m and `b_scales` k/128 x n/128, of float32. NumPy arrays or tensors.
    """
    (m, k), n = a.shape, b.shape[0]
    blocks = (
        described(a, [64, STEP], gl.uint8),
        described(b, [STEP, STEP], gl.uint8),
        described(c, [64, STEP], gl.float16),
    )
    grid = (min(programs, triton.cdiv(m, 128) * triton.cdiv(n, STEP)),)
    return matmul_tiles[grid](*blocks, a_scales, b_scales, m, n, k, stages, group, num_warps=4, maxnreg=168)


def value(bits):
    """Numbers of float8e4nv (e4m3) as float32."""
    exponent, fraction = (bits >> 3 & 15).astype(np.int32), (bits & 7).astype(np.float32)
    size = np.where(exponent == 0, fraction / 8 * 2.0**-6, (1 + fraction / 8) * np.exp2(exponent - 7.0))
    return np.where(bits & 128, -size, size).astype(np.float32)


def main():
    rng = np.random.default_rng(0)
    m, n, k = 80, 128, 256
    a, b = (
        rng.integers(0, 0x40, shape, np.uint8) | rng.integers(0, 2, shape, np.uint8) << 7 for shape in ((m, k), (n, k))
    )
    a_scales, b_scales = (rng.random(shape, np.float32) + 0.5 for shape in ((k // STEP, m), (k // STEP, n // STEP)))
    c = np.zeros((m, n), np.float16)
    matmul(a, b, a_scales, b_scales, c, stages=2)
    np.testing.assert_allclose(c, expected(a, b, a_scales, b_scales), rtol=1e-2, atol=1e-2)
    print("the matmul agrees with NumPy's")


def expected(a, b, a_scales, b_scales):
    """The same in float32 by NumPy, of bytes."""
    x = value(a) * np.repeat(a_scales.T, STEP, 1)
    y = value(b) * np.repeat(np.repeat(b_scales.T, STEP, 0), STEP, 1)
    return x @ y.T


if __name__ == "__main__":
    main()
