"""Conversions to dot operands go through an explicit buffer in shared memory.

In: TTGIR with `ttg.convert_layout` from a distributed layout to a dot operand that needs shared memory.
Out: an allocation, swizzled for the operand, and a load from it, which later passes can share and move.

    %2 = ttg.convert_layout %1 : #blocked -> #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>
becomes
    %b = ttg.local_alloc %1 : (tensor<..., #blocked>) -> !ttg.memdesc<..., #shared, #smem>
    %2 = ttg.local_load %b : !ttg.memdesc<..., #shared, #smem> -> tensor<..., #ttg.dot_op<...>>

Answers to lib/Dialect/TritonGPU/Transforms/ReduceDataDuplication.cpp.
"""

from __future__ import annotations

from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Block, Operation

from minitriton.dialects import ttg
from minitriton.dialects.fast_paths.operations import ops_in
from minitriton.layouts.builders import swizzled_shared_for_dot
from minitriton.layouts.conversion import cvt_needs_shared_memory
from minitriton.layouts.encodings import DistributedEncoding, DotOperand
from minitriton.layouts.properties import order_for_memory
from minitriton.pass_registry import Pass, Property, register_pass
from minitriton.passes.tensor_layouts import element_bits, layout_of_value


@register_pass
class ReduceDataDuplication(Pass, stage="ttgir", origin="triton"):
    """Turns conversions to dot operands into a store to and a load from a swizzled buffer."""

    name = "tritongpu-reduce-data-duplication"
    acts_on = frozenset({ttg.ConvertLayoutOp})
    requires = frozenset({Property.ENCODINGS})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrite every conversion of the module."""
        for convert in [inner for inner in ops_in(op) if inner.name == "ttg.convert_layout"]:
            _through_shared_memory(convert)


def _through_shared_memory(convert: Operation) -> None:
    source, result = convert.operands[0], convert.results[0]
    operand = layout_of_value(result)
    if not isinstance(operand, DotOperand):
        return
    type_ = cast(TensorType, source.type)
    shape = type_.get_shape()
    layout = cast(DistributedEncoding, layout_of_value(source))
    if not cvt_needs_shared_memory(layout, operand, shape):
        return
    order = order_for_memory(layout, shape)
    shared = swizzled_shared_for_dot(operand, shape, order, layout.cga, element_bits(type_))
    buffer = ttg.LocalAllocOp(source, ttg.MemDescType(shape, type_.element_type, ttg.encoding_attr(shared), ttg.SMEM))
    load = ttg.LocalLoadOp(buffer.results[0], None, result.type)
    buffer.location = load.location = convert.location
    block = cast(Block, convert.parent)
    block.insert_ops_before([buffer, load], convert)
    result.replace_all_uses_with(load.results[0])
    block.erase_op(convert)
