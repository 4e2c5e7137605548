"""Column sums of a tall matrix split over programs: each adds up a band of rows, then adds its part atomically."""

import triton
import triton.language as tl


@triton.jit
def column_sums(x_ptr, out_ptr, n_rows, n_cols, BAND: tl.constexpr, ROWS: tl.constexpr, COLS: tl.constexpr):
    columns = tl.program_id(0) * COLS + tl.arange(0, COLS)
    first = tl.program_id(1) * BAND
    total = tl.zeros([ROWS, COLS], dtype=tl.float32)
    for start in range(0, BAND, ROWS):
        rows = first + start + tl.arange(0, ROWS)
        mask = (rows[:, None] < n_rows) & (columns[None, :] < n_cols)
        total += tl.load(x_ptr + rows[:, None] * n_cols + columns[None, :], mask=mask, other=0.0).to(tl.float32)
    tl.atomic_add(out_ptr + columns, tl.sum(total, axis=0), mask=columns < n_cols)
