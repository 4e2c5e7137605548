"""Barriers that a kernel asks for, or warp specialization makes, say nothing of those that accesses of shared memory need."""

from __future__ import annotations

import numpy as np

import minitriton as triton
import minitriton.language as tl
from minitriton.lab import check_call


@triton.jit
def sums(a, c, N: tl.constexpr):
    x = tl.load(a + tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :])
    tl.debug_barrier()
    tl.store(c + tl.arange(0, N), tl.sum(x, 1) + tl.sum(x, 0))


def test_a_kernel_with_a_barrier_of_its_own_is_sound() -> None:
    report = check_call(sums, [np.ones((64, 64), np.float32), np.zeros(64, np.float32)], (1,), arch=90, N=64)
    assert report.ok, report.text()


@triton.jit
def specialized(a, b, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    da = tl.make_tensor_descriptor(a, [BM, K], [K, 1], [BM, BK])
    db = tl.make_tensor_descriptor(b, [K, BN], [BN, 1], [BK, BN])
    acc = tl.zeros((BM, BN), tl.float32)
    for k in tl.range(0, K, BK, warp_specialize=True):
        acc = tl.dot(da.load([0, k]), db.load([k, 0]), acc)
    tl.store(c + tl.arange(0, BM)[:, None] * BN + tl.arange(0, BN)[None, :], acc)


def test_a_specialized_kernel_is_sound_and_valid_after_every_pass() -> None:
    triton.set_allocator(lambda size, alignment, stream: np.zeros(size, np.int8))
    rng = np.random.default_rng(0)
    a, b = rng.integers(-3, 4, (128, 128)).astype(np.float16), rng.integers(-3, 4, (128, 64)).astype(np.float16)
    c = np.zeros((128, 64), np.float32)
    report = check_call(specialized, [a, b, c, 128], (1,), arch=90, options={"num_warps": 4}, BM=128, BN=64, BK=64)
    assert report.ok, report.text()
    np.testing.assert_array_equal(c, a.astype(np.float32) @ b)
