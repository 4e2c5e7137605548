"""The range of an op's result from the ranges of its operands, by op class.

Everything that wraps is computed exactly and then wrapped; what is undefined (division by zero, the least number divided by -1) may be anything.

    %1 = arith.muli %pid, %c64                signed [0, 65534] * [64, 64] = [0, 4194176]
    %2 = arith.divsi %1, %d                   [0, 1000] / [3, 7] = [0, 333]        bounded where both operands are extreme
    %3 = arith.remsi %1, %d                   [0, 1000] % [3, 7] = [0, 6]          keeps the sign of the dividend
    %4 = tt.make_range {start = 0, end = 128} [0, 127]
    %5 = tt.reduce(%4) by arith.addi          [0, 16256]
"""

from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import TypeAlias, cast

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IndexType, IntegerAttr, IntegerType, TensorType
from xdsl.ir import Operation

from minitriton.analysis.axis_info.lattice import axis_lengths, integer_width, splat_integer
from minitriton.analysis.integer_range.lattice import (
    NO_INTEGER,
    RULES,
    IntegerRange,
    Rule,
    full,
    join,
    meet,
    refined,
    signed,
    unsigned,
    wrapped,
)
from minitriton.dialects import arith, math, tt, ttg
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
    toward_zero,
)
from minitriton.dialects.facts import IntegerExtremum, MovesElements
from minitriton.dialects.narrowing import instance_of

Ranges: TypeAlias = Sequence[IntegerRange]


def exactly(width: int, number: int) -> IntegerRange:
    """The range of one number."""
    return wrapped(width, number, number)


@RULES.add(arith.ConstantOp)
def constant(op: arith.ConstantOp, ranges: Ranges) -> IntegerRange:
    """The number, or the least and the greatest of a tensor's."""
    value = op.value
    if instance_of(value, IntegerAttr):
        return exactly(integer_width(value.type), value.value.data)
    if not instance_of(value, DenseIntOrFPElementsAttr):
        return NO_INTEGER
    element = value.type.element_type
    if not instance_of(element, (IntegerType, IndexType)):
        return NO_INTEGER
    number = splat_integer(value)
    if number is not None:
        return exactly(integer_width(element), number)
    numbers = cast(Sequence[int], value.get_values())
    return wrapped(integer_width(element), min(numbers), max(numbers))


@RULES.add(arith.AddiOp)
def add(op: arith.AddiOp, ranges: Ranges) -> IntegerRange:
    """l + r"""
    a, b = ranges
    return meet(wrapped(a.width, a.smin + b.smin, a.smax + b.smax), wrapped(a.width, a.umin + b.umin, a.umax + b.umax))


@RULES.add(arith.SubiOp)
def subtract(op: arith.SubiOp, ranges: Ranges) -> IntegerRange:
    """l - r; a number less itself is 0"""
    a, b = ranges
    if op.operands[0] is op.operands[1]:
        return exactly(a.width, 0)
    return meet(wrapped(a.width, a.smin - b.smax, a.smax - b.smin), wrapped(a.width, a.umin - b.umax, a.umax - b.umin))


def product(width: int, a: IntegerRange, b: IntegerRange) -> IntegerRange:
    """l * r, in both views, wrapped to `width`"""
    corners = (a.smin * b.smin, a.smin * b.smax, a.smax * b.smin, a.smax * b.smax)
    return meet(wrapped(width, min(corners), max(corners)), wrapped(width, a.umin * b.umin, a.umax * b.umax))


@RULES.add(arith.MuliOp)
def multiply(op: arith.MuliOp, ranges: Ranges) -> IntegerRange:
    """l * r"""
    return product(ranges[0].width, ranges[0], ranges[1])


@RULES.add(tt.MulhiUIOp)
def multiply_high(op: tt.MulhiUIOp, ranges: Ranges) -> IntegerRange:
    """The upper half of the unsigned multiplication"""
    a, b = ranges
    return unsigned(a.width, a.umin * b.umin >> a.width, a.umax * b.umax >> a.width)


@RULES.add(arith.ShLIOp)
def shift_left(op: arith.ShLIOp, ranges: Ranges) -> IntegerRange:
    """l << r = l * 2^r, where no shift is as long as the type"""
    a, b = ranges
    if b.umax >= a.width:
        return full(a.width)
    low, high = 1 << b.umin, 1 << b.umax
    return product(a.width, a, IntegerRange(2 * a.width, low, high, low, high))


