"""Right Gluon kernels for sm_90, each with its own synchronisation or layouts. `gluon_faults.py` launches them, and plants faults."""

from __future__ import annotations

from minitriton.experimental import gluon
from minitriton.experimental.gluon import language as gl
from minitriton.experimental.gluon.language.nvidia.ampere import async_copy, mma_v2
from minitriton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    mbarrier,
    tma,
    warpgroup_mma,
    warpgroup_mma_init,
    warpgroup_mma_wait,
)

# Layouts in registers ----------------------------------------------------------------------------------------------------


@gluon.jit
def scaled(x, out, n, BLOCK: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([2], [32], [4], [0])
    other: gl.constexpr = gl.BlockedLayout([1], [32], [4], [0])
    i = gl.arange(0, BLOCK, layout=layout)
    v = gl.load(x + i, mask=i < n, other=0.0)
    w = gl.convert_layout(v, other)
    j = gl.arange(0, BLOCK, layout=other)
    gl.store(out + j, w * 2, mask=j < n)


@gluon.jit
def row_sums(x, out, M: gl.constexpr, N: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 2], [4, 8], [4, 1], [1, 0])
    i = gl.arange(0, M, layout=gl.SliceLayout(1, layout))
    j = gl.arange(0, N, layout=gl.SliceLayout(0, layout))
    rows = (i * N)[:, None]
    columns = j[None, :]
    v = gl.load(x + rows + columns)
    sums = gl.sum(v, 1)
    gl.store(out + i, sums)


@gluon.jit
def reversed_rows(x, out, M: gl.constexpr, N: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 2], [4, 8], [4, 1], [1, 0])
    i = gl.arange(0, M, layout=gl.SliceLayout(1, layout))[:, None]
    j = gl.arange(0, N, layout=gl.SliceLayout(0, layout))[None, :]
    v = gl.load(x + i * N + j)
    index = M - 1 - i + gl.zeros([M, N], gl.int32, layout)
    gl.store(out + i * N + j, gl.gather(v, index, 0))


@gluon.jit
def swapped(x, scratch, out, BLOCK: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1], [32], [4], [0])
    i = gl.arange(0, BLOCK, layout=layout)
    gl.store(scratch + i, gl.load(x + i) * 2)
    gl.thread_barrier()
    v = gl.load(scratch + BLOCK - 1 - i)
    gl.store(out + i, v)


# Dots in registers -------------------------------------------------------------------------------------------------------


@gluon.jit
def dot_by_mma(a, b, c, M: gl.constexpr, N: gl.constexpr, K: gl.constexpr):
    blocked: gl.constexpr = gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0])
    mma: gl.constexpr = gl.NVMMADistributedLayout([2, 0], [2, 2], [16, 8])
    i = gl.arange(0, M, layout=gl.SliceLayout(1, blocked))[:, None]
    j = gl.arange(0, N, layout=gl.SliceLayout(0, blocked))[None, :]
    k0 = gl.arange(0, K, layout=gl.SliceLayout(0, blocked))[None, :]
    k1 = gl.arange(0, K, layout=gl.SliceLayout(1, blocked))[:, None]
    x = gl.load(a + i * K + k0)
    y = gl.load(b + k1 * N + j)
    x = gl.convert_layout(x, gl.DotOperandLayout(0, mma, 2))
    y = gl.convert_layout(y, gl.DotOperandLayout(1, mma, 2))
    zero = gl.zeros([M, N], gl.float32, layout=mma)
    acc = mma_v2(x, y, zero)
    gl.store(c + i * N + j, gl.convert_layout(acc, blocked))


@gluon.jit
def dot_by_fma(a, b, c, M: gl.constexpr, N: gl.constexpr, K: gl.constexpr):
    blocked: gl.constexpr = gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0])
    i = gl.arange(0, M, layout=gl.SliceLayout(1, blocked))[:, None]
    j = gl.arange(0, N, layout=gl.SliceLayout(0, blocked))[None, :]
    k0 = gl.arange(0, K, layout=gl.SliceLayout(0, blocked))[None, :]
    k1 = gl.arange(0, K, layout=gl.SliceLayout(1, blocked))[:, None]
    x = gl.convert_layout(gl.load(a + i * K + k0), gl.DotOperandLayout(0, blocked, 0))
    y = gl.convert_layout(gl.load(b + k1 * N + j), gl.DotOperandLayout(1, blocked, 0))
    acc = gl.dot_fma(x.to(gl.float32), y.to(gl.float32), gl.zeros([M, N], gl.float32, blocked))
    gl.store(c + i * N + j, acc)


