"""Which ops are connected to which through values: forwards to users, backwards to definitions, into regions.

In: a module. Out: for each op a component number, and which components an op of one can reach.

    %p = tt.addptr %base, %offs        the load and the store hang together through %v and %offs:
    %v = tt.load %p                    they are in one component. Function arguments connect nothing.
    tt.store %q, %v

An op with one region of one block (a loop, a reduction) reaches everything in its body; what uses an argument of the body
reaches the op. Counterpart of MLIR's `getSlice`, for all ops in one walk.

Which accesses work on the same data: values from memory that an op ties together, through regions position by position.

In: a module. Out: for each access a value that names its group.

    %a = tt.load %pa        %a, %s and what is stored have one shape and one layout: the load and the store are one group
    %s = arith.addf %a, %a
    tt.store %q, %s
    %d = tt.dot %a, %b, %c  reads its operands in layouts of its own and gives a result in another: it ties nothing

What is made of ranges, constants and arguments alone (addresses, most masks) is cheap in any layout and ties nothing. What a loop carries
is tied position by position (operand, argument, yielded value, result), so that data that are advanced together stay apart.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.traits import IsolatedFromAbove, IsTerminator, is_side_effect_free

from minitriton.dialects.facts import Contraction
from minitriton.dialects.facts.memory_access import MemoryAccess
from minitriton.dialects.facts.region_flow import RegionFlow
from minitriton.dialects.fast_paths.op_access import ops_in


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


class ConnectedData:
    """The groups of a module's values."""

    def __init__(self, module: ModuleOp) -> None:
        self._parent: dict[SSAValue, SSAValue] = {}
        self._data: set[SSAValue] = set()
        ops = list(ops_in(module))
        while self._finds_more(ops):
            pass
        for op in ops:
            if (flow := RegionFlow.of(op)) is not None:
                for branch in flow.branches(op):
                    for passed, received in zip(branch.passed, branch.received, strict=False):
                        self._tie(passed, received)
            elif Contraction.of(op) is None and not op.has_trait(IsTerminator):
                data = [value for value in (*op.operands, *op.results) if self._is_data(value)]
                for value in data[1:]:
                    self._tie(data[0], value)

    def group(self, op: Operation) -> SSAValue:
        """The value that names the group of an access."""
        access = MemoryAccess.of(op)
        assert access is not None
        return self._find(access.data_of(op))

    def _finds_more(self, ops: list[Operation]) -> bool:
        """Marks what comes from memory; whether there was more than before."""
        before = len(self._data)
        for op in ops:
            if (flow := RegionFlow.of(op)) is not None:
                for branch in flow.branches(op):
                    pairs = zip(branch.passed, branch.received, strict=False)
                    self._data.update(received for passed, received in pairs if self._is_data(passed))
            elif op.results and (not is_side_effect_free(op) or any(map(self._is_data, op.operands))):
                self._data.update(op.results)
        return len(self._data) > before

    def _is_data(self, value: SSAValue) -> bool:
        return value in self._data or (isinstance(value, BlockArgument) and _is_tensor_of_caller(value))

    def _tie(self, first: SSAValue, second: SSAValue) -> None:
        if self._is_data(first) and self._is_data(second):
            self._parent[self._find(first)] = self._find(second)

    def _find(self, value: SSAValue) -> SSAValue:
        parent = self._parent
        while (above := parent.get(value, value)) is not value:
            parent[value] = parent.get(above, above)
            value = above
        return value


def _is_tensor_of_caller(argument: BlockArgument) -> bool:
    block = argument.owner
    assert isinstance(block, Block)
    owner = block.parent_op()
    return isinstance(argument.type, TensorType) and owner is not None and owner.has_trait(IsolatedFromAbove)