@RULES.add(arith.ShRUIOp)
def shift_right(op: arith.ShRUIOp, ranges: Ranges) -> IntegerRange:
    """l >> r, unsigned: a shift as long as the type leaves 0"""
    a, b = ranges
    return unsigned(a.width, a.umin >> min(b.umax, a.width), a.umax >> min(b.umin, a.width))


@RULES.add(arith.ShRSIOp)
def shift_right_signed(op: arith.ShRSIOp, ranges: Ranges) -> IntegerRange:
    """l >> r, signed: nearer to 0 or to -1 the longer the shift"""
    a, b = ranges
    least, most = min(b.umin, a.width), min(b.umax, a.width)
    low = a.smin >> (least if a.smin < 0 else most)
    high = a.smax >> (most if a.smax < 0 else least)
    return signed(a.width, low, high)


@RULES.add(arith.AndIOp)
def bit_and(op: arith.AndIOp, ranges: Ranges) -> IntegerRange:
    """l & r is at most either; l & -2^k rounds down to multiples of 2^k"""
    a, b = ranges
    found = unsigned(a.width, 0, min(a.umax, b.umax))
    number = b.constant
    if number is not None and number < 0 and number & -number == -number:
        found = meet(found, signed(a.width, a.smin & number, a.smax & number))
        found = meet(found, unsigned(a.width, a.umin + number + 1, a.umax))
    if a.smax < 0 and b.smax < 0:
        found = meet(found, signed(a.width, -1 << (a.width - 1), min(a.smax, b.smax)))
    return found


@RULES.add(arith.OrIOp)
def bit_or(op: arith.OrIOp, ranges: Ranges) -> IntegerRange:
    """l | r is at least either, and has no bit above both"""
    a, b = ranges
    bits = max(a.umax.bit_length(), b.umax.bit_length())
    return unsigned(a.width, max(a.umin, b.umin), (1 << bits) - 1)


@RULES.add(arith.XOrIOp)
def bit_xor(op: arith.XOrIOp, ranges: Ranges) -> IntegerRange:
    """l ^ r has no bit above both; l ^ -1 = -1 - l"""
    a, b = ranges
    if b.constant == -1:
        return meet(wrapped(a.width, -1 - a.smax, -1 - a.smin), wrapped(a.width, -1 - a.umax, -1 - a.umin))
    bits = max(a.umax.bit_length(), b.umax.bit_length())
    return unsigned(a.width, 0, (1 << bits) - 1)


@RULES.add(arith.MaxSIOp)
def max_signed(op: arith.MaxSIOp, ranges: Ranges) -> IntegerRange:
    """max(l, r), signed"""
    a, b = ranges
    return refined(a.width, max(a.smin, b.smin), max(a.smax, b.smax), min(a.umin, b.umin), max(a.umax, b.umax))


@RULES.add(arith.MinSIOp)
def min_signed(op: arith.MinSIOp, ranges: Ranges) -> IntegerRange:
    """min(l, r), signed"""
    a, b = ranges
    return refined(a.width, min(a.smin, b.smin), min(a.smax, b.smax), min(a.umin, b.umin), max(a.umax, b.umax))


@RULES.add(arith.MaxUIOp)
def max_unsigned(op: arith.MaxUIOp, ranges: Ranges) -> IntegerRange:
    """max(l, r), unsigned"""
    a, b = ranges
    return refined(a.width, min(a.smin, b.smin), max(a.smax, b.smax), max(a.umin, b.umin), max(a.umax, b.umax))


@RULES.add(arith.MinUIOp)
def min_unsigned(op: arith.MinUIOp, ranges: Ranges) -> IntegerRange:
    """min(l, r), unsigned"""
    a, b = ranges
    return refined(a.width, min(a.smin, b.smin), max(a.smax, b.smax), min(a.umin, b.umin), min(a.umax, b.umax))


@RULES.add(math.AbsIOp)
def absolute(op: math.AbsIOp, ranges: Ranges) -> IntegerRange:
    """|x|; that of the least number wraps to itself"""
    (a,) = ranges
    if a.smin >= 0:
        return a
    low = 0 if a.smax >= 0 else -a.smax
    return wrapped(a.width, low, max(-a.smin, a.smax))


@RULES.add(arith.ExtSIOp)
def extend_signed(op: Operation, ranges: Ranges) -> IntegerRange:
    """Widened with its sign"""
    return wrapped(integer_width(op.results[0].type), ranges[0].smin, ranges[0].smax)


@RULES.add(arith.ExtUIOp)
def extend_unsigned(op: Operation, ranges: Ranges) -> IntegerRange:
    """Widened with zeros"""
    return wrapped(integer_width(op.results[0].type), ranges[0].umin, ranges[0].umax)