# Buffers in shared memory ------------------------------------------------------------------------------------------------


@gluon.jit
def transposed(x, out, M: gl.constexpr, N: gl.constexpr):
    rows: gl.constexpr = gl.BlockedLayout([1, 4], [8, 4], [4, 1], [1, 0])
    columns: gl.constexpr = gl.BlockedLayout([4, 1], [4, 8], [1, 4], [0, 1])
    shared: gl.constexpr = gl.SwizzledSharedLayout(4, 1, 8, [1, 0])
    i = gl.arange(0, M, layout=gl.SliceLayout(1, rows))[:, None]
    j = gl.arange(0, N, layout=gl.SliceLayout(0, rows))[None, :]
    buffer = gl.allocate_shared_memory(gl.float32, [M, N], shared)
    buffer.store(gl.load(x + i * N + j))
    v = buffer.load(columns)
    p = gl.arange(0, M, layout=gl.SliceLayout(1, columns))[:, None]
    q = gl.arange(0, N, layout=gl.SliceLayout(0, columns))[None, :]
    gl.store(out + q * M + p, v)


@gluon.jit
def halves(x, out, M: gl.constexpr, N: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0])
    i = gl.arange(0, M, layout=gl.SliceLayout(1, layout))[:, None]
    j = gl.arange(0, N, layout=gl.SliceLayout(0, layout))[None, :]
    buffers = gl.allocate_shared_memory(gl.float32, [2, M, N], gl.NVMMASharedLayout(128, 32))
    first = buffers.index(0)
    second = buffers.index(1)
    first.store(gl.load(x + i * N + j))
    second.store(gl.load(x + M * N + i * N + j))
    gl.store(out + i * N + j, first.load(layout) + second.load(layout))
    buffers._keep_alive()


@gluon.jit
def views(x, out):
    layout: gl.constexpr = gl.BlockedLayout([1], [32], [4], [0])
    flat: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 1, [0])
    i = gl.arange(0, 128, layout=layout)
    buffer = gl.allocate_shared_memory(gl.float32, [256], flat)
    low = buffer.slice(0, 128)
    high = buffer.slice(128, 128)
    low.store(gl.load(x + i))
    high.store(gl.load(x + 128 + i))
    v = buffer._reinterpret(gl.int32, [256], flat).slice(128, 128).load(layout)
    gl.store(out + i, low.load(layout) + v.to(gl.float32, bitcast=True))


@gluon.jit
def padded(x, out, M: gl.constexpr, N: gl.constexpr):
    lane: gl.constexpr = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]]
    rows: gl.constexpr = gl.DistributedLinearLayout([[1, 0], [2, 0], [4, 0]], lane, [[8, 0], [16, 0]], [], [M, N])
    shared: gl.constexpr = gl.PaddedSharedLayout.with_identity_for([[32, 4]], [M, N], [1, 0])
    i = gl.arange(0, M, layout=gl.SliceLayout(1, rows))[:, None]
    j = gl.arange(0, N, layout=gl.SliceLayout(0, rows))[None, :]
    buffer = gl.allocate_shared_memory(gl.float32, [M, N], shared)
    buffer.store(gl.load(x + i * N + j))
    v = buffer.permute([1, 0]).load(rows)
    gl.store(out + i * M + j, v)


# cp.async ----------------------------------------------------------------------------------------------------------------


@gluon.jit
def copied(x, out, n, BLOCK: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1], [32], [4], [0])
    i = gl.arange(0, BLOCK, layout=layout)
    buffer = gl.allocate_shared_memory(gl.float32, [BLOCK], gl.SwizzledSharedLayout(1, 1, 1, [0]))
    async_copy.async_copy_global_to_shared(buffer, x + i, mask=i < n)
    async_copy.commit_group()
    async_copy.wait_group(0)
    v = buffer.load(layout)
    gl.store(out + i, v * 2, mask=i < n)


