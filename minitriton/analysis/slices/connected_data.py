"""Which accesses work on the same data: values from memory that an op ties together, through regions position by position.

In: a module. Out: for each access a value that names its group.

    %a = tt.load %pa        %a, %s and what is stored have one shape and one layout: the load and the store are one group
    %s = arith.addf %a, %a
    tt.store %q, %s
    %d = tt.dot %a, %b, %c  reads its operands in layouts of its own and gives a result in another: it ties nothing

What is made of ranges, constants and arguments alone (addresses, most masks) is cheap in any layout and ties nothing. What a loop carries
is tied position by position (operand, argument, yielded value, result), so that data that are advanced side by side stay apart.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.traits import IsolatedFromAbove, IsTerminator, is_side_effect_free

from minitriton.dialects.facts import Contraction
from minitriton.dialects.facts.memory_access import MemoryAccess
from minitriton.dialects.facts.region_flow import RegionFlow
from minitriton.dialects.fast_paths.operations import ops_in


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
