"""`tritonamdgpu-optimize-dot-operands`: scales of packed floats go through shared memory, where a loop loads them; conversions are simplified.

    %s = tt.load %p                                       %s = tt.load %p
    %u = amdg.scaled_upcast_fp8 %v scale %s      =>       %b = ttg.local_alloc %s
                                                          %u = amdg.scaled_upcast_fp8 %v scale (ttg.local_load %b)

The pipeliner multiplies that buffer. On gfx950 only, whose instructions take scales. Counterpart of OptimizeDotOperands.cpp of AMD.
"""

from __future__ import annotations

from typing import ClassVar, cast

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Operation

from minitriton.analysis.slices.def_use import backward_ops
from minitriton.dialects import amdg, tt, ttg
from minitriton.dialects.fast_paths.op_access import ops_of
from minitriton.layouts.encodings import SwizzledShared
from minitriton.layouts.properties import order_for_memory
from minitriton.passes.remove_layout_conversions.convert_patterns import CONVERT_PATTERNS
from minitriton.passes.tensor_layouts import layout_of_value, shape_of
from minitriton.pipeline.pass_registry import Pass, Property, register_pass
from minitriton.rewriting.greedy import apply_patterns_greedily
from minitriton.rewriting.patterns import PatternSet
from minitriton.rewriting.rewriter import Inserter


@register_pass
class OptimizeDotOperandsOnAMD(Pass, stage="ttgir", origin="triton"):
    """Puts scales that a loop loads into shared memory, and simplifies conversions of operands."""

    name: ClassVar[str] = "tritonamdgpu-optimize-dot-operands"
    acts_on = None
    requires = frozenset({Property.ENCODINGS})
    arch_generation_name: str = ""
    """LLVM's name of the GPU."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrite every upcast, then fold and simplify conversions."""
        if self.arch_generation_name == "gfx950":
            for upcast in ops_of(op, amdg.ScaledUpcastFp4Op, amdg.ScaledUpcastFp8Op):
                _share_scale(upcast)
        apply_patterns_greedily(op, PatternSet(CONVERT_PATTERNS))


def _share_scale(upcast: Operation) -> None:
    around = upcast.parent_op()
    while around is not None and not isinstance(around, scf.ForOp):
        around = around.parent_op()
    needed = backward_ops(upcast.operands[1], through_arguments=False)
    loads = [op for op in needed if isinstance(op, tt.LoadOp)]
    if around is None or len(loads) != 1 or any(isinstance(op, ttg.LocalLoadOp) for op in needed):
        return
    value = loads[0].results[0]
    type_, layout, shape = cast(TensorType, value.type), layout_of_value(value), shape_of(value)
    assert layout is not None
    shared = SwizzledShared(1, 1, 1, order_for_memory(layout, shape), layout.cga)
    memdesc = ttg.MemDescType(shape, type_.element_type, ttg.encoding_attr(shared), ttg.SMEM)
    at = Inserter.after(loads[0])
    alloc = at.insert(ttg.LocalAllocOp(value, memdesc))
    load = at.insert(ttg.LocalLoadOp(alloc.result, None, type_))
    for use in [use for use in value.uses if use.operation is not alloc]:
        use.operation.operands[use.index] = load.result