@gluon.jit
def ring(x, out, BLOCK: gl.constexpr, STEPS: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1], [32], [4], [0])
    i = gl.arange(0, BLOCK, layout=layout)
    buffers = gl.allocate_shared_memory(gl.float32, [2, BLOCK], gl.SwizzledSharedLayout(1, 1, 1, [0]))
    async_copy.async_copy_global_to_shared(buffers.index(0), x + i)
    async_copy.commit_group()
    for step in range(STEPS):
        following = buffers.index((step + 1) % 2)
        mask = i < BLOCK * (STEPS - 1 - step)
        async_copy.async_copy_global_to_shared(following, x + (step + 1) * BLOCK + i, mask=mask)
        async_copy.commit_group()
        async_copy.wait_group(1)
        v = buffers.index(step % 2).load(layout)
        gl.store(out + step * BLOCK + i, v * 3)


@gluon.jit
def copied_to_barrier(x, out, BLOCK: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1], [32], [4], [0])
    i = gl.arange(0, BLOCK, layout=layout)
    buffer = gl.allocate_shared_memory(gl.float32, [BLOCK], gl.SwizzledSharedLayout(1, 1, 1, [0]))
    bar = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(bar, count=128)
    async_copy.async_copy_global_to_shared(buffer, x + i)
    async_copy.mbarrier_arrive(bar, increment_count=False)
    mbarrier.wait(bar, 0)
    v = buffer.load(layout)
    gl.store(out + i, v + 1)


# Tensor copies -----------------------------------------------------------------------------------------------------------


@gluon.jit
def tma_copied(a, c):
    layout: gl.constexpr = gl.BlockedLayout([1, 8], [8, 4], [4, 1], [1, 0])
    buffer = gl.allocate_shared_memory(gl.float16, a.block_type.shape, a.layout)
    bar = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(bar, count=1)
    mbarrier.expect(bar, a.block_type.nbytes)
    tma.async_copy_global_to_shared(a, [0, 0], bar, buffer)
    mbarrier.wait(bar, 0)
    mbarrier.invalidate(bar)
    v = buffer.load(layout)
    buffer.store(v * 2)
    fence_async_shared()
    tma.async_copy_shared_to_global(c, [0, 0], buffer)
    tma.store_wait(0)


@gluon.jit
def tma_stored(c, M: gl.constexpr, N: gl.constexpr, STEPS: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 8], [8, 4], [4, 1], [1, 0])
    buffers = gl.allocate_shared_memory(gl.float16, [2, M, N], c.layout)
    for step in range(STEPS):
        tma.store_wait(1)
        buffers.index(step % 2).store(gl.full([M, N], step, gl.int32, layout).to(gl.float16))
        fence_async_shared()
        tma.async_copy_shared_to_global(c, [step * M, 0], buffers.index(step % 2))
    tma.store_wait(0)


