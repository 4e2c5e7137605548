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

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from minitriton.analysis.axis_fact import AxisInfo
from minitriton.analysis.axis_info import AxisInfoAnalysis
from minitriton.analysis.axis_info_rules_choice import EQ, NE, SGE, SGT, SLE, SLT, UGE, UGT, ULE, ULT, predicate_of
from minitriton.analysis.axis_info_types import integer_width, is_integer, pointee_bytes, shape_of
from minitriton.analysis.index_facts import advances, better, facts_of
from minitriton.analysis.index_value import IndexValue, Unknowns, constant_value

MAX_ELEMENTS = 1 << 15
"""Larger tensors are not enumerated: their facts are those of axis info."""
MAX_DEPTH = 200
"""Expressions nested deeper are unknown where they are cut."""
MAX_FACTOR_BITS = 24
"""A constant factor of more bits makes a hash, which overflows, not an index."""

Rule = Callable[["IndexEvaluation", Operation, SSAValue], "IndexValue | None"]


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
        if not isinstance(value.type, TensorType) or prod(shape) > MAX_ELEMENTS:
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
        rule = RULES.get(op.name)
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
        shape = shape_of(value.type) if isinstance(value.type, TensorType) else ()
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


def _binary(combine: Callable[[Unknowns, IndexValue, IndexValue], IndexValue]) -> Rule:
    def rule(e: IndexEvaluation, op: Operation, result: SSAValue) -> IndexValue:
        return combine(e.unknowns, e.value(op.operands[0]), e.value(op.operands[1]))

    return rule


def _number(value: IndexValue) -> int | None:
    """The number that a value is everywhere, if that is known."""
    if value.terms or value.base.min() != value.base.max():
        return None
    return int(value.base.flat[0])


def _constant(e: IndexEvaluation, op: Operation, result: SSAValue) -> IndexValue | None:
    fact = e.axis_info.get(op.results[0])
    if fact.constant_value is None:
        return None
    return constant_value(fact.constant_value, _rank(op.results[0]))


def _rank(value: SSAValue) -> int:
    return len(value.type.shape) if isinstance(value.type, TensorType) else 0


def _make_range(e: IndexEvaluation, op: Operation, result: SSAValue) -> IndexValue:
    start, end = (op.properties[name].value.data for name in ("start", "end"))  # pyright: ignore[reportAttributeAccessIssue]
    return IndexValue(np.arange(start, end, dtype=np.int64))


def _rearranged(change: Callable[[Operation, np.ndarray], np.ndarray], *, full: bool = False) -> Rule:
    """A rule that moves elements: `change` is applied to all arrays, broadcast to the operand's shape if `full`."""

    def rule(e: IndexEvaluation, op: Operation, result: SSAValue) -> IndexValue:
        source = e.value(op.operands[0])
        shape = shape_of(op.operands[0].type)

        def moved(array: np.ndarray) -> np.ndarray:
            return change(op, np.broadcast_to(array, shape) if full else array)

        return IndexValue(
            moved(source.base),
            tuple(t._replace(classes=moved(t.classes), coefficient=moved(t.coefficient)) for t in source.terms),
        )

    return rule


def _property(op: Operation, name: str) -> Any:
    return op.properties[name]


def _splat(op: Operation, array: np.ndarray) -> np.ndarray:
    return array.reshape((1,) * len(shape_of(op.results[0].type)))


def _reshape(e: IndexEvaluation, op: Operation, result: SSAValue) -> IndexValue | None:
    if "allow_reorder" in op.properties:
        return None
    return _IN_ORDER(e, op, result)


_IN_ORDER = _rearranged(lambda op, array: array.reshape(shape_of(op.results[0].type)), full=True)


def _join(e: IndexEvaluation, op: Operation, result: SSAValue) -> IndexValue:
    sides = [e.value(operand) for operand in op.operands]
    shape = shape_of(op.operands[0].type)
    place = np.arange(2)
    parts: list[IndexValue] = []
    for number, side in enumerate(sides):
        chosen = (place == number).astype(np.int64)

        def widened(array: np.ndarray) -> np.ndarray:
            return np.broadcast_to(array, shape)[..., None]

        terms = (
            t._replace(classes=widened(t.classes), coefficient=widened(t.coefficient) * chosen) for t in side.terms
        )
        parts.append(IndexValue(widened(side.base) * chosen, tuple(terms)))
    return e.unknowns.add(*parts)


