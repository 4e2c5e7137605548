"""Ways of reaching memory: strides, masks, modifiers, block pointers."""

import numpy as np
import triton
import triton.language as tl

from minitriton.lab.corpus.case import collector, f32, i32, integers, normal

CASES, case = collector(__file__)


@case(
    inputs=lambda rng: [normal(rng, 50, 70), f32(50, 70), 50, 70, 70],
    expected=lambda x, *_: {1: x},
    grid=(4, 3),
    R=16,
    C=32,
)
@triton.jit
def masked_copy(x_ptr, out_ptr, rows, columns, stride, R: tl.constexpr, C: tl.constexpr):
    r = tl.program_id(0) * R + tl.arange(0, R)[:, None]
    c = tl.program_id(1) * C + tl.arange(0, C)[None, :]
    inside = (r < rows) & (c < columns)
    tl.store(out_ptr + r * stride + c, tl.load(x_ptr + r * stride + c, mask=inside), mask=inside)


@case(inputs=lambda rng: [normal(rng, 600), f32(200), 200], expected=lambda x, *_: {1: x[::3]}, BLOCK=256)
@triton.jit
def every_third(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at * 3, mask=at < n), mask=at < n)


@case(inputs=lambda rng: [normal(rng, 500), f32(500), 500], expected=lambda x, *_: {1: x[::-1]}, grid=(2,), BLOCK=256)
@triton.jit
def backwards(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + (n - 1 - at), mask=at < n), mask=at < n)


@case(
    inputs=lambda rng: [normal(rng, 512), f32(512), f32(512), f32(512)],
    expected=lambda x, *_: {1: x, 2: x + 1, 3: x + 2},
    BLOCK=512,
)
@triton.jit
def cache_modifiers(x_ptr, a_ptr, b_ptr, c_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(a_ptr + at, tl.load(x_ptr + at, cache_modifier=".cg"), cache_modifier=".cs")
    tl.store(b_ptr + at, tl.load(x_ptr + at, eviction_policy="evict_first") + 1, eviction_policy="evict_last")
    tl.store(c_ptr + at, tl.load(x_ptr + at, volatile=True) + 2, cache_modifier=".wt")


@case(
    inputs=lambda rng: [normal(rng, 100, 64), integers(rng, 0, 100, 32), f32(32, 64)],
    expected=lambda table, index, _: {2: table[index]},
    N=32,
    C=64,
)
@triton.jit
def embedding(table_ptr, index_ptr, out_ptr, N: tl.constexpr, C: tl.constexpr):
    r = tl.arange(0, N)
    c = tl.arange(0, C)[None, :]
    rows = tl.load(index_ptr + r)[:, None]
    tl.store(out_ptr + r[:, None] * C + c, tl.load(table_ptr + rows * C + c))


@case(
    inputs=lambda rng: [normal(rng, 256), rng.permutation(256).astype(np.int32), f32(256)],
    expected=lambda x, index, _: {2: x[np.argsort(index)]},
    N=256,
)
@triton.jit
def scatter(x_ptr, index_ptr, out_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(out_ptr + tl.load(index_ptr + at), tl.load(x_ptr + at))


@case(
    inputs=lambda rng: [normal(rng, 300), normal(rng, 5), f32(296), 296],
    expected=lambda x, w, *_: {2: np.convolve(x.astype(np.float64), w[::-1], "valid")},
    grid=(3,),
    TAPS=5,
    BLOCK=128,
)
@triton.jit
def convolution(x_ptr, w_ptr, out_ptr, n, TAPS: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.float32)
    for tap in range(TAPS):
        total += tl.load(w_ptr + tap) * tl.load(x_ptr + at + tap, mask=at < n, other=0.0)
    tl.store(out_ptr + at, total, mask=at < n)


@case(
    inputs=lambda rng: [normal(rng, 24, 40), f32(960)],
    expected=lambda x, _: {1: x.reshape(6, 4, 10, 4).transpose(0, 2, 1, 3).ravel()},
    grid=(4,),
    ROWS=24,
    COLUMNS=40,
    BLOCK=256,
)
@triton.jit
def tiles_of_four(x_ptr, out_ptr, ROWS: tl.constexpr, COLUMNS: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inner = at % 16
    tile = at // 16
    row = (tile // (COLUMNS // 4)) * 4 + inner // 4
    column = (tile % (COLUMNS // 4)) * 4 + inner % 4
    inside = at < ROWS * COLUMNS
    tl.store(out_ptr + at, tl.load(x_ptr + row * COLUMNS + column, mask=inside), mask=inside)


@case(
    inputs=lambda rng: [normal(rng, 60, 50), f32(60, 50), 60, 50],
    expected=lambda x, *_: {1: x * 2},
    grid=(4, 2),
    R=16,
    C=32,
)
@triton.jit
def block_pointers(x_ptr, out_ptr, rows, columns, R: tl.constexpr, C: tl.constexpr):
    start = (tl.program_id(0) * R, tl.program_id(1) * C)
    source = tl.make_block_ptr(x_ptr, (rows, columns), (columns, 1), start, (R, C), (1, 0))
    target = tl.make_block_ptr(out_ptr, (rows, columns), (columns, 1), start, (R, C), (1, 0))
    x = tl.load(source, boundary_check=(0, 1), padding_option="zero")
    tl.store(target, x * 2, boundary_check=(0, 1))


@case(
    inputs=lambda rng: [normal(rng, 32, 200), f32(32), 32, 200],
    expected=lambda x, *_: {1: x.astype(np.float64).sum(1)},
    tolerance=1e-4,
    R=32,
    C=64,
)
@triton.jit
def advancing_block_pointer(x_ptr, out_ptr, rows, columns, R: tl.constexpr, C: tl.constexpr):
    source = tl.make_block_ptr(x_ptr, (rows, columns), (columns, 1), (0, 0), (R, C), (1, 0))
    total = tl.zeros([R, C], tl.float32)
    for _ in range(0, columns, C):
        total += tl.load(source, boundary_check=(1,), padding_option="zero")
        source = tl.advance(source, (0, C))
    tl.store(out_ptr + tl.arange(0, R), tl.sum(total, 1))


@case(
    inputs=lambda rng: [integers(rng, 0, 255, 1024, dtype=np.uint8), np.zeros(1024, np.uint8), 1000],
    expected=lambda x, out, n: {1: np.where(np.arange(1024) < n, 255 - x, 0)},
    BLOCK=1024,
)
@triton.jit
def invert_image(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out_ptr + at, 255 - tl.load(x_ptr + at, mask=at < n), mask=at < n)


@case(inputs=lambda rng: [normal(rng, 16, 4, 8), f32(16, 4, 8)], expected=lambda x, _: {1: np.roll(x, 3, 0)}, N=512)
@triton.jit
def roll(x_ptr, out_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(out_ptr + (at + 96) % N, tl.load(x_ptr + at))


@case(inputs=lambda rng: [integers(rng, 0, 9, 64, 64), i32(64, 64)], expected=lambda x, _: {1: np.tril(x)}, N=64)
@triton.jit
def lower_triangle(x_ptr, out_ptr, N: tl.constexpr):
    r = tl.arange(0, N)[:, None]
    c = tl.arange(0, N)[None, :]
    tl.store(out_ptr + r * N + c, tl.load(x_ptr + r * N + c, mask=c <= r, other=0))
