"""A gather through an index array: out[i] = table[index[i]] where the index is in range, else a fill value."""

import triton
import triton.language as tl


@triton.jit
def masked_gather(table_ptr, index_ptr, out_ptr, n, table_size, fill, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    index = tl.load(index_ptr + offsets, mask=mask, other=-1)
    valid = mask & (index >= 0) & (index < table_size)
    value = tl.load(table_ptr + index, mask=valid, other=0.0)
    tl.store(out_ptr + offsets, tl.where(valid, value, fill), mask=mask)
