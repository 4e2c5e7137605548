"""Axis-info rules of `+ - * << >> & | ^` and of pointer arithmetic.

In: an op and the facts of its operands. Out: the fact of its result. In the equations C, D, K are contiguity,
divisibility and constancy along one axis, `l` and `r` the operands; the first line of each rule's docstring is what
`AxisInfoAnalysis.explain` shows.

    %2 = arith.addi %0, %1      %0: C = 1, D = 64, K = 128      %1: C = 128, D = 2^30, K = 1      %2: C = 128, D = 64, K = 1

Axis-info rules of `/` and `%`, signed and unsigned.

The equations are those of rounding down. Signed division rounds towards zero instead, so where a negative dividend would
break a claim, the claim asks that the dividend be known not to be negative:

    x     = [-4, -3, -2, -1]      (contiguity 4, divisibility 4)
    x / 4 = [-1,  0,  0,  0]      not constant over the group, as [4, 5, 6, 7] / 4 is
    x % 4 = [ 0, -3, -2, -1]      not contiguous over the group, as [4, 5, 6, 7] % 4 is

Axis-info rules of comparisons, selects, minima and maxima, and loads.

    mask = offsets < n          offsets: C = 128, D = 128     n: K = 128, D = 16     mask: K = 16

Sixteen consecutive offsets that begin at a multiple of 16 are all below a multiple of 16, or none is.
"""

from collections.abc import Callable

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, TensorType
from xdsl.ir import Operation, SSAValue

from minitriton.analysis.axis_info.lattice import (
    MAX_DIVISOR,
    RULES,
    AxisInfo,
    Facts,
    axis_lengths,
    constant_result,
    divisibility_at,
    integer_width,
    is_splat,
    join,
    pointee_bytes,
    signed,
    unknown,
    unsigned,
)
from minitriton.dialects import arith, tt
from minitriton.dialects.arith.compare import SGE, SGT, SLE, SLT, UGE, UGT, ULE, ULT, holds, predicate_of, toward_zero
from minitriton.dialects.facts import IntegerExtremum
from minitriton.dialects.narrowing import instance_of


def _constants(facts: Facts) -> tuple[int, int] | None:
    left, right = facts[0].constant_value, facts[1].constant_value
    return None if left is None or right is None else (left, right)


@RULES.add(arith.AddiOp)
def add(op: arith.AddiOp, facts: Facts) -> AxisInfo:
    """l + r: C = max(min(K_l, C_r), min(C_l, K_r)), D = min(D_l, D_r), both read where the groups of C begin."""
    known = _constants(facts)
    if known:
        return constant_result(op, known[0] + known[1])
    return _sum(facts[0], facts[1], 1, facts[0].non_negative and facts[1].non_negative)


@RULES.add(tt.AddPtrOp)
def addptr(op: tt.AddPtrOp, facts: Facts) -> AxisInfo:
    """p + i: as a sum, with contiguity in elements and divisibility in bytes (D_i times the size of an element)."""
    return _sum(facts[0], facts[1], pointee_bytes(op.operands[0].type), False)


def _sum(left: AxisInfo, right: AxisInfo, unit: int, non_negative: bool) -> AxisInfo:
    contiguity = tuple(
        [
            max(min(kl, cr), min(cl, kr))
            for cl, kl, cr, kr in zip(left.contiguity, left.constancy, right.contiguity, right.constancy, strict=True)
        ]
    )
    divisibility = tuple(
        [
            min(divisibility_at(left, d, c, unit), min(divisibility_at(right, d, c) * unit, MAX_DIVISOR))
            for d, c in enumerate(contiguity)
        ]
    )
    return AxisInfo(contiguity, divisibility, _constancy(left, right), None, non_negative)


def _constancy(left: AxisInfo, right: AxisInfo) -> tuple[int, ...]:
    return tuple(map(min, left.constancy, right.constancy))


