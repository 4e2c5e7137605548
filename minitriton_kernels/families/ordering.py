"""Sorting, top-k, histograms."""

import numpy as np
import triton
import triton.language as tl

from minitriton.lab.corpus.case import collector, f32, i32, integers, normal

CASES, case = collector(__file__)


@case(
    inputs=lambda rng: [normal(rng, 8, 64), f32(8, 64), f32(8, 64)],
    expected=lambda x, *_: {1: np.sort(x, 1), 2: -np.sort(-x, 1)},
    R=8,
    C=64,
)
@triton.jit
def sort_rows(x_ptr, up_ptr, down_ptr, R: tl.constexpr, C: tl.constexpr):
    at = tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :]
    x = tl.load(x_ptr + at)
    tl.store(up_ptr + at, tl.sort(x, 1))
    tl.store(down_ptr + at, tl.sort(x, 1, descending=True))


@case(
    inputs=lambda rng: [integers(rng, 0, 1000, 512), i32(512)],
    expected=lambda x, _: {1: np.sort(x)},
    num_warps=8,
    N=512,
)
@triton.jit
def sort_integers(x_ptr, out_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(out_ptr + at, tl.sort(tl.load(x_ptr + at)))


@case(
    inputs=lambda rng: [normal(rng, 16, 128), f32(16, 8)],
    expected=lambda x, _: {1: -np.sort(-x, 1)[:, :8]},
    R=16,
    C=128,
    K=8,
)
@triton.jit
def top_k(x_ptr, out_ptr, R: tl.constexpr, C: tl.constexpr, K: tl.constexpr):
    r = tl.arange(0, R)[:, None]
    x = tl.load(x_ptr + r * C + tl.arange(0, C)[None, :])
    tl.store(out_ptr + r * K + tl.arange(0, K)[None, :], tl.topk(x, K))


@case(
    inputs=lambda rng: [integers(rng, 0, 64, 2048), i32(64)],
    expected=lambda x, _: {1: np.bincount(x, minlength=64)},
    N=2048,
    BINS=64,
)
@triton.jit
def histogram_of_tile(x_ptr, out_ptr, N: tl.constexpr, BINS: tl.constexpr):
    counts = tl.histogram(tl.load(x_ptr + tl.arange(0, N)), BINS)
    tl.store(out_ptr + tl.arange(0, BINS), counts)


@case(
    inputs=lambda rng: [integers(rng, 0, 32, 900), i32(32), 900],
    expected=lambda x, *_: {1: np.bincount(x, minlength=32)},
    grid=(4,),
    BLOCK=256,
    BINS=32,
)
@triton.jit
def masked_histogram(x_ptr, out_ptr, n, BLOCK: tl.constexpr, BINS: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0)
    counts = tl.histogram(x, BINS, mask=at < n)
    tl.atomic_add(out_ptr + tl.arange(0, BINS), counts)


@case(
    inputs=lambda rng: [rng.permutation(256).astype(np.int32), i32(256)],
    expected=lambda x, _: {1: np.argsort(x)},
    N=256,
)
@triton.jit
def sort_by_key(x_ptr, out_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    packed = tl.sort((tl.load(x_ptr + at).to(tl.int64) << 32) | at.to(tl.int64))
    tl.store(out_ptr + at, (packed & 0xFFFFFFFF).to(tl.int32))
