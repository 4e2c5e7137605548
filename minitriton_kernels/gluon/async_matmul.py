"""A matmul by `mma.sync` whose tiles are copied in the background by the threads themselves: `cp.async`, two buffers (sm_80).

    python -m minitriton.run_as_triton minitriton_kernels/gluon/async_matmul.py

The copies of step s + 1 are in flight while step s is multiplied: `wait_group(1)` leaves the youngest group alone. The tiles are swizzled
in shared memory, so that neither the copies (rows of 16 bytes) nor the reads of MMA operands (8 rows of 16 bytes, `ldmatrix`) have
bank conflicts.
"""

import numpy as np
import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.ampere import async_copy, mma_v2


def copied(columns):
    """Rows of float16 in accesses of 16 bytes, a warp 512 bytes."""
    return gl.BlockedLayout([1, 8], [256 // columns, columns // 8], [4, 1], [1, 0])


def swizzled(columns):
    """Rows of float16 in shared memory: 8 rows below each other have 16 bytes each in other banks."""
    rows_of_a_line = max(1, 64 // columns)
    return gl.SwizzledSharedLayout(8, rows_of_a_line, 8 // rows_of_a_line, [1, 0])


@gluon.jit
def start_copy(target, base, row, column, rows, columns, layout: gl.constexpr):
    """Starts copying the tile at (row, column) of a matrix of rows x columns; what is outside becomes 0."""
    i = row + gl.arange(0, target.shape[0], gl.SliceLayout(1, layout))[:, None]
    j = column + gl.arange(0, target.shape[1], gl.SliceLayout(0, layout))[None, :]
    inside = (i < rows) & (j < columns)
    async_copy.async_copy_global_to_shared(target, base + i * columns + j, mask=inside)


@gluon.jit
def matmul_tile(
    a, b, c, m, n, k, BM: gl.constexpr, BN: gl.constexpr, BK: gl.constexpr,
    of_a: gl.constexpr, of_b: gl.constexpr, a_shared: gl.constexpr, b_shared: gl.constexpr,
):  # fmt: skip
    """A tile of c = a @ b, matrices row by row."""
    mma: gl.constexpr = gl.NVMMADistributedLayout([2, 0], [2, 2], [16, 8])
    row, column = gl.program_id(0) * BM, gl.program_id(1) * BN
    a_buffers = gl.allocate_shared_memory(a.dtype.element_ty, [2, BM, BK], a_shared)
    b_buffers = gl.allocate_shared_memory(b.dtype.element_ty, [2, BK, BN], b_shared)
    start_copy(a_buffers.index(0), a, row, 0, m, k, of_a)
    start_copy(b_buffers.index(0), b, 0, column, k, n, of_b)
    async_copy.commit_group()
    acc = gl.zeros([BM, BN], gl.float32, mma)
    for step in range(gl.cdiv(k, BK)):
        now, after = step % 2, (step + 1) % 2
        start_copy(a_buffers.index(after), a, row, (step + 1) * BK, m, k, of_a)
        start_copy(b_buffers.index(after), b, (step + 1) * BK, column, k, n, of_b)
        async_copy.commit_group()
        async_copy.wait_group(1)
        x = a_buffers.index(now).load(gl.DotOperandLayout(0, mma, 2))
        y = b_buffers.index(now).load(gl.DotOperandLayout(1, mma, 2))
        acc = mma_v2(x, y, acc)
    async_copy.wait_group(0)
    i = row + gl.arange(0, BM, gl.SliceLayout(1, of_b))[:, None]
    j = column + gl.arange(0, BN, gl.SliceLayout(0, of_b))[None, :]
    out = gl.convert_layout(acc.to(c.dtype.element_ty), of_b)
    gl.store(c + i * n + j, out, mask=(i < m) & (j < n))


def matmul(a, b, c, bm=128, bn=128, bk=32):
    """`c` becomes `a @ b`, matrices of float16 whose rows are multiples of 16 elements: NumPy arrays or tensors."""
    (m, k), n = a.shape, b.shape[1]
    grid = (triton.cdiv(m, bm), triton.cdiv(n, bn))
    layouts = copied(bk), copied(bn), swizzled(bk), swizzled(bn)
    return matmul_tile[grid](a, b, c, m, n, k, bm, bn, bk, *layouts, num_warps=4)


def main():
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(shape).astype(np.float16) for shape in ((80, 144), (144, 96)))
    c = np.zeros((80, 96), np.float16)
    kernel = matmul(a, b, c, bm=64, bn=64, bk=32)
    np.testing.assert_allclose(c, a.astype(np.float32) @ b.astype(np.float32), rtol=1e-2, atol=1e-2)
    print(f"the matmul agrees with NumPy's; {kernel.asm['ptx'].count('cp.async.cg')} copies of 16 bytes in the PTX")


if __name__ == "__main__":
    main()