@RULES.add(arith.SubiOp)
def sub(op: arith.SubiOp, facts: Facts) -> AxisInfo:
    """l - r: C = min(C_l, K_r) (a falling sequence is not contiguous), D = min(D_l, D_r) where its groups begin."""
    known = _constants(facts)
    if known:
        return constant_result(op, known[0] - known[1])
    left, right = facts
    contiguity = tuple(map(min, left.contiguity, right.constancy))
    divisibility = tuple(
        [min(divisibility_at(left, d, c), divisibility_at(right, d, c)) for d, c in enumerate(contiguity)]
    )
    return AxisInfo(contiguity, divisibility, _constancy(left, right))


@RULES.add(arith.MuliOp)
def mul(op: arith.MuliOp, facts: Facts) -> AxisInfo:
    """l * r: D = D_l * D_r over single elements (a contiguous side counts 1); C only when the other side is 1."""
    left, right = facts
    known = _constants(facts)
    if known:
        return constant_result(op, known[0] * known[1])
    if left.constant_value == 0 or right.constant_value == 0:
        return constant_result(op, 0)
    if right.constant_value == 1:
        return left
    if left.constant_value == 1:
        return right
    rank = left.rank
    divisibility = tuple(
        [min(divisibility_at(left, d, 1) * divisibility_at(right, d, 1), MAX_DIVISOR) for d in range(rank)]
    )
    return AxisInfo((1,) * rank, divisibility, _constancy(left, right), None, left.non_negative and right.non_negative)


@RULES.add(arith.ShLIOp)
def shift_left(op: arith.ShLIOp, facts: Facts) -> AxisInfo:
    """l << r: D = D_l * 2^r over single elements for a constant r, D_l otherwise."""
    left, right = facts
    shift = _shift(op, right)
    if shift is not None and left.constant_value is not None:
        return constant_result(op, left.constant_value << shift)
    if shift == 0:
        return left
    rank = left.rank
    factor = 1 << (shift or 0)
    divisibility = tuple([min(divisibility_at(left, d, 1) * factor, MAX_DIVISOR) for d in range(rank)])
    return AxisInfo((1,) * rank, divisibility, _constancy(left, right), None, left.non_negative)


@RULES.add(arith.ShRSIOp, arith.ShRUIOp)
def shift_right(op: arith.ShRSIOp | arith.ShRUIOp, facts: Facts) -> AxisInfo:
    """l >> r: D = D_l / 2^r over single elements, when r is a constant that D_l covers."""
    left, right = facts
    shift = _shift(op, right)
    logical = isinstance(op, arith.ShRUIOp)
    if shift is not None and left.constant_value is not None:
        width = integer_width(op.results[0].type)
        value = unsigned(left.constant_value, width) if logical else signed(left.constant_value, width)
        return constant_result(op, value >> shift)
    if shift == 0:
        return left
    rank = left.rank
    divisibility = (1,) * rank
    if shift is not None:
        divisibility = tuple([max(1, divisibility_at(left, d, 1) >> shift) for d in range(rank)])
    non_negative = left.non_negative or (logical and shift is not None)
    return AxisInfo((1,) * rank, divisibility, _constancy(left, right), None, non_negative)


def _shift(op: Operation, amount: AxisInfo) -> int | None:
    """A constant shift amount that does not make the result poison."""
    shift = amount.constant_value
    if shift is None or not 0 <= shift < integer_width(op.results[0].type):
        return None
    return shift


def _bitwise(op: Operation, facts: Facts, combine: Callable[[int, int], int], non_negative: bool) -> AxisInfo:
    known = _constants(facts)
    if known:
        return constant_result(op, combine(*known))
    left, right = facts
    ones = (1,) * left.rank
    return AxisInfo(ones, ones, _constancy(left, right), None, non_negative)


@RULES.add(arith.AndIOp)
def bit_and(op: arith.AndIOp, facts: Facts) -> AxisInfo:
    """l & r: K = min(K_l, K_r)."""
    return _bitwise(op, facts, int.__and__, facts[0].non_negative or facts[1].non_negative)


@RULES.add(arith.OrIOp)
def bit_or(op: arith.OrIOp, facts: Facts) -> AxisInfo:
    """l | r: K = min(K_l, K_r)."""
    return _bitwise(op, facts, int.__or__, facts[0].non_negative and facts[1].non_negative)


