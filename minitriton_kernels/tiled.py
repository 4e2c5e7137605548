"""A matrix stored in 16x16 tiles, read back row by row; the place of an element is found by shifts and masks."""

import triton
import triton.language as tl


@triton.jit
def untile(x_ptr, out_ptr, n_cols, COLS: tl.constexpr):
    """out[row, :] = the row's elements, from the tiles of its band."""
    row = tl.program_id(0)
    columns = tl.program_id(1) * COLS + tl.arange(0, COLS)
    mask = columns < n_cols
    at = (row >> 4) * (n_cols * 16) + (columns >> 4) * 256 + (row & 15) * 16 + (columns & 15)
    tl.store(out_ptr + row * n_cols + columns, tl.load(x_ptr + at, mask=mask), mask=mask)
