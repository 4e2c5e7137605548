"""The kernels whose texts mutants are made of."""

import triton
import triton.language as tl


@triton.jit
def masked_sum(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    a = tl.load(x + i, mask=mask, other=0.0)
    b = tl.load(y + i, mask=mask, other=1.0)
    tl.store(out + i, tl.where(a > b, tl.exp(a), a / b) + tl.sum(a, axis=0), mask=mask)


@triton.jit
def matmul(a, b, c, K, M: tl.constexpr, N: tl.constexpr, STEP: tl.constexpr):
    rows, columns, inner = tl.arange(0, M), tl.arange(0, N), tl.arange(0, STEP)
    accumulator = tl.zeros((M, N), tl.float32)
    for k in range(0, K, STEP):
        left = tl.load(a + rows[:, None] * K + (k + inner)[None, :])
        right = tl.load(b + (k + inner)[:, None] * N + columns[None, :])
        accumulator = tl.dot(left, right, accumulator)
    tl.store(c + rows[:, None] * N + columns[None, :], accumulator.to(tl.float16))


@triton.jit
def scanned(x, out, n, N: tl.constexpr):
    i = tl.arange(0, N)
    values = tl.load(x + i)
    total = tl.cumsum(values, axis=0)
    k = n
    while k > 1:
        if k % 2 == 0:
            total = total + k
        k = k // 2
    tl.atomic_add(out + i % 16, tl.sort(total))


@triton.jit
def transposed(x, out, stride, M: tl.constexpr, N: tl.constexpr):
    rows, columns = tl.arange(0, M), tl.arange(0, N)
    tile = tl.load(x + rows[:, None] * stride + columns[None, :])
    best = tl.argmax(tile, axis=1)
    tl.store(out + columns[:, None] * M + rows[None, :], tl.trans(tile) + best[None, :])


@triton.jit
def helper(x, y):
    return tl.maximum(x, y) * 2


@triton.jit
def with_descriptor(x, out, M, N, TILE: tl.constexpr):
    source = tl.make_tensor_descriptor(x, [M, N], [N, 1], [TILE, TILE])
    result = tl.make_tensor_descriptor(out, [M, N], [N, 1], [TILE, TILE])
    at = tl.program_id(0) * TILE
    tile = source.load([0, at])
    result.store([0, at], helper(tile, -tile))
