"""A copy whose layout the author says: how many elements a thread moves at a time, and which ones.

    python -m minitriton.run_as_triton minitriton_kernels/gluon/copy.py

`BlockedLayout([4, ...])` gives each thread four neighbouring floats, one access of 16 bytes. A layout with one float a thread needs four
times as many instructions for the same bytes; one whose threads run across the rows fetches every sector of 32 bytes for 4 bytes of it.
"""

import numpy as np
import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl


@gluon.jit
def copy_rows(x, out, rows, columns, ROWS: gl.constexpr, COLUMNS: gl.constexpr, layout: gl.constexpr):
    """Copies a block of ROWS x COLUMNS of a matrix, with `layout` for what each thread moves."""
    i = gl.program_id(0) * ROWS + gl.arange(0, ROWS, layout=gl.SliceLayout(1, layout))
    j = gl.program_id(1) * COLUMNS + gl.arange(0, COLUMNS, layout=gl.SliceLayout(0, layout))
    mask = (i[:, None] < rows) & (j[None, :] < columns)
    offsets = i[:, None] * columns + j[None, :]
    gl.store(out + offsets, gl.load(x + offsets, mask=mask), mask=mask)


WIDE = gl.BlockedLayout([1, 4], [1, 32], [4, 1], [1, 0])
"""16 bytes a thread, a warp along a row."""
NARROW = gl.BlockedLayout([1, 1], [1, 32], [4, 1], [1, 0])
"""4 bytes a thread, a warp along a row."""
ACROSS = gl.BlockedLayout([1, 1], [32, 1], [1, 4], [0, 1])
"""4 bytes a thread, a warp along a column."""


def copy(x, out, rows=16, columns=128, layout=WIDE):
    """`out` becomes `x`, two matrices row by row: NumPy arrays or tensors."""
    grid = (triton.cdiv(x.shape[0], rows), triton.cdiv(x.shape[1], columns))
    return copy_rows[grid](x, out, *x.shape, rows, columns, layout)


def main():
    x = np.random.default_rng(0).standard_normal((50, 256), np.float32)
    for name, layout in (("wide", WIDE), ("narrow", NARROW), ("across", ACROSS)):
        out = np.zeros_like(x)
        kernel = copy(x, out, layout=layout)
        np.testing.assert_array_equal(out, x)
        if kernel.last_report is None:
            print(f"{name:8} copied; what counts requests is the emulator")
            continue
        moved = kernel.last_report.total("global")
        print(
            f"{name:8} {moved.requests:5} requests of warps, {moved.sectors:5} sectors of 32 bytes for {moved.bytes} bytes"
        )


if __name__ == "__main__":
    main()
