"""The benchmark's kernels over elements and tiles: a small launch to evaluate, a large one of the same work a program to time."""

import numpy as np
import triton
import triton.language as tl

from minitriton.lab.corpus.case import collector, f32, repeated

CASES, case = collector(__file__)

ELEMENTS = {"sizes": {"n": 4096}, "large": {"n": 1 << 25}, "grid": lambda n, BLOCK: (triton.cdiv(n, BLOCK),)}
BLOCKS = {"num_warps": (1, 2, 4, 8), "BLOCK": (256, 512, 1024, 2048, 4096)}


@case(
    **ELEMENTS,
    inputs=lambda rng, n: [repeated(rng, n), repeated(rng, n), f32(n), n],
    expected=lambda x, y, *_: {2: x + y},
    BLOCK=1024,
    choices=BLOCKS,
)
@triton.jit
def bench_add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=mask) + tl.load(y_ptr + at, mask=mask), mask=mask)


@case(
    **ELEMENTS,
    inputs=lambda rng, n: [repeated(rng, n, dtype=np.float16), np.zeros(n, np.float16), n],
    expected=lambda x, *_: {1: x.astype(np.float64) / (1 + np.exp(-1.702 * x.astype(np.float64)))},
    tolerance=2e-3,
    exact_order=False,
    BLOCK=1024,
    choices=BLOCKS,
)
@triton.jit
def bench_gelu(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n).to(tl.float32)
    tl.store(out_ptr + at, (x / (1 + tl.exp(-1.702 * x))).to(tl.float16), mask=at < n)


