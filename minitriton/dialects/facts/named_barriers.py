"""Which of a block's 16 named barriers (PTX ISA, "bar") are for what: the one module that allots them.

    0            all threads; in warp-specialized kernels the default warps
    1            all warps of a warp-specialized block
    2 to 15      the partitions of a warp-specialized block, one each
    1 to 13      buffers of rings that only the first warp fills, one each, the same for all loops of a kernel
    14, 15       warp groups that take turns at the tensor cores, one each

A kernel is warp-specialized or has the last two: the passes that make these leave warp-specialized kernels as they are.
"""

from __future__ import annotations

ALL_WARPS = 1
PARTITIONS = range(2, 16)
FIRST_WARP_FILLS = range(1, 14)
TURNS = range(14, 16)
