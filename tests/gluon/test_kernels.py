"""Gluon kernels compiled and run on the emulator, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from minitriton.errors import MinitritonError
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
from minitriton.experimental.gluon.nvidia.hopper import TensorDescriptor
from minitriton.language.gluon.conversions import linear_layout
from minitriton.language.gluon.layouts import DistributedLayout
from minitriton.tools.tensor_descriptor import DescribedArray

RNG = np.random.default_rng(0)


@gluon.jit
def scale(x, out, n, BLOCK: gl.constexpr, layout: gl.constexpr):
    i = gl.program_id(0) * BLOCK + gl.arange(0, BLOCK, layout=layout)
    gl.store(out + i, 2 * gl.load(x + i, mask=i < n, other=0.0) + 1, mask=i < n)


@pytest.mark.parametrize("layout", [gl.BlockedLayout([2], [32], [4], [0]), gl.CoalescedLayout()], ids=str)
def test_a_copy_in_the_layout_that_was_asked_for(layout: DistributedLayout) -> None:
    x, out = RNG.standard_normal(1000, np.float32), np.zeros(1000, np.float32)
    kernel = scale[(4,)](x, out, 1000, 256, layout)
    np.testing.assert_array_equal(out, 2 * x + 1)
    assert "gluon." not in kernel.asm["ttgir"] and "ttgir" in kernel.asm and "ttir" not in kernel.asm


@gluon.jit
def histogram(x, counts, n, BLOCK: gl.constexpr, layout: gl.constexpr):
    i = gl.program_id(0) * BLOCK + gl.arange(0, BLOCK, layout)
    gl.atomic_add(counts + gl.load(x + i, mask=i < n, other=0), 1, mask=i < n, sem="relaxed")
    gl.atomic_cas(counts + 8 + gl.arange(0, 8, layout), 0, -1)


def test_atomics_take_a_number_for_each_pointer() -> None:
    x, counts = RNG.integers(0, 8, 1000).astype(np.int32), np.zeros(16, np.int32)
    histogram[(4,)](x, counts, 1000, 256, gl.BlockedLayout([2], [32], [4], [0]))
    np.testing.assert_array_equal(counts, [*np.bincount(x, minlength=8), *[-1] * 8])


@gluon.jit
def row_sums(x, out, M: gl.constexpr, N: gl.constexpr, layout: gl.constexpr):
    i = gl.arange(0, M, layout=gl.SliceLayout(1, layout))
    j = gl.arange(0, N)
    v = gl.load(x + (i * N)[:, None] + gl.expand_dims(j, 0))
    gl.store(out + i, gl.sum(v, 1) + gl.max(v, 1))


def test_reductions_and_layouts_that_follow_from_the_uses() -> None:
    x, out = RNG.standard_normal((32, 64), np.float32), np.zeros(32, np.float32)
    row_sums[(1,)](x, out, 32, 64, gl.BlockedLayout([1, 2], [4, 8], [4, 1], [1, 0]))
    np.testing.assert_allclose(out, x.sum(1) + x.max(1), rtol=1e-5)


@gluon.jit
def two_grids(x, out, N: gl.constexpr, rows: gl.constexpr, columns: gl.constexpr):
    p = x + gl.arange(0, N)[:, None] * N + gl.arange(0, N)[None, :]
    v = gl.load(gl.set_auto_layout(p, rows))
    q = out + gl.arange(0, N)[:, None] * N + gl.arange(0, N)[None, :]
    gl.store(gl.set_auto_layout(q, columns), gl.convert_layout(v, columns))


def test_equal_constants_may_get_different_layouts() -> None:
    x, out = RNG.standard_normal((32, 32), np.float32), np.zeros((32, 32), np.float32)
    rows, columns = gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0]), gl.BlockedLayout([4, 1], [8, 4], [1, 4], [0, 1])
    two_grids[(1,)](x, out, 32, rows, columns)
    np.testing.assert_array_equal(out, x)


@gluon.jit
def transposed(x, out, M: gl.constexpr, N: gl.constexpr, shared: gl.constexpr):
    rows: gl.constexpr = gl.BlockedLayout([1, 4], [8, 4], [4, 1], [1, 0])
    columns: gl.constexpr = gl.BlockedLayout([4, 1], [4, 8], [1, 4], [0, 1])
    i = gl.arange(0, M, layout=gl.SliceLayout(1, rows))[:, None]
    j = gl.arange(0, N, layout=gl.SliceLayout(0, rows))[None, :]
    buffer = gl.allocate_shared_memory(gl.float32, [M, N], shared)
    buffer.store(gl.load(x + i * N + j))
    i = gl.arange(0, M, layout=gl.SliceLayout(1, columns))[:, None]
    j = gl.arange(0, N, layout=gl.SliceLayout(0, columns))[None, :]
    gl.store(out + j * M + i, buffer.load(columns))


@pytest.mark.parametrize(
    "shared",
    [
        gl.SwizzledSharedLayout(4, 1, 8, [1, 0]),
        gl.PaddedSharedLayout.with_identity_for([[32, 4]], [64, 32], [1, 0]),
        gl.NVMMASharedLayout(128, 32),
    ],
    ids=lambda layout: type(layout).__name__,
)
def test_a_transposition_through_shared_memory(shared: object) -> None:
    x, out = RNG.standard_normal((64, 32), np.float32), np.zeros((32, 64), np.float32)
    transposed[(1,)](x, out, 64, 32, shared)
    np.testing.assert_array_equal(out, x.T)


@gluon.jit
def async_copied(x, out, BLOCK: gl.constexpr, STEPS: gl.constexpr, layout: gl.constexpr):
    i = gl.arange(0, BLOCK, layout=layout)
    buffers = gl.allocate_shared_memory(gl.float32, [2, BLOCK], gl.SwizzledSharedLayout(1, 1, 1, [0]))
    async_copy.async_copy_global_to_shared(buffers.index(0), x + i)
    async_copy.commit_group()
    for step in range(STEPS):
        async_copy.async_copy_global_to_shared(
            buffers.index((step + 1) % 2), x + (step + 1) * BLOCK + i, mask=i < BLOCK * (STEPS - 1 - step)
        )
        async_copy.commit_group()
        async_copy.wait_group(1)
        gl.store(out + step * BLOCK + i, buffers.index(step % 2).load(layout) * 3)


def test_copies_in_flight_while_the_block_before_is_used() -> None:
    x, out = RNG.standard_normal(1024, np.float32), np.zeros(1024, np.float32)
    async_copied[(1,)](x, out, 256, 4, gl.BlockedLayout([2], [32], [4], [0]))
    np.testing.assert_array_equal(out, 3 * x)


@gluon.jit
def dot_by_mma(a, b, c, M: gl.constexpr, N: gl.constexpr, K: gl.constexpr):
    blocked: gl.constexpr = gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0])
    mma: gl.constexpr = gl.NVMMADistributedLayout([2, 0], [2, 2], [16, 8])
    i = gl.arange(0, M, layout=gl.SliceLayout(1, blocked))[:, None]
    j = gl.arange(0, N, layout=gl.SliceLayout(0, blocked))[None, :]
    k0 = gl.arange(0, K, layout=gl.SliceLayout(0, blocked))[None, :]
    k1 = gl.arange(0, K, layout=gl.SliceLayout(1, blocked))[:, None]
    x = gl.convert_layout(gl.load(a + i * K + k0), gl.DotOperandLayout(0, mma, 2))
    y = gl.convert_layout(gl.load(b + k1 * N + j), gl.DotOperandLayout(1, mma, 2))
    acc = mma_v2(x, y, gl.zeros([M, N], gl.float32, layout=mma))
    gl.store(c + i * N + j, gl.convert_layout(acc, blocked))


def test_a_dot_by_mma_sync() -> None:
    a, b = (RNG.standard_normal(shape).astype(np.float16) for shape in ((32, 64), (64, 32)))
    c = np.zeros((32, 32), np.float32)
    dot_by_mma[(1,)](a, b, c, 32, 32, 64)
    np.testing.assert_allclose(c, a.astype(np.float32) @ b.astype(np.float32), rtol=1e-3, atol=1e-3)


@gluon.jit
def tma_matmul(a, b, c, K: gl.constexpr, num_warps: gl.constexpr):
    M: gl.constexpr = a.block_type.shape[0]
    N: gl.constexpr = b.block_type.shape[1]
    BK: gl.constexpr = a.block_type.shape[1]
    x = gl.allocate_shared_memory(gl.float16, [M, BK], a.layout)
    y = gl.allocate_shared_memory(gl.float16, [BK, N], b.layout)
    z = gl.allocate_shared_memory(gl.float16, [M, N], c.layout)
    bar = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(bar, count=1)
    layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [num_warps, 1], [16, N, 16])
    acc = warpgroup_mma_init(gl.zeros([M, N], gl.float32, layout))
    phase = 0
    for k in range(0, K, BK):
        mbarrier.expect(bar, a.block_type.nbytes + b.block_type.nbytes)
        tma.async_copy_global_to_shared(a, [0, k], bar, x)
        tma.async_copy_global_to_shared(b, [k, 0], bar, y)
        mbarrier.wait(bar, phase)
        phase ^= 1
        acc = warpgroup_mma(x, y, acc, is_async=True)
        acc = warpgroup_mma_init(warpgroup_mma_wait(0, deps=(acc,)))
    mbarrier.invalidate(bar)
    z.store(warpgroup_mma_wait(0, deps=(acc,)).to(gl.float16))
    fence_async_shared()
    tma.async_copy_shared_to_global(c, [0, 0], z)
    tma.store_wait(0)


def described(array: DescribedArray, block: list[int]) -> TensorDescriptor:
    shape, strides = list(array.shape), [s // array.itemsize for s in array.strides]  # type: ignore[attr-defined]
    return TensorDescriptor(array, shape, strides, block, gl.NVMMASharedLayout.get_default_for(block, gl.float16))


def test_a_matmul_by_tensor_copies_and_warp_group_dots() -> None:
    a, b = (RNG.standard_normal(shape).astype(np.float16) for shape in ((64, 128), (128, 64)))
    c = np.zeros((64, 64), np.float16)
    kernel = tma_matmul[(1,)](described(a, [64, 64]), described(b, [64, 64]), described(c, [64, 64]), 128, num_warps=4)
    np.testing.assert_allclose(c, a.astype(np.float32) @ b.astype(np.float32), rtol=1e-2, atol=1e-2)
    assert "wgmma.mma_async" in kernel.asm["ptx"] and "cp.async.bulk.tensor" in kernel.asm["ptx"]


@gluon.jit
def dot_of_buffers(a, b, c, M: gl.constexpr, N: gl.constexpr, K: gl.constexpr, left: gl.constexpr, right: gl.constexpr):
    rows: gl.constexpr = gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0])
    mma: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, 32, 16])
    i = gl.arange(0, M, layout=gl.SliceLayout(1, rows))[:, None]
    j = gl.arange(0, N, layout=gl.SliceLayout(0, rows))[None, :]
    k0 = gl.arange(0, K, layout=gl.SliceLayout(0, rows))[None, :]
    k1 = gl.arange(0, K, layout=gl.SliceLayout(1, rows))[:, None]
    x = gl.allocate_shared_memory(gl.float16, [M, K], left, gl.load(a + i * K + k0))
    y = gl.allocate_shared_memory(gl.float16, [K, N], right, gl.load(b + k1 * N + j))
    fence_async_shared()
    acc = warpgroup_mma(x, y, gl.zeros([M, N], gl.float32, mma), is_async=True)
    acc = warpgroup_mma_wait(0, [acc])
    gl.store(c + i * N + j, gl.convert_layout(acc, rows))


def core_matrices(shape: tuple[int, int], contiguous: int) -> gl.SharedLinearLayout:
    """8 rows of 16 bytes after each other, first along the contiguous dimension: no swizzle."""
    bases: list[list[int]] = []
    for dim, first, end in (
        (contiguous, 1, 8), (1 - contiguous, 1, 8), (contiguous, 8, shape[contiguous]), (1 - contiguous, 8, shape[1 - contiguous])
    ):  # fmt: skip
        bases += [[step * (d == dim) for d in (0, 1)] for step in (1 << b for b in range(20)) if first <= step < end]
    return gl.SharedLinearLayout(bases, [], 128)


def by_bases(shape: tuple[int, int], transposed: bool) -> gl.SharedLinearLayout:
    """A swizzled layout that says its bases only."""
    found = linear_layout(gl.NVMMASharedLayout.get_default_for(list(shape), gl.float16, transposed=transposed), shape)
    assert isinstance(found, gl.SharedLinearLayout)
    return gl.SharedLinearLayout(found.offset_bases, [], 1024)


@pytest.mark.parametrize("make", [core_matrices, by_bases])
@pytest.mark.parametrize("left", [0, 1])
@pytest.mark.parametrize("right", [0, 1])
def test_warp_group_dots_read_linear_layouts(make: object, left: int, right: int) -> None:
    a, b = (RNG.standard_normal(shape).astype(np.float16) for shape in ((128, 64), (64, 64)))
    c = np.zeros((128, 64), np.float32)
    dot_of_buffers[(1,)](a, b, c, 128, 64, 64, make((128, 64), left), make((64, 64), right))  # type: ignore[operator]
    np.testing.assert_allclose(c, a.astype(np.float32) @ b.astype(np.float32), rtol=1e-2, atol=1e-2)


@gluon.jit
def consume(x, out, buffer, full, layout: gl.constexpr):
    mbarrier.wait(full, 0)
    i = gl.arange(0, 128, layout=layout)
    gl.store(out + i, buffer.load(layout) + gl.num_warps())


@gluon.jit
def produce(x, out, buffer, full, layout: gl.constexpr):
    i = gl.arange(0, 128, layout=layout)
    buffer.store(gl.load(x + i))
    mbarrier.arrive(full, count=1)


@gluon.jit
def specialized(x, out):
    buffer = gl.allocate_shared_memory(gl.float32, [128], gl.SwizzledSharedLayout(1, 1, 1, [0]))
    full = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(full, count=1)
    four: gl.constexpr = gl.BlockedLayout([1], [32], [4], [0])
    one: gl.constexpr = gl.BlockedLayout([1], [32], [1], [0])
    gl.warp_specialize([(consume, (x, out, buffer, full, four)), (produce, (x, out, buffer, full, one))], [1], [24])


def test_a_producer_and_a_consumer_in_warps_of_their_own() -> None:
    x, out = RNG.standard_normal(128, np.float32), np.zeros(128, np.float32)
    kernel = specialized[(1,)](x, out, num_warps=4)
    np.testing.assert_array_equal(out, x + 4)
    assert "ttg.warp_specialize" in kernel.asm["ttgir"]


@gluon.jit
def two_layouts(x, one: gl.constexpr, other: gl.constexpr):
    gl.store(x + gl.arange(0, 128, layout=one), gl.full([128], 1.0, gl.float32, other))


@gluon.jit
def no_layout(x):
    gl.store(x + gl.arange(0, 128), 1.0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda x: two_layouts[(1,)](x, gl.BlockedLayout([1], [32], [4], [0]), gl.BlockedLayout([2], [32], [2], [0])),
            r"test_kernels\.py:\d+.*Layout mismatch in broadcast",
        ),
        (lambda x: no_layout[(1,)](x), r"test_kernels\.py:\d+.*Failed to infer return type"),
        (lambda x: scale[(1,)](x, x, 128, 128, gl.SwizzledSharedLayout(1, 1, 1, [0])), "must be|expected"),
    ],
)  # fmt: skip
def test_misuse_is_found_at_its_line(call: object, message: str) -> None:
    with pytest.raises(MinitritonError, match=message):
        call(np.zeros(128, np.float32))  # type: ignore[operator]


def test_an_operation_of_gluon_in_a_kernel_of_tl_says_so() -> None:
    import minitriton

    @minitriton.jit
    def kernel(x):
        gl.thread_barrier()

    with pytest.raises(MinitritonError, match="operation of Gluon"):
        kernel[(1,)](np.zeros(1, np.float32))


@gluon.jit
def gather(source, index, out, axis: gl.constexpr, N: gl.constexpr, M: gl.constexpr, layout: gl.constexpr):
    rows = gl.arange(0, 16, layout=gl.SliceLayout(1, layout))[:, None]
    columns, places = (
        gl.arange(0, N, layout=gl.SliceLayout(0, layout)),
        gl.arange(0, M, layout=gl.SliceLayout(0, layout)),
    )
    at = rows * M + places[None, :]
    found = gl.gather(gl.load(source + rows * N + columns[None, :]), gl.load(index + at), axis)
    gl.store(out + at, found)


@pytest.mark.parametrize(("axis", "n", "m", "shuffles"), [(1, 32, 32, 16), (1, 8, 64, 8), (0, 8, 8, 0)])
@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.float64])
def test_a_gather_within_warps_is_made_of_shuffles(axis: int, n: int, m: int, shuffles: int, dtype: type) -> None:
    source = (RNG.standard_normal((16, n)) * 50).astype(dtype)
    index, out = RNG.integers(0, (16, n)[axis], (16, m), np.int32), np.zeros((16, m), dtype)
    kernel = gather[(1,)](source, index, out, axis, n, m, gl.BlockedLayout([1, 1], [4, 8], [4, 1], [1, 0]))
    np.testing.assert_array_equal(out, np.take_along_axis(source, index, axis))
    assert kernel.asm["ptx"].count("shfl.sync.idx") == shuffles * (2 if dtype is np.float64 else 1)


@gluon.jit
def doubled_unless_zero(x):
    if gl.sum(x, 0) == 0:
        return x
    return 2 * x


@gluon.jit
def doublings(x, n):
    i = gl.arange(0, 128, layout=gl.BlockedLayout([1], [32], [4], [0]))
    value = gl.load(x + i)
    for _ in range(n):
        value = doubled_unless_zero(value)
    gl.store(x + i, value)


def test_a_function_that_returns_early_is_inlined_in_a_loop() -> None:
    x = np.arange(128, dtype=np.int32)
    kernel = doublings[(1,)](x, 3)
    assert (x == 8 * np.arange(128)).all() and kernel.asm["llir"].count("define") == 1
