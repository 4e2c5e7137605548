"""Layer norm backward: every program walks its share of the rows and keeps its part of the weights' gradients in registers."""

import triton
import triton.language as tl


@triton.jit
def layer_norm_backward(
    dy_ptr, x_ptr, w_ptr, mean_ptr, rstd_ptr, dx_ptr, dw_ptr, db_ptr, n_rows, n_cols, BLOCK: tl.constexpr
):
    program = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    mask = columns < n_cols
    w = tl.load(w_ptr + columns, mask=mask, other=0.0).to(tl.float32)
    dw = tl.zeros([BLOCK], dtype=tl.float32)
    db = tl.zeros([BLOCK], dtype=tl.float32)
    for row in range(program, n_rows, tl.num_programs(0)):
        x = tl.load(x_ptr + row * n_cols + columns, mask=mask, other=0.0).to(tl.float32)
        dy = tl.load(dy_ptr + row * n_cols + columns, mask=mask, other=0.0).to(tl.float32)
        rstd = tl.load(rstd_ptr + row)
        normal = tl.where(mask, (x - tl.load(mean_ptr + row)) * rstd, 0.0)
        scaled = w * dy
        along = tl.sum(normal * scaled, axis=0) / n_cols
        shift = tl.sum(scaled, axis=0) / n_cols
        dx = (scaled - (normal * along + shift)) * rstd
        tl.store(dx_ptr + row * n_cols + columns, dx.to(dx_ptr.dtype.element_ty), mask=mask)
        dw += dy * normal
        db += dy
    tl.store(dw_ptr + program * n_cols + columns, dw, mask=mask)
    tl.store(db_ptr + program * n_cols + columns, db, mask=mask)


@triton.jit
def sum_parts(parts_ptr, out_ptr, n_parts, n_cols, PARTS: tl.constexpr, COLS: tl.constexpr):
    columns = tl.program_id(0) * COLS + tl.arange(0, COLS)
    total = tl.zeros([PARTS, COLS], dtype=tl.float32)
    for start in range(0, n_parts, PARTS):
        parts = start + tl.arange(0, PARTS)
        mask = (parts[:, None] < n_parts) & (columns[None, :] < n_cols)
        total += tl.load(parts_ptr + parts[:, None] * n_cols + columns[None, :], mask=mask, other=0.0)
    tl.store(out_ptr + columns, tl.sum(total, axis=0).to(out_ptr.dtype.element_ty), mask=columns < n_cols)
