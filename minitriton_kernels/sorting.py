"""The rows of a matrix sorted, and the largest elements of each row."""

import triton
import triton.language as tl


@triton.jit
def sort_rows(x_ptr, out_ptr, ROWS: tl.constexpr, COLS: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    at = rows[:, None] * COLS + tl.arange(0, COLS)[None, :]
    tl.store(out_ptr + at, tl.sort(tl.load(x_ptr + at), dim=1))


@triton.jit
def top_k(x_ptr, out_ptr, ROWS: tl.constexpr, COLS: tl.constexpr, K: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    x = tl.load(x_ptr + rows[:, None] * COLS + tl.arange(0, COLS)[None, :])
    tl.store(out_ptr + rows[:, None] * K + tl.arange(0, K)[None, :], tl.topk(x, K, dim=1))
