"""How the operands of a dot reach its instruction: in registers, or through shared memory.

In: an operand of a dot. Out: the same in a `#ttg.dot_op` layout, or a buffer that wgmma reads.

    %a                   ->  ttg.convert_layout %a : ... -> #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>
    %b = tt.load ...     ->  ttg.local_alloc %b : ... -> !ttg.memdesc<64x128xf16, #shared, #smem>

Counterpart of `getSharedMemoryMMAOperand`, `convertDotOperandForMMA`, `computeOrigBitWidth` of
lib/Dialect/TritonGPU/Transforms/AccelerateMatmul.cpp.

A dot of tf32 whose right operand is not K-major has its operands swapped: what was on the right comes first, and goes through registers.

    for ... iter_args(%c = 0 : MxN)                     for ... iter_args(%t = 0 : NxM)
        %d = tt.dot %a, %b, %c       : MxN      =>          %d = tt.dot (tt.trans %b), (tt.trans %a), %t     : NxM
                                                        tt.trans %d : MxN

`wgmma` reads 32-bit operands from shared memory with K contiguous only. The first operand it takes from registers, too, where each thread
has picked its elements from any order. Copies to shared memory stay as they are in global memory, 16 bytes at a time. Triton 3.6.0 copies
such an operand element by element.
"""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from xdsl.dialects import scf
from xdsl.dialects.builtin import BFloat16Type, Float16Type, Float32Type, TensorType
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue

from minitriton.analysis.slices.def_use import backward_ops
from minitriton.dialects import tt, ttg
from minitriton.dialects.facts import KeepsData, ViewOfTensor
from minitriton.dialects.facts.launch import num_ctas
from minitriton.dialects.facts.layout import Elementwise
from minitriton.dialects.facts.memory_access import MemoryAccess
from minitriton.dialects.fast_paths.op_access import set_type
from minitriton.dialects.narrowing import instance_of
from minitriton.dialects.tt.types import infer_trans
from minitriton.layouts.builders import NVMMA_SWIZZLES, nvmma_shared
from minitriton.layouts.encodings import DotOperand, NvidiaMma
from minitriton.layouts.properties import order_for_memory
from minitriton.passes.accelerate_matmul.instruction import mma_layout
from minitriton.passes.tensor_layouts import element_bits, insert_after_value, layout_of_value, shape_of, with_layout
from minitriton.pipeline.choice import Candidate, Choice, note
from minitriton.rewriting.constants import constant_attr, constant_op, splat_to
from minitriton.rewriting.rewriter import Rewriter

_LANES_ALONG_K = 4


