"""Kernels to be fixed, one an exercise."""

import triton
import triton.language as tl


@triton.jit
def scale_rows(x_ptr, out_ptr, stride, factor, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * stride + columns)
    tl.store(out_ptr + row * stride + columns, x * factor)


@triton.jit
def add_masked(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets >= n
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, x + y, mask=mask)


@triton.jit
def copy_tile(x_ptr, out_ptr, N: tl.constexpr):
    """Copies a matrix of N by N in row-major order."""
    pid = tl.program_id(0)
    inner = pid * 4 + tl.arange(0, 4)
    outer = tl.arange(0, N)
    at = outer[:, None] * N + inner[None, :]
    tl.store(out_ptr + at, tl.load(x_ptr + at))


@triton.jit
def mean_and_spread(x_ptr, out_ptr, N: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, N)
    mean = tl.sum(tl.load(x_ptr + row * N + columns), axis=0) / N
    squares = tl.load(x_ptr + row * N + columns, volatile=True) - mean
    tl.store(out_ptr + row * 2, mean)
    tl.store(out_ptr + row * 2 + 1, tl.sum(squares * squares, axis=0) / N)


@triton.jit
def softmax_rows(x_ptr, out_ptr, N: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, N)
    x = tl.load(x_ptr + row * N + columns)
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row * N + columns, e / tl.sum(e, axis=0))


@triton.jit
def total(x_ptr, out_ptr, N: tl.constexpr):
    """Adds up everything into one number."""
    part = tl.sum(tl.load(x_ptr + tl.program_id(0) * N + tl.arange(0, N)), axis=0)
    tl.store(out_ptr, tl.load(out_ptr) + part)


@triton.jit
def square_matmul(a_ptr, b_ptr, c_ptr, N: tl.constexpr):
    rows = tl.arange(0, N)
    a = tl.load(a_ptr + rows[:, None] * N + rows[None, :])
    b = tl.load(b_ptr + rows[:, None] * N + rows[None, :])
    tl.store(c_ptr + rows[:, None] * N + rows[None, :], tl.dot(a, b, input_precision="ieee"))


@triton.jit
def tiled_matmul(a_ptr, b_ptr, c_ptr, K, N: tl.constexpr, STEP: tl.constexpr):
    rows = tl.arange(0, N)
    inner = tl.arange(0, STEP)
    accumulator = tl.zeros((N, N), tl.float32)
    for k in tl.range(0, K, STEP):
        a = tl.load(a_ptr + rows[:, None] * K + k + inner[None, :])
        b = tl.load(b_ptr + (k + inner[:, None]) * N + rows[None, :])
        accumulator = tl.dot(a, b, accumulator)
    tl.store(c_ptr + rows[:, None] * N + rows[None, :], accumulator)


@triton.jit
def wide_row(x_ptr, out_ptr, N: tl.constexpr):
    columns = tl.arange(0, N)
    tl.store(out_ptr + columns, tl.load(x_ptr + columns) * 2)


@triton.jit
def interleaved(x_ptr, out_ptr, N: tl.constexpr):
    """The sum of each pair of neighbours."""
    at = tl.program_id(0) * N + tl.arange(0, N)
    left = tl.load(x_ptr + 2 * at)
    right = tl.load(x_ptr + 2 * at + 1)
    tl.store(out_ptr + at, left + right)
