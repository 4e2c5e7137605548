"""Conversions between element types."""

import numpy as np
import triton
import triton.language as tl

from minitriton.lab.corpus.case import collector, f32, i32, integers, normal, uniform

CASES, case = collector(__file__)


def rounded_to_bf16(x: np.ndarray) -> np.ndarray:
    bits = x.view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).astype(np.uint32).view(np.float32)


def rounded_to_e4m3(x: np.ndarray) -> np.ndarray:
    """To nearest even on the grid of 3 mantissa bits, exponents -6 to 8."""
    exponent = np.maximum(np.floor(np.log2(np.maximum(np.abs(x), 1e-30))), -6)
    step = 2.0 ** (exponent - 3)
    return (np.round(x / step) * step).astype(np.float32)


@case(
    inputs=lambda rng: [normal(rng, 512), np.zeros(512, np.float16), f32(512)],
    expected=lambda x, *_: {1: x.astype(np.float16), 2: x.astype(np.float16).astype(np.float32) * 2},
    BLOCK=512,
)
@triton.jit
def half_precision(x_ptr, half_ptr, back_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    half = tl.load(x_ptr + at).to(tl.float16)
    tl.store(half_ptr + at, half)
    tl.store(back_ptr + at, half.to(tl.float32) * 2)


@case(
    inputs=lambda rng: [normal(rng, 512), f32(512)],
    expected=lambda x, _: {1: rounded_to_bf16(x)},
    tolerance=0,
    BLOCK=512,
)
@triton.jit
def brain_floats(x_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at).to(tl.bfloat16).to(tl.float32))


@case(
    inputs=lambda rng: [normal(rng, 512), normal(rng, 512), f32(512)],
    expected=lambda x, y, _: {2: rounded_to_bf16(rounded_to_bf16(x) * rounded_to_bf16(y))},
    tolerance=0,
    BLOCK=512,
)
@triton.jit
def brain_float_product(x_ptr, y_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at).to(tl.bfloat16)
    y = tl.load(y_ptr + at).to(tl.bfloat16)
    tl.store(out_ptr + at, (x * y).to(tl.float32))


@case(
    inputs=lambda rng: [uniform(rng, -100, 100, 512), f32(512)],
    expected=lambda x, _: {1: rounded_to_e4m3(x)},
    tolerance=0,
    BLOCK=512,
)
@triton.jit
def eight_bit_floats(x_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at).to(tl.float8e4nv).to(tl.float32))


@case(
    inputs=lambda rng: [normal(rng, 512), np.zeros(512, np.uint8)],
    expected=lambda x, _: {1: (np.abs(x).astype(np.float16).view(np.uint16) >> 8).astype(np.uint8)},
    tolerance=1,
    BLOCK=512,
)
@triton.jit
def wide_eight_bit_floats(x_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.abs(tl.load(x_ptr + at)).to(tl.float8e5).to(tl.uint8, bitcast=True))


@case(
    inputs=lambda rng: [uniform(rng, -1e4, 1e4, 512), i32(512), np.zeros(512, np.int8), np.zeros(512, np.int64)],
    expected=lambda x, *_: {
        1: x.astype(np.int32), 2: (x / 100).astype(np.int8), 3: (x.astype(np.float64) * 1e6).astype(np.int64),
    },
    tolerance=1e-6,
    BLOCK=512,
)  # fmt: skip
@triton.jit
def floats_to_integers(x_ptr, int_ptr, byte_ptr, long_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    tl.store(int_ptr + at, x.to(tl.int32))
    tl.store(byte_ptr + at, tl.div_rn(x, tl.full([BLOCK], 100.0, tl.float32)).to(tl.int8))
    tl.store(long_ptr + at, (x.to(tl.float64) * 1e6).to(tl.int64))


@case(
    inputs=lambda rng: [
        integers(rng, -128, 128, 512, dtype=np.int8), integers(rng, 0, 2**32, 512, dtype=np.uint32), f32(512), f32(512),
    ],
    expected=lambda x, y, *_: {2: x.astype(np.float32), 3: y.astype(np.float32)},
    tolerance=0,
    BLOCK=512,
)  # fmt: skip
@triton.jit
def integers_to_floats(x_ptr, y_ptr, a_ptr, b_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(a_ptr + at, tl.load(x_ptr + at).to(tl.float32))
    tl.store(b_ptr + at, tl.load(y_ptr + at).to(tl.float32))


@case(
    inputs=lambda rng: [
        integers(rng, -128, 128, 256, dtype=np.int8), np.zeros(256, np.int64), np.zeros(256, np.uint16),
    ],
    expected=lambda x, *_: {1: x.astype(np.int64) - 7, 2: x.astype(np.uint16)},
    BLOCK=256,
)  # fmt: skip
@triton.jit
def widening(x_ptr, long_ptr, short_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    tl.store(long_ptr + at, x.to(tl.int64) - 7)
    tl.store(short_ptr + at, x.to(tl.uint16))


@case(
    inputs=lambda rng: [normal(rng, 256), i32(256)],
    expected=lambda x, _: {1: (x.view(np.int32) >> 23) & 255},
    BLOCK=256,
)
@triton.jit
def exponent_bits(x_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out_ptr + at, (tl.load(x_ptr + at).to(tl.int32, bitcast=True) >> 23) & 255)


@case(
    inputs=lambda rng: [normal(rng, 512), f32(512)],
    expected=lambda x, _: {1: ((x.view(np.uint32) >> 16) << 16).view(np.float32)},
    tolerance=0,
    BLOCK=512,
)
@triton.jit
def toward_zero(x_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    tl.store(out_ptr + at, x.to(tl.bfloat16, fp_downcast_rounding="rtz").to(tl.float32))
