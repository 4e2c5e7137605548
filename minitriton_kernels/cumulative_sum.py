"""Sums of everything up to each element, along the rows of a matrix; rows longer than a block carry the sum so far."""

import triton
import triton.language as tl


@triton.jit
def cumulative_sum(x_ptr, out_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    before = 0.0
    for start in range(0, n_cols, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        mask = columns < n_cols
        x = tl.load(x_ptr + row * n_cols + columns, mask=mask, other=0.0).to(tl.float32)
        sums = before + tl.cumsum(x, axis=0)
        tl.store(out_ptr + row * n_cols + columns, sums.to(out_ptr.dtype.element_ty), mask=mask)
        before += tl.sum(x, axis=0)
