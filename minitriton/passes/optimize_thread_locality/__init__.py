"""`tritongpu-optimize-thread-locality`: keep reductions and gathers inside threads and warps.

In: TTGIR after the first removal of layout conversions. Out: reshapes and gathers with layouts that need less exchange, and
loops that accumulate per thread and reduce across threads once, after the loop.

    layouts          a `tt.reshape` that may reorder keeps the axis of the reduction after it in one thread
                     source and indices of a `tt.gather` get layouts with which shuffles within a warp do
    loop_reductions  sum over i of reduce(load i)  =>  reduce(sum over i of (registers of load i reduced))

Counterpart of lib/Dialect/TritonGPU/Transforms/OptimizeThreadLocality.cpp.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from minitriton.pass_registry import Pass, Property, register_pass
from minitriton.passes.optimize_thread_locality.layouts import GATHER_PATTERNS, VIEW_PATTERNS
from minitriton.passes.optimize_thread_locality.loop_reductions import (
    reduce_after_loops,
    reduce_any_axis_after_loops,
)
from minitriton.rewriting.greedy import apply_patterns_greedily
from minitriton.rewriting.patterns import PatternSet

_LAYOUT_PATTERNS = PatternSet(VIEW_PATTERNS, GATHER_PATTERNS)


@register_pass
@dataclass(frozen=True)
class OptimizeThreadLocality(Pass, stage="ttgir", origin="triton"):
    """Keeps reductions and gathers inside threads and warps."""

    name = "tritongpu-optimize-thread-locality"
    requires = frozenset({Property.ENCODINGS, Property.STRUCTURED})
    beyond_triton: ClassVar[Mapping[str, object]] = {"any_axis": False}
    any_axis: bool = False
    """Whether reductions along any axis, of anything computed, leave their loops (in Triton: of a load, along the contiguous axis)."""

    def apply(self, ctx: Context, op: ModuleOp) -> bool:
        """Choose layouts of views and gathers, then move reductions out of loops."""
        return self._rewrite(op, is_simplified=False)

    def apply_to_folded(self, ctx: Context, op: ModuleOp) -> bool:
        return self._rewrite(op, is_simplified=True)

    def _rewrite(self, op: ModuleOp, *, is_simplified: bool) -> bool:
        changed = apply_patterns_greedily(op, _LAYOUT_PATTERNS, is_simplified=is_simplified)
        changed |= reduce_after_loops(op)
        return (self.any_axis and reduce_any_axis_after_loops(op)) or changed
