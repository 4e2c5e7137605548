"""Rows of a table by number (an embedding), and elements of each row by number, picked on chip."""

import triton
import triton.language as tl


@triton.jit
def embedding(table_ptr, index_ptr, out_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = columns < n_cols
    index = tl.load(index_ptr + row)
    tl.store(out_ptr + row * n_cols + columns, tl.load(table_ptr + index * n_cols + columns, mask=mask), mask=mask)


@triton.jit
def gather_columns(x_ptr, index_ptr, out_ptr, ROWS: tl.constexpr, COLS: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    at = rows[:, None] * COLS + tl.arange(0, COLS)[None, :]
    tl.store(out_ptr + at, tl.gather(tl.load(x_ptr + at), tl.load(index_ptr + at), axis=1))
