"""Methods of conditions, as libraries write them (torch's bucketize)."""

from __future__ import annotations

import numpy as np

import minitriton as triton
import minitriton.language as tl


@triton.jit
def inside(x_ptr, out_ptr, low, high, N: tl.constexpr):
    at = tl.arange(0, N)
    x = tl.load(x_ptr + at)
    between = (x >= low).logical_and(x <= high)
    tl.store(out_ptr + at, between.logical_or(x == 99).to(tl.int32))


def test_logical_and_and_or_are_methods_of_tensors() -> None:
    x = np.arange(128, dtype=np.int32)
    out = np.zeros_like(x)
    inside[(1,)](x, out, 10, 20, N=128)
    assert np.array_equal(out, ((x >= 10) & (x <= 20)) | (x == 99))
