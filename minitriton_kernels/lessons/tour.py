"""The kernels that the tour goes through."""

import triton
import triton.language as tl
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.ampere import async_copy
from triton.experimental.gluon.language.nvidia.hopper import fence_async_shared, warpgroup_mma, warpgroup_mma_wait


@triton.jit
def softmax(x_ptr, out_ptr, stride, n, BLOCK: tl.constexpr):
    columns = tl.arange(0, BLOCK)
    mask = columns < n
    row = tl.program_id(0)
    x = tl.load(x_ptr + row * stride + columns, mask=mask, other=-float("inf"))
    numerator = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row * stride + columns, numerator / tl.sum(numerator, axis=0), mask=mask)


@triton.jit
def transpose(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + rows[:, None] * n + columns[None, :])
    tl.store(out_ptr + columns[:, None] * n + rows[None, :], tl.trans(x))


@triton.jit
def column_sum(x_ptr, out_ptr, n_rows, n_columns, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    columns = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    acc = tl.zeros((ROWS, COLUMNS), tl.float32)
    for start in range(0, n_rows, ROWS):
        rows = start + tl.arange(0, ROWS)
        acc += tl.load(x_ptr + rows[:, None] * n_columns + columns[None, :])
    tl.store(out_ptr + columns, tl.sum(acc, axis=0))


@triton.jit
def matmul(a_ptr, b_ptr, c_ptr, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    inner = tl.arange(0, BK)
    a_ptrs = a_ptr + rows[:, None] * k + inner[None, :]
    b_ptrs = b_ptr + inner[:, None] * n + columns[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for _ in range(0, k, BK):
        acc = tl.dot(tl.load(a_ptrs), tl.load(b_ptrs), acc)
        a_ptrs += BK
        b_ptrs += BK * n
    tl.store(c_ptr + rows[:, None] * n + columns[None, :], acc.to(tl.float16))


@gluon.jit
def transpose_by_layouts(x_ptr, out_ptr, TILE: gl.constexpr):
    read: gl.constexpr = gl.BlockedLayout([1, 1], [1, 32], [4, 1], [1, 0])
    written: gl.constexpr = gl.BlockedLayout([1, 1], [32, 1], [1, 4], [0, 1])
    i = gl.arange(0, TILE, gl.SliceLayout(1, read))[:, None]
    j = gl.arange(0, TILE, gl.SliceLayout(0, read))[None, :]
    tile = gl.load(x_ptr + i * TILE + j)
    buffer = gl.allocate_shared_memory(gl.float32, [TILE, TILE], gl.SwizzledSharedLayout(1, 1, TILE, [1, 0]), tile)
    i = gl.arange(0, TILE, gl.SliceLayout(1, written))[:, None]
    j = gl.arange(0, TILE, gl.SliceLayout(0, written))[None, :]
    gl.store(out_ptr + j * TILE + i, buffer.load(written))


@gluon.jit
def matmul_in_flight(a_ptr, b_ptr, out_ptr, K: gl.constexpr):
    rows: gl.constexpr = gl.BlockedLayout([1, 8], [4, 8], [4, 1], [1, 0])
    shared: gl.constexpr = gl.NVMMASharedLayout(128, 16)
    mma: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, 64, 16])
    i = gl.arange(0, 64, gl.SliceLayout(1, rows))[:, None]
    j = gl.arange(0, 64, gl.SliceLayout(0, rows))[None, :]
    a = gl.allocate_shared_memory(gl.float16, [2, 64, 64], shared)
    b = gl.allocate_shared_memory(gl.float16, [2, 64, 64], shared)
    async_copy.async_copy_global_to_shared(a.index(0), a_ptr + i * K + j)
    async_copy.async_copy_global_to_shared(b.index(0), b_ptr + i * 64 + j)
    async_copy.commit_group()
    acc = gl.zeros([64, 64], gl.float32, mma)
    for step in range(K // 64):
        async_copy.wait_group(0)
        fence_async_shared()
        acc = warpgroup_mma(a.index(step % 2), b.index(step % 2), acc, is_async=True)
        more = step + 1 < K // 64
        async_copy.async_copy_global_to_shared(a.index((step + 1) % 2), a_ptr + i * K + j + (step + 1) * 64, mask=more)
        async_copy.async_copy_global_to_shared(
            b.index((step + 1) % 2), b_ptr + (i + (step + 1) * 64) * 64 + j, mask=more
        )
        async_copy.commit_group()
        acc = warpgroup_mma_wait(0, deps=[acc])
    async_copy.wait_group(0)
    gl.store(out_ptr + i * 64 + j, gl.convert_layout(acc, rows))
