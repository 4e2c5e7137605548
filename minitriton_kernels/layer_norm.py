"""Layer norm forward: mean, then variance, then the normalised row; rows longer than a block are walked in pieces."""

import triton
import triton.language as tl


@triton.jit
def layer_norm(x_ptr, y_ptr, w_ptr, b_ptr, mean_ptr, rstd_ptr, stride, n_cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    y_ptr += row * stride
    x_ptr += row * stride
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, n_cols, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + columns, mask=columns < n_cols, other=0.0).to(tl.float32)
    mean = tl.sum(total, axis=0) / n_cols
    squares = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, n_cols, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + columns, mask=columns < n_cols, other=0.0).to(tl.float32)
        x = tl.where(columns < n_cols, x - mean, 0.0)
        squares += x * x
    rstd = 1 / tl.sqrt(tl.sum(squares, axis=0) / n_cols + eps)
    tl.store(mean_ptr + row, mean)
    tl.store(rstd_ptr + row, rstd)
    for start in range(0, n_cols, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        mask = columns < n_cols
        w = tl.load(w_ptr + columns, mask=mask).to(tl.float32)
        b = tl.load(b_ptr + columns, mask=mask).to(tl.float32)
        x = tl.load(x_ptr + columns, mask=mask, other=0.0).to(tl.float32)
        y = (x - mean) * rstd * w + b
        tl.store(y_ptr + columns, y.to(y_ptr.dtype.element_ty), mask=mask)
