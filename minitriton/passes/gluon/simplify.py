"""Clean-up of Gluon kernels: constants, branches and loops as `canonicalize` does, and nothing that would change a layout of the author's.

%x = ttg.convert_layout %a; %y = ttg.convert_layout %x      stays: two conversions were written
%0 = arith.addi %x, %c0                                =>   %x

Before layouts are resolved equal constants stay apart: each may get a layout of its own.

Without the option `control-flow`, branches and loops stay as they are: only values that a loop carries for nobody are yielded unchanged.
That is what the passes of Triton 3.6.0's wheel do: its list of the patterns of `scf` and `cf` is empty there,
although its source asks for them.
Counterpart of lib/Dialect/Gluon/Transforms/{Canonicalize,SimplifyControlFlow,Inline}.cpp.
"""

from __future__ import annotations

from functools import cache

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from minitriton.dialects import tt, ttg
from minitriton.passes.canonicalize import arith_cast, arith_int, cf
from minitriton.passes.canonicalize import tt as tensors
from minitriton.passes.inline import inline_calls
from minitriton.passes.remove_layout_conversions.convert_patterns import LOOP_PATTERNS
from minitriton.pipeline.pass_registry import KEPT_IN_PLACE, Pass, Property, register_pass
from minitriton.rewriting.greedy import apply_patterns_greedily
from minitriton.rewriting.patterns import PatternSet
from minitriton.rewriting.scf_patterns import SCF_PATTERNS


@cache
def control_flow_patterns(control_flow: bool) -> PatternSet:
    """Patterns of branches and loops."""
    return PatternSet(*((cf.patterns, SCF_PATTERNS) if control_flow else ()), LOOP_PATTERNS)


@cache
def patterns(control_flow: bool) -> PatternSet:
    """Patterns that change no layout."""
    return PatternSet(
        arith_int.patterns,
        arith_cast.patterns,
        control_flow_patterns(control_flow),
        cf.patterns.subset(ttg.WarpSpecializeOp),
        tensors.memory_patterns,
        tensors.shape_patterns.subset(tt.BroadcastOp, tt.ExpandDimsOp),
    )


@register_pass
class GluonCanonicalize(Pass, stage="ttgir", origin="triton"):
    """Folds, merges and simplifies ops without a change of any layout."""

    name = "gluon-canonicalize"
    requires = frozenset({Property.TENSOR_IR})
    keeps = KEPT_IN_PLACE
    visits_every_op = True
    control_flow: bool = True
    """Whether branches and loops are simplified, too."""

    def apply(self, ctx: Context, op: ModuleOp) -> bool:
        return apply_patterns_greedily(op, patterns(self.control_flow))


@register_pass
class GluonSimplifyControlFlow(Pass, stage="ttgir", origin="triton"):
    """Simplifies branches and loops. (The name is spelled as Triton's.)"""

    name = "gluon-slimplify-control-flow"
    requires = frozenset({Property.TENSOR_IR})
    keeps = KEPT_IN_PLACE
    visits_every_op = True

    def apply(self, ctx: Context, op: ModuleOp) -> bool:
        return apply_patterns_greedily(op, control_flow_patterns(control_flow=True), share_constants=False)


@register_pass
class GluonInline(Pass, stage="ttgir", origin="triton"):
    """Replaces calls by the bodies of the functions that they call, whose branches and loops are simplified first."""

    name = "gluon-inline"
    requires = frozenset({Property.TENSOR_IR})
    establishes = frozenset({Property.INLINED})
    keeps = KEPT_IN_PLACE
    control_flow: bool = True
    """Whether branches and loops are simplified."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        inline_calls(op, control_flow_patterns(self.control_flow), is_canonical=False)
