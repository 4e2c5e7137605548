"""Matmuls of many sizes in one launch: rows of `a` in groups, each with a matrix of its own, as in a mixture of experts (sm_90).

    python -m minitriton.run_as_triton minitriton_kernels/gluon/grouped_matmul.py

Only the GPU knows how long the groups are. Programs stay and take tiles in turn; each role finds the tiles of its program by walking over
the groups. The roles are those of `persistent_matmul.py`. A tile that ends within the block is stored by TMA; at the end of a group, where
the rows below belong to the next one, threads store the rows that are there.
"""

import numpy as np
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
def stage_before(stage, STAGES: gl.constexpr):
    """The neighbour in the ring."""
    return gl.where(stage == 0, STAGES, stage) - 1


@gluon.jit
def produce(a, b, ends, groups, k, n, a_buffers, b_buffers, full, empty):
    """Loads the steps of all tiles of this program."""
    STAGES: gl.constexpr = b_buffers.shape[0]
    HALF: gl.constexpr = a.block_type.shape[0]
    BK: gl.constexpr = a.block_type.shape[1]
    BN: gl.constexpr = b.block_type.shape[1]
    across = gl.cdiv(n, BN)
    stage, phase = gl.to_tensor(0), gl.to_tensor(1)
    tile, first, start = gl.program_id(0), 0, 0
    for group in range(groups):
        end = gl.load(ends + group)
        count = gl.cdiv(end - start, 2 * HALF) * across
        while tile < first + count:
            row = start + (tile - first) // across * 2 * HALF
            column = (tile - first) % across * BN
            for at in range(0, k, BK):
                mbarrier.wait(empty.index(stage), phase)
                bar = full.index(stage)
                mbarrier.expect(bar, 2 * a.block_type.nbytes + b.block_type.nbytes)
                tma.async_copy_global_to_shared(a, [row, at], bar, a_buffers.index(2 * stage))
                tma.async_copy_global_to_shared(b, [group * k + at, column], bar, b_buffers.index(stage))
                tma.async_copy_global_to_shared(a, [row + HALF, at], bar, a_buffers.index(2 * stage + 1))
                stage += 1
                phase = gl.where(stage == STAGES, phase ^ 1, phase)
                stage = gl.where(stage == STAGES, 0, stage)
            tile += gl.num_programs(0)
        first += count
        start = end


@gluon.jit
def store_rows(c, buffer, row, end, column, n):
    """Stores the rows of `buffer` before row `end` of the matrix."""
    ROWS: gl.constexpr = buffer.shape[0]
    COLUMNS: gl.constexpr = buffer.shape[1]
    layout: gl.constexpr = gl.BlockedLayout([1, 8], [256 // COLUMNS, COLUMNS // 8], [4, 1], [1, 0])
    i = row + gl.arange(0, ROWS, gl.SliceLayout(1, layout))[:, None]
    j = column + gl.arange(0, COLUMNS, gl.SliceLayout(0, layout))[None, :]
    gl.store(c + i * n + j, buffer.load(layout), mask=(i < end) & (j < n))


@gluon.jit
def consume(c, c_rows, ends, groups, k, n, a_buffers, b_buffers, full, empty, out, half):
    """Multiplies half number `half` of each tile, and stores it."""
    STAGES: gl.constexpr = b_buffers.shape[0]
    HALF: gl.constexpr = a_buffers.shape[1]
    BK: gl.constexpr = a_buffers.shape[2]
    BN: gl.constexpr = b_buffers.shape[2]
    layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, BN, 16])
    across = gl.cdiv(n, BN)
    stage, phase = gl.to_tensor(0), gl.to_tensor(0)
    tile, first, start = gl.program_id(0), 0, 0
    buffer = out.index(half)
    for group in range(groups):
        end = gl.load(ends + group)
        count = gl.cdiv(end - start, 2 * HALF) * across
        while tile < first + count:
            row = start + (tile - first) // across * 2 * HALF + half * HALF
            column = (tile - first) % across * BN
            acc = gl.zeros([HALF, BN], gl.float32, layout)
            for at in range(0, k, BK):
                mbarrier.wait(full.index(stage), phase)
                acc = warpgroup_mma(a_buffers.index(2 * stage + half), b_buffers.index(stage), acc, is_async=True)
                acc = warpgroup_mma_wait(1, deps=[acc])
                mbarrier.arrive(empty.index(stage_before(stage, STAGES)), pred=at > 0)
                stage += 1
                phase = gl.where(stage == STAGES, phase ^ 1, phase)
                stage = gl.where(stage == STAGES, 0, stage)
            acc = warpgroup_mma_wait(0, deps=[acc])
            mbarrier.arrive(empty.index(stage_before(stage, STAGES)))
            tma.store_wait(0)
            buffer.store(acc.to(out.dtype))
            if row + HALF <= end:
                fence_async_shared()
                tma.async_copy_shared_to_global(c, [row, column], buffer)
            else:
                store_rows(c_rows, buffer, row, end, column, n)
            tile += gl.num_programs(0)
        first += count
        start = end
    tma.store_wait(0)


