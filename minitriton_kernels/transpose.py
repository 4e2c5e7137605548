"""Matrix transpose, one tile a program."""

import triton
import triton.language as tl


@triton.jit
def transpose(x_ptr, out_ptr, n_rows, n_cols, ROWS: tl.constexpr, COLS: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.program_id(1) * COLS + tl.arange(0, COLS)
    mask = (rows[:, None] < n_rows) & (columns[None, :] < n_cols)
    x = tl.load(x_ptr + rows[:, None] * n_cols + columns[None, :], mask=mask)
    tl.store(out_ptr + columns[:, None] * n_rows + rows[None, :], tl.trans(x), mask=tl.trans(mask))
