"""Kernels in Gluon that commands and the interpreter are given: a layout as a parameter, layouts left open, buffers, copies in flight, roles."""

import triton  # noqa: F401 (the file is a program in Triton)
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.ampere import async_copy
from triton.experimental.gluon.language.nvidia.hopper import mbarrier, tma

ROW = gl.constexpr(gl.BlockedLayout([1], [32], [4], [0]))
FLAT = gl.constexpr(gl.SwizzledSharedLayout(1, 1, 1, [0]))


@gluon.jit
def copy(x, out, n, BLOCK: gl.constexpr, layout: gl.constexpr):
    i = gl.program_id(0) * BLOCK + gl.arange(0, BLOCK, layout)
    gl.store(out + i, gl.load(x + i, mask=i < n), mask=i < n)


@gluon.jit
def copy_left_open(x, out, n, BLOCK: gl.constexpr):
    i = gl.program_id(0) * BLOCK + gl.arange(0, BLOCK, gl.AutoLayout())
    j = gl.set_auto_layout(i, ROW)
    buffer = gl.allocate_shared_memory(gl.float32, [BLOCK], FLAT)
    buffer.store(gl.load(x + j, mask=j < n))
    gl.store(out + j, gl.set_auto_layout(buffer.load(gl.AutoLayout()), ROW), mask=j < n)


@gluon.jit
def softmax(x, out, columns, BLOCK: gl.constexpr):
    rows: gl.constexpr = gl.BlockedLayout([1, 4], [1, 32], [4, 1], [1, 0])
    i = gl.program_id(0) * 4 + gl.arange(0, 4, gl.SliceLayout(1, rows))
    j = gl.arange(0, BLOCK, gl.SliceLayout(0, rows))
    mask = (j < columns)[None, :]
    values = gl.load(x + i[:, None] * columns + j[None, :], mask=mask, other=-float("inf"))
    above = gl.exp(values - gl.max(values, 1)[:, None])
    gl.store(out + i[:, None] * columns + j[None, :], above / gl.sum(above, 1)[:, None], mask=mask)


@gluon.jit
def transpose(x, out, SIZE: gl.constexpr):
    rows: gl.constexpr = gl.BlockedLayout([1, 1], [1, 32], [4, 1], [1, 0])
    swizzled: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 32, [1, 0])
    i = gl.arange(0, SIZE, gl.SliceLayout(1, rows))[:, None]
    j = gl.arange(0, SIZE, gl.SliceLayout(0, rows))[None, :]
    tile = gl.allocate_shared_memory(gl.float32, [SIZE, SIZE], swizzled)
    tile.store(gl.load(x + i * SIZE + j))
    gl.store(out + i * SIZE + j, tile.permute([1, 0]).load(rows))


@gluon.jit
def copy_in_background(x, out, BLOCK: gl.constexpr, WAITS: gl.constexpr):
    i = gl.program_id(0) * BLOCK + gl.arange(0, BLOCK, ROW)
    buffer = gl.allocate_shared_memory(gl.float32, [BLOCK], FLAT)
    async_copy.async_copy_global_to_shared(buffer, x + i)
    async_copy.commit_group()
    if WAITS:
        async_copy.wait_group(0)
    gl.store(out + i, buffer.load(ROW))


@gluon.jit
def copy_by_tma(x, out, EXPECTED: gl.constexpr = None):
    tile = gl.allocate_shared_memory(x.dtype, x.block_type.shape, x.layout)
    bar = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(bar, count=1)
    row = gl.program_id(0) * x.block_type.shape[0]
    mbarrier.expect(bar, x.block_type.nbytes if EXPECTED is None else EXPECTED)
    tma.async_copy_global_to_shared(x, [row, 0], bar, tile)
    mbarrier.wait(bar, 0)
    mbarrier.invalidate(bar)
    tma.async_copy_shared_to_global(out, [row, 0], tile)
    tma.store_wait(0)


@gluon.jit
def filled(x, buffer, full):
    buffer.store(gl.load(x + gl.arange(0, 128, ROW)))
    mbarrier.arrive(full, count=1)


@gluon.jit
def emptied(out, buffer, full):
    mbarrier.wait(full, 0)
    gl.store(out + gl.arange(0, 128, ROW), buffer.load(ROW) * 2)


@gluon.jit
def double_by_roles(x, out, ARRIVALS: gl.constexpr):
    buffer = gl.allocate_shared_memory(gl.float32, [128], FLAT)
    full = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(full, count=ARRIVALS)
    gl.warp_specialize([(emptied, (out, buffer, full)), (filled, (x, buffer, full))], [4], [24])


@gluon.jit
def read_too_early(out):
    buffer = gl.allocate_shared_memory(gl.float32, [128], FLAT)
    gl.store(out + gl.arange(0, 128, ROW), buffer.load(ROW))


@gluon.jit
def in_two_layouts(x, out):
    other: gl.constexpr = gl.BlockedLayout([2], [32], [4], [0])
    value = gl.load(x + gl.arange(0, 128, ROW))
    gl.store(out + gl.arange(0, 128, other), value)