@gluon.jit
def tma_ring(a, out, M: gl.constexpr, N: gl.constexpr, STEPS: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 8], [8, 4], [4, 1], [1, 0])
    buffers = gl.allocate_shared_memory(gl.float16, [2, M, N], a.layout)
    bars = gl.allocate_shared_memory(gl.int64, [2, 1], mbarrier.MBarrierLayout())
    for first in gl.static_range(2):
        mbarrier.init(bars.index(first), count=1)
    for first in gl.static_range(2):
        mbarrier.expect(bars.index(first), a.block_type.nbytes)
        tma.async_copy_global_to_shared(a, [first * M, 0], bars.index(first), buffers.index(first))
    total = gl.zeros([M, N], gl.float32, layout)
    for step in range(STEPS):
        slot = step % 2
        mbarrier.wait(bars.index(slot), step // 2 % 2)
        total += buffers.index(slot).load(layout).to(gl.float32)
        more = step + 2 < STEPS
        mbarrier.expect(bars.index(slot), a.block_type.nbytes, pred=more)
        tma.async_copy_global_to_shared(a, [(step + 2) * M, 0], bars.index(slot), buffers.index(slot), pred=more)
    i = gl.arange(0, M, layout=gl.SliceLayout(1, layout))[:, None]
    j = gl.arange(0, N, layout=gl.SliceLayout(0, layout))[None, :]
    gl.store(out + i * N + j, total)


# wgmma -------------------------------------------------------------------------------------------------------------------


@gluon.jit
def dot_of_stored(a, b, c, M: gl.constexpr, N: gl.constexpr, K: gl.constexpr):
    rows: gl.constexpr = gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0])
    mma: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, 32, 16])
    shared: gl.constexpr = gl.NVMMASharedLayout(64, 16)
    i = gl.arange(0, M, layout=gl.SliceLayout(1, rows))[:, None]
    j = gl.arange(0, N, layout=gl.SliceLayout(0, rows))[None, :]
    k0 = gl.arange(0, K, layout=gl.SliceLayout(0, rows))[None, :]
    k1 = gl.arange(0, K, layout=gl.SliceLayout(1, rows))[:, None]
    x = gl.allocate_shared_memory(gl.float16, [M, K], shared)
    y = gl.allocate_shared_memory(gl.float16, [K, N], shared)
    x.store(gl.load(a + i * K + k0))
    y.store(gl.load(b + k1 * N + j))
    fence_async_shared()
    zero = gl.zeros([M, N], gl.float32, mma)
    acc = warpgroup_mma(x, y, zero, is_async=True)
    acc = warpgroup_mma_wait(0, deps=(acc,))
    gl.store(c + i * N + j, gl.convert_layout(acc, rows))


@gluon.jit
def dot_of_copied(a, b, c, M: gl.constexpr, N: gl.constexpr, K: gl.constexpr, STEPS: gl.constexpr):
    rows: gl.constexpr = gl.BlockedLayout([1, 8], [8, 4], [4, 1], [1, 0])
    mma: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, 32, 16])
    i = gl.arange(0, M, layout=gl.SliceLayout(1, rows))[:, None]
    j = gl.arange(0, N, layout=gl.SliceLayout(0, rows))[None, :]
    k0 = gl.arange(0, K, layout=gl.SliceLayout(0, rows))[None, :]
    k1 = gl.arange(0, K, layout=gl.SliceLayout(1, rows))[:, None]
    x = gl.allocate_shared_memory(gl.float16, [2, M, K], gl.NVMMASharedLayout(64, 16))
    y = gl.allocate_shared_memory(gl.float16, [2, K, N], gl.NVMMASharedLayout(64, 16))
    acc = gl.zeros([M, N], gl.float32, mma)
    async_copy.async_copy_global_to_shared(x.index(0), a + i * STEPS * K + k0)
    async_copy.async_copy_global_to_shared(y.index(0), b + k1 * N + j)
    async_copy.commit_group()
    for step in range(STEPS):
        k = (step + 1) * K
        more = k0 + k < STEPS * K
        async_copy.async_copy_global_to_shared(x.index((step + 1) % 2), a + i * STEPS * K + k + k0, mask=more)
        async_copy.async_copy_global_to_shared(y.index((step + 1) % 2), b + (k + k1) * N + j, mask=k + k1 < STEPS * K)
        async_copy.commit_group()
        async_copy.wait_group(1)
        fence_async_shared()
        acc = warpgroup_mma(x.index(step % 2), y.index(step % 2), acc, is_async=True)
        acc = warpgroup_mma_wait(0, deps=(acc,))
    async_copy.wait_group(0)
    gl.store(c + i * N + j, gl.convert_layout(acc, rows))


