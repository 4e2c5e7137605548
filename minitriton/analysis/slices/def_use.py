"""What a value is computed from, and what is computed from it: slices of the def-use graph.

In: an op or value, and a filter. Out: the ops reached, in the order in which they are found; an op that the filter refuses is neither in
the slice nor looked through.

    backward_ops(%dot.a, is_view)      ->  [tt.load, tt.trans]
    forward_ops(%dot)                  ->  [arith.truncf, tt.dot, scf.yield]

A forward slice goes into the regions of an op but not from `scf.yield` to the results of its loop; a backward slice goes from an
argument of a single-block region to the op around it, unless `through_arguments` is False. Counterpart of MLIR's
lib/Analysis/SliceAnalysis.cpp.

`PointerRoots`: which pointers a pointer, a tensor of pointers or a descriptor was computed from.

    %q = tt.addptr %p, %i; %r = arith.select %c, %q, %s     =>   the roots of %r are those of %p and %s

A root is an argument of the function, or the result of an op that makes pointers of something else (a load of pointers, `tt.int_to_ptr`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Attribute, BlockArgument, Operation, OpResult, SSAValue

from minitriton.analysis.shared_memory.liveness import flows
from minitriton.dialects.facts import Function
from minitriton.dialects.fast_paths.op_access import operand_values, ops_in
from minitriton.dialects.narrowing import instance_of
from minitriton.dialects.tt.types import PointerType, TensorDescType

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


def _is_inside(value: SSAValue, op: Operation) -> bool:
    owner = value.owner
    around = owner.parent_op()
    return around is not None and op.is_ancestor(around)


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
        values += [value for inner in region.walk() for value in inner.operands if not _is_inside(value, op)]
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
