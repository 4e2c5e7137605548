"""`tritonamdgpu-fold-true-cmpi`: comparisons of scalars that always hold become true, so that what they guard is unconditional.

    %c = arith.cmpi sge, %pid, %c0        =>        %c = true

Counterpart of FoldTrueCmpIOp.cpp; the ranges are those of `analysis.integer_range`.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, i1

from minitriton.analysis.integer_range.analysis import IntegerRangeAnalysis
from minitriton.analysis.integer_range.rules import compare
from minitriton.dialects import arith
from minitriton.dialects.arith.compare import predicate_of
from minitriton.dialects.fast_paths.op_access import ops_of
from minitriton.pipeline.pass_registry import Pass, Property, register_pass
from minitriton.rewriting.constants import int_attr
from minitriton.rewriting.greedy import apply_patterns_greedily
from minitriton.rewriting.rewriter import Inserter


@register_pass
class FoldTrueCmpI(Pass, stage="ttgir", origin="triton"):
    """Folds comparisons that hold for all arguments."""

    name: ClassVar[str] = "tritonamdgpu-fold-true-cmpi"
    acts_on = frozenset({arith.CmpiOp})
    requires = frozenset({Property.TENSOR_IR})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Fold every such comparison of scalars, and what follows from it."""
        ranges = IntegerRangeAnalysis(op)
        for found in ops_of(op, arith.CmpiOp):
            if found.result.type == i1 and compare(predicate_of(found), *(ranges.get(each) for each in found.operands)):
                found.result.replace_all_uses_with(Inserter.before(found).constant(int_attr(i1, 1)))
        apply_patterns_greedily(op)
