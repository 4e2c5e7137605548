"""Kernels that neither the cost model nor the default pipeline was chosen by: what is said of unseen kernels is said of these.

Two launches each, as in the benchmark: a small one to evaluate, a large one of the same work a program to time.
"""

import numpy as np
import triton
import triton.language as tl

from minitriton.lab.corpus.case import collector, f32, repeated

CASES, case = collector(__file__)

WARPS = (1, 2, 4, 8)
LINES = {"sizes": {"n": 4096}, "large": {"n": 1 << 25}, "grid": lambda n, BLOCK: (triton.cdiv(n, BLOCK),)}
BLOCKS = {"num_warps": WARPS, "BLOCK": (256, 512, 1024, 2048, 4096)}
ROWS = {"sizes": {"rows": 3, "cols": 1024}, "large": {"rows": 32768, "cols": 1024}, "grid": lambda rows: (rows,)}


def wide(x):
    return x.astype(np.float64)


def stencil_inputs(rng, n):
    return [repeated(rng, n), f32(n), n]


def stencil_expected(x, *_):
    padded = np.pad(wide(x), 1)
    return {1: 0.25 * padded[:-2] + 0.5 * padded[1:-1] + 0.25 * padded[2:]}


@case(**LINES, inputs=stencil_inputs, expected=stencil_expected, BLOCK=1024, choices=BLOCKS)
@triton.jit
def held_stencil(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    left = tl.load(x_ptr + at - 1, mask=(at > 0) & (at < n), other=0.0)
    here = tl.load(x_ptr + at, mask=at < n, other=0.0)
    right = tl.load(x_ptr + at + 1, mask=at + 1 < n, other=0.0)
    tl.store(out_ptr + at, 0.25 * left + 0.5 * here + 0.25 * right, mask=at < n)


@case(
    **LINES,
    inputs=lambda rng, n: [repeated(rng, n), repeated(rng, n, dtype=np.float16), f32(n), n],
    expected=lambda x, y, *_: {2: wide(x) * 0.5 + wide(y)},
    BLOCK=1024,
    choices=BLOCKS,
)
@triton.jit
def held_mixed_sum(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=mask) * 0.5 + tl.load(y_ptr + at, mask=mask), mask=mask)


@case(
    **LINES,
    inputs=lambda rng, n: [repeated(rng, n), f32(n), n],
    expected=lambda x, *_: {1: np.log1p(np.exp(-np.abs(wide(x)))) + np.maximum(wide(x), 0)},
    exact_order=False,
    tolerance=1e-4,
    BLOCK=1024,
    choices=BLOCKS,
)
@triton.jit
def held_softplus(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    x = tl.load(x_ptr + at, mask=mask)
    tl.store(out_ptr + at, tl.log(1 + tl.exp(-tl.abs(x))) + tl.maximum(x, 0.0), mask=mask)


@case(
    **ROWS,
    inputs=lambda rng, rows, cols: [repeated(rng, rows, cols), f32(rows, cols), cols],
    expected=lambda x, *_: {1: wide(x) / np.sqrt((wide(x) ** 2).sum(1, keepdims=True) + 1e-6)},
    tolerance=1e-4,
    BLOCK=1024,
    choices={"num_warps": (*WARPS, 16)},
)
@triton.jit
def held_normalise(x_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    row = tl.program_id(0) * cols
    x = tl.load(x_ptr + row + at, mask=at < cols, other=0.0)
    tl.store(out_ptr + row + at, x / tl.sqrt(tl.sum(x * x, 0) + 1e-6), mask=at < cols)


@case(
    sizes={"rows": 32, "cols": 512},
    large={"rows": 32768, "cols": 512},
    grid=lambda rows, R: (triton.cdiv(rows, R),),
    inputs=lambda rng, rows, cols: [repeated(rng, rows, cols), repeated(rng, rows, cols), f32(rows), rows, cols],
    expected=lambda x, y, *_: {2: (wide(x) * wide(y)).sum(1)},
    tolerance=1e-4,
    R=8,
    C=128,
    choices={"num_warps": (2, 4, 8), "R": (2, 4, 8, 16), "C": (64, 128, 256, 512)},
)
@triton.jit
def held_row_products(x_ptr, y_ptr, out_ptr, rows, cols, R: tl.constexpr, C: tl.constexpr):
    r = tl.program_id(0) * R + tl.arange(0, R)
    total = tl.zeros([R, C], tl.float32)
    for start in range(0, cols, C):
        at = r[:, None] * cols + start + tl.arange(0, C)[None, :]
        total += tl.load(x_ptr + at) * tl.load(y_ptr + at)
    tl.store(out_ptr + r, tl.sum(total, 1), mask=r < rows)


@case(
    **ROWS,
    inputs=lambda rng, rows, cols: [repeated(rng, rows, cols), f32(rows, cols), cols],
    expected=lambda x, *_: {1: wide(x)[:, ::-1]},
    BLOCK=1024,
    choices={"num_warps": WARPS},
)
@triton.jit
def held_reverse(x_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    row = tl.program_id(0) * cols
    tl.store(out_ptr + row + at, tl.load(x_ptr + row + cols - 1 - at))


@case(
    **ROWS,
    inputs=lambda rng, rows, cols: [repeated(rng, rows, cols), f32(rows, cols), cols],
    expected=lambda x, *_: {1: np.maximum.accumulate(x, 1)},
    BLOCK=1024,
    choices={"num_warps": (*WARPS, 16)},
)
@triton.jit
def held_running_maximum(x_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    at = tl.program_id(0) * cols + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.associative_scan(tl.load(x_ptr + at), 0, larger))


@triton.jit
def larger(a, b):
    return tl.maximum(a, b)


@case(
    sizes={"rows": 64, "cols": 64},
    large={"rows": 4096, "cols": 4096},
    grid=lambda rows, cols, M, N: (triton.cdiv(rows, M), triton.cdiv(cols, N)),
    inputs=lambda rng, rows, cols: [repeated(rng, rows, cols), f32(rows), f32(rows, cols), rows, cols],
    expected=lambda x, s, *_: {2: wide(x) * wide(s)[:, None] + wide(x)},
    M=32,
    N=64,
    choices={"num_warps": WARPS, "M": (16, 32, 64), "N": (16, 32, 64)},
)
@triton.jit
def held_scaled_tiles(x_ptr, s_ptr, out_ptr, rows, cols, M: tl.constexpr, N: tl.constexpr):
    r = (tl.program_id(0) * M + tl.arange(0, M))[:, None]
    c = (tl.program_id(1) * N + tl.arange(0, N))[None, :]
    mask = (r < rows) & (c < cols)
    x = tl.load(x_ptr + r * cols + c, mask=mask)
    tl.store(out_ptr + r * cols + c, x * tl.load(s_ptr + r, mask=r < rows) + x, mask=mask)