def _split(e: IndexEvaluation, op: Operation, result: SSAValue) -> IndexValue:
    source, index = e.value(op.operands[0]), list(op.results).index(result)  # pyright: ignore[reportArgumentType]

    def half(array: np.ndarray) -> np.ndarray:
        return array[..., min(index, array.shape[-1] - 1)]

    return IndexValue(
        half(source.base),
        tuple(t._replace(classes=half(t.classes), coefficient=half(t.coefficient)) for t in source.terms),
    )


def _add_pointer(e: IndexEvaluation, op: Operation, result: SSAValue) -> IndexValue:
    pointer, offset = (e.value(operand) for operand in op.operands)
    return e.unknowns.add(pointer, e.unknowns.scale(offset, pointee_bytes(op.results[0].type)))


def _divide(e: IndexEvaluation, op: Operation, result: SSAValue) -> IndexValue | None:
    return _division(e, op, e.unknowns.quotient, e.unknowns.quotient_by_unknown)


def _remainder(e: IndexEvaluation, op: Operation, result: SSAValue) -> IndexValue | None:
    return _division(e, op, e.unknowns.remainder, e.unknowns.remainder_by_unknown)


def _division(e: IndexEvaluation, op: Operation, by_number: Any, by_unknown: Any) -> IndexValue | None:
    """Of a dividend that is not negative, so that rounding to zero is rounding down."""
    left, right = e.value(op.operands[0]), e.value(op.operands[1])
    if not e.is_non_negative(op.operands[0]):
        return None
    number = _number(right)
    if number is not None:
        return by_number(left, number) if number > 0 else None
    return by_unknown(left, right)


def _shift_left(e: IndexEvaluation, op: Operation, result: SSAValue) -> IndexValue | None:
    amount = _number(e.value(op.operands[1]))
    return None if amount is None or not 0 <= amount < 32 else e.unknowns.scale(e.value(op.operands[0]), 1 << amount)


def _shift_right(e: IndexEvaluation, op: Operation, result: SSAValue) -> IndexValue | None:
    amount = _number(e.value(op.operands[1]))
    if amount is None or not 0 <= amount < 62:
        return None
    if op.name == "arith.shrui" and not e.is_non_negative(op.operands[0]):
        return None
    return e.unknowns.quotient(e.value(op.operands[0]), 1 << amount)


