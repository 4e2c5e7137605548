"""`tritongpu-coalesce-async-copy`: threads read no more at once than they can write to the buffer at once.

    sizePerThread = [1, 16], buffer with vec = 8:        sizePerThread = [1, 8]:
    two copies of 8 bytes, 16 bytes apart          =>    one copy of 8 bytes, neighbours next to each other

`cp.async` joins a load and a store. Where the buffer's swizzle breaks a thread's run into pieces, the pieces of one thread are
not neighbours of another's any more; a layout with shorter runs is coalesced again.

Answers to lib/Dialect/TritonGPU/Transforms/CoalesceAsyncCopy.cpp.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, TensorType, i32

from minitriton.dialects import ttg
from minitriton.dialects.facts.launch import num_warps, threads_per_warp
from minitriton.dialects.fast_paths.op_access import operand_values
from minitriton.dialects.fast_paths.operations import ops_of
from minitriton.layouts.builders import blocked_for_cga
from minitriton.layouts.encodings import Blocked, SwizzledShared
from minitriton.layouts.properties import contig_per_thread
from minitriton.layouts.to_linear import to_linear_layout
from minitriton.pass_registry import Pass, Property, register_pass
from minitriton.passes.tensor_layouts import convert_before, layout_of_value, shape_of

_NOTHING_KNOWN = IntegerAttr(1, i32)
"""The lowering asks for the contiguity of the addresses in their final layout."""


def _shorter_runs(copy: ttg.AsyncCopyGlobalToLocalOp) -> Blocked | None:
    """A layout of the source whose runs the buffer does not break; None if it has such a layout already."""
    layout, shape = layout_of_value(copy.src), shape_of(copy.src)
    assert isinstance(copy.destination.type, ttg.MemDescType)
    buffer = ttg.layout_of(copy.destination.type)
    if not isinstance(layout, Blocked) or not isinstance(buffer, SwizzledShared):
        return None
    map_ = to_linear_layout(layout, shape).invert_and_compose(to_linear_layout(buffer, shape))
    length = map_.get_num_consecutive_in_out()
    runs = list(contig_per_thread(layout, shape))
    fastest = layout.order[0]
    if runs[fastest] <= length:
        return None
    runs[fastest] = length
    return blocked_for_cga(shape, runs, layout.order, num_warps(copy), threads_per_warp(copy), layout.cga)


@register_pass
class CoalesceAsyncCopy(Pass, stage="ttgir", origin="triton"):
    """Gives asynchronous copies layouts whose runs the buffer does not break."""

    name: ClassVar[str] = "tritongpu-coalesce-async-copy"
    acts_on = frozenset({ttg.AsyncCopyGlobalToLocalOp})
    requires = frozenset({Property.ENCODINGS})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Convert the operands of all copies that need it."""
        for copy in ops_of(op, ttg.AsyncCopyGlobalToLocalOp):
            layout = _shorter_runs(copy)
            if layout is None:
                continue
            for index, operand in enumerate(operand_values(copy)):
                if isinstance(operand.type, TensorType):
                    copy.operands[index] = convert_before(copy, operand, layout)
            copy.properties["contiguity"] = _NOTHING_KNOWN
