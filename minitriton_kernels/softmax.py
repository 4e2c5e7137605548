"""Softmax of each row, fused: one read and one write of the matrix. A program walks over rows with a stride."""

import triton
import triton.language as tl


@triton.jit
def softmax(out_ptr, in_ptr, in_stride, out_stride, n_rows, n_cols, BLOCK: tl.constexpr):
    columns = tl.arange(0, BLOCK)
    mask = columns < n_cols
    for row in tl.range(tl.program_id(0), n_rows, tl.num_programs(0)):
        x = tl.load(in_ptr + row * in_stride + columns, mask=mask, other=-float("inf")).to(tl.float32)
        x = x - tl.max(x, axis=0)
        numerator = tl.exp(x)
        result = numerator / tl.sum(numerator, axis=0)
        tl.store(out_ptr + row * out_stride + columns, result.to(out_ptr.dtype.element_ty), mask=mask)