def in_registers(value: SSAValue, op_idx: int, bits: int, mma: NvidiaMma, rewriter: Rewriter) -> SSAValue:
    """`value` converted to the registers of the instruction; a thread holds 32 bits along K of elements of `bits` bits, or less
    where K is too short for four such threads."""
    length = cast(TensorType, value.type).get_shape()[-1 - op_idx]
    layout = DotOperand(op_idx, mma, max(min(32 // bits, length // _LANES_ALONG_K), 1))
    return rewriter.insert(ttg.ConvertLayoutOp(value, with_layout(value.type, layout))).results[0]


def in_shared_memory(value: SSAValue, op_idx: int, rewriter: Rewriter, swizzle: int = 0) -> SSAValue:
    """A new buffer with `value`, swizzled for wgmma (by `swizzle` bytes at most, if given). Only 16-bit elements may be MN-major in memory.

    Each CTA has in its buffer what its part of the dot takes, whatever part of `value` it computes (in Triton: the part that it
    computes, and dots are wrong where that is less)."""
    source = without_conversions(value)
    type_ = cast(TensorType, source.type)
    layout, taken = layout_of_value(source), layout_of_value(value)
    assert layout is not None and taken is not None
    order = order_for_memory(layout, type_.get_shape())
    if not isinstance(type_.element_type, Float16Type | BFloat16Type):
        order = (1, 0) if op_idx == 0 else (0, 1)
    widest = nvmma_shared(type_.get_shape(), order, taken.cga, element_bits(type_))
    width = widest.swizzling_byte_width
    shared = replace(widest, swizzling_byte_width=min(swizzle or width, width))
    memdesc = ttg.MemDescType(type_.get_shape(), type_.element_type, ttg.encoding_attr(shared), ttg.SMEM)
    alloc = ttg.LocalAllocOp(source, memdesc)
    owner = source.owner
    if isinstance(owner, Operation):
        alloc.location = owner.location
    note(alloc, lambda: _swizzle_choice(op_idx, width, shared.swizzling_byte_width))
    return rewriter.insert(alloc, _op_after(source)).result


def _swizzle_choice(op_idx: int, widest: int, taken: int) -> Choice | None:
    """A swizzle spreads 16 bytes of each of 8 rows over as many bytes of the banks as it is wide (PTX ISA, "Swizzling modes")."""
    found = [
        Candidate(str(width), 128 / width, f"16 bytes of {width // 16} rows are in different banks")
        for width in NVMMA_SWIZZLES
        if width <= widest
    ]
    option = "tritongpu-accelerate-matmul{swizzle=@}"
    unit = "accesses of shared memory for 16 bytes of 8 rows"
    return Choice.of(f"swizzle of operand {'AB'[op_idx]}", unit, option, found, str(taken)) if found else None


def _op_after(value: SSAValue) -> Operation:
    """The op before which an op stands that directly follows the definition of `value`."""
    owner = value.owner
    position = owner.first_op if isinstance(owner, Block) else owner.next_op
    assert position is not None, "a block ends with its terminator"
    return position


def without_conversions(value: SSAValue) -> SSAValue:
    """What `value` is before all conversions of its layout."""
    while isinstance(value, OpResult) and isinstance(value.op, ttg.ConvertLayoutOp):
        value = value.op.operands[0]
    return value


def is_from_memory(value: SSAValue) -> bool:
    """Whether `value` is what a load gave (transposed or not), or comes from outside the block."""
    while isinstance(value, OpResult) and isinstance(value.op, ttg.ConvertLayoutOp | tt.TransOp):
        value = value.op.operands[0]
    return isinstance(value, BlockArgument) or (isinstance(value, OpResult) and _is_load(value.op))


def is_not_k_major(value: SSAValue, op_idx: int) -> bool:
    """Whether operand `op_idx` of a dot is not K-major: K is not contiguous in memory."""
    source = without_conversions(value)
    layout = layout_of_value(source)
    return layout is not None and order_for_memory(layout, cast(TensorType, source.type).get_shape())[0] != 1 - op_idx


def loaded_bits(value: SSAValue) -> int:
    """Bits of an element of `value` as it is in memory: the narrowest type that is loaded for it."""
    ops = backward_ops(value, _is_passed, through_arguments=False)
    if any(isinstance(op, ttg.Fp4ToFpOp) for op in ops):
        return 4
    types = [op.results[0].type for op in ops if isinstance(op, tt.LoadOp | tt.DescriptorLoadOp)]
    bits = min(element_bits(type_) for type_ in (value.type, *types) if instance_of(type_, TensorType))
    # A join halves what neighbours a thread has of each of its sources.
    return bits // 2 if any(isinstance(op, tt.JoinOp) for op in ops) else bits


def _is_passed(op: Operation) -> bool:
    """Whether the numbers that `op` gives are in memory as its operands are, or are what it loads."""
    if isinstance(op, tt.LoadOp | tt.DescriptorLoadOp):
        return True
    return any(fact.of(op) is not None for fact in (Elementwise, ViewOfTensor, KeepsData))


def _is_load(op: Operation) -> bool:
    access = MemoryAccess.of(op)
    return access is not None and access.is_load


_TRANSPOSED = (1, 0)
_ROWS = 64
"""Rows of a `wgmma` (PTX ISA, "wgmma.mma_async")."""


def swap_operands(dot: tt.DotOp, arch: int, newest: str = "") -> None:
    """Swaps the sides of `dot` where that keeps an operand from being transposed into shared memory; the accumulator is transposed too."""
    if not _gains(dot, arch, newest):
        return
    block = cast(Block, dot.parent)
    position = _position_in_loop(dot)
    if position is None and isinstance(dot.c, BlockArgument):
        return
    a, b = (_transposed(without_conversions(value), dot) for value in (dot.a, dot.b))
    swapped = tt.DotOp(
        b,
        a,
        dot.c if position is not None else _transposed(dot.c, dot),
        input_precision=dot.input_precision.data,
        max_num_imprecise_acc=dot.max_num_imprecise_acc.value.data,
    )
    if position is not None:
        _transpose_accumulator(cast(scf.ForOp, dot.parent_op()), position)
        set_type(swapped.result, dot.c.type)
    swapped.location = dot.location
    block.insert_op_before(swapped, dot)
    dot.result.replace_all_uses_with(swapped.result if position is not None else _transposed(swapped.result, dot))
    block.erase_op(dot)


def _gains(dot: tt.DotOp, arch: int, newest: str) -> bool:
    """Whether the right operand alone, of 32 bits, is MN-major in memory, and the transposed dot is one of `wgmma` too. Not with
    several CTAs: each has loaded, of either operand, what its own part of the dot takes on that side."""
    type_ = cast(TensorType, dot.a.type)
    if not isinstance(type_.element_type, Float32Type) or not (is_from_memory(dot.a) and is_from_memory(dot.b)):
        return False
    if num_ctas(dot) > 1:
        return False
    layout = mma_layout(dot, arch, newest=newest)
    if layout is None or not layout.is_hopper or shape_of(dot.result)[1] % _ROWS:
        return False
    return is_not_k_major(dot.b, 1) and not is_not_k_major(dot.a, 0)


def _position_in_loop(dot: tt.DotOp) -> int | None:
    """Which of its loop's values the sum of `dot` is, if that is all it is in the loop."""
    loop, accumulator = dot.parent_op(), dot.c
    if (
        not isinstance(loop, scf.ForOp)
        or not isinstance(accumulator, BlockArgument)
        or accumulator.block is not dot.parent
    ):
        return None
    end = dot.result.get_user_of_unique_use()
    if not accumulator.has_one_use() or not isinstance(end, scf.YieldOp) or end.parent is not dot.parent:
        return None
    position = accumulator.index - 1
    return position if end.operands[position] is dot.result else None


def _transpose_accumulator(loop: scf.ForOp, position: int) -> None:
    """Value number `position` of `loop` is the transpose of what it was; after the loop it is transposed back."""
    argument, result = loop.body.block.args[position + 1], loop.results[position]
    init = position + 3
    loop.operands[init] = _transposed(loop.operands[init], loop)
    users = tuple(result.uses)
    for value in (argument, result):
        set_type(value, infer_trans(value.type, _TRANSPOSED))
    back = tt.TransOp(result, order=_TRANSPOSED)
    back.location = loop.location
    insert_after_value(back, result)
    for use in users:
        use.operation.operands[use.index] = back.result


def _transposed(value: SSAValue, before: Operation) -> SSAValue:
    """The transpose of `value`, made before an op; a number repeated is a constant again."""
    type_ = infer_trans(value.type, _TRANSPOSED)
    constant = constant_attr(value)
    number = splat_to(constant, type_) if constant is not None else None
    new = tt.TransOp(value, order=_TRANSPOSED) if number is None else constant_op(number, type_)
    new.location = before.location
    cast(Block, before.parent).insert_op_before(new, before)
    return new.results[0]