@case(
    **ELEMENTS,
    inputs=lambda rng, n: [repeated(rng, n), repeated(rng, n), f32(n), n],
    expected=lambda x, y, *_: {2: x.astype(np.float64) / (1 + np.exp(-x.astype(np.float64))) * y},
    exact_order=False,
    BLOCK=1024,
    choices=BLOCKS,
)
@triton.jit
def bench_swiglu(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    x = tl.load(x_ptr + at, mask=mask)
    tl.store(out_ptr + at, x * tl.sigmoid(x) * tl.load(y_ptr + at, mask=mask), mask=mask)


@case(
    **ELEMENTS,
    inputs=lambda rng, n: [repeated(rng, n), repeated(rng, n), f32(n), np.abs(repeated(rng, n)), f32(n), n],
    expected=lambda p, g, m, v, *_: {4: p - 0.001 * (0.9 * m + 0.1 * g) / (np.sqrt(0.999 * v + 0.001 * g.astype(np.float64) ** 2) + 1e-8)},
    tolerance=1e-4,
    BLOCK=1024,
    choices=BLOCKS,
)  # fmt: skip
@triton.jit
def bench_adam(p_ptr, g_ptr, m_ptr, v_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    g = tl.load(g_ptr + at, mask=mask)
    m = 0.9 * tl.load(m_ptr + at, mask=mask) + 0.1 * g
    v = 0.999 * tl.load(v_ptr + at, mask=mask) + 0.001 * g * g
    tl.store(out_ptr + at, tl.load(p_ptr + at, mask=mask) - 0.001 * m / (tl.sqrt(v) + 1e-8), mask=mask)


@case(
    **ELEMENTS,
    inputs=lambda rng, n: [np.resize(rng.integers(0, 2**31, 4096).astype(np.int32), n), np.zeros(n, np.int32), n],
    expected=lambda x, *_: {1: (x.view(np.uint32) * np.uint32(2654435761) >> np.uint32(7)).view(np.int32) % 1000},
    BLOCK=1024,
    choices=BLOCKS,
)
@triton.jit
def bench_hash(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n).to(tl.uint32, bitcast=True)
    tl.store(out_ptr + at, ((x * 2654435761) >> 7).to(tl.int32, bitcast=True) % 1000, mask=at < n)


@case(
    **ELEMENTS,
    inputs=lambda rng, n: [repeated(rng, 2 * n), f32(n), n],
    expected=lambda x, *_: {1: x[::2] * x[1::2]},
    BLOCK=1024,
    choices=BLOCKS,
)
@triton.jit
def bench_pairs(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    tl.store(out_ptr + at, tl.load(x_ptr + 2 * at, mask=mask) * tl.load(x_ptr + 2 * at + 1, mask=mask), mask=mask)


@case(
    sizes={"rows": 6, "cols": 1024},
    large={"rows": 32768, "cols": 1024},
    grid=lambda rows: (rows,),
    inputs=lambda rng, rows, cols: [
        repeated(rng, 1000, cols), rng.integers(0, 1000, rows).astype(np.int32), f32(rows, cols), cols,
    ],
    expected=lambda table, index, *_: {2: table[index]},
    BLOCK=1024,
    choices={"num_warps": (1, 2, 4, 8), "BLOCK": (256, 512, 1024)},
)  # fmt: skip
@triton.jit
def bench_embedding(table_ptr, index_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    index = tl.load(index_ptr + row)
    for start in range(0, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        tl.store(out_ptr + row * cols + at, tl.load(table_ptr + index * cols + at, mask=at < cols), mask=at < cols)


MATRIX = {"sizes": {"rows": 128, "cols": 128}, "large": {"rows": 4096, "cols": 4096}}
TILE = {"num_warps": (2, 4, 8), "M": (16, 32, 64, 128), "N": (16, 32, 64, 128)}


@case(
    **MATRIX,
    grid=lambda rows, cols, M, N: (triton.cdiv(rows, M), triton.cdiv(cols, N)),
    inputs=lambda rng, rows, cols: [repeated(rng, rows, cols), f32(cols, rows), rows, cols],
    expected=lambda x, *_: {1: x.T},
    M=64,
    N=64,
    choices=TILE,
)
@triton.jit
def bench_transpose(x_ptr, out_ptr, rows, cols, M: tl.constexpr, N: tl.constexpr):
    r = (tl.program_id(0) * M + tl.arange(0, M))[:, None]
    c = (tl.program_id(1) * N + tl.arange(0, N))[None, :]
    mask = (r < rows) & (c < cols)
    x = tl.load(x_ptr + r * cols + c, mask=mask)
    tl.store(out_ptr + c * rows + r, x, mask=mask)


@case(
    **MATRIX,
    grid=lambda rows, cols, M, N: (triton.cdiv(rows, M), triton.cdiv(cols, N)),
    inputs=lambda rng, rows, cols: [repeated(rng, rows, cols), repeated(rng, cols), f32(rows, cols), rows, cols],
    expected=lambda x, b, *_: {2: np.maximum(x + b, 0)},
    M=32,
    N=64,
    choices=TILE,
)
@triton.jit
def bench_bias_relu(x_ptr, b_ptr, out_ptr, rows, cols, M: tl.constexpr, N: tl.constexpr):
    r = (tl.program_id(0) * M + tl.arange(0, M))[:, None]
    c = (tl.program_id(1) * N + tl.arange(0, N))[None, :]
    mask = (r < rows) & (c < cols)
    x = tl.load(x_ptr + r * cols + c, mask=mask) + tl.load(b_ptr + c, mask=c < cols)
    tl.store(out_ptr + r * cols + c, tl.maximum(x, 0.0), mask=mask)


@case(
    sizes={"rows": 5, "half": 64},
    large={"rows": 131072, "half": 64},
    grid=lambda rows, R: (triton.cdiv(rows, R),),
    inputs=lambda rng, rows, half: [
        repeated(rng, rows, 2 * half), repeated(rng, rows, half), repeated(rng, rows, half), f32(rows, 2 * half), rows,
    ],
    expected=lambda x, c, s, *_: {
        3: np.concatenate([x[:, :64] * c - x[:, 64:] * s, x[:, 64:] * c + x[:, :64] * s], 1).astype(np.float64)
    },
    R=4,
    HALF=64,
    choices={"num_warps": (1, 2, 4, 8), "R": (1, 2, 4, 8, 16, 32)},
)  # fmt: skip
@triton.jit
def bench_rotary(x_ptr, cos_ptr, sin_ptr, out_ptr, rows, R: tl.constexpr, HALF: tl.constexpr):
    r = (tl.program_id(0) * R + tl.arange(0, R))[:, None]
    c = tl.arange(0, HALF)[None, :]
    mask = r < rows
    cos = tl.load(cos_ptr + r * HALF + c, mask=mask)
    sin = tl.load(sin_ptr + r * HALF + c, mask=mask)
    a = tl.load(x_ptr + r * 2 * HALF + c, mask=mask)
    b = tl.load(x_ptr + r * 2 * HALF + HALF + c, mask=mask)
    tl.store(out_ptr + r * 2 * HALF + c, a * cos - b * sin, mask=mask)
    tl.store(out_ptr + r * 2 * HALF + HALF + c, b * cos + a * sin, mask=mask)
