"""Dropout whose random numbers are a function of one seed and the element's place, so that none are stored."""

import triton
import triton.language as tl


@triton.jit
def seeded_dropout(x_ptr, out_ptr, n, p, seed, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask).to(tl.float32)
    kept = tl.where(tl.rand(seed, offsets) > p, x / (1 - p), 0.0)
    tl.store(out_ptr + offsets, kept.to(out_ptr.dtype.element_ty), mask=mask)