def _bitwise(combine: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Rule:
    """Of two known numbers, or of a known number that only meets known bits of the other side; of conditions, a function of both."""

    def rule(e: IndexEvaluation, op: Operation, result: SSAValue) -> IndexValue | None:
        left, right = e.value(op.operands[0]), e.value(op.operands[1])
        if not left.terms and not right.terms:
            return IndexValue(combine(left.base, right.base))
        if integer_width(op.results[0].type) == 1:
            return e.unknowns.function_of(left, right)
        if left.terms and right.terms:
            return e.unknowns.function_of(left, right)
        mixed, known = (left, right.base) if left.terms else (right, left.base)
        power = e.unknowns.low_bits(mixed)
        if combine is np.bitwise_and:
            return _masked(e.unknowns, mixed, known, power)
        if known.min() < 0 or known.max() >= power:
            return e.unknowns.function_of(left, right)
        low = mixed.base % power
        return IndexValue(mixed.base - low + combine(low, known), mixed.terms)

    return rule


def _masked(unknowns: Unknowns, value: IndexValue, mask: np.ndarray, power: int) -> IndexValue:
    """`value & mask`, where all bits of `value` below `power` are known."""
    if mask.min() >= 0 and mask.max() < power:
        return IndexValue((value.base % power) & mask)
    number = int(mask.flat[0])
    if mask.min() != mask.max():
        return unknowns.function_of(value, IndexValue(mask))
    if number >= 0 and number & (number + 1) == 0:
        return unknowns.remainder(value, number + 1)
    if number < 0 and (-number & (-number - 1)) == 0:
        return unknowns.subtract(value, unknowns.remainder(value, -number))
    return unknowns.function_of(value, IndexValue(mask))


_COMPARE: dict[int, Any] = {
    EQ: np.equal, NE: np.not_equal, SLT: np.less, SLE: np.less_equal, SGT: np.greater, SGE: np.greater_equal,
    ULT: np.less, ULE: np.less_equal, UGT: np.greater, UGE: np.greater_equal,
}  # fmt: skip


def _compare(e: IndexEvaluation, op: Operation, result: SSAValue) -> IndexValue | None:
    predicate = predicate_of(op)
    left, right = e.value(op.operands[0]), e.value(op.operands[1])
    if predicate >= ULT and not (e.is_non_negative(op.operands[0]) and e.is_non_negative(op.operands[1])):
        return e.unknowns.function_of(left, right)
    if integer_width(op.operands[0].type) == 1:
        return e.unknowns.function_of(left, right)
    difference = e.unknowns.subtract(left, right)
    if not difference.terms:
        zero = np.zeros_like(difference.base)
        return IndexValue(_COMPARE[predicate](difference.base, zero).astype(np.int64))
    if predicate in (SLT, SGE, ULT, UGE):
        return e.unknowns.is_below(left, right)
    if predicate in (SGT, SLE, UGT, ULE):
        return e.unknowns.is_below(right, left)
    return e.unknowns.function_of(left, right)


def _select(e: IndexEvaluation, op: Operation, result: SSAValue) -> IndexValue | None:
    condition, left, right = (e.value(operand) for operand in op.operands)
    if condition.base.ndim != left.base.ndim:
        return None
    if condition.terms:
        return e.unknowns.function_of(condition, left, right)
    chosen = (condition.base != 0).astype(np.int64)
    return e.unknowns.add(e.unknowns.scale(left, chosen), e.unknowns.scale(right, 1 - chosen))


def _extremum(e: IndexEvaluation, op: Operation, result: SSAValue) -> IndexValue | None:
    left, right = e.value(op.operands[0]), e.value(op.operands[1])
    if op.name.endswith("ui") and not (e.is_non_negative(op.operands[0]) and e.is_non_negative(op.operands[1])):
        return None
    if left.terms or right.terms:
        return None
    pick = np.maximum if "max" in op.name else np.minimum
    return IndexValue(pick(left.base, right.base))


def _same(e: IndexEvaluation, op: Operation, result: SSAValue) -> IndexValue:
    return e.value(op.operands[0])


def _sign_extend(e: IndexEvaluation, op: Operation, result: SSAValue) -> IndexValue | None:
    return None if integer_width(op.operands[0].type) == 1 else e.value(op.operands[0])


def _zero_extend(e: IndexEvaluation, op: Operation, result: SSAValue) -> IndexValue | None:
    narrow = integer_width(op.operands[0].type) == 1 or e.is_non_negative(op.operands[0])
    return e.value(op.operands[0]) if narrow else None


def _truncate(e: IndexEvaluation, op: Operation, result: SSAValue) -> IndexValue | None:
    return None if integer_width(op.results[0].type) == 1 else e.value(op.operands[0])


RULES: dict[str, Rule] = {
    "arith.constant": _constant,
    "arith.addi": _binary(Unknowns.add),
    "arith.subi": _binary(Unknowns.subtract),
    "arith.muli": _binary(Unknowns.multiply),
    "arith.divsi": _divide,
    "arith.divui": _divide,
    "arith.remsi": _remainder,
    "arith.remui": _remainder,
    "arith.shli": _shift_left,
    "arith.shrsi": _shift_right,
    "arith.shrui": _shift_right,
    "arith.andi": _bitwise(np.bitwise_and),
    "arith.ori": _bitwise(np.bitwise_or),
    "arith.xori": _bitwise(np.bitwise_xor),
    "arith.cmpi": _compare,
    "arith.select": _select,
    "arith.maxsi": _extremum,
    "arith.maxui": _extremum,
    "arith.minsi": _extremum,
    "arith.minui": _extremum,
    "arith.extsi": _sign_extend,
    "arith.extui": _zero_extend,
    "arith.trunci": _truncate,
    "tt.addptr": _add_pointer,
    "tt.broadcast": _same,
    "tt.expand_dims": _rearranged(lambda op, array: np.expand_dims(array, _property(op, "axis").value.data)),
    "tt.join": _join,
    "tt.make_range": _make_range,
    "tt.reshape": _reshape,
    "tt.splat": _rearranged(_splat),
    "tt.split": _split,
    "tt.trans": _rearranged(lambda op, array: array.transpose(_property(op, "order").get_values())),
    "ttg.convert_layout": _same,
}
"""How ops compute: op name to a function of the op and one of its results; None: as unknown as axis info leaves it."""
