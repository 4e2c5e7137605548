"""What a value is computed from and what is computed from it, as slices of the def-use graph, and which ops hang together through values.

    backward_ops(%dot.a, is_view)      ->  [tt.load, tt.trans]                        an op that the filter refuses is neither in the slice nor looked through
    forward_ops(%dot)                  ->  [arith.truncf, tt.dot, scf.yield]
    PointerRoots(function).of(%q)      ->  the arguments, or results of ops that make pointers of something else, that a pointer was computed from
    ConnectedSlices(module)            ->  components: ops connected to users and definitions, and into regions; all of MLIR's `getSlice` in one walk
    ConnectedData(module)              ->  groups of accesses to the same data: what an op ties together, through regions position by position

A forward slice goes into the regions of an op but not from `scf.yield` to the results of its loop; a backward slice goes from an argument of a single-block region
to the op around it, unless `through_arguments` is False. Counterpart of MLIR's lib/Analysis/SliceAnalysis.cpp.
"""

from collections.abc import Callable, Iterator

from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, SSAValue
from xdsl.traits import IsolatedFromAbove, IsTerminator, is_side_effect_free

from minitriton.analysis.shared_memory.liveness import flows
from minitriton.dialects.facts import Contraction, Function
from minitriton.dialects.facts.memory_access import MemoryAccess
from minitriton.dialects.facts.region_flow import RegionFlow
from minitriton.dialects.fast_paths.op_access import operand_values, ops_in
from minitriton.dialects.narrowing import instance_of
from minitriton.dialects.tt.types import PointerType, TensorDescType
from minitriton.rewriting.regions import is_defined_outside

Filter = Callable[[Operation], bool]


def _all(op: Operation) -> bool:
    return True


def backward_ops(value: SSAValue, keep: Filter = _all, *, through_arguments: bool = True) -> list[Operation]:
    """The ops that `value` depends on, each after what it depends on itself."""
    slice_ = _Backward(keep, through_arguments)
    slice_.value(value)
    return slice_.found


class _Backward:
    def __init__(self, keep: Filter, through_arguments: bool) -> None:
        self.keep = keep
        self.through_arguments = through_arguments
        self.found: list[Operation] = []
        self.seen: set[Operation] = set()

    def value(self, value: SSAValue) -> None:
        if isinstance(value, OpResult):
            self.op(value.op)
        elif self.through_arguments and isinstance(value, BlockArgument):
            around = value.block.parent_op()
            if around is not None and len(around.regions) == 1 and len(around.regions[0].blocks) == 1:
                self.op(around)

    def op(self, op: Operation) -> None:
        if op in self.seen or Function.of(op) or isinstance(op, ModuleOp) or not self.keep(op):
            return
        self.seen.add(op)
        for operand in _used_values(op):
            self.value(operand)
        self.found.append(op)


def forward_ops(value: SSAValue, keep: Filter = _all) -> list[Operation]:
    """The ops that depend on `value`, each before what depends on it."""
    found: dict[Operation, None] = {}
    seen: set[Operation] = set()

    def visit(op: Operation) -> None:
        if op in seen or not keep(op):
            return
        seen.add(op)
        for region in op.regions:
            for block in region.blocks:
                for inner in block.ops:
                    visit(inner)
        for result in op.results:
            for use in result.uses:
                visit(use.operation)
        found[op] = None

    for use in value.uses:
        visit(use.operation)
    return list(reversed(found))


def connected_ops(op: Operation, keep: Filter) -> list[Operation]:
    """`op` and the ops of its region that hang together with it through values, in the order of the text."""
    region = op.parent_region()
    found = {op}
    pending = [op]

    def reach(other: Operation) -> None:
        if other not in found and other.parent_region() is region and keep(other):
            found.add(other)
            pending.append(other)

    while pending:
        current = pending.pop()
        for operand in _used_values(current):
            if isinstance(operand, OpResult):
                reach(operand.op)
        for result in current.results:
            for use in result.uses:
                reach(use.operation)
    return [each for block in (region.blocks if region else ()) for each in block.ops if each in found]


def _used_values(op: Operation) -> list[SSAValue]:
    """The operands of `op`, and the values from outside that the ops in its regions use."""
    values = list(op.operands)
    for region in op.regions:
        values += [value for inner in region.walk() for value in inner.operands if is_defined_outside(value, op)]
    return values


def points(type_: Attribute) -> bool:
    """Whether values of a type point into global memory."""
    if instance_of(type_, TensorType):
        type_ = type_.get_element_type()
    return isinstance(type_, PointerType | TensorDescType)


class PointerRoots:
    """The roots of the pointers in a function."""

    def __init__(self, function: Operation) -> None:
        self.sources: dict[SSAValue, list[SSAValue]] = {}
        for op in ops_in(function):
            for source, target in flows(op):
                if points(target.type):
                    self.sources.setdefault(target, []).append(source)

    def of(self, pointer: SSAValue) -> frozenset[SSAValue]:
        """The roots of a pointer."""
        seen: set[SSAValue] = set()
        found: set[SSAValue] = set()
        pending = [pointer]
        while pending:
            value = pending.pop()
            if value in seen:
                continue
            seen.add(value)
            before = list(self._before(value))
            pending += before
            if not before:
                found.add(value)
        return frozenset(found)

    def _before(self, value: SSAValue) -> Iterator[SSAValue]:
        if value in self.sources:
            yield from self.sources[value]
        elif isinstance(value, OpResult) and not value.op.regions:
            yield from (operand for operand in operand_values(value.op) if points(operand.type))


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
        return self.of(access.data_of(op))

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
            self._parent[self.of(first)] = self.of(second)

    def of(self, value: SSAValue) -> SSAValue:
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
