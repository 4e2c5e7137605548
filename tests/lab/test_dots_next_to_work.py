"""Loops in which a product's operands or results meet other work: nothing is written while tensor cores still read it."""

from __future__ import annotations

import numpy as np
import pytest

import minitriton as triton
import minitriton.language as tl


@triton.jit
def product_of_a_product(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    da = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    db = tl.make_tensor_descriptor(b, [K, N], [N, 1], [BK, BN])
    total = tl.zeros((BM, BN), tl.float32)
    z = db.load([0, 0])
    for k in tl.range(0, K, BK, num_stages=2):
        y = tl.dot(da.load([0, k]), db.load([k, 0]))
        total = tl.dot(y.to(tl.float16), z, total)
    tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN]).store([0, 0], total.to(tl.float16))


@triton.jit
def product_and_row_sum(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    da = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    db = tl.make_tensor_descriptor(b, [K, N], [N, 1], [BK, BN])
    total = tl.zeros((BM, BN), tl.float32)
    sums = tl.zeros((BM,), tl.float32)
    for k in tl.range(0, K, BK, num_stages=2):
        x = da.load([0, k])
        total = tl.dot(x, db.load([k, 0]), total)
        sums += tl.sum(x.to(tl.float32), 1)
    tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN]).store([0, 0], (total + sums[:, None]).to(tl.float16))


@pytest.mark.parametrize("kernel", [product_of_a_product, product_and_row_sum], ids=lambda kernel: kernel.__name__)
@pytest.mark.parametrize("num_warps", [4, 8])
def test_nothing_is_written_while_a_product_reads_it(kernel, num_warps):
    rng = np.random.default_rng(0)
    a, b = (rng.uniform(-0.5, 0.5, shape).astype(np.float16) for shape in ((128, 192), (192, 64)))
    c = np.zeros((128, 64), np.float16)
    triton.set_allocator(lambda size, align, stream: np.zeros(size, np.int8))
    kernel[(1,)](a, b, c, 128, 64, 192, BM=128, BN=64, BK=64, num_warps=num_warps)
    x, y = a.astype(np.float64), b.astype(np.float64)
    steps = [x[:, k : k + 64] @ y[k : k + 64] for k in range(0, 192, 64)]
    expected = (
        sum(step @ y[:64] for step in steps) if kernel is product_of_a_product else x @ y + x.sum(1, keepdims=True)
    )
    np.testing.assert_allclose(c, expected, rtol=1e-2, atol=3e-2)
