"""Sum, max and argmax of a matrix along each axis. Rows (axis 1) one block at a time; columns (axis 0) by a loop."""

import triton
import triton.language as tl


@triton.jit
def sum_rows(x_ptr, out_ptr, n_rows, n_cols, ROWS: tl.constexpr, COLS: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    total = tl.zeros([ROWS, COLS], dtype=tl.float32)
    for start in range(0, n_cols, COLS):
        columns = start + tl.arange(0, COLS)
        mask = (rows[:, None] < n_rows) & (columns[None, :] < n_cols)
        total += tl.load(x_ptr + rows[:, None] * n_cols + columns[None, :], mask=mask, other=0.0).to(tl.float32)
    tl.store(out_ptr + rows, tl.sum(total, axis=1), mask=rows < n_rows)


@triton.jit
def max_rows(x_ptr, out_ptr, n_rows, n_cols, ROWS: tl.constexpr, COLS: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    best = tl.full([ROWS, COLS], -float("inf"), dtype=tl.float32)
    for start in range(0, n_cols, COLS):
        columns = start + tl.arange(0, COLS)
        mask = (rows[:, None] < n_rows) & (columns[None, :] < n_cols)
        x = tl.load(x_ptr + rows[:, None] * n_cols + columns[None, :], mask=mask, other=-float("inf"))
        best = tl.maximum(best, x.to(tl.float32))
    tl.store(out_ptr + rows, tl.max(best, axis=1), mask=rows < n_rows)


@triton.jit
def argmax_rows(x_ptr, out_ptr, n_rows, n_cols, ROWS: tl.constexpr, COLS: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.arange(0, COLS)
    mask = (rows[:, None] < n_rows) & (columns[None, :] < n_cols)
    x = tl.load(x_ptr + rows[:, None] * n_cols + columns[None, :], mask=mask, other=-float("inf"))
    tl.store(out_ptr + rows, tl.argmax(x, axis=1), mask=rows < n_rows)


@triton.jit
def sum_columns(x_ptr, out_ptr, n_rows, n_cols, ROWS: tl.constexpr, COLS: tl.constexpr):
    columns = tl.program_id(0) * COLS + tl.arange(0, COLS)
    total = tl.zeros([COLS], dtype=tl.float32)
    for start in range(0, n_rows, ROWS):
        rows = start + tl.arange(0, ROWS)
        mask = (rows[:, None] < n_rows) & (columns[None, :] < n_cols)
        x = tl.load(x_ptr + rows[:, None] * n_cols + columns[None, :], mask=mask, other=0.0).to(tl.float32)
        total += tl.sum(x, axis=0)
    tl.store(out_ptr + columns, total, mask=columns < n_cols)


@triton.jit
def max_columns(x_ptr, out_ptr, n_rows, n_cols, ROWS: tl.constexpr, COLS: tl.constexpr):
    columns = tl.program_id(0) * COLS + tl.arange(0, COLS)
    best = tl.full([COLS], -float("inf"), dtype=tl.float32)
    for start in range(0, n_rows, ROWS):
        rows = start + tl.arange(0, ROWS)
        mask = (rows[:, None] < n_rows) & (columns[None, :] < n_cols)
        x = tl.load(x_ptr + rows[:, None] * n_cols + columns[None, :], mask=mask, other=-float("inf"))
        best = tl.maximum(best, tl.max(x.to(tl.float32), axis=0))
    tl.store(out_ptr + columns, best, mask=columns < n_cols)


@triton.jit
def argmax_columns(x_ptr, out_ptr, n_rows, n_cols, ROWS: tl.constexpr, COLS: tl.constexpr):
    columns = tl.program_id(0) * COLS + tl.arange(0, COLS)
    rows = tl.arange(0, ROWS)
    mask = (rows[:, None] < n_rows) & (columns[None, :] < n_cols)
    x = tl.load(x_ptr + rows[:, None] * n_cols + columns[None, :], mask=mask, other=-float("inf"))
    tl.store(out_ptr + columns, tl.argmax(x, axis=0), mask=columns < n_cols)
