"""What library functions compute, by the interpreter: sorting, ties, random numbers, the software fp8 format."""

from __future__ import annotations

import numpy as np
import pytest

import minitriton as triton
import minitriton.language as tl


@triton.jit
def sort_rows(x_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr, DESCENDING: tl.constexpr):
    i = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out_ptr + i, tl.sort(tl.load(x_ptr + i), descending=DESCENDING))


@pytest.mark.parametrize("descending", [False, True])
def test_sort_orders_each_row(descending: bool) -> None:
    x = np.random.default_rng(1).integers(-50, 50, (4, 16)).astype(np.int32)
    out = np.zeros_like(x)
    sort_rows[(1,)](x, out, M=4, N=16, DESCENDING=descending)
    expected = np.sort(x, axis=1)
    np.testing.assert_array_equal(out, expected[:, ::-1] if descending else expected)


@triton.jit
def largest_and_reversed(x_ptr, top_ptr, reversed_ptr, N: tl.constexpr, K: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, N))
    tl.store(top_ptr + tl.arange(0, K), tl.topk(x, K))
    tl.store(reversed_ptr + tl.arange(0, N), tl.flip(x))


def test_topk_gives_the_largest_and_flip_reverses() -> None:
    x = np.random.default_rng(2).standard_normal(32).astype(np.float32)
    top, reversed_ = np.zeros(4, np.float32), np.zeros(32, np.float32)
    largest_and_reversed[(1,)](x, top, reversed_, N=32, K=4)
    np.testing.assert_array_equal(top, np.sort(x)[::-1][:4])
    np.testing.assert_array_equal(reversed_, x[::-1])


@triton.jit
def where_extremes_are(x_ptr, out_ptr, N: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, N))
    tl.store(out_ptr, tl.argmax(x, 0))
    tl.store(out_ptr + 1, tl.argmin(x, 0))


def test_ties_go_to_the_leftmost() -> None:
    x = np.array([3, 7, 7, 1, 5, 1, 7, 2], np.float32)
    out = np.zeros(2, np.int32)
    where_extremes_are[(1,)](x, out, N=8)
    assert out.tolist() == [1, 3]


@triton.jit
def random_words(out_ptr, seed, N: tl.constexpr):
    i = tl.arange(0, N)
    a, b, c, d = tl.randint4x(seed, i)
    tl.store(out_ptr + i, a.to(tl.int32, bitcast=True))
    tl.store(out_ptr + N + i, b.to(tl.int32, bitcast=True))
    tl.store(out_ptr + 2 * N + i, c.to(tl.int32, bitcast=True))
    tl.store(out_ptr + 3 * N + i, d.to(tl.int32, bitcast=True))


def philox(counter: int, key: int) -> list[int]:
    """Philox 4x32-10 as in the paper, on Python integers."""
    c, k, mask = [counter, 0, 0, 0], [key & 0xFFFFFFFF, key >> 32], 0xFFFFFFFF
    for _ in range(10):
        high, low = divmod(0xD2511F53 * c[0], 2**32), divmod(0xCD9E8D57 * c[2], 2**32)
        c = [low[0] ^ c[1] ^ k[0], low[1], high[0] ^ c[3] ^ k[1], high[1]]
        k = [(k[0] + 0x9E3779B9) & mask, (k[1] + 0xBB67AE85) & mask]
    return c


def test_philox_of_zeros_is_the_published_answer() -> None:
    """The known-answer file `kat_vectors` of Random123."""
    assert philox(0, 0) == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]


@pytest.mark.parametrize("seed", [0, 1234567])
def test_random_integers_are_those_of_philox(seed: int) -> None:
    out = np.zeros(64, np.int32)
    random_words[(1,)](out, seed, N=16)
    expected = np.array([philox(i, seed) for i in range(16)], np.uint32).T.reshape(-1)
    np.testing.assert_array_equal(out.view(np.uint32), expected)


@triton.jit
def uniform(out_ptr, seed, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out_ptr + i, tl.rand(seed, i))


def test_uniform_numbers_are_in_their_interval_and_spread() -> None:
    out = np.full(1024, -1, np.float32)
    uniform[(1,)](out, 7, N=1024)
    assert out.min() >= 0 and out.max() < 1
    assert abs(out.mean() - 0.5) < 0.05


@triton.jit
def through_fp8e4b15(x_ptr, bits_ptr, out_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    narrow = tl.load(x_ptr + i).to(tl.float8e4b15)
    tl.store(bits_ptr + i, narrow.to(tl.uint8, bitcast=True))
    tl.store(out_ptr + i, narrow.to(tl.float32))


def test_fp8e4b15_rounds_to_its_nearest_number() -> None:
    numbers = [m / 8 * 2.0**-14 if e == 0 else (1 + m / 8) * 2.0 ** (e - 15) for e in range(16) for m in range(8)]
    values = np.array(numbers[:-1])
    x = np.concatenate([values, -values, (values[1:] * 0.75 + values[:-1] * 0.25), [30.0, -30.0]]).astype(np.float32)
    x = np.pad(x, (0, 512 - len(x)))
    bits, out = np.zeros(512, np.uint8), np.zeros(512, np.float32)
    through_fp8e4b15[(1,)](x, bits, out, N=512)
    nearest = values[np.abs(np.abs(x)[:, None] - values).argmin(axis=1)] * np.sign(x)
    np.testing.assert_array_equal(out, nearest.astype(np.float32))
    np.testing.assert_array_equal(bits[:127], np.arange(127))


@triton.jit
def zeros_of_fp8e4b15(out_ptr, N: tl.constexpr):
    tl.store(out_ptr + tl.arange(0, N), tl.full((N,), 0.0, tl.float8e4b15).to(tl.float32) + 1)


def test_fp8e4b15_has_blocks_of_zeros() -> None:
    out = np.zeros(32, np.float32)
    zeros_of_fp8e4b15[(1,)](out, N=32)
    assert (out == 1).all()
