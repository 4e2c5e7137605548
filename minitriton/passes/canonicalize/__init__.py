"""Canonicalisation: the one form of everything that has several.

In: any module. Out: the same module with constants folded, merged and at the top of the function, identities applied,
dead ops gone, loops and branches reduced to what they do.

    %0 = arith.addi %x, %c0          %1 = arith.addi %c1, %x                =>      %0 = arith.addi %x, %c1

The rules are in `minitriton.rewriting.folds` and `minitriton.passes.canonicalize`.
"""

from functools import cache
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from minitriton.passes.canonicalize import (
    arith_cast,
    arith_int,
    cf,
    tt,
)
from minitriton.passes.remove_layout_conversions.convert_patterns import CONVERT_PATTERNS
from minitriton.pipeline.pass_registry import KEPT_IN_PLACE, Pass, PassResult, Property, register_pass
from minitriton.rewriting.greedy import rewrite_greedily
from minitriton.rewriting.patterns import PatternSet
from minitriton.rewriting.scf_patterns import SCF_PATTERNS


@cache
def canonicalization_patterns() -> PatternSet:
    """The canonicalisation patterns of all dialects."""
    return PatternSet(
        arith_int.patterns,
        arith_cast.patterns,
        cf.patterns,
        SCF_PATTERNS,
        tt.memory_patterns,
        tt.shape_patterns,
        CONVERT_PATTERNS,
    )


@register_pass
class Canonicalize(Pass, origin="triton"):
    """Folds, merges and simplifies ops into their canonical form."""

    name: ClassVar[str] = "canonicalize"
    requires: ClassVar[frozenset[Property]] = frozenset({Property.TENSOR_IR})
    keeps: ClassVar[frozenset[Property]] = KEPT_IN_PLACE
    visits_every_op: ClassVar[bool] = True
    folds_everything: ClassVar[bool] = True

    region_simplify: str = "normal"
    top_down: bool = True
    max_iterations: int = 10

    def apply(self, ctx: Context, op: ModuleOp) -> bool | PassResult:
        return self._rewrite(op, is_simplified=False)

    def apply_to_folded(self, ctx: Context, op: ModuleOp) -> bool | PassResult:
        return self._rewrite(op, is_simplified=True)

    def _rewrite(self, op: ModuleOp, *, is_simplified: bool) -> bool | PassResult:
        done = rewrite_greedily(
            op,
            canonicalization_patterns(),
            top_down=self.top_down,
            max_rounds=self.max_iterations,
            simplify_cfg=self.region_simplify != "disabled",
            merge_equal_blocks=self.region_simplify == "aggressive",
            is_simplified=is_simplified,
        )
        return PassResult.REACHED_FIXPOINT if done.changed and done.is_at_rest else done.changed
