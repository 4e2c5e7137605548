"""Kernels that ask for warp specialization: a product with and without a loop over tiles, in the forms in which people write them."""

import triton
import triton.language as tl


@triton.jit
def matmul(a, b, c, M, N, K, STAGES: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    da = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    db = tl.make_tensor_descriptor(b, [N, K], [K, 1], [BN, BK])
    dc = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN])
    row, column = tl.program_id(0) * BM, tl.program_id(1) * BN
    total = tl.zeros((BM, BN), tl.float32)
    for k in tl.range(tl.cdiv(K, BK), warp_specialize=True, num_stages=STAGES):
        total = tl.dot(da.load([row, k * BK]), db.load([column, k * BK]).T, total)
    dc.store([row, column], total.to(c.dtype.element_ty))


@triton.jit
def rows_of_b(a, b, c, M, N, K, STAGES: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    da = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    db = tl.make_tensor_descriptor(b, [K, N], [N, 1], [BK, BN])
    dc = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN])
    row, column = tl.program_id(0) * BM, tl.program_id(1) * BN
    total = tl.zeros((BM, BN), tl.float32)
    for k in tl.range(0, K, BK, warp_specialize=True, num_stages=STAGES):
        total = tl.dot(da.load([row, k]), db.load([k, column]), total)
    dc.store([row, column], total.to(c.dtype.element_ty))


@triton.jit
def stored_by_pointers(a, b, c, M, N, K, STAGES: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    da = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    db = tl.make_tensor_descriptor(b, [K, N], [N, 1], [BK, BN])
    row, column = tl.program_id(0) * BM, tl.program_id(1) * BN
    total = tl.zeros((BM, BN), tl.float32)
    for k in tl.range(0, K, BK, warp_specialize=True, num_stages=STAGES):
        total = tl.dot(da.load([row, k]), db.load([k, column]), total)
    rows, columns = row + tl.arange(0, BM), column + tl.arange(0, BN)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(c + rows[:, None] * N + columns[None, :], total.to(c.dtype.element_ty), mask=inside)


@triton.jit
def scaled(a, b, c, M, N, K, STAGES: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    da = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    db = tl.make_tensor_descriptor(b, [K, N], [N, 1], [BK, BN])
    dc = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN])
    row, column = tl.program_id(0) * BM, tl.program_id(1) * BN
    total = tl.zeros((BM, BN), tl.float32)
    for k in tl.range(0, K, BK, warp_specialize=True, num_stages=STAGES):
        total = tl.dot(da.load([row, k]), db.load([k, column]), total)
    total = tl.where(total > 0, total, total * 0.01) + (tl.arange(0, BN) * 0.001)[None, :]
    dc.store([row, column], total.to(c.dtype.element_ty))


@triton.jit
def persistent(
    a, b, c, M, N, K, PROGRAMS: tl.constexpr, STAGES: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):  # fmt: skip
    da = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    db = tl.make_tensor_descriptor(b, [N, K], [K, 1], [BN, BK])
    dc = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN])
    across = tl.cdiv(N, BN)
    for tile in tl.range(
        tl.program_id(0), tl.cdiv(M, BM) * across, PROGRAMS, warp_specialize=True, num_stages=STAGES
    ):  # fmt: skip
        row, column = tile // across * BM, tile % across * BN
        total = tl.zeros((BM, BN), tl.float32)
        for k in range(tl.cdiv(K, BK)):
            total = tl.dot(da.load([row, k * BK]), db.load([column, k * BK]).T, total)
        dc.store([row, column], total.to(c.dtype.element_ty))


@triton.jit
def inner_marked(
    a, b, c, M, N, K, PROGRAMS: tl.constexpr, STAGES: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):  # fmt: skip
    da = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    db = tl.make_tensor_descriptor(b, [N, K], [K, 1], [BN, BK])
    dc = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN])
    across = tl.cdiv(N, BN)
    for tile in range(tl.program_id(0), tl.cdiv(M, BM) * across, PROGRAMS):
        row, column = tile // across * BM, tile % across * BN
        total = tl.zeros((BM, BN), tl.float32)
        for k in tl.range(0, tl.cdiv(K, BK), warp_specialize=True, num_stages=STAGES):
            total = tl.dot(da.load([row, k * BK]), db.load([column, k * BK]).T, total)
        dc.store([row, column], total.to(c.dtype.element_ty))


@triton.jit
def two_products(a, b, c, M, N, K, STAGES: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    da = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    db = tl.make_tensor_descriptor(b, [K, N], [N, 1], [BK, BN])
    dc = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN])
    row, column = tl.program_id(0) * BM, tl.program_id(1) * BN
    total = tl.zeros((BM, BN), tl.float32)
    other = tl.zeros((BM, BN), tl.float32)
    for k in tl.range(0, K, BK, warp_specialize=True, num_stages=STAGES):
        x = da.load([row, k])
        y = db.load([k, column])
        total = tl.dot(x, y, total)
        other = tl.dot(x * 2, y, other)
    dc.store([row, column], (total + other).to(c.dtype.element_ty))


