"""How the operands of a dot reach its instruction: in registers, or through shared memory.

In: an operand of a dot. Out: the same in a `#ttg.dot_op` layout, or a buffer that wgmma reads.

    %a                   ->  ttg.convert_layout %a : ... -> #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>
    %b = tt.load ...     ->  ttg.local_alloc %b : ... -> !ttg.memdesc<64x128xf16, #shared, #smem>

Answers to `getSharedMemoryMMAOperand`, `convertDotOperandForMMA`, `computeOrigBitWidth` of
lib/Dialect/TritonGPU/Transforms/AccelerateMatmul.cpp.
"""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import BFloat16Type, Float16Type, TensorType
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue

from minitriton.analysis.slices.def_use import backward_ops
from minitriton.dialects import tt, ttg
from minitriton.dialects.facts import KeepsData, ViewOfTensor
from minitriton.dialects.facts.layout import Elementwise
from minitriton.dialects.facts.memory_access import MemoryAccess
from minitriton.dialects.narrowing import instance_of
from minitriton.layouts.builders import nvmma_shared
from minitriton.layouts.encodings import DotOperand, NvidiaMma
from minitriton.layouts.properties import order_for_memory
from minitriton.passes.tensor_layouts import element_bits, layout_of_value, with_layout
from minitriton.rewriting.rewriter import Rewriter

_LANES_ALONG_K = 4


def in_registers(value: SSAValue, op_idx: int, bits: int, mma: NvidiaMma, rewriter: Rewriter) -> SSAValue:
    """`value` converted to the registers of the instruction; a thread holds 32 bits along K of elements of `bits` bits, or less
    where K is too short for four such threads."""
    length = cast(TensorType, value.type).get_shape()[-1 - op_idx]
    layout = DotOperand(op_idx, mma, max(min(32 // bits, length // _LANES_ALONG_K), 1))
    return rewriter.insert(ttg.ConvertLayoutOp(value, with_layout(value.type, layout))).results[0]


def in_shared_memory(value: SSAValue, op_idx: int, rewriter: Rewriter) -> SSAValue:
    """A new buffer with `value`, swizzled for wgmma. Only 16-bit elements may lie in memory with K not contiguous.

    Each CTA has in its buffer what its part of the product takes, whatever part of `value` it computes (in Triton: the part that it
    computes, and products are wrong where that is less)."""
    source = without_conversions(value)
    type_ = cast(TensorType, source.type)
    layout, taken = layout_of_value(source), layout_of_value(value)
    assert layout is not None and taken is not None
    order = order_for_memory(layout, type_.get_shape())
    if not isinstance(type_.element_type, Float16Type | BFloat16Type):
        order = (1, 0) if op_idx == 0 else (0, 1)
    shared = nvmma_shared(type_.get_shape(), order, taken.cga, element_bits(type_))
    memdesc = ttg.MemDescType(type_.get_shape(), type_.element_type, ttg.encoding_attr(shared), ttg.SMEM)
    alloc = ttg.LocalAllocOp(source, memdesc)
    owner = source.owner
    if isinstance(owner, Operation):
        alloc.location = owner.location
    return rewriter.insert(alloc, _op_behind(source)).result


def _op_behind(value: SSAValue) -> Operation:
    """The op before which an op stands that directly follows the definition of `value`."""
    owner = value.owner
    place = owner.first_op if isinstance(owner, Block) else owner.next_op
    assert place is not None, "a block ends with its terminator"
    return place


def without_conversions(value: SSAValue) -> SSAValue:
    """What `value` is before all conversions of its layout."""
    while isinstance(value, OpResult) and value.op.name == "ttg.convert_layout":
        value = value.op.operands[0]
    return value


def is_from_memory(value: SSAValue) -> bool:
    """Whether `value` is what a load gave (transposed or not), or comes from outside the block."""
    while isinstance(value, OpResult) and isinstance(value.op, ttg.ConvertLayoutOp | tt.TransOp):
        value = value.op.operands[0]
    return isinstance(value, BlockArgument) or (isinstance(value, OpResult) and _is_load(value.op))


def lies_across(value: SSAValue, op_idx: int) -> bool:
    """Whether operand `op_idx` of a dot lies in memory with K not contiguous."""
    source = without_conversions(value)
    layout = layout_of_value(source)
    return layout is not None and order_for_memory(layout, cast(TensorType, source.type).get_shape())[0] != 1 - op_idx


def loaded_bits(value: SSAValue) -> int:
    """Bits of an element of `value` as it lies in memory: the narrowest type that is loaded for it."""
    ops = backward_ops(value, _is_passed, through_arguments=False)
    if any(isinstance(op, ttg.Fp4ToFpOp) for op in ops):
        return 4
    types = [op.results[0].type for op in ops if isinstance(op, tt.LoadOp | tt.DescriptorLoadOp)]
    bits = min(element_bits(type_) for type_ in (value.type, *types) if instance_of(type_, TensorType))
    # A join halves what neighbours a thread has of each of its sources.
    return bits // 2 if any(isinstance(op, tt.JoinOp) for op in ops) else bits


def _is_passed(op: Operation) -> bool:
    """Whether the numbers that `op` gives lie in memory as its operands do, or are what it loads."""
    if isinstance(op, tt.LoadOp | tt.DescriptorLoadOp):
        return True
    return any(fact.of(op) is not None for fact in (Elementwise, ViewOfTensor, KeepsData))


def _is_load(op: Operation) -> bool:
    access = MemoryAccess.of(op)
    return access is not None and access.is_load
