"""The kernel of `minitriton demo`."""

# Kernels are no typed Python: their arguments are what a launch passes.
# pyright: standard

from __future__ import annotations

import minitriton.language as tl
from minitriton.runtime.jit import jit


@jit
def softmax(out_ptr, in_ptr, stride, n_cols, BLOCK: tl.constexpr):
    """Softmax of one row a program."""
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    mask = columns < n_cols
    x = tl.load(in_ptr + row * stride + columns, mask=mask, other=-float("inf"))
    x = x - tl.max(x, axis=0)
    numerator = tl.exp(x)
    tl.store(out_ptr + row * stride + columns, numerator / tl.sum(numerator, axis=0), mask=mask)
