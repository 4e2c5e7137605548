"""The parts of an outer loop's body before, between and after its inner loops.

scf.for %i {
  %a = ...  ; %b = f(%a)       section 0, its output %b
  scf.for %j { use %b }
  g(%i)                        section 1, no output
}

Which loops stand directly in which: the trees of `scf.for` in a function.

    scf.for A { scf.for B {}  scf.if { scf.for C {} } }      =>      A with child B;   C

Any other op with regions ends a tree: loops inside it are trees of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.dialects import scf
from xdsl.ir import Block, Operation, SSAValue

from minitriton.dialects.verification.dominance import Dominance
from minitriton.rewriting.effects import nested_ops
from minitriton.rewriting.regions import is_inside


@dataclass
class Section:
    """A run of ops, and those of their results that later ops use."""

    ops: list[Operation]
    outputs: list[SSAValue]

    def move_to_end(self, block: Block) -> None:
        """Moves the ops to the end of `block`."""
        for op in self.ops:
            assert op.parent is not None
            op.parent.detach_op(op)
            block.add_op(op)

    def replace_outputs_outside(self, branch: scf.IfOp, values: Sequence[SSAValue]) -> None:
        """Uses of the outputs become uses of `values`, except in the first region of `branch`, where the ops are now."""
        for output, value in zip(self.outputs, values, strict=True):
            for use in tuple(output.uses):
                if not is_inside(use.operation, branch.regions[0]):
                    use.operation.operands[use.index] = value


def section(first: Operation | None, end: Operation | None, dominance: Dominance) -> Section:
    """The ops from `first` on, up to and without `end`."""
    ops: list[Operation] = []
    op = first
    while op is not end:
        assert op is not None
        ops.append(op)
        op = op.next_op
    if not ops:
        return Section([], [])
    outputs: list[SSAValue] = [
        result
        for op in ops
        for result in op.results
        if any(dominance.op_properly_dominates(ops[-1], use.operation) for use in result.uses)
    ]
    return Section(ops, outputs)


def sections_of(outer: scf.ForOp, inner: list[scf.ForOp], dominance: Dominance) -> list[Section]:
    """One section more than there are inner loops; the yield of `outer` is in none."""
    block = outer.regions[0].block
    starts = [block.first_op, *(loop.next_op for loop in inner)]
    ends = [*inner, block.last_op]
    return [section(start, end, dominance) for start, end in zip(starts, ends, strict=True)]


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
