"""A program that launches a kernel on NumPy arrays, without a GPU: minitriton record examples/scaled_rows.py

It scales the rows of a matrix to length one, and compares with NumPy. What is recorded is opened by
minitriton explore --launch recorded/000-scaled_rows, and run and checked likewise (docs/recorded-launches.md).
"""

import numpy as np
import triton
import triton.language as tl


@triton.jit
def scaled_rows(x_ptr, out_ptr, columns, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * columns + at, mask=at < columns, other=0.0)
    length = tl.sqrt(tl.sum(x * x))
    tl.store(out_ptr + row * columns + at, x / length, mask=at < columns)


x = np.random.default_rng(0).normal(size=(16, 100)).astype(np.float32)
out = np.empty_like(x)
scaled_rows[(16,)](x, out, 100, BLOCK=128)
assert np.allclose(out, x / np.linalg.norm(x, axis=1, keepdims=True), atol=1e-6)
