"""`tl.map_elementwise` of functions that return from several places, on the emulator against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import minitriton as triton
import minitriton.language as tl


@triton.jit
def compare(x, y):
    if x < y:
        return -1
    elif x == y:
        return 0
    else:
        return 1


@triton.jit
def halved_or_both(a0, a1, b0, b1):
    if a0 > b0:
        return a0 // 2, a1 // 2, b0, b1
    return a0, a1, a0 + b0, a1 + b1


@triton.jit
def compared(x, y, z, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(z + at, tl.map_elementwise(compare, tl.load(x + at), tl.load(y + at)))


@triton.jit
def packed(x, y, z, w, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    p, q = tl.map_elementwise(halved_or_both, tl.load(x + at), tl.load(y + at), pack=2)
    tl.store(z + at, p)
    tl.store(w + at, q)


@pytest.fixture
def operands() -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(3)
    return random.integers(0, 4, 256).astype(np.int32), random.integers(0, 4, 256).astype(np.int32)


def test_a_function_that_returns_in_three_places(operands: tuple[np.ndarray, np.ndarray]) -> None:
    x, y = operands
    z = np.full(256, 9, np.int32)
    compared[(1,)](x, y, z, BLOCK=256)
    np.testing.assert_array_equal(z, np.sign(x - y))


def test_several_elements_and_results_at_once(operands: tuple[np.ndarray, np.ndarray]) -> None:
    x, y = operands
    z, w = np.zeros(256, np.int32), np.zeros(256, np.int32)
    packed[(1,)](x, y, z, w, BLOCK=256)
    first = np.repeat(x[::2] > y[::2], 2)
    np.testing.assert_array_equal(z, np.where(first, x // 2, x))
    np.testing.assert_array_equal(w, np.where(first, y, x + y))
