"""Bugs that fuzzing found, as the small kernels that showed them: every level gives the same numbers, and the right ones."""

from typing import Any

import numpy as np

import minitriton as triton
import minitriton.language as tl
from minitriton.lab import check_call


def check(kernel: Any, arguments: list[Any], wanted: np.ndarray, **given: Any) -> None:
    """Runs after every pass and on the emulator; the last array must be `wanted` in the end."""
    report = check_call(kernel, arguments, (1,), **given)
    assert report.ok, report.text()
    np.testing.assert_array_equal(arguments[-1], wanted)


@triton.jit
def high_halves(x_ptr, y_ptr, out_ptr):
    at = tl.arange(0, 64)
    tl.store(out_ptr + at, tl.umulhi(tl.load(x_ptr + at), tl.load(y_ptr + at)))


@triton.jit
def one_high_half(x_ptr, y_ptr, out_ptr):
    tl.store(out_ptr, tl.umulhi(tl.load(x_ptr), tl.load(y_ptr)))


def test_high_halves_of_products_of_64_bits() -> None:
    rng = np.random.default_rng(0)
    x, y = (rng.integers(0, 1 << 64, 64, dtype=np.uint64) for _ in range(2))
    wanted = np.array([int(a) * int(b) >> 64 for a, b in zip(x, y, strict=True)], np.uint64)
    check(high_halves, [x, y, np.zeros(64, np.uint64)], wanted)


def test_the_high_half_of_one_product_of_64_bits() -> None:
    x, y = np.array([(1 << 63) + 5], np.uint64), np.array([(1 << 64) - 1], np.uint64)
    check(one_high_half, [x, y, np.zeros(1, np.uint64)], np.array([int(x[0]) * int(y[0]) >> 64], np.uint64))


@triton.jit
def least_of_pairs(x_ptr, y_ptr, out_ptr):
    at = tl.arange(0, 32)
    pairs = tl.interleave(tl.load(x_ptr + at), tl.load(y_ptr + at))
    tl.store(out_ptr, tl.argmin(pairs, 0))


def test_an_index_counts_in_the_order_that_a_reshape_gives() -> None:
    x, y = np.zeros(32, np.int32), np.zeros(32, np.int32)
    y[1] = x[16] = -3
    check(least_of_pairs, [x, y, np.zeros(1, np.int32)], np.array([3]), options={"num_warps": 1})


@triton.jit
def zero_bytes(out_ptr):
    at = tl.arange(0, 16)
    tl.store(out_ptr + at, tl.full([16], 0.0, tl.float32).to(tl.float8e5).to(tl.uint8, bitcast=True))
    tl.store(out_ptr + at + 16, tl.full([16], -0.0, tl.float32).to(tl.float8e4nv).to(tl.uint8, bitcast=True))


def test_a_constant_may_be_of_eight_bits() -> None:
    check(zero_bytes, [np.ones(32, np.uint8)], np.repeat(np.array([0, 0x80], np.uint8), 16))


@triton.jit
def floor_of_negative_zero(out_ptr):
    tl.store(out_ptr, tl.floor((tl.full([], 0.0, tl.float16) * -1.0).to(tl.float32)))


def test_the_floor_of_a_negative_zero_keeps_its_sign() -> None:
    out = np.ones(1, np.float32)
    check(floor_of_negative_zero, [out], np.zeros(1, np.float32))
    assert np.signbit(out[0])


@triton.jit
def highest_or_zero(x_ptr, out_ptr):
    at = tl.arange(0, 32)
    tl.store(out_ptr + at, tl.maximum(tl.maximum(tl.load(x_ptr + at), -5), 0))


def test_a_maximum_with_zero_is_no_plain_maximum() -> None:
    x = np.arange(-16, 16, dtype=np.int32)
    check(highest_or_zero, [x, np.zeros(32, np.int32)], np.maximum(x, 0))


@triton.jit
def sums_of_squares(x_ptr, out_ptr):
    x = tl.load(x_ptr + tl.arange(0, 4)[:, None] + tl.arange(0, 32) * 3)
    tl.store(out_ptr + tl.arange(0, 32), tl.sum(x * x, 0))


def test_lanes_that_hold_one_sum_hold_one_number() -> None:
    """A lane that fused its own square into the sum would have another last bit than its neighbour, which stores it too."""
    x = np.random.default_rng(3).normal(size=97).astype(np.float32)
    squares = (x * x)[np.arange(4)[:, None] + np.arange(32) * 3]
    # Lanes are added as a butterfly from the highest bit down.
    wanted = (squares[0] + squares[2]) + (squares[1] + squares[3])
    check(sums_of_squares, [x, np.zeros(32, np.float32)], wanted, options={"num_warps": 1})
