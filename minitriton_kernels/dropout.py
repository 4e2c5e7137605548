"""Dropout whose random numbers come in an array of seeds, one for each element: keep where the hashed seed is large."""

import triton
import triton.language as tl


@triton.jit
def dropout(x_ptr, seed_ptr, out_ptr, n, p, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    h = tl.load(seed_ptr + offsets, mask=mask).to(tl.uint32)
    h = (h ^ (h >> 16)) * 0x85EBCA6B
    h = (h ^ (h >> 13)) * 0xC2B2AE35
    h = h ^ (h >> 16)
    uniform = (h >> 8).to(tl.float32) * (1.0 / 16777216.0)
    tl.store(out_ptr + offsets, tl.where(uniform > p, x / (1 - p), 0.0), mask=mask)
