"""Matrix kernels as users write them: by pointers, with descriptors, persistent, and causal attention."""

import triton
import triton.language as tl


@triton.jit
def by_pointers(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    depth = tl.arange(0, BK)
    total = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        x = tl.load(a + rows[:, None] * K + (k + depth)[None, :], mask=rows[:, None] < M, other=0.0)
        y = tl.load(b + (k + depth)[:, None] * N + columns[None, :], mask=columns[None, :] < N, other=0.0)
        total = tl.dot(x, y, total)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(c + rows[:, None] * N + columns[None, :], total, mask=inside)


@triton.jit
def widened(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    depth = tl.arange(0, BK)
    total = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        x = tl.load(a + rows[:, None] * K + (k + depth)[None, :], mask=rows[:, None] < M, other=0.0)
        y = tl.load(b + (k + depth)[:, None] * N + columns[None, :], mask=columns[None, :] < N, other=0)
        total = tl.dot(x, y.to(tl.float16), total)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(c + rows[:, None] * N + columns[None, :], total, mask=inside)


@triton.jit
def by_descriptors(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    da = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    db = tl.make_tensor_descriptor(b, [K, N], [N, 1], [BK, BN])
    dc = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN])
    row, column = tl.program_id(0) * BM, tl.program_id(1) * BN
    total = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        total = tl.dot(da.load([row, k]), db.load([k, column]), total)
    dc.store([row, column], total)


@triton.jit
def by_host_descriptors(da, db, dc, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    row, column = tl.program_id(0) * BM, tl.program_id(1) * BN
    total = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        total = tl.dot(da.load([row, k]), db.load([k, column]), total)
    dc.store([row, column], total)


@triton.jit
def persistent(
    a, b, c, M, N, K, PROGRAMS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, FLATTEN: tl.constexpr
):  # fmt: skip
    da = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    db = tl.make_tensor_descriptor(b, [N, K], [K, 1], [BN, BK])
    dc = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN])
    across = tl.cdiv(N, BN)
    tiles = tl.cdiv(M, BM) * across
    steps = tl.cdiv(K, BK)
    for tile in tl.range(tl.program_id(0), tiles, PROGRAMS, flatten=FLATTEN):
        row, column = tile // across * BM, tile % across * BN
        total = tl.zeros((BM, BN), tl.float32)
        for k in range(steps):
            total = tl.dot(da.load([row, k * BK]), db.load([column, k * BK]).T, total)
        dc.store([row, column], total.to(tl.float16))


@triton.jit
def specialized(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    da = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    db = tl.make_tensor_descriptor(b, [N, K], [K, 1], [BN, BK])
    dc = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN])
    row, column = tl.program_id(0) * BM, tl.program_id(1) * BN
    total = tl.zeros((BM, BN), tl.float32)
    for k in tl.range(0, tl.cdiv(K, BK), warp_specialize=True):
        total = tl.dot(da.load([row, k * BK]), db.load([column, k * BK]).T, total)
    dc.store([row, column], total.to(tl.float16))


@triton.jit
def causal_attention(
    q, k, v, out, scale, LENGTH: tl.constexpr, WIDTH: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr
):
    block, head = tl.program_id(0), tl.program_id(1)
    base = head * LENGTH * WIDTH
    rows = block * BM + tl.arange(0, BM)
    features = tl.arange(0, WIDTH)
    query = tl.load(q + base + rows[:, None] * WIDTH + features[None, :])
    largest = tl.full((BM,), float("-inf"), tl.float32)
    weight = tl.zeros((BM,), tl.float32)
    total = tl.zeros((BM, WIDTH), tl.float32)
    factor = scale * 1.44269504
    for start in range(0, (block + 1) * BM, BN):
        columns = start + tl.arange(0, BN)
        key = tl.load(k + base + columns[None, :] * WIDTH + features[:, None])
        score = tl.dot(query, key) * factor
        score = tl.where(rows[:, None] >= columns[None, :], score, float("-inf"))
        new = tl.maximum(largest, tl.max(score, 1))
        p = tl.exp2(score - new[:, None])
        shrink = tl.exp2(largest - new)
        weight = weight * shrink + tl.sum(p, 1)
        value = tl.load(v + base + columns[:, None] * WIDTH + features[None, :])
        total = tl.dot(p.to(tl.float16), value, total * shrink[:, None])
        largest = new
    tl.store(out + base + rows[:, None] * WIDTH + features[None, :], (total / weight[:, None]).to(tl.float16))


@triton.jit
def one_tile(a, b, c, K, SUM: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows, columns, depth = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    total = tl.zeros((BM, BN), SUM)
    for k in range(0, K, BK):
        x = tl.load(a + rows[:, None] * K + (k + depth)[None, :])
        y = tl.load(b + columns[None, :] * K + (k + depth)[:, None])
        total = tl.dot(x, y, total, out_dtype=SUM)
    tl.store(c + rows[:, None] * BN + columns[None, :], total)
