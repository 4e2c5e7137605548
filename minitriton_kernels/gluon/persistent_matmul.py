"""A matmul whose programs stay: a producer warp that loads tiles by TMA, and two warp groups that multiply half a tile each (sm_90).

    python -m minitriton.run_as_triton minitriton_kernels/gluon/persistent_matmul.py

    producer          for each tile, each step along K: wait for an empty stage, start the loads of A (two halves) and B
    consumer 0, 1     for each tile, each step: wait for a full stage, start the MMA, release the stage of the MMA before;
                      then the epilogue, a slice at a time: registers, shared memory, a copy to global memory in the background

The producer runs ahead of the consumers across tiles, so the first stages of the next tile are loaded during the epilogue. Registers go
from the producer, which needs few, to the consumers (`setmaxnreg`). Programs take tiles in groups of rows: those that run at the same
time share what they read in the L2 cache.
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


@gluon.jit
def tile_of(tile, m, n, BM: gl.constexpr, BN: gl.constexpr, GROUP: gl.constexpr):
    """First row and column of a tile: GROUP rows of tiles at a time."""
    down, across = gl.cdiv(m, BM), gl.cdiv(n, BN)
    first = tile // (GROUP * across) * GROUP
    height = gl.minimum(down - first, GROUP)
    inside = tile % (GROUP * across)
    return (first + inside % height) * BM, inside // height * BN


@gluon.jit
def stage_before(stage, STAGES: gl.constexpr):
    """The neighbour in the ring."""
    return gl.where(stage == 0, STAGES, stage) - 1


@gluon.jit
def produce(a, b, c, k, a_buffers, b_buffers, full, empty, GROUP: gl.constexpr):
    """Loads the steps of all tiles of this program, one after the other, into the ring."""
    STAGES: gl.constexpr = b_buffers.shape[0]
    HALF: gl.constexpr = a.block_type.shape[0]
    BK: gl.constexpr = a.block_type.shape[1]
    BN: gl.constexpr = b.block_type.shape[1]
    m, n = c.shape[0], c.shape[1]
    tiles = gl.cdiv(m, 2 * HALF) * gl.cdiv(n, BN)
    stage, phase = gl.to_tensor(0), gl.to_tensor(1)
    for tile in range(gl.program_id(0), tiles, gl.num_programs(0)):
        row, column = tile_of(tile, m, n, 2 * HALF, BN, GROUP)
        for start in range(0, k, BK):
            mbarrier.wait(empty.index(stage), phase)
            bar = full.index(stage)
            mbarrier.expect(bar, 2 * a.block_type.nbytes + b.block_type.nbytes)
            tma.async_copy_global_to_shared(a, [row, start], bar, a_buffers.index(2 * stage))
            tma.async_copy_global_to_shared(b, [start, column], bar, b_buffers.index(stage))
            tma.async_copy_global_to_shared(a, [row + HALF, start], bar, a_buffers.index(2 * stage + 1))
            stage += 1
            phase = gl.where(stage == STAGES, phase ^ 1, phase)
            stage = gl.where(stage == STAGES, 0, stage)


@gluon.jit
def columns_of(x, PARTS: gl.constexpr):
    """`x` in PARTS slices of neighbouring columns, a power of two; no element moves."""
    slices = (x,)
    for _ in gl.static_range(PARTS.bit_length() - 1):
        halves = ()
        for i in gl.static_range(len(slices)):
            each = slices[i]
            halves += each.reshape(each.shape[0], 2, each.shape[1] // 2).permute(0, 2, 1).split()
        slices = halves
    return slices


@gluon.jit
def consume(a, b, c, k, a_buffers, b_buffers, full, empty, out, half, GROUP: gl.constexpr):
    """Multiplies half number `half` of each tile, and stores it."""
    STAGES: gl.constexpr = b_buffers.shape[0]
    HALF: gl.constexpr = a.block_type.shape[0]
    BK: gl.constexpr = a.block_type.shape[1]
    BN: gl.constexpr = b.block_type.shape[1]
    WIDTH: gl.constexpr = c.block_type.shape[1]
    layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [gl.num_warps(), 1], [16, BN, 16])
    m, n = c.shape[0], c.shape[1]
    tiles = gl.cdiv(m, 2 * HALF) * gl.cdiv(n, BN)
    stage, phase = gl.to_tensor(0), gl.to_tensor(0)
    for tile in range(gl.program_id(0), tiles, gl.num_programs(0)):
        row, column = tile_of(tile, m, n, 2 * HALF, BN, GROUP)
        acc = gl.zeros([HALF, BN], gl.float32, layout)
        for start in range(0, k, BK):
            mbarrier.wait(full.index(stage), phase)
            acc = warpgroup_mma(a_buffers.index(2 * stage + half), b_buffers.index(stage), acc, is_async=True)
            acc = warpgroup_mma_wait(1, deps=[acc])
            mbarrier.arrive(empty.index(stage_before(stage, STAGES)), pred=start > 0)
            stage += 1
            phase = gl.where(stage == STAGES, phase ^ 1, phase)
            stage = gl.where(stage == STAGES, 0, stage)
        acc = warpgroup_mma_wait(0, deps=[acc])
        mbarrier.arrive(empty.index(stage_before(stage, STAGES)))
        slices = columns_of(acc, BN // WIDTH)
        for i in gl.static_range(BN // WIDTH):
            buffer = out.index(2 * half + i % 2)
            tma.store_wait(1)  # the store before the last one has read this buffer
            buffer.store(slices[i].to(c.dtype))
            fence_async_shared()
            tma.async_copy_shared_to_global(c, [row + half * HALF, column + i * WIDTH], buffer)
    tma.store_wait(0)


@gluon.jit
def matmul_tiles(a, b, c, k, STAGES: gl.constexpr, GROUP: gl.constexpr):
    """c = a @ b, the tiles number program_id, program_id + num_programs, ..."""
    HALF: gl.constexpr = a.block_type.shape[0]
    BK: gl.constexpr = a.block_type.shape[1]
    BN: gl.constexpr = b.block_type.shape[1]
    a_buffers = gl.allocate_shared_memory(a.dtype, [2 * STAGES, HALF, BK], a.layout)
    b_buffers = gl.allocate_shared_memory(b.dtype, [STAGES, BK, BN], b.layout)
    out = gl.allocate_shared_memory(c.dtype, [4, HALF, c.block_type.shape[1]], c.layout)
    full = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    empty = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    for i in gl.static_range(STAGES):
        mbarrier.init(full.index(i), count=1)
        mbarrier.init(empty.index(i), count=2)
    first = (a, b, c, k, a_buffers, b_buffers, full, empty, out, 0, GROUP)
    second = (a, b, c, k, a_buffers, b_buffers, full, empty, out, 1, GROUP)
    loads = (a, b, c, k, a_buffers, b_buffers, full, empty, GROUP)
    gl.warp_specialize([(consume, first), (consume, second), (produce, loads)], [4, 1], [240, 24])


def described(x, block):
    """`x`, a matrix of float16, by blocks."""
    return TensorDescriptor.from_tensor(x, block, gl.NVMMASharedLayout.get_default_for(block, gl.float16))


def matmul(a, b, c, bm=128, bn=256, bk=64, stages=4, group=16, programs=132):
    """`c` becomes `a @ b`, matrices of float16: NumPy arrays or tensors, of any size whose rows are multiples of 8.

    `programs`: as many as the GPU has multiprocessors.
    """
    tiles = triton.cdiv(a.shape[0], bm) * triton.cdiv(b.shape[1], bn)
    blocks = described(a, [bm // 2, bk]), described(b, [bk, bn]), described(c, [bm // 2, 64])
    return matmul_tiles[(min(programs, tiles),)](*blocks, a.shape[1], stages, group, num_warps=4, maxnreg=168)


def main():
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(shape).astype(np.float16) for shape in ((200, 136), (136, 264)))
    c = np.zeros((200, 264), np.float16)
    matmul(a, b, c, bn=128, bk=32, stages=3, group=2, programs=2)
    np.testing.assert_allclose(c, a.astype(np.float32) @ b.astype(np.float32), rtol=1e-2, atol=1e-2)
    print("the matmul agrees with NumPy's")


if __name__ == "__main__":
    main()
