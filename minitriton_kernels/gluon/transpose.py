"""A transposition through shared memory, and how many bank conflicts its layouts there have.

    python -m minitriton.run_as_triton minitriton_kernels/gluon/transpose.py

Threads read along the rows and write along the columns, so that both run through global memory in order. In shared memory one of the two
goes across: 32 lanes that read a column of 32 floats find them all in one bank, unless the rows are swizzled or padded.
`gl.bank_conflicts` says so before anything is compiled.
"""

import numpy as np
import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl

TILE = 32
ROWS = gl.BlockedLayout([1, 1], [1, 32], [4, 1], [1, 0])
COLUMNS = gl.BlockedLayout([1, 1], [32, 1], [1, 4], [0, 1])
SHARED = {
    "as rows": gl.SwizzledSharedLayout(1, 1, 1, [1, 0]),
    "swizzled": gl.SwizzledSharedLayout(1, 1, 32, [1, 0]),
    "padded": gl.PaddedSharedLayout.with_identity_for([[32, 1]], [TILE, TILE], [1, 0]),
}


@gluon.jit
def transpose_tile(
    x, out, rows, columns, TILE: gl.constexpr, read: gl.constexpr, written: gl.constexpr, shared: gl.constexpr
):  # fmt: skip
    """Writes a tile of a matrix of rows x columns to the transposed matrix."""
    row, column = gl.program_id(0) * TILE, gl.program_id(1) * TILE
    i = row + gl.arange(0, TILE, gl.SliceLayout(1, read))[:, None]
    j = column + gl.arange(0, TILE, gl.SliceLayout(0, read))[None, :]
    tile = gl.load(x + i * columns + j, mask=(i < rows) & (j < columns))
    buffer = gl.allocate_shared_memory(x.dtype.element_ty, [TILE, TILE], shared, tile)
    i = row + gl.arange(0, TILE, gl.SliceLayout(1, written))[:, None]
    j = column + gl.arange(0, TILE, gl.SliceLayout(0, written))[None, :]
    gl.store(out + j * rows + i, buffer.load(written), mask=(i < rows) & (j < columns))


def conflicts(name):
    """Bank conflicts of the store to, and the load from, a tile with this layout in shared memory."""
    shared = gl.shared_memory_descriptor_type(gl.float32, [TILE, TILE], SHARED[name], [TILE, TILE])
    return tuple(
        gl.bank_conflicts(gl.distributed_type(gl.float32, [TILE, TILE], each), shared) for each in (ROWS, COLUMNS)
    )


def transpose(x, out, shared="swizzled"):
    """`out` becomes the transpose of `x`, matrices of float32: NumPy arrays or tensors."""
    rows, columns = x.shape
    grid = (triton.cdiv(rows, TILE), triton.cdiv(columns, TILE))
    return transpose_tile[grid](x, out, rows, columns, TILE, ROWS, COLUMNS, SHARED[shared])


def main():
    x = np.random.default_rng(0).standard_normal((70, 100), np.float32)
    for name in SHARED:
        out = np.zeros((100, 70), np.float32)
        transpose(x, out, name)
        np.testing.assert_array_equal(out, x.T)
        print(f"{name:9} conflicts: store {conflicts(name)[0]:2}, load {conflicts(name)[1]:2}")


if __name__ == "__main__":
    main()
