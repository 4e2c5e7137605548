"""The benchmark's kernels over rows and columns: a small launch to evaluate, a large one of the same work a program to time."""

import numpy as np
import triton
import triton.language as tl

from minitriton.lab.corpus.case import collector, f32, repeated

CASES, case = collector(__file__)

WARPS = (1, 2, 4, 8, 16)
ROWS = {"sizes": {"rows": 3, "cols": 2048}, "large": {"rows": 16384, "cols": 2048}, "grid": lambda rows: (rows,)}


def rows_and_out(rng, rows, cols):
    return [repeated(rng, rows, cols), f32(rows, cols), cols]


def wide(x):
    return x.astype(np.float64)


def softmax(x):
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


@case(
    **ROWS, inputs=rows_and_out, expected=lambda x, *_: {1: softmax(wide(x))}, BLOCK=2048, choices={"num_warps": WARPS}
)
@triton.jit
def bench_softmax(x_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    row = tl.program_id(0) * cols
    x = tl.load(x_ptr + row + at, mask=at < cols, other=-float("inf"))
    e = tl.exp(x - tl.max(x, 0))
    tl.store(out_ptr + row + at, e / tl.sum(e, 0), mask=at < cols)


@case(
    **ROWS,
    inputs=lambda rng, rows, cols: [repeated(rng, rows, cols), repeated(rng, cols), repeated(rng, cols), f32(rows, cols), cols],
    expected=lambda x, w, b, *_: {3: (wide(x) - wide(x).mean(1, keepdims=True)) / np.sqrt(wide(x).var(1, keepdims=True) + 1e-5) * w + b},
    tolerance=1e-4,
    BLOCK=2048,
    choices={"num_warps": WARPS},
)  # fmt: skip
@triton.jit
def bench_layer_norm(x_ptr, w_ptr, b_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    mask = at < cols
    row = tl.program_id(0) * cols
    x = tl.load(x_ptr + row + at, mask=mask, other=0.0)
    mean = tl.sum(x, 0) / cols
    d = tl.where(mask, x - mean, 0.0)
    scale = 1 / tl.sqrt(tl.sum(d * d, 0) / cols + 1e-5)
    w = tl.load(w_ptr + at, mask=mask)
    tl.store(out_ptr + row + at, d * scale * w + tl.load(b_ptr + at, mask=mask), mask=mask)


@case(
    **ROWS,
    inputs=lambda rng, rows, cols: [repeated(rng, rows, cols), repeated(rng, cols), f32(rows, cols), cols],
    expected=lambda x, w, *_: {2: wide(x) / np.sqrt((wide(x) ** 2).mean(1, keepdims=True) + 1e-6) * w},
    tolerance=1e-4,
    BLOCK=1024,
    choices={"num_warps": WARPS, "BLOCK": (256, 512, 1024, 2048)},
)
@triton.jit
def bench_rms_norm(x_ptr, w_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0) * cols
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row + at, mask=at < cols, other=0.0)
        total += x * x
    scale = 1 / tl.sqrt(tl.sum(total, 0) / cols + 1e-6)
    for start in range(0, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        mask = at < cols
        x = tl.load(x_ptr + row + at, mask=mask, other=0.0)
        tl.store(out_ptr + row + at, x * scale * tl.load(w_ptr + at, mask=mask), mask=mask)


@case(
    **ROWS,
    inputs=lambda rng, rows, cols: [repeated(rng, rows, cols), f32(rows), cols],
    expected=lambda x, *_: {1: np.log(np.exp(wide(x)).sum(1))},
    exact_order=False,
    BLOCK=512,
    choices={"num_warps": WARPS, "BLOCK": (256, 512, 1024, 2048)},
)
@triton.jit
def bench_online_log_sum_exp(x_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    top = tl.full([BLOCK], -1e30, tl.float32)
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * cols + at, mask=at < cols, other=-1e30)
        larger = tl.maximum(top, x)
        total = total * tl.exp(top - larger) + tl.exp(x - larger)
        top = larger
    most = tl.max(top, 0)
    tl.store(out_ptr + row, most + tl.log(tl.sum(total * tl.exp(top - most), 0)))


@case(
    **ROWS,
    inputs=lambda rng, rows, cols: [repeated(rng, rows, cols), np.zeros(rows, np.int32), cols],
    expected=lambda x, *_: {1: x.argmax(1)},
    BLOCK=2048,
    choices={"num_warps": WARPS},
)
@triton.jit
def bench_argmax(x_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + tl.program_id(0) * cols + at, mask=at < cols, other=-float("inf"))
    tl.store(out_ptr + tl.program_id(0), tl.argmax(x, 0))


TILES = {"sizes": {"rows": 32, "cols": 512}, "large": {"rows": 65536, "cols": 512}}


@case(
    **TILES,
    grid=lambda rows, R: (triton.cdiv(rows, R),),
    inputs=lambda rng, rows, cols: [repeated(rng, rows, cols), f32(rows), rows, cols],
    expected=lambda x, *_: {1: wide(x).sum(1)},
    tolerance=1e-4,
    R=16,
    C=128,
    choices={"num_warps": (2, 4, 8), "R": (4, 8, 16, 32), "C": (64, 128, 256)},
)
@triton.jit
def bench_row_sums(x_ptr, out_ptr, rows, cols, R: tl.constexpr, C: tl.constexpr):
    r = tl.program_id(0) * R + tl.arange(0, R)
    total = tl.zeros([R, C], tl.float32)
    for start in range(0, cols, C):
        c = start + tl.arange(0, C)
        mask = (r[:, None] < rows) & (c[None, :] < cols)
        total += tl.load(x_ptr + r[:, None] * cols + c[None, :], mask=mask, other=0.0)
    tl.store(out_ptr + r, tl.sum(total, 1), mask=r < rows)


@case(
    sizes={"rows": 512, "cols": 64},
    large={"rows": 512, "cols": 65536},
    grid=lambda cols, C: (triton.cdiv(cols, C),),
    inputs=lambda rng, rows, cols: [repeated(rng, rows, cols), f32(cols), rows, cols],
    expected=lambda x, *_: {1: wide(x).sum(0)},
    tolerance=1e-4,
    R=32,
    C=64,
    choices={"num_warps": (2, 4, 8), "R": (16, 32, 64), "C": (32, 64)},
)
@triton.jit
def bench_column_sums(x_ptr, out_ptr, rows, cols, R: tl.constexpr, C: tl.constexpr):
    c = tl.program_id(0) * C + tl.arange(0, C)
    total = tl.zeros([R, C], tl.float32)
    for start in range(0, rows, R):
        r = start + tl.arange(0, R)
        mask = (r[:, None] < rows) & (c[None, :] < cols)
        total += tl.load(x_ptr + r[:, None] * cols + c[None, :], mask=mask, other=0.0)
    tl.store(out_ptr + c, tl.sum(total, 0), mask=c < cols)


@case(
    **ROWS,
    inputs=rows_and_out,
    expected=lambda x, *_: {1: wide(x).cumsum(1)},
    tolerance=1e-3,
    BLOCK=2048,
    choices={"num_warps": WARPS},
)
@triton.jit
def bench_cumulative_sums(x_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    at = tl.program_id(0) * cols + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.cumsum(tl.load(x_ptr + at), 0))


@case(
    **ROWS,
    inputs=lambda rng, rows, cols: [
        repeated(rng, rows, cols),
        rng.integers(0, cols, rows).astype(np.int32),
        f32(rows),
        cols,
    ],
    expected=lambda x, y, *_: {2: np.log(np.exp(wide(x)).sum(1)) - wide(x)[np.arange(len(y)), y]},
    exact_order=False,
    tolerance=1e-4,
    BLOCK=2048,
    choices={"num_warps": WARPS},
)
@triton.jit
def bench_cross_entropy(x_ptr, label_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * cols + at, mask=at < cols, other=-float("inf"))
    top = tl.max(x, 0)
    chosen = tl.load(x_ptr + row * cols + tl.load(label_ptr + row))
    tl.store(out_ptr + row, top + tl.log(tl.sum(tl.exp(x - top), 0)) - chosen)


@case(
    **ROWS,
    inputs=lambda rng, rows, cols: [repeated(rng, rows, cols), np.zeros((rows, cols), np.int8), f32(rows), cols],
    expected=lambda x, *_: {2: np.abs(wide(x)).max(1) / 127},
    BLOCK=2048,
    choices={"num_warps": WARPS},
)
@triton.jit
def bench_quantize(x_ptr, out_ptr, scale_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * cols + at, mask=at < cols, other=0.0)
    scale = tl.max(tl.abs(x), 0) / 127
    tl.store(out_ptr + row * cols + at, tl.floor(x / scale + 0.5).to(tl.int8), mask=at < cols)
    tl.store(scale_ptr + row, scale)


@case(
    sizes={"rows": 16, "cols": 128},
    large={"rows": 65536, "cols": 128},
    grid=lambda rows, R: (triton.cdiv(rows, R),),
    inputs=lambda rng, rows, cols: [repeated(rng, rows, cols), f32(rows, cols), cols],
    expected=lambda x, *_: {1: np.sort(x, 1)},
    R=4,
    BLOCK=128,
    choices={"num_warps": (1, 2, 4, 8), "R": (1, 2, 4, 8)},
)
@triton.jit
def bench_sort(x_ptr, out_ptr, cols, R: tl.constexpr, BLOCK: tl.constexpr):
    r = tl.program_id(0) * R + tl.arange(0, R)
    at = r[:, None] * cols + tl.arange(0, BLOCK)[None, :]
    tl.store(out_ptr + at, tl.sort(tl.load(x_ptr + at)))