@RULES.add(arith.TruncIOp)
def truncate(op: Operation, ranges: Ranges) -> IntegerRange:
    """Narrowed: both views are wrapped"""
    width, (a,) = integer_width(op.results[0].type), ranges
    return meet(wrapped(width, a.smin, a.smax), wrapped(width, a.umin, a.umax))


@RULES.add(arith.IndexCastOp, arith.IndexCastUIOp)
def cast_index(op: arith.IndexCastOp | arith.IndexCastUIOp, ranges: Ranges) -> IntegerRange:
    """To or from `index`: widened or narrowed, as it comes"""
    is_wider = integer_width(op.results[0].type) >= ranges[0].width
    if not is_wider:
        return truncate(op, ranges)
    return extend_unsigned(op, ranges) if isinstance(op, arith.IndexCastUIOp) else extend_signed(op, ranges)


@RULES.add(arith.BitcastOp, tt.BitcastOp)
def bitcast(op: arith.BitcastOp | tt.BitcastOp, ranges: Ranges) -> IntegerRange:
    """The same bits; those of a float say nothing"""
    element = getattr(op.results[0].type, "element_type", op.results[0].type)
    if not instance_of(element, IntegerType):
        return NO_INTEGER
    return ranges[0] if ranges[0].width == element.width.data else full(element.width.data)


@RULES.add(arith.SelectOp)
def select(op: arith.SelectOp, ranges: Ranges) -> IntegerRange:
    """c ? l : r: either, or the one that a known c takes"""
    condition, a, b = ranges
    if condition.constant is not None:
        return a if condition.constant else b
    return join(a, b)


def compare(predicate: int, a: IntegerRange, b: IntegerRange) -> bool | None:
    """Whether a comparison (numbered as in MLIR) holds for all numbers of the ranges; None if for some only."""
    if predicate in (EQ, NE):
        if a.smax < b.smin or b.smax < a.smin or a.umax < b.umin or b.umax < a.umin:
            return predicate == NE
        return predicate == EQ if a.constant is not None and a.constant == b.constant else None
    if predicate in (SGT, SGE, UGT, UGE):
        a, b = b, a
    amin, amax, bmin, bmax = (a.smin, a.smax, b.smin, b.smax) if predicate < ULT else (a.umin, a.umax, b.umin, b.umax)
    if predicate in (SLT, SGT, ULT, UGT):
        return True if amax < bmin else False if amin >= bmax else None
    return True if amax <= bmin else False if amin > bmax else None


@RULES.add(arith.CmpiOp)
def compare_integers(op: arith.CmpiOp, ranges: Ranges) -> IntegerRange:
    """A comparison that the ranges decide"""
    holds = compare(predicate_of(op), ranges[0], ranges[1])
    return full(1) if holds is None else exactly(1, int(holds))


def restricted(fact: IntegerRange, predicate: int, other: IntegerRange) -> IntegerRange:
    """What is left of a range where a comparison with a number of another range holds."""
    width = fact.width
    if predicate in (EQ, NE):
        if predicate == EQ:
            return meet(fact, other)
        number = other.constant
        if number is None:
            return fact
        low, high = fact.smin + (fact.smin == number), fact.smax - (fact.smax == number)
        number %= 1 << width
        return meet(
            refined(width, low, high, 0, (1 << width) - 1),
            unsigned(width, fact.umin + (fact.umin == number), fact.umax - (fact.umax == number)),
        )
    strict = predicate in (SLT, SGT, ULT, UGT)
    limits = signed if predicate < ULT else unsigned
    ends = full(width)
    least, most = (ends.smin, ends.smax) if predicate < ULT else (ends.umin, ends.umax)
    if predicate in (SLT, SLE, ULT, ULE):
        most = (other.smax if predicate < ULT else other.umax) - strict
    else:
        least = (other.smin if predicate < ULT else other.umin) + strict
    return meet(fact, limits(width, least, most)) if least <= most else fact


def _divisors(b: IntegerRange) -> Iterator[int]:
    """The divisors at which a quotient can be extreme: the ends of what is negative and of what is positive."""
    if b.smin < 0:
        yield b.smin
        yield min(b.smax, -1)
    if b.smax > 0:
        yield max(b.smin, 1)
        yield b.smax


def _signed_quotient(rounded: Callable[[int, int], int]) -> Rule:
    def rule(op: Operation, ranges: Ranges) -> IntegerRange:
        a, b = ranges
        if a.smin == -1 << (a.width - 1) and b.smin <= -1 <= b.smax:
            return full(a.width)
        found = [rounded(x, d) for d in _divisors(b) for x in (a.smin, a.smax)]
        return signed(a.width, min(found), max(found)) if found else full(a.width)

    return rule


