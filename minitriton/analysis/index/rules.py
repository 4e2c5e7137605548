"""How index evaluation reads each op: its rule.

In: the evaluation (for the values of operands), an op, one of its results. Out: that result's `IndexValue`, or None where no more is
known than axis info says.

    arith.shrsi %x, %c4        quotient(x, 16)          arith.andi %x, %c15        remainder(x, 16)
"""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from minitriton.analysis.axis_info.analysis import AxisInfoAnalysis
from minitriton.analysis.axis_info.lattice import axis_lengths, integer_width, pointee_bytes
from minitriton.analysis.index.value import IndexValue, Unknowns, constant_value
from minitriton.dialects import arith, tt, ttg
from minitriton.dialects.arith.compare import (
    EQ,
    NE,
    SGE,
    SGT,
    SLE,
    SLT,
    UGE,
    UGT,
    ULE,
    ULT,
    predicate_of,
)
from minitriton.dialects.facts import IntegerExtremum
from minitriton.dialects.narrowing import instance_of
from minitriton.dialects.op_rules import OpRules


class IndexValues(Protocol):
    """What rules ask: values of operands, what is unknown, and what axis info says."""

    axis_info: AxisInfoAnalysis
    unknowns: Unknowns

    def value(self, value: SSAValue) -> IndexValue: ...

    def is_non_negative(self, value: SSAValue) -> bool: ...


Rule = Callable[[IndexValues, Any, SSAValue], IndexValue | None]


def _binary(combine: Callable[[Unknowns, IndexValue, IndexValue], IndexValue]) -> Rule:
    def rule(e: IndexValues, op: Operation, result: SSAValue) -> IndexValue:
        return combine(e.unknowns, e.value(op.operands[0]), e.value(op.operands[1]))

    return rule


def _number(value: IndexValue) -> int | None:
    """The number that a value is everywhere, if that is known."""
    if value.terms or value.base.min() != value.base.max():
        return None
    return int(value.base.flat[0])


def _constant(e: IndexValues, op: Operation, result: SSAValue) -> IndexValue | None:
    fact = e.axis_info.get(op.results[0])
    if fact.constant_value is None:
        return None
    return constant_value(fact.constant_value, _rank(op.results[0]))


def _rank(value: SSAValue) -> int:
    return len(value.type.shape) if instance_of(value.type, TensorType) else 0


def _make_range(e: IndexValues, op: tt.MakeRangeOp, result: SSAValue) -> IndexValue:
    return IndexValue(np.arange(op.start.value.data, op.end.value.data, dtype=np.int64))


def _rearranged(change: Callable[[Any, np.ndarray], np.ndarray], *, full: bool = False) -> Rule:
    """A rule that moves elements: `change` is applied to all arrays, broadcast to the operand's shape if `full`."""

    def rule(e: IndexValues, op: Operation, result: SSAValue) -> IndexValue:
        source = e.value(op.operands[0])
        shape = axis_lengths(op.operands[0].type)

        def moved(array: np.ndarray) -> np.ndarray:
            return change(op, np.broadcast_to(array, shape) if full else array)

        return IndexValue(
            moved(source.base),
            tuple(t._replace(classes=moved(t.classes), coefficient=moved(t.coefficient)) for t in source.terms),
        )

    return rule


def _splat(op: Operation, array: np.ndarray) -> np.ndarray:
    return array.reshape((1,) * len(axis_lengths(op.results[0].type)))


def _reshape(e: IndexValues, op: tt.ReshapeOp, result: SSAValue) -> IndexValue | None:
    if op.allow_reorder:
        return None
    return _IN_ORDER(e, op, result)


_IN_ORDER = _rearranged(lambda op, array: array.reshape(axis_lengths(op.results[0].type)), full=True)


def _join(e: IndexValues, op: Operation, result: SSAValue) -> IndexValue:
    sides = [e.value(operand) for operand in op.operands]
    shape = axis_lengths(op.operands[0].type)
    index = np.arange(2)
    parts: list[IndexValue] = []
    for number, side in enumerate(sides):
        chosen = (index == number).astype(np.int64)

        def widened(array: np.ndarray) -> np.ndarray:
            return np.broadcast_to(array, shape)[..., None]

        terms = (
            t._replace(classes=widened(t.classes), coefficient=widened(t.coefficient) * chosen) for t in side.terms
        )
        parts.append(IndexValue(widened(side.base) * chosen, tuple(terms)))
    return e.unknowns.add(*parts)


def _split(e: IndexValues, op: Operation, result: SSAValue) -> IndexValue:
    source, index = e.value(op.operands[0]), list(op.results).index(result)  # pyright: ignore[reportArgumentType]

    def half(array: np.ndarray) -> np.ndarray:
        return array[..., min(index, array.shape[-1] - 1)]

    return IndexValue(
        half(source.base),
        tuple(t._replace(classes=half(t.classes), coefficient=half(t.coefficient)) for t in source.terms),
    )


def _add_pointer(e: IndexValues, op: Operation, result: SSAValue) -> IndexValue:
    pointer, offset = (e.value(operand) for operand in op.operands)
    return e.unknowns.add(pointer, e.unknowns.scale(offset, pointee_bytes(op.results[0].type)))


def _divide(e: IndexValues, op: Operation, result: SSAValue) -> IndexValue | None:
    return _division(e, op, e.unknowns.quotient, e.unknowns.quotient_by_unknown)


def _remainder(e: IndexValues, op: Operation, result: SSAValue) -> IndexValue | None:
    return _division(e, op, e.unknowns.remainder, e.unknowns.remainder_by_unknown)


