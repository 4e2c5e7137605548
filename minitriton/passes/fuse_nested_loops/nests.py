"""Which loops stand directly in which: the trees of `scf.for` in a function.

    scf.for A { scf.for B {}  scf.if { scf.for C {} } }      =>      A with child B;   C

Any other op with regions ends a tree: loops inside it are trees of their own.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.dialects import scf
from xdsl.ir import Operation

from minitriton.rewriting.effects import nested_ops


@dataclass
class LoopNode:
    """A loop and the loops directly in it."""

    loop: scf.ForOp
    children: list[LoopNode] = field(default_factory=list["LoopNode"])


def find_loop_nests(container: Operation) -> list[LoopNode]:
    """The outermost loops of all trees inside `container`; a tree follows those that end in it."""
    found: list[LoopNode] = []
    for op in nested_ops(container):
        if op.__class__ is scf.ForOp and isinstance(op, scf.ForOp):
            root = LoopNode(op)
            _add_children(root, op, found)
            found.append(root)
        elif op.regions:
            found.extend(find_loop_nests(op))
    return found


def _add_children(parent: LoopNode, loop: Operation, found: list[LoopNode]) -> None:
    for op in nested_ops(loop):
        if isinstance(op, scf.ForOp):
            child = LoopNode(op)
            parent.children.append(child)
            _add_children(child, op, found)
        elif op.regions:
            found.extend(find_loop_nests(op))
