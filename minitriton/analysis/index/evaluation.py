"""Evaluates the index expressions of a kernel exactly: ranges, constants and scalars through arithmetic and reshapes.

In: a module (TTIR, or TTGIR before shared memory) and its axis info. Out: the `IndexValue` of any integer or pointer tensor, and the
facts that follow from it.

    %q = arith.shrsi %range, %c4        0 0 .. 0 1 1 .. 1 2 ..      axis info: nothing known
    %r = arith.andi %range, %c15        0 1 .. 15 0 1 .. 15 0 ..    axis info: nothing known
    %m = arith.muli %q, %stride
    %o = arith.addi %m, %r              here: contiguity 16, divisibility 16 if the stride's is

What is not index arithmetic (a load, a block's argument) stands for unknown numbers that keep the claims of its axis info.

What holds of exactly known index values along each axis: the bridge from `index.value` to `axis_info.lattice`.

base 0 1 2 3 16 17 18 19, and 64 * unknown       contiguity 4, divisibility 16, constancy 1
"""

from math import gcd, prod

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from minitriton.analysis.axis_info.analysis import AxisInfoAnalysis
from minitriton.analysis.axis_info.lattice import (
    MAX_DIVISOR,
    AxisInfo,
    axis_lengths,
    integer_width,
    is_integer,
    pointee_bytes,
    power_of_two_part,
)
from minitriton.analysis.index.rules import RULES
from minitriton.analysis.index.value import Array, IndexValue, Unknowns, common_divisor, constant_value
from minitriton.dialects.narrowing import instance_of


def properties_of(unknowns: Unknowns, value: IndexValue, shape: tuple[int, ...], unit: int = 1) -> AxisInfo:
    """The claims about `value`, a tensor of `shape` whose neighbours are `unit` apart (for pointers, in bytes)."""
    contiguity: list[int] = []
    divisibility: list[int] = []
    constancy: list[int] = []
    for axis, size in enumerate(shape):
        run = _longest_groups(value, axis, size, unit)
        contiguity.append(run)
        constancy.append(_longest_groups(value, axis, size, 0))
        divisibility.append(_divisibility(unknowns, value, axis, run))
    return AxisInfo(tuple(contiguity), tuple(divisibility), tuple(constancy))


def advances(value: IndexValue, axis: int, size: int, step: int) -> bool:
    """Whether each element is its predecessor along `axis` plus `step`."""
    return bool(_linked(value, axis, size, step).all())


def _longest_groups(value: IndexValue, axis: int, size: int, step: int) -> int:
    """The largest aligned groups along `axis` in which each element is its predecessor plus `step`."""
    grouped, length = np.append(_linked(value, axis, size, step), True), 1
    while size % (2 * length) == 0 and grouped.reshape(-1, 2 * length)[:, :-1].all():
        length *= 2
    return length


def _linked(value: IndexValue, axis: int, size: int, step: int) -> Array:
    """For each pair of neighbours along `axis` whether the second is everywhere the first plus `step`."""
    linked = _steps(value.base, axis, size, step)
    for term in value.terms:
        linked &= _steps(term.classes, axis, size, 0) & _steps(term.coefficient, axis, size, 0)
    return linked


def _steps(array: Array, axis: int, size: int, step: int) -> Array:
    """The same of one array."""
    if array.shape[axis] == 1:
        return np.full(size - 1, step == 0)
    others = tuple(other for other in range(array.ndim) if other != axis)
    return (np.diff(array, axis=axis) == step).all(axis=others)


def _divisibility(unknowns: Unknowns, value: IndexValue, axis: int, length: int) -> int:
    """The power of two that divides the first element of every group of `length` along `axis`."""

    def starts(array: Array) -> Array:
        return array if array.shape[axis] == 1 else np.take(array, range(0, array.shape[axis], length), axis=axis)

    found = common_divisor(starts(value.base))
    for term in value.terms:
        found = gcd(found, common_divisor(starts(term.coefficient)) * unknowns.divisibility[term.family])
    return min(power_of_two_part(found), MAX_DIVISOR)


def better(exact: AxisInfo, known: AxisInfo) -> AxisInfo | None:
    """Both together, axis by axis; None if `exact` adds nothing to what is known."""
    contiguity, divisibility, constancy = list(known.contiguity), list(known.divisibility), list(known.constancy)
    for d in range(known.rank):
        if exact.contiguity[d] > contiguity[d]:
            contiguity[d], divisibility[d] = exact.contiguity[d], exact.divisibility[d]
        elif exact.contiguity[d] == contiguity[d]:
            divisibility[d] = max(exact.divisibility[d], divisibility[d])
        constancy[d] = max(exact.constancy[d], constancy[d])
    found = known._replace(contiguity=tuple(contiguity), divisibility=tuple(divisibility), constancy=tuple(constancy))
    return None if found == known else found


MAX_ELEMENTS = 1 << 15
"""Larger tensors are not enumerated: their facts are those of axis info."""
MAX_DEPTH = 200
"""Expressions nested deeper are unknown where they are split."""
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
        shape = axis_lengths(value.type)
        if not instance_of(value.type, TensorType) or prod(shape) > MAX_ELEMENTS:
            return None
        exact = properties_of(self.unknowns, self.value(value), shape, pointee_bytes(value.type) or 1)
        return better(exact, self.axis_info.get(value))

    def value(self, value: SSAValue) -> IndexValue:
        """The exact value of a scalar (rank 0) or tensor of integers or pointers."""
        found = self._values.get(value)
        if found is None:
            found = self._values[value] = self._evaluate(value)
        return found

    def continues(self, pointer: SSAValue, outer: int, inner: tuple[int, ...]) -> bool:
        """Whether a step along axis `outer` of a tensor of pointers leads past the last element along the axes `inner`.

        The axes `inner`, outermost first, are contiguous together.
        """
        shape = axis_lengths(pointer.type)
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
        if not isinstance(op, Operation) or self._depth >= MAX_DEPTH or prod(axis_lengths(value.type)) > MAX_ELEMENTS:
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
        """Unknown numbers with the claims of axis info."""
        fact = self.axis_info.get(value)
        shape = axis_lengths(value.type) if instance_of(value.type, TensorType) else ()
        if fact.constant_value is not None:
            return constant_value(fact.constant_value, len(shape))
        if not shape:
            return self.unknowns.uniform(0, fact.divisibility[0])
        axis = max(range(len(shape)), key=lambda d: fact.contiguity[d])
        run = min(fact.contiguity[axis], shape[axis])
        positions = [
            np.arange(size).reshape([-1 if d == e else 1 for e in range(len(shape))]) for d, size in enumerate(shape)
        ]
        groups = [position // min(fact.constancy[d], shape[d]) for d, position in enumerate(positions)]
        if run == 1:
            return self.unknowns.by_class(_numbered(groups), max(fact.divisibility))
        groups[axis] = positions[axis] // run
        steps = (positions[axis] % run) * (pointee_bytes(value.type) or 1)
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
