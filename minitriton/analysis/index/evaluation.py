"""Evaluates the index expressions of a kernel exactly: ranges, constants and scalars through arithmetic and reshapes.

In: a module (TTIR, or TTGIR before shared memory) and its axis info. Out: the `IndexValue` of any integer or pointer tensor, and the
facts that follow from it.

    %q = arith.shrsi %range, %c4        0 0 .. 0 1 1 .. 1 2 ..      axis info: nothing known
    %r = arith.andi %range, %c15        0 1 .. 15 0 1 .. 15 0 ..    axis info: nothing known
    %m = arith.muli %q, %stride
    %o = arith.addi %m, %r              here: contiguity 16, divisibility 16 if the stride's is

What is not index arithmetic (a load, a block's argument) stands for unknown numbers that keep the claims of its axis info.
"""

from __future__ import annotations

from math import prod

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from minitriton.analysis.axis_info.analysis import AxisInfoAnalysis
from minitriton.analysis.axis_info.fact import AxisInfo
from minitriton.analysis.axis_info.types import integer_width, is_integer, pointee_bytes, shape_of
from minitriton.analysis.index.facts import advances, better, facts_of
from minitriton.analysis.index.rules import RULES
from minitriton.analysis.index.value import IndexValue, Unknowns, constant_value
from minitriton.dialects.narrowing import instance_of

MAX_ELEMENTS = 1 << 15
"""Larger tensors are not enumerated: their facts are those of axis info."""
MAX_DEPTH = 200
"""Expressions nested deeper are unknown where they are cut."""
MAX_FACTOR_BITS = 24
"""A constant factor of more bits makes a hash, which overflows, not an index."""


class IndexEvaluation:
    """The index values of a module, found when they are asked for."""

    def __init__(self, axis_info: AxisInfoAnalysis) -> None:
        self.axis_info = axis_info
        self.unknowns = Unknowns()
        self._values: dict[SSAValue, IndexValue] = {}
        self._depth = 0

    def facts(self, value: SSAValue) -> AxisInfo | None:
        """What axis info claims of a tensor and what its exact value adds; None if that is nothing."""
        shape = shape_of(value.type)
        if not instance_of(value.type, TensorType) or prod(shape) > MAX_ELEMENTS:
            return None
        exact = facts_of(self.unknowns, self.value(value), shape, pointee_bytes(value.type) or 1)
        return better(exact, self.axis_info.get(value))

    def value(self, value: SSAValue) -> IndexValue:
        """The exact value of a scalar (rank 0) or tensor of integers or pointers."""
        found = self._values.get(value)
        if found is None:
            found = self._values[value] = self._evaluate(value)
        return found

    def continues(self, pointer: SSAValue, outer: int, inner: tuple[int, ...]) -> bool:
        """Whether a step along axis `outer` of a tensor of pointers leads to behind the last element along the axes `inner`.

        The axes `inner`, outermost first, are contiguous together.
        """
        shape = shape_of(pointer.type)
        if prod(shape) > MAX_ELEMENTS:
            return False
        length = prod(shape[axis] for axis in inner)
        return advances(self.value(pointer), outer, shape[outer], length * pointee_bytes(pointer.type))

    def is_non_negative(self, value: SSAValue) -> bool:
        """Whether no element is negative."""
        if self.axis_info.get(value).non_negative:
            return True
        exact = self.value(value)
        return not exact.terms and bool((exact.base >= 0).all())

    def _evaluate(self, value: SSAValue) -> IndexValue:
        op = value.owner
        if not isinstance(op, Operation) or self._depth >= MAX_DEPTH or prod(shape_of(value.type)) > MAX_ELEMENTS:
            return self._unknown(value)
        rule = RULES.of(op)
        if rule is None:
            return self._unknown(value)
        self._depth += 1
        found = rule(self, op, value)
        self._depth -= 1
        if found is None or not _fits(found, value):
            return self._unknown(value)
        return found

    def _unknown(self, value: SSAValue) -> IndexValue:
        """Unknown numbers of which the claims of axis info hold."""
        fact = self.axis_info.get(value)
        shape = shape_of(value.type) if instance_of(value.type, TensorType) else ()
        if fact.constant_value is not None:
            return constant_value(fact.constant_value, len(shape))
        if not shape:
            return self.unknowns.uniform(0, fact.divisibility[0])
        axis = max(range(len(shape)), key=lambda d: fact.contiguity[d])
        run = min(fact.contiguity[axis], shape[axis])
        places = [
            np.arange(size).reshape([-1 if d == e else 1 for e in range(len(shape))]) for d, size in enumerate(shape)
        ]
        groups = [place // min(fact.constancy[d], shape[d]) for d, place in enumerate(places)]
        if run == 1:
            return self.unknowns.by_class(_numbered(groups), max(fact.divisibility))
        groups[axis] = places[axis] // run
        steps = (places[axis] % run) * (pointee_bytes(value.type) or 1)
        first = self.unknowns.by_class(_numbered(groups), fact.divisibility[axis])
        return self.unknowns.add(IndexValue(steps), first)


def _numbered(groups: list[np.ndarray]) -> np.ndarray:
    """A number for each combination of groups."""
    found = np.zeros((1,) * groups[0].ndim, np.int64)
    for group in groups:
        found = found * (int(group.max()) + 1) + group
    return found


def _fits(found: IndexValue, value: SSAValue) -> bool:
    """Whether known parts stay within the type, and factors are those of an index."""
    if not is_integer(value.type):
        return True
    width = integer_width(value.type)
    if width == 1:
        return True
    limit = 1 << (min(width, 63) - 1)
    if found.base.size and not (-limit <= found.base.min() and found.base.max() < limit):
        return False
    return all(np.abs(term.coefficient).max() < 1 << MAX_FACTOR_BITS for term in found.terms)