@RULES.add(arith.XOrIOp)
def bit_xor(op: arith.XOrIOp, facts: Facts) -> AxisInfo:
    """l ^ r: K = min(K_l, K_r)."""
    return _bitwise(op, facts, int.__xor__, facts[0].non_negative and facts[1].non_negative)


@RULES.add(arith.DivSIOp, arith.DivUIOp)
def divide(op: arith.DivSIOp | arith.DivUIOp, facts: Facts) -> AxisInfo:
    """l / r: K = min(C_l, D_l, D_r) if l is contiguous and r constant along the axis (signed: and l >= 0 known)."""
    left, right = facts
    is_signed = isinstance(op, arith.DivSIOp)
    divisor = _read(op, right.constant_value, is_signed)
    dividend = _read(op, left.constant_value, is_signed)
    if dividend is not None and divisor:
        return constant_result(op, toward_zero(dividend, divisor))
    if divisor == 1:
        return left
    constancy = tuple(map(min, left.constancy, right.constancy))
    if not is_signed or left.non_negative:
        constancy = tuple(map(max, constancy, _aligned_groups(op, left, right)))
    rank = left.rank
    divisibility = (1,) * rank
    if dividend == 0:
        divisibility = left.divisibility
    elif divisor is not None and divisor & -divisor == abs(divisor) != 0:
        divisibility = tuple([_exact_quotient(left, d, abs(divisor)) for d in range(rank)])
    return AxisInfo((1,) * rank, divisibility, constancy, None, _quotient_non_negative(left, divisor, is_signed))


def _quotient_non_negative(left: AxisInfo, divisor: int | None, is_signed: bool) -> bool:
    if not left.non_negative:
        return False
    return not is_signed or divisor is None or divisor > 0


def _exact_quotient(left: AxisInfo, dim: int, divisor: int) -> int:
    """What divides l / divisor, if every element of l is a multiple of the divisor."""
    if left.contiguity[dim] != 1:
        return 1
    return max(1, left.divisibility[dim] // divisor)


@RULES.add(arith.RemSIOp, arith.RemUIOp)
def remainder(op: arith.RemSIOp | arith.RemUIOp, facts: Facts) -> AxisInfo:
    """l % r: C = min(C_l, D_l, D_r) if l is contiguous and r constant along the axis (signed: and l >= 0 known)."""
    left, right = facts
    is_signed = isinstance(op, arith.RemSIOp)
    divisor = _read(op, right.constant_value, is_signed)
    dividend = _read(op, left.constant_value, is_signed)
    if dividend is not None and divisor:
        return constant_result(op, dividend - divisor * toward_zero(dividend, divisor))
    if divisor == 1:
        return constant_result(op, 0)
    rank = left.rank
    contiguity = (1,) * rank
    if not is_signed or left.non_negative:
        contiguity = _aligned_groups(op, left, right)
    divisibility = tuple(
        [
            min(divisibility_at(left, d, c), divisibility_at(right, d, c)) if right.constancy[d] > 1 else 1
            for d, c in enumerate(contiguity)
        ]
    )
    non_negative = left.non_negative or (not is_signed and right.non_negative)
    return AxisInfo(contiguity, divisibility, tuple(map(min, left.constancy, right.constancy)), None, non_negative)


def _aligned_groups(op: Operation, left: AxisInfo, right: AxisInfo) -> tuple[int, ...]:
    """Length of the groups of a contiguous l that no multiple of a constant r splits; 1 where it is not of that form."""
    if not instance_of(op.results[0].type, TensorType):
        return (1,) * left.rank
    shape = axis_lengths(op.results[0].type)
    return tuple(
        [
            min(cl, dl, dr) if cl == size and kr == size else 1
            for cl, dl, dr, kr, size in zip(
                left.contiguity, left.divisibility, right.divisibility, right.constancy, shape, strict=True
            )
        ]
    )


def _read(op: Operation, value: int | None, is_signed: bool) -> int | None:
    if value is None:
        return None
    width = integer_width(op.results[0].type)
    return signed(value, width) if is_signed else unsigned(value, width)


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
