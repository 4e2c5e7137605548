"""`tritongpu-remove-layout-conversions`: as few and as cheap `ttg.convert_layout` as possible.

In: TTGIR as `convert-triton-to-tritongpu` and `tritongpu-coalesce` leave it, a conversion around every access.
Out: the same program, where layouts come from the accesses, dots and atomics, and conversions stand only where two meet.

    1. `forward`: layouts flow from the anchors to all that depends on them.
    2. `backward`, `rematerialization`: what is before a conversion is computed again in the wanted layout if that is cheaper,
       until nothing changes.
    3. `hoist`: the rest moves above extensions and broadcasts, into branches, next to loads.
    4. Loop arguments and conversions that became useless go.

Counterpart of lib/Dialect/TritonGPU/Transforms/RemoveLayoutConversions.cpp.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from minitriton.dialects import tt, ttg
from minitriton.dialects.fast_paths.copying import IRSnapshot
from minitriton.dialects.fast_paths.op_access import ops_of
from minitriton.passes.remove_layout_conversions.convert_patterns import CLEANUP_PATTERNS, CONVERT_PATTERNS
from minitriton.passes.remove_layout_conversions.forward import propagate_layouts
from minitriton.passes.remove_layout_conversions.hoist import hoist_conversions
from minitriton.passes.remove_layout_conversions.rematerialization import RECOMPUTE, rematerialize_backward
from minitriton.pipeline.choice import remark
from minitriton.pipeline.pass_registry import Pass, Property, register_pass
from minitriton.rewriting.greedy import apply_patterns_greedily


@register_pass
class RemoveLayoutConversions(Pass, stage="ttgir", origin="triton"):
    """Removes layout conversions: propagates layouts forward, recomputes values backward, hoists what is left."""

    name = "tritongpu-remove-layout-conversions"
    requires = frozenset({Property.ENCODINGS, Property.STRUCTURED})
    visits_every_op = True
    beyond_triton: ClassVar[Mapping[str, object]] = {"recompute_indices": False}
    recompute_indices: bool = False
    """Whether an operand of a dot is converted where it is loaded although indices go into it, as in a mask of `tl.where`
    (in Triton it then goes through shared memory a second time)."""
    recompute: str = ""
    """`always` or `never`: whether values before a conversion are computed again; where that is cheaper if it is empty."""

    values = {"recompute": RECOMPUTE}

    def apply(self, ctx: Context, op: ModuleOp) -> bool:
        """Run all steps on every function of the module."""
        funcs = list(_functions(op))
        changed = _on_all(funcs, propagate_layouts)
        hoisted, before = False, None
        if ops_of(op, ttg.ConvertLayoutOp):
            before = None if changed else IRSnapshot(op)
            apply_patterns_greedily(op, CONVERT_PATTERNS)
            _rematerialize(op, funcs, self.recompute)
            hoisted = _on_all(funcs, partial(hoist_conversions, recompute_indices=self.recompute_indices))
        # Only for loops and branches has this clean-up rules that the others lack.
        if hoisted or ops_of(op, scf.ForOp, scf.IfOp):
            changed |= apply_patterns_greedily(op, CLEANUP_PATTERNS)
        return changed or (before is not None and not before.matches(op))


MAX_ROUNDS = 8
"""Rounds of recomputing values, each may let the next one do more. Kernels take three at most, unless each round leaves
a loop what the next one finds again (a reshape of a tile that is smaller than the threads, in the loop that carries it)."""


def _rematerialize(module: ModuleOp, funcs: list[Operation], recompute: str) -> None:
    """Recompute values before conversions until nothing changes, or that seems to have no end."""
    for _ in range(MAX_ROUNDS):
        if not _on_all(funcs, partial(rematerialize_backward, recompute=recompute)):
            return
        apply_patterns_greedily(module, CONVERT_PATTERNS)
    remark(funcs[0], f"layout conversions still move after {MAX_ROUNDS} rounds of recomputing values: the rest stays")


def _functions(module: ModuleOp) -> Iterator[Operation]:
    for op in module.ops:
        if isinstance(op, tt.FuncOp):
            yield op
        elif isinstance(op, ModuleOp):
            yield from _functions(op)


def _on_all(funcs: list[Operation], step: Callable[[Operation], bool]) -> bool:
    """Run a step on all functions; whether it changed one."""
    changed = False
    for func in funcs:
        changed |= step(func)
    return changed
