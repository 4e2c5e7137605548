"""Kernels of the kinds that serving and training code has, on host arrays against NumPy: paged attention, routing, segments, quantisation."""

import itertools

import numpy as np

import minitriton as triton
import minitriton.language as tl

RANDOM = np.random.default_rng(0)


@triton.jit
def quantise_rows(x, q, scales, n, BLOCK: tl.constexpr):
    row, c = tl.program_id(0), tl.arange(0, BLOCK)
    v = tl.load(x + row * n + c, mask=c < n, other=0.0)
    scale = tl.maximum(tl.max(tl.abs(v), 0), 1e-10) / 127
    t = v / scale
    tl.store(q + row * n + c, tl.where(t >= 0, t + 0.5, t - 0.5).to(tl.int8), mask=c < n)
    tl.store(scales + row, scale)


def test_rows_are_quantised_to_bytes() -> None:
    x = RANDOM.normal(size=(7, 301)).astype(np.float32)
    q, scales = np.zeros((7, 301), np.int8), np.zeros(7, np.float32)
    quantise_rows[(7,)](x, q, scales, 301, BLOCK=512)
    np.testing.assert_allclose(scales, np.abs(x).max(1) / 127, rtol=1e-6)
    assert (np.abs(q * scales[:, None] - x) <= scales[:, None] * 0.51).all()


@triton.jit
def route(experts, counts, offsets, n, EXPERTS: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    found = tl.histogram(tl.load(experts + i, mask=i < n, other=0), EXPERTS, mask=i < n)
    tl.store(counts + tl.arange(0, EXPERTS), found)
    tl.store(offsets + tl.arange(0, EXPERTS), tl.cumsum(found, 0) - found)


def test_tokens_are_counted_by_expert() -> None:
    experts = RANDOM.integers(0, 16, 100).astype(np.int32)
    counts, offsets = np.zeros(16, np.int32), np.zeros(16, np.int32)
    route[(1,)](experts, counts, offsets, 100, EXPERTS=16, BLOCK=128)
    wanted = np.bincount(experts, minlength=16)
    assert counts.tolist() == wanted.tolist()
    assert offsets.tolist() == (np.cumsum(wanted) - wanted).tolist()


@triton.jit
def add_in_segment(a, a_begins, b, b_begins):
    return tl.where(b_begins, b, a + b), a_begins | b_begins


@triton.jit
def segment_sums(x, begins, out, N: tl.constexpr):
    i = tl.arange(0, N)
    sums, _ = tl.associative_scan((tl.load(x + i), tl.load(begins + i).to(tl.int1)), 0, add_in_segment)
    tl.store(out + i, sums)


def test_running_sums_begin_anew_with_each_segment() -> None:
    x, begins = RANDOM.integers(-5, 5, 128).astype(np.int32), (RANDOM.random(128) < 0.2).astype(np.int8)
    out, wanted, total = np.zeros(128, np.int32), [], 0
    segment_sums[(1,)](x, begins, out, N=128)
    for value, first in zip(x.tolist(), begins.tolist(), strict=True):
        total = value if first else total + value
        wanted.append(total)
    assert out.tolist() == wanted


@triton.jit
def paged_attention(q, keys, values, table, lengths, out, D: tl.constexpr, PAGE: tl.constexpr, PAGES: tl.constexpr):
    b, d, t = tl.program_id(0), tl.arange(0, D), tl.arange(0, PAGE)
    query, n = tl.load(q + b * D + d), tl.load(lengths + b)
    most, total, sums = -float("inf"), 0.0, tl.zeros((D,), tl.float32)
    for p in range(tl.cdiv(n, PAGE)):
        at = tl.load(table + b * PAGES + p) * PAGE * D + t[:, None] * D + d[None, :]
        inside = p * PAGE + t < n
        k = tl.load(keys + at, mask=inside[:, None], other=0.0)
        v = tl.load(values + at, mask=inside[:, None], other=0.0)
        scores = tl.where(inside, tl.sum(query[None, :] * k, 1), -float("inf"))
        now = tl.maximum(most, tl.max(scores, 0))
        weights, kept = tl.exp(scores - now), tl.exp(most - now)
        total = total * kept + tl.sum(weights, 0)
        sums = sums * kept + tl.sum(weights[:, None] * v, 0)
        most = now
    tl.store(out + b * D + d, sums / total)


def test_a_query_attends_to_the_pages_of_its_table() -> None:
    q = RANDOM.normal(size=(3, 32)).astype(np.float32)
    keys, values = (RANDOM.normal(size=(12, 16, 32)).astype(np.float32) for _ in range(2))
    table = RANDOM.permutation(12).reshape(3, 4).astype(np.int32)
    lengths, out = np.array([5, 33, 64], np.int32), np.zeros((3, 32), np.float32)
    paged_attention[(3,)](q, keys, values, table, lengths, out, D=32, PAGE=16, PAGES=4)
    for b, n in enumerate(lengths):
        scores = keys[table[b]].reshape(-1, 32)[:n] @ q[b]
        weights = np.exp(scores - scores.max())
        wanted = weights @ values[table[b]].reshape(-1, 32)[:n] / weights.sum()
        np.testing.assert_allclose(out[b], wanted, rtol=1e-4, atol=1e-5)


@triton.jit
def jagged_means(x, bounds, out, D: tl.constexpr, ROWS: tl.constexpr):
    b, d = tl.program_id(0), tl.arange(0, D)
    low, high = tl.load(bounds + b), tl.load(bounds + b + 1)
    total = tl.zeros((D,), tl.float32)
    for first in range(low, high, ROWS):
        rows = first + tl.arange(0, ROWS)
        total += tl.sum(tl.load(x + rows[:, None] * D + d[None, :], mask=(rows < high)[:, None], other=0.0), 0)
    tl.store(out + b * D + d, total / tl.maximum(high - low, 1).to(tl.float32))


def test_rows_of_jagged_length_are_averaged() -> None:
    bounds, x = np.array([0, 3, 3, 40, 50], np.int64), RANDOM.normal(size=(50, 16)).astype(np.float32)
    out = np.full((4, 16), 9, np.float32)
    jagged_means[(4,)](x, bounds, out, D=16, ROWS=8)
    wanted = [x[a:b].mean(0) if b > a else np.zeros(16) for a, b in itertools.pairwise(bounds)]
    np.testing.assert_allclose(out, wanted, rtol=1e-5, atol=1e-6)


@triton.jit
def scatter_gradients(gradients, ids, out, D: tl.constexpr):
    i, d = tl.program_id(0), tl.arange(0, D)
    tl.atomic_add(out + tl.load(ids + i) * D + d, tl.load(gradients + i * D + d))


def test_gradients_of_an_embedding_add_up() -> None:
    gradients, ids = RANDOM.integers(-4, 4, (50, 32)).astype(np.float32), RANDOM.integers(0, 6, 50)
    out, wanted = np.zeros((6, 32), np.float32), np.zeros((6, 32), np.float32)
    scatter_gradients[(50,)](gradients, ids, out, D=32)
    np.add.at(wanted, ids, gradients)
    assert np.array_equal(out, wanted)
