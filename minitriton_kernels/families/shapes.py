"""What only moves elements: permute, reshape, join, split, flip, gather."""

import numpy as np
import triton
import triton.language as tl

from minitriton.lab.corpus.case import collector, f32, i32, integers, normal

CASES, case = collector(__file__)


@case(
    inputs=lambda rng: [normal(rng, 8, 16, 32), f32(32, 8, 16)],
    expected=lambda x, _: {1: x.transpose(2, 0, 1)},
    A=8,
    B=16,
    C=32,
)
@triton.jit
def permute_cube(x_ptr, out_ptr, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr):
    a = tl.arange(0, A)
    b = tl.arange(0, B)
    c = tl.arange(0, C)
    x = tl.load(x_ptr + a[:, None, None] * (B * C) + b[None, :, None] * C + c[None, None, :])
    index = c[:, None, None] * (A * B) + a[None, :, None] * B + b[None, None, :]
    tl.store(out_ptr + index, tl.permute(x, (2, 0, 1)))


@case(inputs=lambda rng: [normal(rng, 64, 32), f32(16, 128)], expected=lambda x, _: {1: x.reshape(16, 128)}, R=64, C=32)
@triton.jit
def reshape_tile(x_ptr, out_ptr, R: tl.constexpr, C: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :])
    y = tl.reshape(x, (16, 128))
    tl.store(out_ptr + tl.arange(0, 16)[:, None] * 128 + tl.arange(0, 128)[None, :], y)


@case(
    inputs=lambda rng: [normal(rng, 256), normal(rng, 256), f32(512), f32(512)],
    expected=lambda x, y, *_: {2: np.stack([x, y], 1).ravel(), 3: np.stack([x, y], 1).ravel() * 2},
    N=256,
)
@triton.jit
def join_and_interleave(x_ptr, y_ptr, joined_ptr, interleaved_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    x = tl.load(x_ptr + at)
    y = tl.load(y_ptr + at)
    tl.store(joined_ptr + at[:, None] * 2 + tl.arange(0, 2)[None, :], tl.join(x, y))
    tl.store(interleaved_ptr + tl.arange(0, 2 * N), tl.interleave(x, y) * 2)


@case(inputs=lambda rng: [normal(rng, 512), f32(256), f32(256)], expected=lambda x, *_: {1: x[0::2], 2: x[1::2]}, N=256)
@triton.jit
def split_pairs(x_ptr, even_ptr, odd_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    even, odd = tl.split(tl.reshape(tl.load(x_ptr + tl.arange(0, 2 * N)), (N, 2)))
    tl.store(even_ptr + at, even)
    tl.store(odd_ptr + at, odd)


@case(inputs=lambda rng: [integers(rng, 0, 99, 16, 64), i32(16, 64)], expected=lambda x, _: {1: x[:, ::-1]}, R=16, C=64)
@triton.jit
def flip_rows(x_ptr, out_ptr, R: tl.constexpr, C: tl.constexpr):
    at = tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :]
    tl.store(out_ptr + at, tl.flip(tl.load(x_ptr + at), 1))


@case(
    inputs=lambda rng: [normal(rng, 32, 64), integers(rng, 0, 64, 32, 64), f32(32, 64)],
    expected=lambda x, index, _: {2: np.take_along_axis(x, index, 1)},
    R=32,
    C=64,
)
@triton.jit
def gather_in_rows(x_ptr, index_ptr, out_ptr, R: tl.constexpr, C: tl.constexpr):
    at = tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :]
    tl.store(out_ptr + at, tl.gather(tl.load(x_ptr + at), tl.load(index_ptr + at), 1))


@case(
    inputs=lambda rng: [normal(rng, 128, 4), integers(rng, 0, 128, 64, 4), f32(64, 4)],
    expected=lambda x, index, _: {2: np.take_along_axis(x, index, 0)},
    R=128,
    N=64,
    C=4,
)
@triton.jit
def gather_in_columns(x_ptr, index_ptr, out_ptr, R: tl.constexpr, N: tl.constexpr, C: tl.constexpr):
    c = tl.arange(0, C)[None, :]
    x = tl.load(x_ptr + tl.arange(0, R)[:, None] * C + c)
    at = tl.arange(0, N)[:, None] * C + c
    tl.store(out_ptr + at, tl.gather(x, tl.load(index_ptr + at), 0))


@case(
    inputs=lambda rng: [normal(rng, 32), normal(rng, 64), f32(32, 64)],
    expected=lambda x, y, _: {2: x[:, None] * y[None, :] + x[:, None]},
    R=32,
    C=64,
)
@triton.jit
def outer_product(x_ptr, y_ptr, out_ptr, R: tl.constexpr, C: tl.constexpr):
    r = tl.arange(0, R)
    c = tl.arange(0, C)
    x = tl.expand_dims(tl.load(x_ptr + r), 1)
    x, y = tl.broadcast(x, tl.load(y_ptr + c)[None, :])
    tl.store(out_ptr + r[:, None] * C + c[None, :], x * y + x)


@case(
    inputs=lambda rng: [normal(rng, 128), normal(rng, 128), f32(256)],
    expected=lambda x, y, _: {2: np.sort(np.concatenate([x, y]))},
    N=128,
)
@triton.jit
def concatenate(x_ptr, y_ptr, out_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    both = tl.cat(tl.load(x_ptr + at), tl.load(y_ptr + at), can_reorder=True)
    tl.store(out_ptr + tl.arange(0, 2 * N), tl.sort(both))


@case(
    inputs=lambda rng: [normal(rng, 2, 8, 4, 16), f32(16, 4, 2, 8)], expected=lambda x, _: {1: x.transpose(3, 2, 0, 1)}
)
@triton.jit
def permute_four_axes(x_ptr, out_ptr):
    x = tl.reshape(tl.load(x_ptr + tl.arange(0, 1024)), (2, 8, 4, 16))
    tl.store(out_ptr + tl.arange(0, 1024), tl.reshape(tl.permute(x, (3, 2, 0, 1)), (1024,)))
