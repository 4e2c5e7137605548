"""Rotary position embedding of `x[token, head, :]`: the pair that turns is `(i, i + HALF)`, or `(2 i, 2 i + 1)`."""

import triton
import triton.language as tl


@triton.jit
def rotate_halves(x_ptr, cos_ptr, sin_ptr, out_ptr, n_heads, HEADS: tl.constexpr, HALF: tl.constexpr):
    token = tl.program_id(0)
    heads = tl.program_id(1) * HEADS + tl.arange(0, HEADS)
    i = tl.arange(0, HALF)
    cos = tl.load(cos_ptr + token * HALF + i)[None, :]
    sin = tl.load(sin_ptr + token * HALF + i)[None, :]
    at = (token * n_heads + heads[:, None]) * (2 * HALF) + i[None, :]
    mask = heads[:, None] < n_heads
    a = tl.load(x_ptr + at, mask=mask).to(tl.float32)
    b = tl.load(x_ptr + at + HALF, mask=mask).to(tl.float32)
    tl.store(out_ptr + at, (a * cos - b * sin).to(out_ptr.dtype.element_ty), mask=mask)
    tl.store(out_ptr + at + HALF, (b * cos + a * sin).to(out_ptr.dtype.element_ty), mask=mask)


@triton.jit
def rotate_pairs(x_ptr, cos_ptr, sin_ptr, out_ptr, n_heads, HEADS: tl.constexpr, HALF: tl.constexpr):
    token = tl.program_id(0)
    heads = tl.program_id(1) * HEADS + tl.arange(0, HEADS)
    i = tl.arange(0, HALF)
    cos = tl.load(cos_ptr + token * HALF + i)[None, :]
    sin = tl.load(sin_ptr + token * HALF + i)[None, :]
    pair = (token * n_heads + heads[:, None]) * HALF + i[None, :]
    at = 2 * pair[:, :, None] + tl.arange(0, 2)[None, None, :]
    mask = heads[:, None, None] < n_heads
    a, b = tl.split(tl.load(x_ptr + at, mask=mask).to(tl.float32))
    turned = tl.join(a * cos - b * sin, b * cos + a * sin)
    tl.store(out_ptr + at, turned.to(out_ptr.dtype.element_ty), mask=mask)
