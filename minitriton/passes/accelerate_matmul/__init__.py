"""`tritongpu-accelerate-matmul`: dots go to the tensor cores of the target.

In: TTGIR whose dots have blocked layouts. Out: dots of `#ttg.nvidia_mma` layouts where the target has an instruction for them, with
conversions of operands and result around; `tt.dot_scaled` as dots of widened operands; operands of an instruction's type.

    1. `scaled`: `tt.dot_scaled` with a scale on the right alone is transposed; all are decomposed. With `swap-tf32`, `swapping`: products
       of tf32 are transposed where the right operand has K not contiguous.
    2. `blocked_to_mma`: instruction and tiling by `instruction`, the way of the operands by `operands`.
    3. `promotion`: types that the chosen instruction lacks are widened.

Answers to lib/Dialect/TritonGPU/Transforms/AccelerateMatmul.cpp.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from minitriton.dialects import tt, ttg
from minitriton.dialects.fast_paths.operations import ops_of
from minitriton.pass_registry import Pass, Property, register_pass
from minitriton.passes.accelerate_matmul.blocked_to_mma import blocked_to_mma
from minitriton.passes.accelerate_matmul.promotion import promote_operands
from minitriton.passes.accelerate_matmul.scaled import decompose_scaled, transpose_for_left_scale
from minitriton.passes.accelerate_matmul.swapping import swap_product
from minitriton.rewriting.greedy import apply_patterns_greedily
from minitriton.rewriting.patterns import PatternSet


@register_pass
@dataclass(frozen=True)
class AccelerateMatmul(Pass, stage="ttgir", origin="triton"):
    """Chooses tensor-core instructions for dots."""

    name: ClassVar[str] = "tritongpu-accelerate-matmul"
    acts_on = frozenset({tt.DotOp, tt.DotScaledOp})
    requires = frozenset({Property.ENCODINGS})
    beyond_triton: ClassVar[Mapping[str, object]] = {"swap_tf32": False, "wide_integers": False, "least_scale": False}
    swap_tf32: bool = False
    """Whether tf32 operands with K not contiguous go through registers, on the left (not Triton's way)."""
    wide_integers: bool = False
    """Whether `wgmma` of int8 has up to 256 columns, as many as the instruction can (in Triton 224: of 256 it makes two times 128)."""
    least_scale: bool = False
    """Whether the scale 0 of `tt.dot_scaled` is 2^-127, as the format says (in Triton 3.6.0: 0 where the dot is of bf16)."""

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
                swap_product(dot, arch)
        apply_patterns_greedily(op, _patterns(arch, self.swap_tf32, self.wide_integers, self.least_scale))
        promote_operands(op, arch)


@cache
def _patterns(arch: int, swap_tf32: bool, wide_integers: bool, least_scale: bool) -> PatternSet:
    patterns = PatternSet()
    patterns.pattern(tt.DotOp)(blocked_to_mma(arch, swap_tf32, wide_integers))
    patterns.pattern(tt.DotScaledOp)(decompose_scaled(least_scale))
    return patterns
