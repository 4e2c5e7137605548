"""Reductions: axes, combine functions, several values at once."""

import numpy as np
import triton
import triton.language as tl

from minitriton.lab.corpus.case import collector, f32, i32, integers, normal, uniform

CASES, case = collector(__file__)


@triton.jit
def cube(A: tl.constexpr, B: tl.constexpr, C: tl.constexpr):
    a = tl.arange(0, A)[:, None, None] * (B * C)
    b = tl.arange(0, B)[None, :, None] * C
    return a + b + tl.arange(0, C)[None, None, :]


@case(
    inputs=lambda rng: [integers(rng, -50, 50, 8, 16, 32), i32(16, 32), i32(8, 32), i32(8, 16)],
    expected=lambda x, *_: {1: x.sum(0), 2: x.sum(1), 3: x.sum(2)},
    A=8,
    B=16,
    C=32,
)
@triton.jit
def cube_sums(x_ptr, a_ptr, b_ptr, c_ptr, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr):
    x = tl.load(x_ptr + cube(A, B, C))
    i = tl.arange(0, A)
    j = tl.arange(0, B)
    k = tl.arange(0, C)
    tl.store(a_ptr + j[:, None] * C + k[None, :], tl.sum(x, 0))
    tl.store(b_ptr + i[:, None] * C + k[None, :], tl.sum(x, 1))
    tl.store(c_ptr + i[:, None] * B + j[None, :], tl.sum(x, 2))


@case(
    inputs=lambda rng: [normal(rng, 32, 64), f32(32), i32(32), f32(64), i32(64)],
    expected=lambda x, *_: {1: x.max(1), 2: x.argmax(1), 3: x.min(0), 4: x.argmin(0)},
    R=32,
    C=64,
)
@triton.jit
def extremes_with_indices(x_ptr, max_ptr, argmax_ptr, min_ptr, argmin_ptr, R: tl.constexpr, C: tl.constexpr):
    r = tl.arange(0, R)
    c = tl.arange(0, C)
    x = tl.load(x_ptr + r[:, None] * C + c[None, :])
    best, index = tl.max(x, 1, return_indices=True)
    least, least_index = tl.min(x, 0, return_indices=True)
    tl.store(max_ptr + r, best)
    tl.store(argmax_ptr + r, index)
    tl.store(min_ptr + c, least)
    tl.store(argmin_ptr + c, least_index)


@case(
    inputs=lambda rng: [integers(rng, -(2**31), 2**31, 64, 32), i32(64), i32(1)],
    expected=lambda x, *_: {1: np.bitwise_xor.reduce(x, 1), 2: np.bitwise_or.reduce(x.ravel() & 0xFF0F)[None]},
    R=64,
    C=32,
)
@triton.jit
def bit_reductions(x_ptr, xor_ptr, or_ptr, R: tl.constexpr, C: tl.constexpr):
    r = tl.arange(0, R)
    x = tl.load(x_ptr + r[:, None] * C + tl.arange(0, C)[None, :])
    tl.store(xor_ptr + r, tl.xor_sum(x, 1))
    tl.store(or_ptr, tl.reduce_or(tl.reshape(x & 0xFF0F, [R * C]), 0))


@triton.jit
def multiply(a, b):
    return a * b


@case(
    inputs=lambda rng: [uniform(rng, 0.9, 1.1, 16, 128), f32(16)],
    expected=lambda x, _: {1: x.astype(np.float64).prod(1)},
    R=16,
    C=128,
)
@triton.jit
def product(x_ptr, out_ptr, R: tl.constexpr, C: tl.constexpr):
    r = tl.arange(0, R)
    x = tl.load(x_ptr + r[:, None] * C + tl.arange(0, C)[None, :])
    tl.store(out_ptr + r, tl.reduce(x, 1, multiply))


@triton.jit
def combine_moments(mean_a, m2_a, n_a, mean_b, m2_b, n_b):
    n = n_a + n_b
    delta = mean_b - mean_a
    return mean_a + delta * (n_b / n), m2_a + m2_b + delta * delta * (n_a * n_b / n), n


@case(
    inputs=lambda rng: [normal(rng, 16, 256), f32(16), f32(16)],
    expected=lambda x, *_: {1: x.astype(np.float64).mean(1), 2: x.astype(np.float64).var(1)},
    tolerance=1e-4,
    R=16,
    C=256,
)
@triton.jit
def welford(x_ptr, mean_ptr, variance_ptr, R: tl.constexpr, C: tl.constexpr):
    r = tl.arange(0, R)
    x = tl.load(x_ptr + r[:, None] * C + tl.arange(0, C)[None, :])
    mean, m2, n = tl.reduce((x, tl.zeros_like(x), tl.full([R, C], 1.0, tl.float32)), 1, combine_moments)
    tl.store(mean_ptr + r, mean)
    tl.store(variance_ptr + r, m2 / n)


@case(
    inputs=lambda rng: [normal(rng, 37, 200), f32(37), 37, 200],
    expected=lambda x, *_: {1: np.log(np.exp(x.astype(np.float64)).sum(1))},
    exact_order=False,  # the logarithm is a polynomial of our own
    grid=(37,),
    num_warps=2,
    BLOCK=256,
)
@triton.jit
def log_sum_exp(x_ptr, out_ptr, rows, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * columns + c, mask=c < columns, other=-float("inf"))
    top = tl.max(x, 0)
    tl.store(out_ptr + row, top + tl.log(tl.sum(tl.exp(x - top), 0)))


@case(
    inputs=lambda rng: [integers(rng, -100, 100, 4096, dtype=np.int8), i32(1)],
    expected=lambda x, _: {1: x.astype(np.int32).sum()[None]},
    num_warps=8,
    N=4096,
)
@triton.jit
def sum_of_bytes(x_ptr, out_ptr, N: tl.constexpr):
    tl.store(out_ptr, tl.sum(tl.load(x_ptr + tl.arange(0, N)), 0))


@case(
    inputs=lambda rng: [normal(rng, 64, 64), normal(rng, 64, 64), f32(1)],
    expected=lambda x, y, _: {2: np.linalg.norm(x.astype(np.float64) - y)[None]},
    N=64,
)
@triton.jit
def distance(x_ptr, y_ptr, out_ptr, N: tl.constexpr):
    at = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    d = tl.load(x_ptr + at) - tl.load(y_ptr + at)
    tl.store(out_ptr, tl.sqrt(tl.sum(d * d)))


@case(
    inputs=lambda rng: [normal(rng, 128, 16), f32(128, 16)],
    expected=lambda x, _: {1: x - x.mean(0, keepdims=True)},
    tolerance=1e-4,
    R=128,
    C=16,
)
@triton.jit
def centred_columns(x_ptr, out_ptr, R: tl.constexpr, C: tl.constexpr):
    at = tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :]
    x = tl.load(x_ptr + at)
    tl.store(out_ptr + at, x - tl.sum(x, 0, keep_dims=True) / R)
