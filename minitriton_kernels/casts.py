"""Casts to and from 8 bits: integers with a scale for each row, and 8-bit floats as they are."""

import triton
import triton.language as tl


@triton.jit
def quantize_rows(x_ptr, out_ptr, scale_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    mask = columns < n_cols
    x = tl.load(x_ptr + row * n_cols + columns, mask=mask, other=0.0).to(tl.float32)
    scale = tl.maximum(tl.max(tl.abs(x), axis=0), 1e-10) / 127
    tl.store(out_ptr + row * n_cols + columns, tl.floor(x / scale + 0.5).to(tl.int8), mask=mask)
    tl.store(scale_ptr + row, scale)


@triton.jit
def dequantize_rows(x_ptr, scale_ptr, out_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = columns < n_cols
    x = tl.load(x_ptr + row * n_cols + columns, mask=mask).to(tl.float32) * tl.load(scale_ptr + row)
    tl.store(out_ptr + row * n_cols + columns, x.to(out_ptr.dtype.element_ty), mask=mask)


@triton.jit
def cast(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=mask).to(out_ptr.dtype.element_ty), mask=mask)