@gluon.jit
def dot_of_registers(a, b, c, M: gl.constexpr, N: gl.constexpr, K: gl.constexpr):
    rows: gl.constexpr = gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0])
    mma: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, 32, 16])
    i = gl.arange(0, M, layout=gl.SliceLayout(1, rows))[:, None]
    j = gl.arange(0, N, layout=gl.SliceLayout(0, rows))[None, :]
    k0 = gl.arange(0, K, layout=gl.SliceLayout(0, rows))[None, :]
    k1 = gl.arange(0, K, layout=gl.SliceLayout(1, rows))[:, None]
    y = gl.allocate_shared_memory(gl.float16, [K, N], gl.NVMMASharedLayout(64, 16))
    y.store(gl.load(b + k1 * N + j))
    fence_async_shared()
    x = gl.convert_layout(gl.load(a + i * K + k0), gl.DotOperandLayout(0, mma, 2))
    acc = warpgroup_mma(x, y, gl.zeros([M, N], gl.float32, mma), is_async=True)
    acc = warpgroup_mma_wait(0, deps=(acc,))
    gl.store(c + i * N + j, gl.convert_layout(acc, rows))


@gluon.jit
def dots_in_flight(a, b, c, M: gl.constexpr, N: gl.constexpr, K: gl.constexpr, STEPS: gl.constexpr):
    rows: gl.constexpr = gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0])
    mma: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, 32, 16])
    i = gl.arange(0, M, layout=gl.SliceLayout(1, rows))[:, None]
    j = gl.arange(0, N, layout=gl.SliceLayout(0, rows))[None, :]
    k0 = gl.arange(0, K, layout=gl.SliceLayout(0, rows))[None, :]
    k1 = gl.arange(0, K, layout=gl.SliceLayout(1, rows))[:, None]
    x = gl.allocate_shared_memory(gl.float16, [2, M, K], gl.NVMMASharedLayout(64, 16))
    y = gl.allocate_shared_memory(gl.float16, [2, K, N], gl.NVMMASharedLayout(64, 16))
    acc = warpgroup_mma_init(gl.zeros([M, N], gl.float32, mma))
    for step in range(STEPS):
        k = step * K
        x.index(step % 2).store(gl.load(a + i * STEPS * K + k + k0))
        y.index(step % 2).store(gl.load(b + (k + k1) * N + j))
        fence_async_shared()
        acc = warpgroup_mma(x.index(step % 2), y.index(step % 2), acc, is_async=True)
        acc = warpgroup_mma_init(warpgroup_mma_wait(1, deps=(acc,)))
    acc = warpgroup_mma_wait(0, deps=(acc,))
    gl.store(c + i * N + j, gl.convert_layout(acc, rows))


