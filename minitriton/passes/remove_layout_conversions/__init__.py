"""`tritongpu-remove-layout-conversions`: as few and as cheap `ttg.convert_layout` as possible.

In: TTGIR as `convert-triton-to-tritongpu` and `tritongpu-coalesce` leave it, a conversion around every access.
Out: the same program, where layouts come from the accesses, dots and atomics, and conversions stand only where two meet.

    1. `forward`: layouts flow from the anchors to all that depends on them.
    2. `rematerialization`, by `cost`: what is before a conversion is computed again in the wanted layout if that is cheaper,
       until nothing changes.
    3. `hoist`: the rest moves above extensions and broadcasts, into branches, next to loads.
    4. Loop arguments and conversions that became useless go.

Answers to lib/Dialect/TritonGPU/Transforms/RemoveLayoutConversions.cpp.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from minitriton.pass_registry import Pass, Property, register_pass
from minitriton.passes.remove_layout_conversions.backward import rematerialize_backward
from minitriton.passes.remove_layout_conversions.convert_patterns import CONVERT_PATTERNS
from minitriton.passes.remove_layout_conversions.forward import propagate_layouts
from minitriton.passes.remove_layout_conversions.hoist import hoist_conversions
from minitriton.passes.remove_layout_conversions.loop_patterns import CLEANUP_PATTERNS
from minitriton.rewriting.greedy import apply_patterns_greedily


@register_pass
@dataclass(frozen=True)
class RemoveLayoutConversions(Pass):
    """Removes layout conversions: propagates layouts forward, recomputes values backward, hoists what is left."""

    name = "tritongpu-remove-layout-conversions"
    requires = frozenset({Property.ENCODINGS, Property.STRUCTURED})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run all steps on every function of the module."""
        funcs = [func for func in op.walk() if func.name == "tt.func"]
        for func in funcs:
            propagate_layouts(func)
        apply_patterns_greedily(op, CONVERT_PATTERNS)
        changed = True
        while changed:
            changed = False
            for func in funcs:
                changed |= rematerialize_backward(func)
            apply_patterns_greedily(op, CONVERT_PATTERNS)
        for func in funcs:
            hoist_conversions(func)
        apply_patterns_greedily(op, CLEANUP_PATTERNS)
