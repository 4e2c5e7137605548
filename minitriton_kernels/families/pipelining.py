"""Loops whose stages overlap, and nests of loops that become one."""

import numpy as np
import triton
import triton.language as tl

from minitriton.lab.corpus.case import collector, f32, i32

CASES, case = collector(__file__)

WIDTH = 128


def table(rng: np.random.Generator, rows: int) -> np.ndarray:
    """Small whole numbers, whose sums are exact."""
    return rng.integers(-8, 8, (rows, WIDTH)).astype(np.float32)


@case(
    name="more_stages_than_iterations", inputs=lambda rng: [table(rng, 2), f32(WIDTH), 2], expected=lambda x, *_: {1: x.sum(0)},
    STAGES=5, BLOCK=WIDTH,
)  # fmt: skip
@case(inputs=lambda rng: [table(rng, 7), f32(WIDTH), 7], expected=lambda x, *_: {1: x.sum(0)}, STAGES=4, BLOCK=WIDTH)
@triton.jit
def pipelined_sum(x, out, n, STAGES: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for i in tl.range(0, n, num_stages=STAGES):
        total += tl.load(x + i * BLOCK + at)
    tl.store(out + at, total)


@case(
    inputs=lambda rng: [table(rng, 9), table(rng, 9), f32(9, WIDTH), 9 * WIDTH - 40],
    expected=lambda x, y, out, n: {2: np.where(np.arange(9 * WIDTH) < n, (x + y).ravel(), 0).reshape(9, WIDTH)},
    grid=(2,),
    STAGES=3,
    BLOCK=WIDTH,
)
@triton.jit
def pipelined_add(x, y, out, n, STAGES: tl.constexpr, BLOCK: tl.constexpr):
    for i in tl.range(tl.program_id(0), tl.cdiv(n, BLOCK), tl.num_programs(0), num_stages=STAGES):
        at = i * BLOCK + tl.arange(0, BLOCK)
        mask = at < n
        a = tl.load(x + at, mask=mask, other=1.0)
        tl.store(out + at, a + tl.load(y + at, mask=mask), mask=mask)


@case(
    inputs=lambda rng: [table(rng, 6), rng.permutation(6 * WIDTH).astype(np.int32), f32(WIDTH), 6],
    expected=lambda x, indices, *_: {2: x.ravel()[indices].reshape(6, WIDTH).sum(0)},
    STAGES=4,
    BLOCK=WIDTH,
)
@triton.jit
def pipelined_indirect(x, indices, out, n, STAGES: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for i in tl.range(0, n, num_stages=STAGES):
        total += tl.load(x + tl.load(indices + i * BLOCK + at))
    tl.store(out + at, total)


@case(
    inputs=lambda rng: [table(rng, 32), f32(32), 4],
    expected=lambda x, *_: {1: 2 * x.sum(1) - x[:, :32].sum(1)},
    STAGES=3,
    ROWS=32,
    COLS=32,
    WIDTH=WIDTH,
)
@triton.jit
def pipelined_rows(x, out, n, STAGES: tl.constexpr, ROWS: tl.constexpr, COLS: tl.constexpr, WIDTH: tl.constexpr):
    p = x + tl.arange(0, ROWS)[:, None] * WIDTH + tl.arange(0, COLS)[None, :]
    total = tl.zeros([ROWS], dtype=tl.float32)
    for i in tl.range(0, n, num_stages=STAGES):
        tile = tl.load(p)
        if i > 0:
            tile = tile * 2
        total += tl.sum(tile, axis=1)
        p += COLS
    tl.store(out + tl.arange(0, ROWS), total)


@case(
    inputs=lambda rng: [table(rng, 1)[0], f32(40), f32(1), 40],
    expected=lambda x, *_: {1: np.cumsum(x[:40]), 2: x[:40].sum(keepdims=True)},
    STAGES=3,
)
@triton.jit
def pipelined_numbers(x, out, last, n, STAGES: tl.constexpr):
    total = 0.0
    for i in tl.range(0, n, num_stages=STAGES):
        total += tl.load(x + i)
        tl.store(out + i, total)
    tl.store(last, total)


@case(
    inputs=lambda rng: [i32(64), i32(64), i32(1), 6],
    expected=lambda *_: {0: _triangle(6)[0], 1: _triangle(6)[1], 2: np.array([_triangle(6)[2]], np.int32)},
)
@triton.jit
def flattened_triangle(rows, cols, count, n):
    k = 0
    for i in tl.range(0, n, flatten=True):
        low = i * 2
        high = low + i + 1
        tl.assume(high > low)
        for j in tl.range(low, high):
            tl.store(rows + k, i)
            tl.store(cols + k, j)
            k += 1
    tl.store(count, k)


def _triangle(n: int) -> tuple[np.ndarray, np.ndarray, int]:
    pairs = [(i, j) for i in range(n) for j in range(i * 2, i * 3 + 1)]
    rows, cols = np.zeros(64, np.int32), np.zeros(64, np.int32)
    rows[: len(pairs)], cols[: len(pairs)] = zip(*pairs, strict=True)
    return rows, cols, len(pairs)


@case(
    inputs=lambda rng: [table(rng, 6), f32(3, WIDTH), 3, 2],
    expected=lambda x, *_: {1: x.reshape(3, 2, WIDTH).sum(1)},
    STAGES=3,
    BLOCK=WIDTH,
)
@triton.jit
def flattened_and_pipelined(x, out, n, m, STAGES: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    for i in tl.range(0, n, flatten=True):
        total = tl.zeros([BLOCK], dtype=tl.float32)
        for j in tl.range(0, m, num_stages=STAGES):
            total += tl.load(x + (i * m + j) * BLOCK + at)
        tl.store(out + i * BLOCK + at, total)