@gluon.jit
def tma_matmul(a, b, c, N: gl.constexpr, STEPS: gl.constexpr):
    M: gl.constexpr = a.block_type.shape[0]
    K: gl.constexpr = a.block_type.shape[1]
    mma: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, N, 16])
    x = gl.allocate_shared_memory(gl.float16, [2, M, K], a.layout)
    y = gl.allocate_shared_memory(gl.float16, [2, K, N], b.layout)
    z = gl.allocate_shared_memory(gl.float16, [M, N], c.layout)
    bars = gl.allocate_shared_memory(gl.int64, [2, 1], mbarrier.MBarrierLayout())
    for first in gl.static_range(2):
        mbarrier.init(bars.index(first), count=1)
    acc = warpgroup_mma_init(gl.zeros([M, N], gl.float32, mma))
    mbarrier.expect(bars.index(0), a.block_type.nbytes + b.block_type.nbytes)
    tma.async_copy_global_to_shared(a, [0, 0], bars.index(0), x.index(0))
    tma.async_copy_global_to_shared(b, [0, 0], bars.index(0), y.index(0))
    for step in range(STEPS):
        acc = warpgroup_mma_init(warpgroup_mma_wait(0, deps=(acc,)))
        following = step + 1
        bar = bars.index(following % 2)
        more = following < STEPS
        mbarrier.expect(bar, a.block_type.nbytes + b.block_type.nbytes, pred=more)
        tma.async_copy_global_to_shared(a, [0, following * K], bar, x.index(following % 2), pred=more)
        tma.async_copy_global_to_shared(b, [following * K, 0], bar, y.index(following % 2), pred=more)
        mbarrier.wait(bars.index(step % 2), step // 2 % 2)
        acc = warpgroup_mma(x.index(step % 2), y.index(step % 2), acc, is_async=True)
    total = warpgroup_mma_wait(0, deps=(acc,))
    z.store(total.to(gl.float16))
    fence_async_shared()
    tma.async_copy_shared_to_global(c, [0, 0], z)
    tma.store_wait(0)


# Partitions of warps -----------------------------------------------------------------------------------------------------


@gluon.jit
def load_tiles(a, buffers, full, empty, M: gl.constexpr, STEPS: gl.constexpr):
    for step in range(STEPS):
        slot = step % 2
        mbarrier.wait(empty.index(slot), (step // 2 + 1) % 2)
        mbarrier.expect(full.index(slot), a.block_type.nbytes)
        tma.async_copy_global_to_shared(a, [step * M, 0], full.index(slot), buffers.index(slot))


@gluon.jit
def add_tiles(out, buffers, full, empty, M: gl.constexpr, N: gl.constexpr, STEPS: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 8], [8, 4], [gl.num_warps(), 1], [1, 0])
    total = gl.zeros([M, N], gl.float32, layout)
    for step in range(STEPS):
        slot = step % 2
        mbarrier.wait(full.index(slot), step // 2 % 2)
        total += buffers.index(slot).load(layout).to(gl.float32)
        mbarrier.arrive(empty.index(slot), count=1)
    i = gl.arange(0, M, layout=gl.SliceLayout(1, layout))[:, None]
    j = gl.arange(0, N, layout=gl.SliceLayout(0, layout))[None, :]
    gl.store(out + i * N + j, total)


@gluon.jit
def loaded_and_added(a, out, M: gl.constexpr, N: gl.constexpr, STEPS: gl.constexpr):
    buffers = gl.allocate_shared_memory(gl.float16, [2, M, N], a.layout)
    full = gl.allocate_shared_memory(gl.int64, [2, 1], mbarrier.MBarrierLayout())
    empty = gl.allocate_shared_memory(gl.int64, [2, 1], mbarrier.MBarrierLayout())
    for slot in gl.static_range(2):
        mbarrier.init(full.index(slot), count=1)
        mbarrier.init(empty.index(slot), count=1)
    gl.warp_specialize(
        [(add_tiles, (out, buffers, full, empty, M, N, STEPS)), (load_tiles, (a, buffers, full, empty, M, STEPS))],
        [1],
        [24],
    )


@gluon.jit
def store_operands(a, b, x, y, full, M: gl.constexpr, N: gl.constexpr, K: gl.constexpr):
    rows: gl.constexpr = gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0])
    i = gl.arange(0, M, layout=gl.SliceLayout(1, rows))[:, None]
    j = gl.arange(0, N, layout=gl.SliceLayout(0, rows))[None, :]
    k0 = gl.arange(0, K, layout=gl.SliceLayout(0, rows))[None, :]
    k1 = gl.arange(0, K, layout=gl.SliceLayout(1, rows))[:, None]
    x.store(gl.load(a + i * K + k0))
    y.store(gl.load(b + k1 * N + j))
    fence_async_shared()
    mbarrier.arrive(full, count=1)


@gluon.jit
def multiply(c, x, y, full, M: gl.constexpr, N: gl.constexpr):
    mma: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, 64, 16])
    mbarrier.wait(full, 0)
    acc = warpgroup_mma(x, y, gl.zeros([M, N], gl.float32, mma), is_async=True)
    acc = warpgroup_mma_wait(0, deps=(acc,))
    i = gl.arange(0, M, layout=gl.SliceLayout(1, mma))[:, None]
    j = gl.arange(0, N, layout=gl.SliceLayout(0, mma))[None, :]
    gl.store(c + i * N + j, acc)


@gluon.jit
def stored_and_multiplied(a, b, c, M: gl.constexpr, N: gl.constexpr, K: gl.constexpr):
    x = gl.allocate_shared_memory(gl.float16, [M, K], gl.NVMMASharedLayout(64, 16))
    y = gl.allocate_shared_memory(gl.float16, [K, N], gl.NVMMASharedLayout(128, 16))
    full = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(full, count=1)
    gl.warp_specialize([(store_operands, (a, b, x, y, full, M, N, K)), (multiply, (c, x, y, full, M, N))], [4], [80])


