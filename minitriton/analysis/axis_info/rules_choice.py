"""Axis-info rules of comparisons, selects, minima and maxima, and loads.

    mask = offsets < n          offsets: C = 128, D = 128     n: K = 128, D = 16     mask: K = 16

Sixteen consecutive offsets that begin at a multiple of 16 are all below a multiple of 16, or none is.
"""

from __future__ import annotations

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, TensorType
from xdsl.ir import Operation, SSAValue

from minitriton.analysis.axis_info.lattice import RULES, AxisInfo, Facts, divisibility_at, join, unknown
from minitriton.analysis.axis_info.types import (
    axis_lengths,
    constant_result,
    integer_width,
    is_splat,
    signed,
    unsigned,
)
from minitriton.dialects import arith, tt
from minitriton.dialects.arith.compare import SGE, SGT, SLE, SLT, UGE, UGT, ULE, ULT, holds, predicate_of
from minitriton.dialects.facts import IntegerExtremum
from minitriton.dialects.narrowing import instance_of


@RULES.add(arith.CmpiOp)
def compare(op: arith.CmpiOp, facts: Facts) -> AxisInfo:
    """l < r, l >= r: K = min(C_l, D_l, D_r) if r is constant along the axis (mirrored for > and <=)."""
    if not instance_of(op.results[0].type, TensorType):
        return unknown(1)
    left, right = facts
    predicate = predicate_of(op)
    if left.constant_value is not None and right.constant_value is not None:
        width = integer_width(op.operands[0].type)
        known = holds(predicate, signed(left.constant_value, width), signed(right.constant_value, width), width)
        return constant_result(op, int(known))
    constancy = list(map(min, left.constancy, right.constancy))
    sequence, bound = None, None
    if predicate in (SGT, UGT, SLE, ULE):
        sequence, bound = right, left
    elif predicate in (SLT, ULT, SGE, UGE):
        sequence, bound = left, right
    if sequence is not None and bound is not None:
        for d, size in enumerate(axis_lengths(op.results[0].type)):
            if bound.constancy[d] == size:
                aligned = min(sequence.contiguity[d], sequence.divisibility[d], bound.divisibility[d])
                constancy[d] = max(constancy[d], aligned)
    ones = (1,) * left.rank
    return AxisInfo(ones, ones, tuple(constancy))


@RULES.add(arith.SelectOp)
def select(op: arith.SelectOp, facts: Facts) -> AxisInfo:
    """c ? l : r: what holds of both, over groups within which c does not change."""
    condition, left, right = facts
    if condition.constant_value is not None:
        return left if condition.constant_value else right
    either = join(left, right)
    if either.constant_value is not None:
        return constant_result(op, either.constant_value)
    if not instance_of(op.operands[0].type, TensorType):
        return either
    contiguity = tuple(map(min, either.contiguity, condition.constancy))
    return AxisInfo(
        contiguity,
        tuple([divisibility_at(either, d, c) for d, c in enumerate(contiguity)]),
        tuple(map(min, either.constancy, condition.constancy)),
        None,
        either.non_negative,
    )


@RULES.add(IntegerExtremum)
def extremum(op: Operation, facts: Facts) -> AxisInfo:
    """min or max of l and r: what holds of both (two rising sequences keep their order within a group)."""
    left, right = facts
    kind = IntegerExtremum.of(op)
    assert kind is not None
    pick = max if kind.greatest else min
    if left.constant_value is not None and right.constant_value is not None:
        width = integer_width(op.results[0].type)
        read = signed if kind.signed else unsigned
        return constant_result(op, pick(read(left.constant_value, width), read(right.constant_value, width)))
    either = join(left, right)
    both = left.non_negative and right.non_negative
    if not kind.signed and not both:
        either = _within_aligned_groups(either)
    if kind.signed == kind.greatest:
        non_negative = left.non_negative or right.non_negative
    else:
        non_negative = both
    return either._replace(non_negative=non_negative)


def _within_aligned_groups(fact: AxisInfo) -> AxisInfo:
    """`fact` over groups that begin at a multiple of their length: none of them runs from -1 to 0."""
    contiguity = tuple(map(min, fact.contiguity, fact.divisibility))
    return fact._replace(contiguity=contiguity)


@RULES.add(tt.LoadOp)
def load(op: tt.LoadOp, facts: Facts) -> AxisInfo:
    """A load: equal addresses give equal values, where the mask does not change; nothing else is known of memory."""
    pointer = facts[0]
    if op.is_volatile.value.data:
        return unknown(pointer.rank)
    constancy = pointer.constancy
    if len(facts) > 1:
        constancy = tuple(map(min, constancy, facts[1].constancy))
    if len(facts) > 2 and not _is_splat(op.operands[2]):
        constancy = tuple(map(min, constancy, facts[2].constancy))
    ones = (1,) * pointer.rank
    return AxisInfo(ones, ones, constancy)


def _is_splat(value: SSAValue) -> bool:
    """Whether all elements of a tensor of any type (facts speak of integers only) are equal by construction."""
    owner = value.owner
    if not isinstance(owner, Operation):
        return False
    if isinstance(owner, tt.SplatOp):
        return True
    constant = owner.properties.get("value")
    return instance_of(constant, DenseIntOrFPElementsAttr) and is_splat(constant)
