"""RMS norm forward of each row, the row in one block."""

import triton
import triton.language as tl


@triton.jit
def rms_norm(x_ptr, w_ptr, y_ptr, stride, n_cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    mask = columns < n_cols
    x = tl.load(x_ptr + row * stride + columns, mask=mask, other=0.0).to(tl.float32)
    w = tl.load(w_ptr + columns, mask=mask).to(tl.float32)
    scale = tl.rsqrt(tl.sum(x * x, axis=0) / n_cols + eps)
    tl.store(y_ptr + row * stride + columns, (x * scale * w).to(y_ptr.dtype.element_ty), mask=mask)
