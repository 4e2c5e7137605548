"""Which pointers a pointer, a tensor of pointers or a descriptor was computed from.

    %q = tt.addptr %p, %i; %r = arith.select %c, %q, %s     →   the roots of %r are those of %p and %s

A root is an argument of the function, or the result of an op that makes pointers of something else (a load of pointers, `tt.int_to_ptr`).
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation, OpResult, SSAValue

from minitriton.analysis.shared_memory.liveness import flows
from minitriton.dialects.fast_paths.op_access import operand_values
from minitriton.dialects.fast_paths.operations import ops_in
from minitriton.dialects.narrowing import instance_of
from minitriton.dialects.tt.types import PointerType, TensorDescType


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