@triton.jit
def attention(
    q, k, v, o, M, N, SCALE: tl.constexpr, STAGES: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr
):
    dq = tl.make_tensor_descriptor(q, [M, D], [D, 1], [BM, D])
    dk = tl.make_tensor_descriptor(k, [N, D], [D, 1], [BN, D])
    dv = tl.make_tensor_descriptor(v, [N, D], [D, 1], [BN, D])
    do = tl.make_tensor_descriptor(o, [M, D], [D, 1], [BM, D])
    row = tl.program_id(0) * BM
    most = tl.zeros([BM], tl.float32) - float("inf")
    sums = tl.zeros([BM], tl.float32) + 1.0
    total = tl.zeros([BM, D], tl.float32)
    x = dq.load([row, 0])
    for start in tl.range(0, N, BN, warp_specialize=True, num_stages=STAGES):
        product = tl.dot(x, dk.load([start, 0]).T)
        now = tl.maximum(most, tl.max(product, 1) * SCALE)
        p = tl.math.exp2(product * SCALE - now[:, None])
        shrink = tl.math.exp2(most - now)
        total = total * shrink[:, None]
        total = tl.dot(p.to(q.dtype.element_ty), dv.load([start, 0]), total)
        sums = sums * shrink + tl.sum(p, 1)
        most = now
    do.store([row, 0], (total / sums[:, None]).to(o.dtype.element_ty))


@triton.jit
def updated_in_place(a, b, c, M, N, K, STAGES: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    da = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    db = tl.make_tensor_descriptor(b, [K, N], [N, 1], [BK, BN])
    total = tl.zeros((BM, BN), tl.float32)
    for k in tl.range(0, K, BK, warp_specialize=True, num_stages=STAGES):
        total = tl.dot(da.load([0, k]), db.load([k, 0]), total)
        da.store([0, 0], tl.zeros((BM, BK), tl.float16))
    tl.store(c + tl.arange(0, BM)[:, None] * N + tl.arange(0, BN)[None, :], total.to(tl.float16))


@triton.jit
def counted(a, b, c, M, N, K, STAGES: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    da = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    db = tl.make_tensor_descriptor(b, [K, N], [N, 1], [BK, BN])
    total = tl.zeros((BM, BN), tl.float32)
    for k in tl.range(0, K, BK, warp_specialize=True, num_stages=STAGES):
        total = tl.dot(da.load([0, k]), db.load([k, 0]), total)
    tl.atomic_add(c, 1.0)
    tl.store(c + tl.arange(0, BM)[:, None] * N + tl.arange(0, BN)[None, :], total.to(tl.float16))


@triton.jit
def by_host_descriptors(
    da, db, dc, M, N, K, PROGRAMS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):  # fmt: skip
    across = tl.cdiv(N, BN)
    for tile in tl.range(tl.program_id(0), tl.cdiv(M, BM) * across, PROGRAMS, warp_specialize=True):
        row, column = tile // across * BM, tile % across * BN
        total = tl.zeros((BM, BN), tl.float32)
        for k in range(0, K, BK):
            total = tl.dot(da.load([row, k]), db.load([column, k]).T, total)
        dc.store([row, column], total.to(dc.dtype))


@triton.jit
def stored_in_halves(a, b, c, M, N, K, STAGES: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    da = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    db = tl.make_tensor_descriptor(b, [K, N], [N, 1], [BK, BN])
    dc = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN // 2])
    row, column = tl.program_id(0) * BM, tl.program_id(1) * BN
    total = tl.zeros((BM, BN), tl.float32)
    for k in tl.range(0, K, BK, warp_specialize=True, num_stages=STAGES):
        total = tl.dot(da.load([row, k]), db.load([k, column]), total)
    left, right = tl.split(tl.permute(tl.reshape(total, (BM, 2, BN // 2)), (0, 2, 1)))
    dc.store([row, column], left.to(c.dtype.element_ty))
    dc.store([row, column + BN // 2], right.to(c.dtype.element_ty))


@triton.jit
def by_pointers(a, b, c, M, N, K, STAGES: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows, columns, depth = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    x = a + rows[:, None] * K + depth[None, :]
    y = b + depth[:, None] * N + columns[None, :]
    total = tl.zeros((BM, BN), tl.float32)
    for k in tl.range(0, K, BK, warp_specialize=True, num_stages=STAGES):
        total = tl.dot(tl.load(x), tl.load(y, mask=depth[:, None] < K - k, other=0.0), total)
        x += BK
        y += BK * N
    tl.store(c + rows[:, None] * N + columns[None, :], total.to(tl.float16))


@triton.jit
def assumed(a, b, c, M, N, K, STAGES: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    da = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    db = tl.make_tensor_descriptor(b, [K, N], [N, 1], [BK, BN])
    total = tl.zeros((BM, BN), tl.float32)
    tl.assume(K > 0)
    for k in tl.range(0, K, BK, warp_specialize=True, num_stages=STAGES):
        total = tl.dot(da.load([0, k]), db.load([k, 0]), total)
    tl.store(c + tl.arange(0, BM)[:, None] * N + tl.arange(0, BN)[None, :], total.to(tl.float16))


@triton.jit
def in_a_branch(a, b, c, M, N, K, STAGES: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    da = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    db = tl.make_tensor_descriptor(b, [K, N], [N, 1], [BK, BN])
    dc = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN])
    for turn in tl.range(0, 4, warp_specialize=True, num_stages=STAGES):
        if turn % 2 == 1:
            total = tl.zeros((BM, BN), tl.float32)
            for k in range(0, K, BK):
                total = tl.dot(da.load([0, k]), db.load([k, 0]), total)
            dc.store([0, 0], total.to(tl.float16))
