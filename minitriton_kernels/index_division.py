"""Indices that are divided by sizes which only the launch knows: flat places made rows and columns, and tiles taken in groups."""

import triton
import triton.language as tl


@triton.jit
def take_flat(x_ptr, index_ptr, out_ptr, n, n_cols, row_stride, BLOCK: tl.constexpr):
    """out[i] = x[index[i] // n_cols, index[i] % n_cols], where a row of x begins every `row_stride` elements"""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    index = tl.load(index_ptr + at, mask=mask, other=0).to(tl.int64)
    row, column = index // n_cols, index % n_cols
    tl.store(out_ptr + at, tl.load(x_ptr + row * row_stride + column, mask=mask), mask=mask)


@triton.jit
def copy_by_groups(x_ptr, out_ptr, m, n, BM: tl.constexpr, BN: tl.constexpr, GROUP: tl.constexpr):
    """out = x, the tiles in the order in which a matrix product takes them: GROUP rows of tiles at a time"""
    number = tl.program_id(0)
    tiles_m, tiles_n = tl.cdiv(m, BM), tl.cdiv(n, BN)
    in_group = GROUP * tiles_n
    first = number // in_group * GROUP
    rows_of_tiles = tl.minimum(tiles_m - first, GROUP)
    rows = (first + number % in_group % rows_of_tiles) * BM + tl.arange(0, BM)
    columns = number % in_group // rows_of_tiles * BN + tl.arange(0, BN)
    mask = (rows[:, None] < m) & (columns[None, :] < n)
    at = rows[:, None] * n + columns[None, :]
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=mask), mask=mask)


@triton.jit
def repeat_rows(x_ptr, out_ptr, rows, times, n_out, COLS: tl.constexpr, BLOCK: tl.constexpr):
    """out[i, :] = x[i // times % rows, :] of rows of COLS bytes, one program for a column of BLOCK rows"""
    i = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    columns = tl.arange(0, COLS)
    mask = (i < n_out)[:, None]
    source = (i // times) % rows
    v = tl.load(x_ptr + source.to(tl.int64)[:, None] * COLS + columns[None, :], mask=mask)
    tl.store(out_ptr + i.to(tl.int64)[:, None] * COLS + columns[None, :], v, mask=mask)