def _division(
    e: IndexValues,
    op: Operation,
    by_number: Callable[[IndexValue, int], IndexValue],
    by_unknown: Callable[[IndexValue, IndexValue], IndexValue],
) -> IndexValue | None:
    """Of a dividend that is not negative, so that rounding to zero is rounding down."""
    left, right = e.value(op.operands[0]), e.value(op.operands[1])
    if not e.is_non_negative(op.operands[0]):
        return None
    number = _number(right)
    if number is not None:
        return by_number(left, number) if number > 0 else None
    return by_unknown(left, right)


def _shift_left(e: IndexValues, op: Operation, result: SSAValue) -> IndexValue | None:
    amount = _number(e.value(op.operands[1]))
    return None if amount is None or not 0 <= amount < 32 else e.unknowns.scale(e.value(op.operands[0]), 1 << amount)


def _shift_right(e: IndexValues, op: Operation, result: SSAValue) -> IndexValue | None:
    amount = _number(e.value(op.operands[1]))
    if amount is None or not 0 <= amount < 62:
        return None
    if isinstance(op, arith.ShRUIOp) and not e.is_non_negative(op.operands[0]):
        return None
    return e.unknowns.quotient(e.value(op.operands[0]), 1 << amount)


def _bitwise(combine: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Rule:
    """Of two known numbers, or of a known number that only meets known bits of the other side; of conditions, a function of both."""

    def rule(e: IndexValues, op: Operation, result: SSAValue) -> IndexValue | None:
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


_COMPARE: dict[int, np.ufunc] = {
    EQ: np.equal, NE: np.not_equal, SLT: np.less, SLE: np.less_equal, SGT: np.greater, SGE: np.greater_equal,
    ULT: np.less, ULE: np.less_equal, UGT: np.greater, UGE: np.greater_equal,
}  # fmt: skip


def _compare(e: IndexValues, op: Operation, result: SSAValue) -> IndexValue | None:
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


def _select(e: IndexValues, op: Operation, result: SSAValue) -> IndexValue | None:
    condition, left, right = (e.value(operand) for operand in op.operands)
    if condition.base.ndim != left.base.ndim:
        return None
    if condition.terms:
        return e.unknowns.function_of(condition, left, right)
    chosen = (condition.base != 0).astype(np.int64)
    return e.unknowns.add(e.unknowns.scale(left, chosen), e.unknowns.scale(right, 1 - chosen))


def _extremum(e: IndexValues, op: Operation, result: SSAValue) -> IndexValue | None:
    left, right = e.value(op.operands[0]), e.value(op.operands[1])
    kind = IntegerExtremum.of(op)
    assert kind is not None
    if not kind.signed and not (e.is_non_negative(op.operands[0]) and e.is_non_negative(op.operands[1])):
        return None
    if left.terms or right.terms:
        return None
    pick = np.maximum if kind.greatest else np.minimum
    return IndexValue(pick(left.base, right.base))


def _same(e: IndexValues, op: Operation, result: SSAValue) -> IndexValue:
    return e.value(op.operands[0])


def _sign_extend(e: IndexValues, op: Operation, result: SSAValue) -> IndexValue | None:
    return None if integer_width(op.operands[0].type) == 1 else e.value(op.operands[0])


def _zero_extend(e: IndexValues, op: Operation, result: SSAValue) -> IndexValue | None:
    narrow = integer_width(op.operands[0].type) == 1 or e.is_non_negative(op.operands[0])
    return e.value(op.operands[0]) if narrow else None


def _truncate(e: IndexValues, op: Operation, result: SSAValue) -> IndexValue | None:
    return None if integer_width(op.results[0].type) == 1 else e.value(op.operands[0])


RULES: OpRules[Rule] = OpRules()
"""How ops compute: a function of the op and one of its results; None: as unknown as axis info leaves it."""

RULES.update(
    {
        arith.ConstantOp: _constant,
        arith.AddiOp: _binary(Unknowns.add),
        arith.SubiOp: _binary(Unknowns.subtract),
        arith.MuliOp: _binary(Unknowns.multiply),
        arith.DivSIOp: _divide,
        arith.DivUIOp: _divide,
        arith.RemSIOp: _remainder,
        arith.RemUIOp: _remainder,
        arith.ShLIOp: _shift_left,
        arith.ShRSIOp: _shift_right,
        arith.ShRUIOp: _shift_right,
        arith.AndIOp: _bitwise(np.bitwise_and),
        arith.OrIOp: _bitwise(np.bitwise_or),
        arith.XOrIOp: _bitwise(np.bitwise_xor),
        arith.CmpiOp: _compare,
        arith.SelectOp: _select,
        IntegerExtremum: _extremum,
        arith.ExtSIOp: _sign_extend,
        arith.ExtUIOp: _zero_extend,
        arith.TruncIOp: _truncate,
        tt.AddPtrOp: _add_pointer,
        tt.BroadcastOp: _same,
        tt.ExpandDimsOp: _rearranged(lambda op, array: np.expand_dims(array, op.axis.value.data)),
        tt.JoinOp: _join,
        tt.MakeRangeOp: _make_range,
        tt.ReshapeOp: _reshape,
        tt.SplatOp: _rearranged(_splat),
        tt.SplitOp: _split,
        tt.TransOp: _rearranged(lambda op, array: array.transpose(op.order.get_values())),
        ttg.ConvertLayoutOp: _same,
    }
)
