"""Which ops are connected to which through values: forwards to users, backwards to definitions, into regions.

In: a module. Out: for each op a component number, and which components an op of one can reach.

    %p = tt.addptr %base, %offs        the load and the store hang together through %v and %offs:
    %v = tt.load %p                    they are in one component. Function arguments connect nothing.
    tt.store %q, %v

An op with one region of one block (a loop, a reduction) reaches everything in its body; what uses an argument of the body
reaches the op. Answers to MLIR's `getSlice`, for all ops in one walk.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import BlockArgument, Operation
from xdsl.traits import IsolatedFromAbove

from minitriton.dialects.fast_paths.operations import ops_in


class ConnectedSlices:
    """The components of a module and how they reach each other."""

    def __init__(self, module: ModuleOp) -> None:
        self._parent: dict[Operation, Operation] = {}
        self._reaches: dict[Operation, set[Operation]] = {}
        self._closures: dict[Operation, frozenset[Operation]] = {}
        crossings: list[tuple[Operation, Operation]] = []
        for op in ops_in(module):
            self._parent.setdefault(op, op)
            for operand in op.operands:
                if isinstance(operand, BlockArgument):
                    owner = operand.owner.parent_op()
                    if owner is not None and _passes_arguments_back(owner):
                        crossings.append((op, owner))
                else:
                    self._join(op, operand.owner)
            for region in op.regions:
                for block in region.blocks:
                    crossings.extend((op, inner) for inner in block.ops)
        for source, target in crossings:
            self._reaches.setdefault(self._find(source), set()).add(self._find(target))

    def reachable(self, op: Operation) -> frozenset[Operation]:
        """The components (named by one of their ops) that `op` reaches, its own included."""
        start = self._find(op)
        found = self._closures.get(start)
        if found is None:
            seen = {start}
            todo = [start]
            while todo:
                for target in self._reaches.get(todo.pop(), ()):
                    if target not in seen:
                        seen.add(target)
                        todo.append(target)
            found = self._closures[start] = frozenset(seen)
        return found

    def component(self, op: Operation) -> Operation:
        """The op that names the component of `op`."""
        return self._find(op)

    def _find(self, op: Operation) -> Operation:
        parent = self._parent
        while parent[op] is not op:
            parent[op] = parent[parent[op]]
            op = parent[op]
        return op

    def _join(self, first: Operation, second: Operation | object) -> None:
        if isinstance(second, Operation):
            self._parent.setdefault(second, second)
            self._parent[self._find(first)] = self._find(second)


def _passes_arguments_back(op: Operation) -> bool:
    if len(op.regions) != 1 or op.has_trait(IsolatedFromAbove):
        return False
    region = op.regions[0]
    return region.first_block is region.last_block