def _unsigned_quotient(rounded: Callable[[int, int], int]) -> Rule:
    def rule(op: Operation, ranges: Ranges) -> IntegerRange:
        a, b = ranges
        if b.umax == 0:
            return full(a.width)
        return unsigned(a.width, rounded(a.umin, b.umax), rounded(a.umax, max(b.umin, 1)))

    return rule


def _remainder(x: tuple[int, int], least: int, most: int) -> tuple[int, int]:
    """Bounds of x % d for x >= 0 and divisors from `least` (at least 1) to `most`."""
    low, high = x
    if high < least:
        return low, high
    if least == most and low // least == high // least:
        return low % least, high % least
    return 0, min(high, most - 1)


@RULES.add(arith.RemSIOp)
def remainder_signed(op: arith.RemSIOp, ranges: Ranges) -> IntegerRange:
    """x % d: |x| % |d|, with the sign of x"""
    a, b = ranges
    sizes = [abs(d) for d in _divisors(b)]
    if not sizes:
        return full(a.width)
    least, most = min(sizes), max(sizes)
    low, high = 0, 0
    if a.smax >= 0:
        low, high = _remainder((max(a.smin, 0), a.smax), least, most)
    if a.smin < 0:
        near, far = _remainder((max(-a.smax, 1), -a.smin), least, most)
        low, high = -far, high if a.smax >= 0 else -near
    return signed(a.width, low, high)


@RULES.add(arith.RemUIOp)
def remainder_unsigned(op: arith.RemUIOp, ranges: Ranges) -> IntegerRange:
    """x % d"""
    a, b = ranges
    if b.umax == 0:
        return full(a.width)
    return unsigned(a.width, *_remainder((a.umin, a.umax), max(b.umin, 1), b.umax))


RULES.update(
    {
        arith.DivSIOp: _signed_quotient(toward_zero),
        arith.FloorDivSIOp: _signed_quotient(lambda a, b: a // b),
        arith.CeilDivSIOp: _signed_quotient(lambda a, b: -(-a // b)),
        arith.DivUIOp: _unsigned_quotient(lambda a, b: a // b),
        arith.CeilDivUIOp: _unsigned_quotient(lambda a, b: -(-a // b)),
    }
)


@RULES.add(tt.MakeRangeOp)
def make_range(op: tt.MakeRangeOp, ranges: Ranges) -> IntegerRange:
    """start, start + 1, ..., end - 1"""
    return wrapped(32, op.start.value.data, op.end.value.data - 1)


@RULES.add(
    tt.SplatOp,
    tt.UnsplatOp,
    tt.ExpandDimsOp,
    tt.BroadcastOp,
    tt.ReshapeOp,
    tt.TransOp,
    tt.SplitOp,
    tt.GatherOp,
    ttg.ConvertLayoutOp,
    MovesElements,
)
def same(op: Operation, ranges: Ranges) -> IntegerRange:
    """The elements of the first operand, elsewhere"""
    return ranges[0]


@RULES.add(tt.JoinOp, tt.CatOp)
def either(op: tt.JoinOp | tt.CatOp, ranges: Ranges) -> IntegerRange:
    """Elements of both operands"""
    return join(ranges[0], ranges[1])


@RULES.add(tt.HistogramOp)
def histogram(op: tt.HistogramOp, ranges: Ranges) -> IntegerRange:
    """Counts of elements"""
    return unsigned(integer_width(op.results[0].type), 0, prod(axis_lengths(op.operands[0].type)))


@RULES.add(tt.ReduceOp, tt.ScanOp)
def combined(op: tt.ReduceOp | tt.ScanOp, ranges: Ranges) -> IntegerRange:
    """A reduction or scan by one op: an extremum is an element, a sum at most the count times the greatest"""
    if len(ranges) != 1 or not instance_of(op.operands[0].type, TensorType):
        return NO_INTEGER
    a, ops = ranges[0], list(op.regions[0].block.ops)
    if not a.width or len(ops) != 2 or len(op.results) != 1:
        return full(integer_width(op.results[0].type)) if a.width else NO_INTEGER
    if IntegerExtremum.of(ops[0]):
        return a
    if not isinstance(ops[0], arith.AddiOp):
        return full(a.width)
    count = op.operands[0].type.get_shape()[op.axis.value.data]
    least = 1 if isinstance(op, tt.ScanOp) else count
    ends = (least * a.smin, least * a.smax, count * a.smin, count * a.smax)
    return wrapped(a.width, min(ends), max(ends))