@gluon.jit
def matmul_groups(a, b, c, c_rows, ends, groups, k, n, STAGES: gl.constexpr):
    """c = a @ b[group of the row]; `ends` has the row after each group."""
    HALF: gl.constexpr = a.block_type.shape[0]
    BK: gl.constexpr = a.block_type.shape[1]
    BN: gl.constexpr = b.block_type.shape[1]
    a_buffers = gl.allocate_shared_memory(a.dtype, [2 * STAGES, HALF, BK], a.layout)
    b_buffers = gl.allocate_shared_memory(b.dtype, [STAGES, BK, BN], b.layout)
    out = gl.allocate_shared_memory(c.dtype, [2, HALF, BN], c.layout)
    full = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    empty = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    for i in gl.static_range(STAGES):
        mbarrier.init(full.index(i), count=1)
        mbarrier.init(empty.index(i), count=2)
    first = (c, c_rows, ends, groups, k, n, a_buffers, b_buffers, full, empty, out, 0)
    second = (c, c_rows, ends, groups, k, n, a_buffers, b_buffers, full, empty, out, 1)
    loads = (a, b, ends, groups, k, n, a_buffers, b_buffers, full, empty)
    gl.warp_specialize([(consume, first), (consume, second), (produce, loads)], [4, 1], [240, 24])


def described(x, block):
    """`x`, a matrix of float16, by blocks."""
    return TensorDescriptor.from_tensor(x, block, gl.NVMMASharedLayout.get_default_for(block, gl.float16))


def matmul(a, b, ends, c, bm=128, bn=128, bk=64, stages=5, programs=132):
    """Rows `ends[g-1]` to `ends[g]` of `c` become those of `a` @ `b[g]`: float16, and int32 `ends`. NumPy arrays or tensors.

    `a` is rows x k, `b` groups x k x n, k a multiple of `bk`. `programs`: as many as the GPU has multiprocessors.
    """
    groups, k, n = b.shape
    assert k % bk == 0, "a step along k would reach into the next group's matrix"
    blocks = described(a, [bm // 2, bk]), described(b.reshape(groups * k, n), [bk, bn]), described(c, [bm // 2, bn])
    sizes = (groups, k, n, stages)
    return matmul_groups[(programs,)](*blocks, c, ends, *sizes, num_warps=4, maxnreg=168)


def main():
    rng = np.random.default_rng(0)
    ends = np.array([70, 70, 200, 216], np.int32)
    a, b = (rng.standard_normal(shape).astype(np.float16) for shape in ((216, 128), (4, 128, 80)))
    c = np.zeros((216, 80), np.float16)
    matmul(a, b, ends, c, bn=64, bk=32, stages=3, programs=3)
    np.testing.assert_allclose(c, expected(a, b, ends), rtol=1e-2, atol=1e-2)
    print("the matmuls agree with NumPy's")


def expected(a, b, ends):
    """The same in float32 by NumPy."""
    parts = np.split(a.astype(np.float32), ends[:-1])
    return np.concatenate([part @ each.astype(np.float32) for part, each in zip(parts, b, strict=True)])


if __name__ == "__main__":
    main()
