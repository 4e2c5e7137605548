"""`tritongpu-accelerate-matmul`: dots go to the tensor cores of the target.

In: TTGIR whose dots have blocked layouts. Out: dots of `#ttg.nvidia_mma` layouts where the target has an instruction for them, with
conversions of operands and result around; `tt.dot_scaled` as dots of widened operands; operands of an instruction's type.

    1. `scaled`: `tt.dot_scaled` with a scale on the right alone is transposed; all are decomposed. With `swap-tf32`, dots
       of tf32 are transposed where the right operand has K not contiguous.
    2. `blocked_to_mma`: instruction and tiling by `instruction`, the way of the operands by `operands`.
    3. `promote_operands`: types that the chosen instruction lacks are widened.

Counterpart of lib/Dialect/TritonGPU/Transforms/AccelerateMatmul.cpp.

A dot of blocked layouts becomes one on tensor cores.

    %d = tt.dot %a, %b, %c                                     : -> tensor<128x128xf32, #blocked>
becomes on sm_80
    %a1 = ttg.convert_layout %a                                : -> #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>
    %b1 = ttg.convert_layout %b                                : -> #ttg.dot_op<{opIdx = 1, parent = #mma, kWidth = 2}>
    %d1 = tt.dot %a1, %b1, (ttg.convert_layout %c)             : -> tensor<128x128xf32, #mma>
and on sm_90, with %a in a buffer if it comes from memory, else in registers,
    %b1 = ttg.local_alloc %b                                   : -> !ttg.memdesc<64x128xf16, #shared, #smem>
    %d1 = ttng.warp_group_dot %a1, %b1, (ttg.convert_layout %c)

Counterpart of `BlockedToMMA` of lib/Dialect/TritonGPU/Transforms/AccelerateMatmul.cpp.

Operands of a type that the chosen instruction does not multiply are widened before it.

    tt.dot %a, %b, %c : f8E4M3FN on mma.sync, sm_90   =>   tt.dot (tt.fp_to_fp %a : f16), (tt.fp_to_fp %b : f16), %c
    tt.dot %a, %b, %c : f16 -> f32, multiply-adds     =>   tt.dot (arith.extf %a : f32), (arith.extf %b : f32), %c

Only sm_89 has `mma.sync` for fp8: newer chips emulate it by f16. Counterpart of `decomposeMixedModeDotOp` of
lib/Dialect/TritonGPU/Transforms/AccelerateMatmul.cpp.

How the operands of a dot reach its instruction: in registers, or through shared memory.

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

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import ClassVar, cast

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import AnyFloat, BFloat16Type, Float16Type, Float32Type, ModuleOp, TensorType, f16
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, SSAValue

from minitriton.analysis.slices.def_use import backward_ops
from minitriton.dialects import arith, tt, ttg, ttng
from minitriton.dialects.facts import KeepsData, ViewOfTensor
from minitriton.dialects.facts.launch import num_ctas
from minitriton.dialects.facts.layout import Elementwise
from minitriton.dialects.facts.memory_access import MemoryAccess
from minitriton.dialects.fast_paths.op_access import ops_in, ops_of, set_type
from minitriton.dialects.narrowing import instance_of
from minitriton.dialects.tt.types import infer_trans
from minitriton.layouts.builders import NVMMA_SWIZZLES, nvmma_shared
from minitriton.layouts.encodings import DotOperand, NvidiaMma
from minitriton.layouts.properties import order_for_memory
from minitriton.passes.accelerate_matmul.instruction import FP8, INSTRUCTIONS, mma_layout
from minitriton.passes.accelerate_matmul.scaled import decompose_scaled, transpose_for_left_scale
from minitriton.passes.tensor_layouts import element_bits, insert_after_value, layout_of_value, shape_of, with_layout
from minitriton.pipeline.choice import Candidate, Choice, note, remark
from minitriton.pipeline.pass_registry import POWERS_OF_TWO, Pass, Property, register_pass
from minitriton.rewriting.constants import constant_attr, constant_op, splat_to
from minitriton.rewriting.greedy import apply_patterns_greedily
from minitriton.rewriting.patterns import PatternSet
from minitriton.rewriting.rewriter import Rewriter
from minitriton.target.architectures import architecture_of

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


def promote_operands(module: ModuleOp, arch: int) -> None:
    """Widens the operands of all dots that need it."""
    for op in ops_in(module):
        if isinstance(op, tt.DotOp):
            wider = _wider_type(op, arch)
            if wider is not None:
                for index in (0, 1):
                    op.operands[index] = _promoted(op, op.operands[index], wider)


def _wider_type(dot: tt.DotOp, arch: int) -> Attribute | None:
    element = cast(TensorType, dot.a.type).element_type
    if isinstance(layout_of_value(dot.result), NvidiaMma):
        return f16 if isinstance(element, FP8) and not architecture_of(arch).has_fp8_mma else None
    wanted = cast(TensorType, dot.result.type).element_type
    # Integers are widened by the multiply-add itself.
    return wanted if element != wanted and isinstance(element, AnyFloat) else None


def _promoted(dot: tt.DotOp, value: SSAValue, element: Attribute) -> SSAValue:
    type_ = cast(TensorType, value.type)
    cast_class = tt.FpToFpOp if isinstance(type_.element_type, FP8) else arith.ExtFOp
    new = cast_class(value, TensorType(element, type_.shape, type_.encoding))
    new.location = dot.location
    cast(Block, dot.parent).insert_op_before(new, dot)
    return new.results[0]


_TF32_BITS = 32


def blocked_to_mma(arch: int, step: AccelerateMatmul) -> Callable[[tt.DotOp, Rewriter], bool]:
    """The pattern for one compute capability (times ten) and the options of a step."""

    def rewrite(op: tt.DotOp, rewriter: Rewriter) -> bool:
        layout = layout_of_value(op.result)
        if layout is None or isinstance(layout, NvidiaMma):
            return False
        mma = mma_layout(op, arch, step.wide_integers, step.instruction, step.warps_along_rows)
        if architecture_of(arch).has_wgmma and (mma is None or not mma.is_hopper):
            remark(op, "MMA version 3 acceleration not applied due to unsupported shapes or data types.")
        if mma is None:
            return False
        type_ = with_layout(op.result.type, mma)
        total = rewriter.insert(ttg.ConvertLayoutOp(op.c, type_)).result
        precision, imprecise = op.input_precision.data, op.max_num_imprecise_acc.value.data
        if mma.is_hopper:
            bits = element_bits(cast(TensorType, op.a.type))
            if is_from_memory(op.a) and not (step.swap_tf32 and bits == _TF32_BITS and is_not_k_major(op.a, 0)):
                a = in_shared_memory(op.a, 0, rewriter, step.swizzle)
            else:
                a = in_registers(op.a, 0, bits, mma, rewriter)
            b = in_shared_memory(op.b, 1, rewriter, step.swizzle)
            new = rewriter.insert(
                ttng.WarpGroupDotOp(a, b, total, input_precision=precision, max_num_imprecise_acc=imprecise)
            )
        else:
            bits = min(loaded_bits(op.a), loaded_bits(op.b))
            a, b = (in_registers(value, index, bits, mma, rewriter) for index, value in enumerate((op.a, op.b)))
            new = rewriter.insert(tt.DotOp(a, b, total, input_precision=precision, max_num_imprecise_acc=imprecise))
        rewriter.replace_with(op, ttg.ConvertLayoutOp(new.result, op.result.type))
        return True

    return rewrite


@register_pass
class AccelerateMatmul(Pass, stage="ttgir", origin="triton"):
    """Chooses tensor-core instructions for dots.

    `instruction`: `wgmma`, `mma.sync` or `fma`, where the target and the dot allow it; the fastest if it is empty.
    `warps_along_rows`: of a result, where possible; 0: with the smallest operands of a warp, or as dots that feed each other need it.
    `swizzle`: bytes, 32 to 128, of the buffers of `wgmma` at most; 0: as wide as rows are.
    """

    name: ClassVar[str] = "tritongpu-accelerate-matmul"
    acts_on = frozenset({tt.DotOp, tt.DotScaledOp})
    requires = frozenset({Property.ENCODINGS})
    beyond_triton: ClassVar[Mapping[str, object]] = {"swap_tf32": False, "wide_integers": False, "least_scale": False}
    swap_tf32: bool = False
    """Whether tf32 operands with K not contiguous go through registers, on the left (not Triton's way)."""
    wide_integers: bool = False
    """Whether `wgmma` of int8 has up to 256 columns, as many as the instruction can (in Triton 224: of 256 it makes two times 128)."""
    instruction: str = ""
    warps_along_rows: int = 0
    swizzle: int = 0
    least_scale: bool = False
    """Whether the scale 0 of `tt.dot_scaled` is 2^-127, as the format says (in Triton 3.6.0: 0 where the dot is of bf16)."""

    values = {"instruction": INSTRUCTIONS, "warps_along_rows": POWERS_OF_TWO, "swizzle": (0, *NVMMA_SWIZZLES)}

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrite every dot of the module; a module without one is left as it is."""
        dots = ops_of(op, tt.DotOp, tt.DotScaledOp)
        if not dots:
            return
        arch = ttg.target_arch(op)
        for dot in dots:
            if isinstance(dot, tt.DotScaledOp):
                transpose_for_left_scale(dot)
            elif self.swap_tf32:
                swap_operands(dot, arch, self.instruction)
        apply_patterns_greedily(op, _patterns(arch, self))
        promote_operands(op, arch)


@cache
def _patterns(arch: int, step: AccelerateMatmul) -> PatternSet:
    patterns = PatternSet()
    patterns.pattern(tt.DotOp)(blocked_to_mma(arch, step))
    patterns.pattern(tt.DotScaledOp)(decompose_scaled(step.least_scale))
    return patterns
