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
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import ClassVar, cast

from xdsl.context import Context
from xdsl.dialects.builtin import AnyFloat, ModuleOp, TensorType, f16
from xdsl.ir import Attribute, Block, SSAValue

from minitriton.dialects import arith, tt, ttg, ttng
from minitriton.dialects.fast_paths.op_access import ops_in, ops_of
from minitriton.layouts.builders import NVMMA_SWIZZLES
from minitriton.layouts.encodings import NvidiaMma
from minitriton.passes.accelerate_matmul.instruction import FP8, INSTRUCTIONS, mma_layout
from minitriton.passes.accelerate_matmul.operands import (
    in_registers,
    in_shared_memory,
    is_from_memory,
    is_not_k_major,
    loaded_bits,
    swap_operands,
)
from minitriton.passes.accelerate_matmul.scaled import decompose_scaled, transpose_for_left_scale
from minitriton.passes.tensor_layouts import element_bits, layout_of_value, with_layout
from minitriton.pipeline.choice import remark
from minitriton.pipeline.pass_registry import POWERS_OF_TWO, Pass, Property, register_pass
from minitriton.rewriting.greedy import apply_patterns_greedily
from minitriton.rewriting.patterns import PatternSet
from minitriton.rewriting.rewriter import Rewriter
from minitriton.target.architectures import architecture_of


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
