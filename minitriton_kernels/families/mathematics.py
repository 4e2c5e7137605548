"""Elementwise float mathematics. Logarithms, sine and cosine are polynomials of our own: within a few units in the last
digit of Triton's, not its bits."""

import numpy as np
import triton
import triton.language as tl

from minitriton.lab.corpus.case import collector, f32, normal, uniform

CASES, case = collector(__file__)


@case(
    inputs=lambda rng: [normal(rng, 900), f32(900), f32(900), 900],
    expected=lambda x, *_: {1: np.exp(x), 2: np.exp2(x)},
    grid=(4,),
    BLOCK=256,
)
@triton.jit
def exponentials(x_ptr, e_ptr, e2_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0)
    tl.store(e_ptr + at, tl.exp(x), mask=at < n)
    tl.store(e2_ptr + at, tl.exp2(x), mask=at < n)


@case(
    inputs=lambda rng: [uniform(rng, 0.01, 50, 900), f32(900), f32(900), 900],
    expected=lambda x, *_: {1: np.log(x), 2: np.log2(x)},
    exact_order=False,
    grid=(4,),
    BLOCK=256,
)
@triton.jit
def logarithms(x_ptr, l_ptr, l2_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=1.0)
    tl.store(l_ptr + at, tl.log(x), mask=at < n)
    tl.store(l2_ptr + at, tl.log2(x), mask=at < n)


@case(
    inputs=lambda rng: [uniform(rng, 0.01, 50, 700), f32(700), f32(700), f32(700), 700],
    expected=lambda x, *_: {1: np.sqrt(x), 2: 1 / np.sqrt(x), 3: np.sqrt(x)},
    grid=(3,),
    BLOCK=256,
)
@triton.jit
def square_roots(x_ptr, a_ptr, b_ptr, c_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=1.0)
    tl.store(a_ptr + at, tl.sqrt(x), mask=at < n)
    tl.store(b_ptr + at, tl.rsqrt(x), mask=at < n)
    tl.store(c_ptr + at, tl.sqrt_rn(x), mask=at < n)


@case(
    inputs=lambda rng: [uniform(rng, -3, 3, 600), f32(600), f32(600), 600],
    expected=lambda x, *_: {1: np.sin(x), 2: np.cos(x)},
    exact_order=False,
    grid=(3,),
    BLOCK=256,
)
@triton.jit
def sine_and_cosine(x_ptr, s_ptr, c_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0)
    tl.store(s_ptr + at, tl.sin(x), mask=at < n)
    tl.store(c_ptr + at, tl.cos(x), mask=at < n)


@case(
    inputs=lambda rng: [uniform(rng, -9, 9, 1000), f32(1000), f32(1000), f32(1000)],
    expected=lambda x, *_: {1: np.floor(x), 2: np.ceil(x), 3: np.abs(x)},
    BLOCK=1024,
    n=1000,
)
@triton.jit
def rounding(x_ptr, floor_ptr, ceil_ptr, abs_ptr, BLOCK: tl.constexpr, n: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0)
    tl.store(floor_ptr + at, tl.floor(x), mask=at < n)
    tl.store(ceil_ptr + at, tl.ceil(x), mask=at < n)
    tl.store(abs_ptr + at, tl.abs(x), mask=at < n)


@case(
    inputs=lambda rng: [normal(rng, 512), normal(rng, 512), normal(rng, 512), f32(512)],
    expected=lambda x, y, z, _: {3: x.astype(np.float64) * y + z},
    BLOCK=512,
)
@triton.jit
def fused_multiply_add(x_ptr, y_ptr, z_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.fma(tl.load(x_ptr + at), tl.load(y_ptr + at), tl.load(z_ptr + at)))


@case(
    inputs=lambda rng: [normal(rng, 800), uniform(rng, 0.5, 4, 800), f32(800), f32(800), 800],
    expected=lambda x, y, *_: {2: x / y, 3: x / y},
    BLOCK=1024,
)
@triton.jit
def divisions(x_ptr, y_ptr, quick_ptr, exact_ptr, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0)
    y = tl.load(y_ptr + at, mask=at < n, other=1.0)
    tl.store(quick_ptr + at, x / y, mask=at < n)
    tl.store(exact_ptr + at, tl.div_rn(x, y), mask=at < n)


@case(
    inputs=lambda rng: [normal(rng, 640), f32(640), f32(640), 640],
    expected=lambda x, *_: {1: 1 / (1 + np.exp(-x.astype(np.float64))), 2: x / (1 + np.exp(-x.astype(np.float64)))},
    grid=(5,),
    num_warps=2,
    BLOCK=128,
)
@triton.jit
def sigmoid_and_silu(x_ptr, sigmoid_ptr, silu_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    s = tl.sigmoid(x)
    tl.store(sigmoid_ptr + at, s, mask=at < n)
    tl.store(silu_ptr + at, x * s, mask=at < n)


@case(
    inputs=lambda rng: [normal(rng, 300), normal(rng, 300), f32(300), f32(300), f32(300)],
    expected=lambda x, y, *_: {2: np.maximum(x, y), 3: np.minimum(x, y), 4: np.clip(x, -0.5, 0.75)},
    BLOCK=512,
    n=300,
)
@triton.jit
def extremes(x_ptr, y_ptr, max_ptr, min_ptr, clamp_ptr, BLOCK: tl.constexpr, n: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    y = tl.load(y_ptr + at, mask=at < n)
    tl.store(max_ptr + at, tl.maximum(x, y), mask=at < n)
    tl.store(min_ptr + at, tl.minimum(x, y), mask=at < n)
    tl.store(clamp_ptr + at, tl.clamp(x, -0.5, 0.75), mask=at < n)


@case(
    inputs=lambda rng: [rng.standard_normal(256), rng.standard_normal(256), np.zeros(256)],
    expected=lambda x, y, _: {2: x * y + x / (np.abs(y) + 1)},
    BLOCK=256,
)
@triton.jit
def doubles(x_ptr, y_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    y = tl.load(y_ptr + at)
    tl.store(out_ptr + at, x * y + x / (tl.abs(y) + 1))
