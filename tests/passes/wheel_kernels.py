"""Kernels that more than one comparison with the wheel compiles."""

import triton
import triton.language as tl


@triton.jit
def add(x, y, o, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(o + offsets, tl.load(x + offsets, mask=mask) + tl.load(y + offsets, mask=mask), mask=mask)


@triton.jit
def softmax(x, o, n, BM: tl.constexpr, BN: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    cols = tl.arange(0, BN)
    mask = cols[None, :] < n
    v = tl.load(x + rows[:, None] * n + cols[None, :], mask=mask, other=-float("inf")).to(tl.float32)
    e = tl.exp(v - tl.max(v, axis=1)[:, None])
    y = e / tl.sum(e, axis=1)[:, None]
    tl.store(o + rows[:, None] * n + cols[None, :], y.to(tl.float16), mask=mask)


@triton.jit
def column_sums(x, o, m, n, BM: tl.constexpr, BN: tl.constexpr):
    cols = tl.program_id(0) * BN + tl.arange(0, BN)
    rows = tl.arange(0, BM)
    total = tl.zeros([BN], dtype=tl.float32)
    for i in range(0, m, BM):
        tile = tl.load(x + (i + rows)[:, None] * n + cols[None, :], mask=(i + rows)[:, None] < m, other=0.0)
        total += tl.sum(tile.to(tl.float32), axis=0)
    tl.store(o + cols, total)


@triton.jit
def transpose(x, o, m, n, BM: tl.constexpr, BN: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    cols = tl.program_id(1) * BN + tl.arange(0, BN)
    tile = tl.load(x + rows[:, None] * n + cols[None, :], mask=(rows[:, None] < m) & (cols[None, :] < n))
    tl.store(o + cols[:, None] * m + rows[None, :], tl.trans(tile))


@triton.jit
def matmul(a, b, c, k, sa, sb, sc, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    pa = a + rm[:, None] * sa + rk[None, :]
    pb = b + rk[:, None] * sb + rn[None, :]
    acc = tl.zeros([BM, BN], dtype=tl.float32)
    for i in range(0, k, BK):
        acc = tl.dot(tl.load(pa, mask=rk[None, :] < k - i, other=0.0), tl.load(pb), acc, input_precision="ieee")
        pa += BK
        pb += BK * sb
    tl.store(c + rm[:, None] * sc + rn[None, :], acc)


@triton.jit
def argmax_of_gathered(x, i, o, q, BM: tl.constexpr, BN: tl.constexpr, AXIS: tl.constexpr):
    rows, cols = tl.arange(0, BM), tl.arange(0, BN)
    at = rows[:, None] * BN + cols[None, :]
    v = tl.gather(tl.load(x + at), tl.load(i + at), AXIS)
    tl.store(o + at, v)
    tl.store(q + (cols if AXIS == 0 else rows), tl.argmax(v, axis=AXIS))
