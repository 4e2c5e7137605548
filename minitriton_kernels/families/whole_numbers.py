"""Integer arithmetic: wrapping, signs, widths."""

import numpy as np
import triton
import triton.language as tl

from minitriton.lab.corpus.case import collector, i32, integers

CASES, case = collector(__file__)


@case(
    inputs=lambda rng: [
        integers(rng, -128, 128, 512, dtype=np.int8), integers(rng, -128, 128, 512, dtype=np.int8),
        np.zeros(512, np.int8), np.zeros(512, np.int8),
    ],
    expected=lambda x, y, *_: {2: x + y, 3: x * y},
    BLOCK=512,
)  # fmt: skip
@triton.jit
def bytes_wrap(x_ptr, y_ptr, sum_ptr, product_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    y = tl.load(y_ptr + at)
    tl.store(sum_ptr + at, x + y)
    tl.store(product_ptr + at, x * y)


@case(
    inputs=lambda rng: [integers(rng, -10000, 10000, 700), integers(rng, 1, 90, 700), i32(700), i32(700), 700],
    expected=lambda x, y, *_: {2: np.trunc(x / y).astype(np.int32), 3: np.fmod(x, y)},
    grid=(3,),
    BLOCK=256,
)
@triton.jit
def signed_division(x_ptr, y_ptr, quotient_ptr, remainder_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0)
    y = tl.load(y_ptr + at, mask=at < n, other=1)
    tl.store(quotient_ptr + at, x // y, mask=at < n)
    tl.store(remainder_ptr + at, x % y, mask=at < n)


@case(
    inputs=lambda rng: [
        integers(rng, 0, 2**32, 512, dtype=np.uint32), integers(rng, 1, 1000, 512, dtype=np.uint32),
        np.zeros(512, np.uint32), np.zeros(512, np.uint32),
    ],
    expected=lambda x, y, *_: {2: x // y, 3: x % y},
    BLOCK=512,
)  # fmt: skip
@triton.jit
def unsigned_division(x_ptr, y_ptr, quotient_ptr, remainder_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    y = tl.load(y_ptr + at)
    tl.store(quotient_ptr + at, x // y)
    tl.store(remainder_ptr + at, x % y)


@case(
    inputs=lambda rng: [integers(rng, -(2**31), 2**31, 512), integers(rng, 0, 32, 512), i32(512), i32(512)],
    expected=lambda x, y, *_: {2: np.left_shift(x, y), 3: np.right_shift(x, y)},
    BLOCK=512,
)
@triton.jit
def shifts(x_ptr, y_ptr, left_ptr, right_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    y = tl.load(y_ptr + at)
    tl.store(left_ptr + at, x << y)
    tl.store(right_ptr + at, x >> y)


@case(
    inputs=lambda rng: [integers(rng, -(2**31), 2**31, 400), integers(rng, -(2**31), 2**31, 400), i32(400), 400],
    expected=lambda x, y, *_: {2: ((x & y) | (~x ^ 0x5A5A)) ^ y},
    BLOCK=512,
)
@triton.jit
def bitwise(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    y = tl.load(y_ptr + at, mask=at < n)
    tl.store(out_ptr + at, ((x & y) | (~x ^ 0x5A5A)) ^ y, mask=at < n)


@case(
    inputs=lambda rng: [
        integers(rng, 0, 2**32, 256, dtype=np.uint32), integers(rng, 0, 2**32, 256, dtype=np.uint32),
        np.zeros(256, np.uint32),
    ],
    expected=lambda x, y, _: {2: ((x.astype(np.uint64) * y.astype(np.uint64)) >> np.uint64(32)).astype(np.uint32)},
    BLOCK=256,
)  # fmt: skip
@triton.jit
def high_product(x_ptr, y_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.umulhi(tl.load(x_ptr + at), tl.load(y_ptr + at)))


@case(
    inputs=lambda rng: [
        integers(rng, -(2**62), 2**62, 256, dtype=np.int64), integers(rng, -(2**31), 2**31, 256),
        np.zeros(256, np.int64),
    ],
    expected=lambda x, y, _: {2: x + y.astype(np.int64) * 12345678901},
    BLOCK=256,
)  # fmt: skip
@triton.jit
def long_arithmetic(x_ptr, y_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at) + tl.load(y_ptr + at).to(tl.int64) * 12345678901)


@case(
    inputs=lambda rng: [
        integers(rng, -9, 9, 300, dtype=np.int16), integers(rng, -9, 9, 300, dtype=np.int16), i32(300), 300,
    ],
    expected=lambda x, y, *_: {
        2: (x < y) + 2 * (x <= y) + 4 * (x == y) + 8 * (x != y) + 16 * ((x > y) & (x >= 0))
    },
    BLOCK=512,
)  # fmt: skip
@triton.jit
def comparisons(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    y = tl.load(y_ptr + at, mask=at < n)
    bits = (x < y).to(tl.int32) + 2 * (x <= y).to(tl.int32) + 4 * (x == y).to(tl.int32) + 8 * (x != y).to(tl.int32)
    tl.store(out_ptr + at, bits + 16 * ((x > y) & (x >= 0)).to(tl.int32), mask=at < n)


@case(
    inputs=lambda rng: [integers(rng, 0, 5000, 600), i32(600), 600, 37],
    expected=lambda x, out, n, d: {1: (x // d) * 1000 + x % d},
    BLOCK=1024,
)
@triton.jit
def division_by_argument(x_ptr, out_ptr, n, d, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0)
    tl.store(out_ptr + at, (x // d) * 1000 + x % d, mask=at < n)


@case(
    inputs=lambda rng: [integers(rng, 0, 2, 256, dtype=np.uint8).astype(np.bool_), i32(256)],
    expected=lambda x, _: {1: np.where(x, 5, -3)},
    BLOCK=256,
)
@triton.jit
def truth_values(x_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    flag = tl.load(x_ptr + at)
    tl.store(out_ptr + at, tl.where(flag, 5, -3))
