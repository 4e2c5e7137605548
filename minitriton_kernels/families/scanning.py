"""Scans, in both directions and with several values at once."""

import numpy as np
import triton
import triton.language as tl

from minitriton.lab.corpus.case import collector, f32, i32, integers, normal, uniform

CASES, case = collector(__file__)


@case(
    inputs=lambda rng: [integers(rng, -50, 50, 16, 128), i32(16, 128), i32(16, 128)],
    expected=lambda x, *_: {1: x.cumsum(1), 2: x.cumsum(0)},
    R=16,
    C=128,
)
@triton.jit
def running_sums(x_ptr, rows_ptr, columns_ptr, R: tl.constexpr, C: tl.constexpr):
    at = tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :]
    x = tl.load(x_ptr + at)
    tl.store(rows_ptr + at, tl.cumsum(x, 1))
    tl.store(columns_ptr + at, tl.cumsum(x, 0))


@case(
    inputs=lambda rng: [uniform(rng, 0.9, 1.1, 512), f32(512)],
    expected=lambda x, _: {1: x.astype(np.float64).cumprod()},
    tolerance=1e-4,
    N=512,
)
@triton.jit
def running_product(x_ptr, out_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(out_ptr + at, tl.cumprod(tl.load(x_ptr + at), 0))


@case(
    inputs=lambda rng: [integers(rng, -9, 9, 1024), i32(1024)],
    expected=lambda x, _: {1: x[::-1].cumsum()[::-1]},
    num_warps=8,
    N=1024,
)
@triton.jit
def suffix_sums(x_ptr, out_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(out_ptr + at, tl.cumsum(tl.load(x_ptr + at), 0, reverse=True))


@triton.jit
def larger(a, b):
    return tl.maximum(a, b)


@case(
    inputs=lambda rng: [normal(rng, 32, 32), f32(32, 32)], expected=lambda x, _: {1: np.maximum.accumulate(x, 1)}, N=32
)
@triton.jit
def running_maximum(x_ptr, out_ptr, N: tl.constexpr):
    at = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out_ptr + at, tl.associative_scan(tl.load(x_ptr + at), 1, larger))


@triton.jit
def segment(value_a, start_a, value_b, start_b):
    return tl.where(start_b != 0, value_b, value_a + value_b), start_a | start_b


def segmented(x: np.ndarray, start: np.ndarray) -> np.ndarray:
    out, total = np.zeros_like(x), 0
    for i in range(len(x)):
        total = x[i] if start[i] else total + x[i]
        out[i] = total
    return out


@case(
    inputs=lambda rng: [integers(rng, 0, 9, 256), integers(rng, 0, 2, 256) * integers(rng, 0, 2, 256), i32(256)],
    expected=lambda x, start, _: {2: segmented(x, start)},
    N=256,
)
@triton.jit
def segmented_sums(x_ptr, start_ptr, out_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    sums, _starts = tl.associative_scan((tl.load(x_ptr + at), tl.load(start_ptr + at)), 0, segment)
    tl.store(out_ptr + at, sums)


@triton.jit
def affine(a_scale, a_shift, b_scale, b_shift):
    return a_scale * b_scale, a_shift * b_scale + b_shift


def recurrence(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    out, h = np.zeros(len(a)), 0.0
    for i in range(len(a)):
        h = float(a[i]) * h + float(b[i])
        out[i] = h
    return out


@case(
    inputs=lambda rng: [uniform(rng, 0.5, 1, 256), normal(rng, 256), f32(256)],
    expected=lambda a, b, _: {2: recurrence(a, b)},
    tolerance=1e-4,
    N=256,
)
@triton.jit
def linear_recurrence(a_ptr, b_ptr, out_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    _scale, shift = tl.associative_scan((tl.load(a_ptr + at), tl.load(b_ptr + at)), 0, affine)
    tl.store(out_ptr + at, shift)


@case(
    inputs=lambda rng: [integers(rng, 0, 2, 1000), i32(1000), i32(1), 1000],
    expected=lambda keep, *_: {
        1: np.concatenate([np.flatnonzero(keep), np.zeros(1000 - keep.sum(), np.int64)]), 2: keep.sum()[None],
    },
    BLOCK=1024,
)  # fmt: skip
@triton.jit
def compaction(keep_ptr, out_ptr, count_ptr, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    keep = tl.load(keep_ptr + at, mask=at < n, other=0)
    index = tl.cumsum(keep, 0) - keep
    tl.store(out_ptr + index, at, mask=keep != 0)
    tl.store(count_ptr, tl.sum(keep, 0))
