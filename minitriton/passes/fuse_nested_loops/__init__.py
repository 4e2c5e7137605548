"""`tritongpu-fuse-nested-loops`: a loop marked `tt.flatten` and the loop in it become one loop.

    for i in range(n):                           for t in range(n * m):
        first(i)                                     if t % m == 0: first(i)
        for j in range(m): body(i, j)      =>        body(i, j)
        last(i)                                      if t % m == m - 1: last(i)

Then the pipeliner can overlap the end of one inner loop with the start of the next. `nests` finds the loops, `speculation`
makes the inner one run at least once, `fusion` builds the loop. A nest marked `ttg.always-fuse` is fused whatever its shape;
its inner loops must run at least once wherever their results are used.

Answers to lib/Dialect/TritonGPU/Transforms/FuseNestedLoops.cpp.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp

from minitriton.dialects import tt
from minitriton.dialects.verification.dominance import Dominance
from minitriton.pass_registry import Pass, Property, register_pass
from minitriton.passes.fuse_nested_loops.fusion import fuse
from minitriton.passes.fuse_nested_loops.nests import LoopNode, find_loop_nests
from minitriton.passes.fuse_nested_loops.speculation import prepare

FLATTEN = "tt.flatten"
ALWAYS_FUSE = "ttg.always-fuse"


@register_pass
@dataclass(frozen=True)
class FuseNestedLoops(Pass, stage="ttgir", origin="triton"):
    """Makes one loop of a loop marked `tt.flatten` and the loop in it."""

    name: ClassVar[str] = "tritongpu-fuse-nested-loops"
    acts_on = frozenset({scf.ForOp})
    requires = frozenset({Property.STRUCTURED})

    beyond_triton: ClassVar[Mapping[str, object]] = {"exact_bounds": False}
    exact_bounds: bool = False
    """Whether bounds may be further apart than a number of their type says (Triton assumes that they are not)."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Fuse the marked loops of the module."""
        for func in op.ops:
            if isinstance(func, tt.FuncOp):
                for root in find_loop_nests(func):
                    _fuse_marked(root, self.exact_bounds)


def _fuse_marked(root: LoopNode, exact: bool) -> None:
    attributes = root.loop.attributes
    dominance = Dominance()
    if ALWAYS_FUSE not in attributes:
        if FLATTEN not in attributes or len(root.children) != 1 or root.children[0].children:
            return
        if not prepare(root.loop, root.children[0].loop, dominance):
            return
    _flatten(root, dominance, exact)


def _flatten(node: LoopNode, dominance: Dominance, exact: bool) -> None:
    """Fuses a tree of loops from the leaves up."""
    for child in node.children:
        _flatten(child, dominance, exact)
    fuse(node, dominance, exact=exact)
