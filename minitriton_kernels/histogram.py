"""How often each value below `BINS` occurs: blocks are counted on chip, their counts added atomically."""

import triton
import triton.language as tl


@triton.jit
def histogram(x_ptr, out_ptr, n, BLOCK: tl.constexpr, BINS: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0)
    tl.atomic_add(out_ptr + tl.arange(0, BINS), tl.histogram(x, BINS, mask=mask))
