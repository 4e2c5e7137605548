"""`tritongpu-F32DotTC`: dots of f32 as several dots of fewer bits, for `input_precision` of "tf32x3", "bf16x3" and "bf16x6".

    dot(a, b, c) tf32x3, with x = big(x) + small(x) and big(x) = x rounded to tf32
      =>  big(a) big(b) + [big(a) small(b) + small(a) big(b)] + c

    dot(a, b, c) bf16x3 (bf16x6), with x = x0 + x1 (+ x2), each a bf16
      =>  a0 b0 + [a0 b1 + a1 b0 (+ a0 b2 + a2 b0 + a1 b1)] + c

Where a product in brackets is NaN (an infinity times a part that is zero), it counts as zero: then big(a) big(b) says what comes out.
Sources: NVIDIA CUTLASS, discussion 385 (3xTF32); Henry, Tang, Heinecke, "Leveraging the bfloat16 Artificial Intelligence Datatype
For Higher-Precision Computations", arXiv 1904.06376. Counterpart of lib/Dialect/TritonGPU/Transforms/F32DotTC.cpp.
"""

from __future__ import annotations

from typing import ClassVar, cast

from xdsl.context import Context
from xdsl.dialects.builtin import Float32Type, ModuleOp, TensorType, bf16, f32
from xdsl.ir import Operation, SSAValue

from minitriton.dialects import arith, tt
from minitriton.dialects.fast_paths.op_access import ops_of
from minitriton.passes.tensor_layouts import with_element
from minitriton.pipeline.pass_registry import Pass, Property, register_pass
from minitriton.rewriting.constants import float_attr
from minitriton.rewriting.greedy import apply_patterns_greedily
from minitriton.rewriting.patterns import PatternSet
from minitriton.rewriting.rewriter import Rewriter

_PARTS = {tt.InputPrecision.BF16x3: 2, tt.InputPrecision.BF16x6: 3}
"""How many bf16 an f32 is split into."""

HI, MID, LO = 0, 1, 2
_DOTS_OF_SIX = ((MID, MID), (LO, HI), (HI, LO))
_DOTS_OF_THREE = ((MID, HI), (HI, MID))


@register_pass
class F32DotTC(Pass, stage="ttgir", origin="triton"):
    """Makes dots of f32 inputs several dots of tf32 or bf16 inputs, where the kernel asks for it."""

    name: ClassVar[str] = "tritongpu-F32DotTC"
    acts_on = frozenset({tt.DotOp})
    requires: ClassVar[frozenset[Property]] = frozenset({Property.TENSOR_IR})
    emu_tf32: bool = False
    """Whether the target has tf32, so that tf32x3 may be split."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrite the dots of the module; a module without one to split is left as it is."""
        if not any(self._splits(found) for found in ops_of(op, tt.DotOp)):
            return
        patterns = PatternSet()
        if self.emu_tf32:
            patterns.pattern(tt.DotOp)(tf32x3)
        patterns.pattern(tt.DotOp)(bf16xn)
        apply_patterns_greedily(op, patterns)

    def _splits(self, dot: tt.DotOp) -> bool:
        precision = dot.input_precision.data
        return precision in _PARTS or (self.emu_tf32 and precision is tt.InputPrecision.TF32x3)


def _is_f32(value: SSAValue) -> bool:
    return isinstance(cast(TensorType, value.type).element_type, Float32Type)


class _Builder:
    """Puts ops before the dot."""

    def __init__(self, rewriter: Rewriter) -> None:
        self.rewriter = rewriter

    def add(self, op: Operation) -> SSAValue:
        return self.rewriter.insert(op).results[0]

    def zeros(self, like: SSAValue) -> SSAValue:
        return self.add(tt.SplatOp(self.rewriter.constant(float_attr(f32, 0.0)), like.type))

    def without_nans(self, value: SSAValue) -> SSAValue:
        nans = self.add(arith.CmpfOp(value, value, "uno"))
        return self.add(arith.SelectOp(nans, self.zeros(value), value))

    def split(self, value: SSAValue, parts: int) -> list[SSAValue]:
        """bf16 numbers whose sum is nearly `value`, the largest first."""
        found: list[SSAValue] = []
        for part in range(parts):
            found.append(self.add(arith.TruncFOp(value, with_element(value, bf16))))
            if part < parts - 1:
                rounded = self.add(arith.ExtFOp(found[-1], with_element(value, f32)))
                value = self.add(arith.SubfOp(value, rounded))
        return found


def bf16xn(op: tt.DotOp, rewriter: Rewriter) -> bool:
    """bf16x3 and bf16x6: the dots of the parts, the smallest first."""
    parts = _PARTS.get(op.input_precision.data, 0)
    if not parts or not (_is_f32(op.a) and _is_f32(op.b)):
        return False
    b = _Builder(rewriter)
    left, right = b.split(op.a, parts), b.split(op.b, parts)
    total = b.zeros(op.c)
    for i, j in (*(_DOTS_OF_SIX if parts == 3 else ()), *_DOTS_OF_THREE):
        total = b.add(tt.DotOp(left[i], right[j], total))
    total = b.add(tt.DotOp(left[HI], right[HI], b.without_nans(total)))
    rewriter.replace_with(op, arith.AddfOp(total, op.c))
    return True


def tf32x3(op: tt.DotOp, rewriter: Rewriter) -> bool:
    """3xTF32: what the rounding to tf32 cuts off is multiplied too."""
    if op.input_precision.data is not tt.InputPrecision.TF32x3 or not (_is_f32(op.a) and _is_f32(op.b)):
        return False
    b = _Builder(rewriter)

    def split(value: SSAValue) -> tuple[SSAValue, SSAValue]:
        rounding = tt.ElementwiseInlineAsmOp(
            [value],
            [value.type],
            asm_string="cvt.rna.tf32.f32 $0, $1;",
            constraints="=r,r",
            pure=True,
            packed_element=1,
        )
        big = b.add(rounding)
        return big, b.add(arith.SubfOp(value, big))

    def dot(left: SSAValue, right: SSAValue, total: SSAValue) -> SSAValue:
        imprecise = op.max_num_imprecise_acc.value.data
        precision = tt.InputPrecision.TF32
        return b.add(tt.DotOp(left, right, total, input_precision=precision, max_num_imprecise_acc=imprecise))

    a_big, a_small = split(op.a)
    b_big, b_small = split(op.b)
    small = dot(a_big, b_small, dot(a_small, b_big, b.zeros(op.c)))
    total = dot(a_big, b_big, b.without_nans(small))
    rewriter.replace_with(op, arith.AddfOp(total, op.c))
    return True
