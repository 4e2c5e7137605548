"""Which of a block's 16 named barriers (PTX ISA, "bar") are for what: the one module that allots them.

    0            all threads; in warp-specialized kernels the default warps
    1            all warps of a warp-specialized block
    2 to 15      the partitions of a warp-specialized block, one each
    1 to 13      buffers of rings that only the first warp fills, one each, the same for all loops of a kernel
    14, 15       warp groups that take turns at the tensor cores, one each

The class of an op that uses some says which (`TakesBarriers`); a pass that adds such ops first asks whether they are taken. A barrier that
a lowering inserts (`facts.synchronization.LoweringBarrier`) is 0, or that of the partition whose code it is in (`FunctionLowering.barrier`).
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import Operation

from minitriton.dialects.facts import Fact
from minitriton.dialects.fast_paths.operations import ops_in

ALL_WARPS = 1
PARTITIONS = range(2, 16)
FIRST_WARP_FILLS = range(1, 14)
TURNS = range(14, 16)
SPECIALIZED = range(ALL_WARPS, PARTITIONS.stop)
"""Of a warp-specialized kernel."""


@dataclass(frozen=True)
class TakesBarriers(Fact):
    """The op uses some of these named barriers."""

    numbers: range


def taken_barriers(root: Operation) -> frozenset[int]:
    """The named barriers, other than 0, that ops in `root` use."""
    found = {takes for op in ops_in(root) if (takes := TakesBarriers.of(op)) is not None}
    return frozenset(number for takes in found for number in takes.numbers)
