"""What `minitriton-simplify-integers` does to divisions, down to PTX: the numbers of all signs and sizes, by the emulator."""

from __future__ import annotations

import numpy as np
import pytest

import minitriton as triton
import minitriton.language as tl

N = 64


@triton.jit
def divide_positive(x_ptr, n_ptr, quotient_ptr, remainder_ptr, N: tl.constexpr, LARGEST: tl.constexpr):
    at = tl.arange(0, N)
    x = tl.load(x_ptr + at) & LARGEST
    n = tl.load(n_ptr + at)
    tl.store(quotient_ptr + at, x // n)
    tl.store(remainder_ptr + at, x % n)


@triton.jit
def divide_wide(x_ptr, n_ptr, quotient_ptr, remainder_ptr, N: tl.constexpr, LARGEST: tl.constexpr):
    at = tl.arange(0, N)
    x = tl.load(x_ptr + at).to(tl.int64)
    n = tl.load(n_ptr + at).to(tl.int64)
    tl.store(quotient_ptr + at, x // n)
    tl.store(remainder_ptr + at, x % n)


def operands(dtype: type) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of numbers, those at the ends of the type among them; no divisor is 0."""
    ends = np.iinfo(dtype)
    special = np.array([ends.min, ends.min + 1, -7, -1, 1, 2, 7, ends.max], dtype)
    return np.repeat(special, 8), np.tile(special, 8)


def truncated(x: np.ndarray, n: np.ndarray) -> tuple[list[int], list[int]]:
    pairs = [(int(a), int(b)) for a, b in zip(x, n, strict=True)]
    quotients = [abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1) for a, b in pairs]
    return quotients, [a - q * b for (a, b), q in zip(pairs, quotients, strict=True)]


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64])
@pytest.mark.parametrize("without", ["", "minitriton-simplify-integers"])
def test_what_is_not_negative_divided_by_any_number(dtype: type, without: str) -> None:
    x, n = operands(dtype)
    outs = np.zeros((2, N), dtype)
    kernel = divide_positive[(1,)](x, n, *outs, N=N, LARGEST=int(np.iinfo(dtype).max), without=without)
    quotients, remainders = truncated(x & np.iinfo(dtype).max, n)
    assert outs[0].tolist() == quotients
    assert outs[1].tolist() == remainders
    assert ("non_negative_dividend" in kernel.asm["ttir"]) == (not without)


@pytest.mark.parametrize("without", ["", "minitriton-simplify-integers"])
def test_any_32_bits_divided_as_64(without: str) -> None:
    x, n = operands(np.int32)
    outs = np.zeros((2, N), np.int64)
    kernel = divide_wide[(1,)](x, n, *outs, N=N, LARGEST=0, without=without)
    quotients, remainders = truncated(x, n)
    assert outs[0].tolist() == quotients, "2^31 for -2^31 / -1"
    assert outs[1].tolist() == remainders
    assert ("div.s64" in kernel.asm["ptx"]) == bool(without)