@gluon.jit
def load_operands(a, b, x, y, full, empty, STEPS: gl.constexpr):
    K: gl.constexpr = a.block_type.shape[1]
    for step in range(STEPS):
        slot = step % 2
        mbarrier.wait(empty.index(slot), (step // 2 + 1) % 2)
        mbarrier.expect(full.index(slot), a.block_type.nbytes + b.block_type.nbytes)
        tma.async_copy_global_to_shared(a, [0, step * K], full.index(slot), x.index(slot))
        tma.async_copy_global_to_shared(b, [step * K, 0], full.index(slot), y.index(slot))


@gluon.jit
def multiply_tiles(x, y, z, full, empty, ready, M: gl.constexpr, N: gl.constexpr, STEPS: gl.constexpr):
    mma: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, N, 16])
    acc = gl.zeros([M, N], gl.float32, mma)
    for step in range(STEPS):
        slot = step % 2
        mbarrier.wait(full.index(slot), step // 2 % 2)
        token = warpgroup_mma(x.index(slot), y.index(slot), acc, is_async=True)
        acc = warpgroup_mma_wait(0, deps=(token,))
        mbarrier.arrive(empty.index(slot), count=1)
    z.store(acc.to(gl.float16))
    fence_async_shared()
    mbarrier.arrive(ready, count=1)


@gluon.jit
def store_result(c, z, ready):
    mbarrier.wait(ready, 0)
    tma.async_copy_shared_to_global(c, [0, 0], z)
    tma.store_wait(0)


@gluon.jit
def specialized_matmul(a, b, c, N: gl.constexpr, STEPS: gl.constexpr):
    M: gl.constexpr = a.block_type.shape[0]
    x = gl.allocate_shared_memory(gl.float16, [2, M, a.block_type.shape[1]], a.layout)
    y = gl.allocate_shared_memory(gl.float16, [2, a.block_type.shape[1], N], b.layout)
    z = gl.allocate_shared_memory(gl.float16, [M, N], c.layout)
    full = gl.allocate_shared_memory(gl.int64, [2, 1], mbarrier.MBarrierLayout())
    empty = gl.allocate_shared_memory(gl.int64, [2, 1], mbarrier.MBarrierLayout())
    ready = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    for slot in gl.static_range(2):
        mbarrier.init(full.index(slot), count=1)
        mbarrier.init(empty.index(slot), count=1)
    mbarrier.init(ready, count=1)
    gl.warp_specialize(
        [
            (multiply_tiles, (x, y, z, full, empty, ready, M, N, STEPS)),
            (load_operands, (a, b, x, y, full, empty, STEPS)),
            (store_result, (c, z, ready)),
        ],
        [1, 1],
        [24, 24],
    )


@gluon.jit
def half_of_tile(out, buffer, full, empty, first: gl.constexpr, STEPS: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1], [32], [gl.num_warps()], [0])
    i = gl.arange(0, 64, layout=layout)
    for step in range(STEPS):
        mbarrier.wait(full, step % 2)
        v = buffer.slice(first, 64).load(layout)
        mbarrier.arrive(empty, count=1)
        gl.store(out + step * 128 + first + i, v)


@gluon.jit
def stores_in_turn(x, buffer, full, empty, STEPS: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1], [32], [gl.num_warps()], [0])
    i = gl.arange(0, 128, layout=layout)
    for step in range(STEPS):
        mbarrier.wait(empty, (step + 1) % 2)
        buffer.store(gl.load(x + step * 128 + i))
        mbarrier.arrive(full, count=1)


@gluon.jit
def two_consumers(x, out, STEPS: gl.constexpr):
    buffer = gl.allocate_shared_memory(gl.float32, [128], gl.SwizzledSharedLayout(1, 1, 1, [0]))
    full = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    empty = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(full, count=1)
    mbarrier.init(empty, count=2)
    gl.warp_specialize(
        [
            (stores_in_turn, (x, buffer, full, empty, STEPS)),
            (half_of_tile, (out, buffer, full, empty, 0, STEPS)),
            (half_of_tile, (out, buffer, full, empty, 64, STEPS)),
        ],
        [2, 2],
        [32, 32],
    )
