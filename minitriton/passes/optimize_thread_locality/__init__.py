"""`tritongpu-optimize-thread-locality`: keep reductions and gathers inside threads and warps.

In: TTGIR after the first removal of layout conversions. Out: reshapes and gathers with layouts that need less exchange, and
loops that add up per thread and reduce across threads once, behind the loop.

    views            a `tt.reshape` that may reorder keeps the axis of the reduction behind it in one thread
    gathers          source and indices of a `tt.gather` lie so that shuffles within a warp do
    loop_reductions  sum over i of reduce(load i)  =>  reduce(sum over i of (registers of load i reduced))

Answers to lib/Dialect/TritonGPU/Transforms/OptimizeThreadLocality.cpp.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from minitriton.pass_registry import Pass, Property, register_pass
from minitriton.passes.optimize_thread_locality.gathers import GATHER_PATTERNS
from minitriton.passes.optimize_thread_locality.loop_reductions import reduce_behind_loops
from minitriton.passes.optimize_thread_locality.views import VIEW_PATTERNS
from minitriton.rewriting.greedy import apply_patterns_greedily
from minitriton.rewriting.patterns import PatternSet

_LAYOUT_PATTERNS = PatternSet(VIEW_PATTERNS, GATHER_PATTERNS)


@register_pass
class OptimizeThreadLocality(Pass, stage="ttgir", origin="triton"):
    """Keeps reductions and gathers inside threads and warps."""

    name = "tritongpu-optimize-thread-locality"
    requires = frozenset({Property.ENCODINGS, Property.STRUCTURED})

    def apply(self, ctx: Context, op: ModuleOp) -> bool:
        """Choose layouts of views and gathers, then move reductions out of loops."""
        return self._rewrite(op, is_simplified=False)

    def apply_to_folded(self, ctx: Context, op: ModuleOp) -> bool:
        return self._rewrite(op, is_simplified=True)

    def _rewrite(self, op: ModuleOp, *, is_simplified: bool) -> bool:
        changed = apply_patterns_greedily(op, _LAYOUT_PATTERNS, is_simplified=is_simplified)
        return reduce_behind_loops(op) or changed
