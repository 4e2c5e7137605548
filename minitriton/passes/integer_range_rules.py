"""Integers in fewer and narrower operations, by what is known of their ranges: the rules of `minitriton-simplify-integers` that ask an analysis.

In: TTIR. Out: TTIR that computes the same bits, for all arguments. `x` and `d` stand for integers about which `analysis.integer_range.analysis`
knows enough.

    divsi x, d;  remsi x, d          =>  divui x, d;  remui x, d              x >= 0, d >= 0
    divsi x, d;  remsi x, d          =>  the same {non_negative_dividend}     x >= 0: lowered as if unsigned, the sign of d afterwards
    remsi x, d                       =>  x                                    0 <= x < d
    cmpi slt x, y                    =>  true or false; so any result that is one number
    load %p, true                    =>  load %p                              as any op on what has become constant
    minsi x, y                       =>  x                                    x <= y
    andi x, 2^k - 1                  =>  x                                    0 <= x < 2^k
    extsi (trunci x)                 =>  x                                    x fits
    muli (extsi a), %c : i64         =>  extsi (muli a, c : i32)              the result fits 32 bits; so too + - & | ^ min max
    divsi (extsi a), (extsi b) : i64 =>  extsi (divsi a, b : i32)             unsigned where neither is negative
    divsi (extsi a), (extsi b) : i64 =>  the same {fits_32_bits}              any a and b: -2^31 / -1 = 2^31 is left to the lowering
    cmpi slt (extsi a), %c           =>  cmpi slt a, c
    addptr %p, (broadcast (extsi a)) =>  addptr %p, (broadcast a)

Additions and bitwise operations are narrowed where their operands were extended from 32 bits, so that no number is converted to and fro; products,
quotients and remainders wherever they fit. By ptxas 12.8 for sm_90a a multiplication of 64 bits is 4 instructions, a signed quotient 88, a remainder 82,
and of 32 bits 1, 25 and 23 (19 and 18 unsigned).

Shifts and masks for powers of two are left to LLVM, which makes them of unsigned divisions; axis info and index enumeration see more in a division.
What an assumption rests on is not folded.
"""

from collections.abc import Callable

from xdsl.dialects.builtin import IntegerType, ModuleOp, TensorType, UnitAttr, i32
from xdsl.ir import Attribute, Operation, OpResult, SSAValue

from minitriton.analysis.axis_info.rules_arith import SLE, ULE
from minitriton.analysis.integer_range.analysis import (
    FITS_32_BITS,
    GRID_LIMITS,
    NON_NEGATIVE_DIVIDEND,
    IntegerRange,
    IntegerRangeAnalysis,
)
from minitriton.analysis.integer_range.lattice import signed, unsigned
from minitriton.analysis.integer_range.rules import compare
from minitriton.dialects import arith, math, tt
from minitriton.dialects.arith.compare import predicate_of
from minitriton.dialects.facts import Division, IntegerExtremum, MovesElements, TruncationCommutes
from minitriton.dialects.fast_paths.op_access import ops_in
from minitriton.dialects.llvm import AssumeOp
from minitriton.dialects.narrowing import instance_of
from minitriton.dialects.op_rules import OpRules
from minitriton.dialects.tt.types import element_type
from minitriton.rewriting.constants import int_constant, width_of
from minitriton.rewriting.rewriter import Inserter

Rule = Callable[[Operation, IntegerRangeAnalysis, Inserter], "SSAValue | None"]
"""The value that replaces an op's result; None if the rule does not apply."""

_MINUS_2_31, _2_31 = -(1 << 31), 1 << 31


def _is_64_bits(type_: Attribute) -> bool:
    element = element_type(type_)
    return instance_of(element, IntegerType) and element.width.data == 64


def _type32(type_: Attribute) -> Attribute:
    return TensorType(i32, type_.shape, type_.encoding) if instance_of(type_, TensorType) else i32


def fits_signed(found: IntegerRange) -> bool:
    """Whether all numbers are those of an i32."""
    return found.smin >= _MINUS_2_31 and found.smax < _2_31


def fits_unsigned(found: IntegerRange) -> bool:
    """Whether all numbers are those of an unsigned i32."""
    return found.umax < 2 * _2_31


def extended_from_32(value: SSAValue, at: Inserter) -> SSAValue | None:
    """The low 32 bits of a value that is a constant or was made of at most 32 bits; None if cutting it would be new work."""
    type_ = _type32(value.type)
    number = int_constant(value)
    if number is not None:
        return at.integer(type_, number)
    op = value.op if isinstance(value, OpResult) else None
    if isinstance(op, arith.ExtSIOp | arith.ExtUIOp):
        source = op.operands[0]
        return source if source.type == type_ else at.value(op.__class__(source, type_))
    if op is not None and MovesElements.of(op):
        source = extended_from_32(op.operands[0], at)
        if source is not None:
            return at.value(op.__class__.create(operands=[source], result_types=[type_], properties=op.properties))
    return None


def low_half(value: SSAValue, at: Inserter) -> SSAValue:
    """The low 32 bits of a value."""
    narrow = extended_from_32(value, at)
    return narrow if narrow is not None else at.value(arith.TruncIOp(value, _type32(value.type)))


def _extended(value: SSAValue, op: Operation, ranges: IntegerRangeAnalysis, at: Inserter) -> SSAValue:
    """32 bits in place of the result of `op`, whose range may be either."""
    found = ranges.get(op.results[0])
    if fits_signed(found):
        ranges.facts[value] = signed(32, found.smin, found.smax)
        return at.value(arith.ExtSIOp(value, op.results[0].type))
    ranges.facts[value] = unsigned(32, found.umin, found.umax)
    return at.value(arith.ExtUIOp(value, op.results[0].type))


def narrow_bits(op: Operation, ranges: IntegerRangeAnalysis, at: Inserter) -> SSAValue | None:
    """ext a + ext b = ext (a + b) where that fits; so too - * & | ^"""
    if TruncationCommutes.of(op) is None or not _is_64_bits(op.results[0].type):
        return None
    found = ranges.get(op.results[0])
    if not fits_signed(found) and not fits_unsigned(found):
        return None
    if not isinstance(op, arith.MuliOp) and not all(_is_from_32(operand) for operand in op.operands):
        return None
    low = op.__class__(*(low_half(operand, at) for operand in op.operands))
    return _extended(at.value(low), op, ranges, at)


def _is_from_32(value: SSAValue) -> bool:
    """Whether `extended_from_32` finds something."""
    op = value.op if isinstance(value, OpResult) else None
    if op is not None and MovesElements.of(op):
        return _is_from_32(op.operands[0])
    return isinstance(op, arith.ExtSIOp | arith.ExtUIOp) or int_constant(value) is not None


def narrow_division(op: Operation, ranges: IntegerRangeAnalysis, at: Inserter) -> SSAValue | None:
    """ext a / ext b = ext (a / b) of 32 bits, where a = -2^31, b = -1 cannot be; so too %"""
    if Division.of(op) is None or not _is_64_bits(op.results[0].type):
        return None
    a, b = (ranges.get(operand) for operand in op.operands)
    if fits_unsigned(a) and fits_unsigned(b):
        cls = arith.DivUIOp if isinstance(op, arith.DivSIOp | arith.DivUIOp) else arith.RemUIOp
    elif (
        not isinstance(op, arith.DivSIOp | arith.RemSIOp)
        or not fits_signed(a)
        or not fits_signed(b)
        or (a.smin == _MINUS_2_31 and b.smin <= -1 <= b.smax)
    ):
        return None
    else:
        cls = op.__class__
    return _extended(at.value(cls(*(low_half(operand, at) for operand in op.operands))), op, ranges, at)


def fits_but_for_one(op: Operation, ranges: IntegerRangeAnalysis) -> bool:
    """Whether a signed division of 64 bits has operands of 32, -2^31 / -1 = 2^31 not excluded."""
    return (
        isinstance(op, arith.DivSIOp | arith.RemSIOp)
        and _is_64_bits(op.results[0].type)
        and all(fits_signed(ranges.get(operand)) for operand in op.operands)
    )


def narrow_extremum(op: Operation, ranges: IntegerRangeAnalysis, at: Inserter) -> SSAValue | None:
    """max (ext a), (ext b) = ext (max a, b); so too min"""
    if not isinstance(op, arith.MaxSIOp | arith.MinSIOp) or not _fit_and_from_32(op, ranges):
        return None
    narrow = op.__class__(*(low_half(operand, at) for operand in op.operands))
    return _extended(at.value(narrow), op, ranges, at)


def _fit_and_from_32(op: Operation, ranges: IntegerRangeAnalysis) -> bool:
    return _is_64_bits(op.operands[0].type) and all(
        fits_signed(ranges.get(operand)) and _is_from_32(operand) for operand in op.operands
    )


def narrow_comparison(op: Operation, ranges: IntegerRangeAnalysis, at: Inserter) -> SSAValue | None:
    """cmpi (extsi a), (extsi b) = cmpi a, b, whatever the predicate: extension keeps both orders"""
    if not isinstance(op, arith.CmpiOp) or not _fit_and_from_32(op, ranges):
        return None
    left, right = (low_half(operand, at) for operand in op.operands)
    return at.value(arith.CmpiOp(left, right, predicate_of(op)))


def narrow_offset(op: Operation, ranges: IntegerRangeAnalysis, at: Inserter) -> SSAValue | None:
    """addptr p, (moved (ext a)) = addptr p, (moved a), of tensors: pointers extend their offsets themselves"""
    if not isinstance(op, tt.AddPtrOp) or not instance_of(op.results[0].type, TensorType):
        return None
    pointer, offset = op.operands
    if not _is_64_bits(offset.type) or not fits_signed(ranges.get(offset)) or not _is_from_32(offset):
        return None
    new = tt.AddPtrOp.create(
        operands=[pointer, low_half(offset, at)], result_types=[op.results[0].type], attributes=op.attributes
    )
    return at.value(new)


_UNSIGNED: dict[type[Operation], type[Operation]] = {
    arith.DivSIOp: arith.DivUIOp,
    arith.FloorDivSIOp: arith.DivUIOp,
    arith.CeilDivSIOp: arith.CeilDivUIOp,
    arith.RemSIOp: arith.RemUIOp,
}


def one_number(op: Operation, ranges: IntegerRangeAnalysis, at: Inserter) -> SSAValue | None:
    """x = n, whose range is one number"""
    number = ranges.get(op.results[0]).constant
    return None if number is None else at.integer(op.results[0].type, number)


def divide_unsigned(op: Operation, ranges: IntegerRangeAnalysis, at: Inserter) -> SSAValue | None:
    """divsi x, d = divui x, d and remsi x, d = remui x, d where neither is negative"""
    if not all(ranges.get(operand).is_non_negative for operand in op.operands):
        return None
    return at.value(_UNSIGNED[op.__class__](*op.operands))


def remainder_of_less(op: Operation, ranges: IntegerRangeAnalysis, at: Inserter) -> SSAValue | None:
    """x % d = x where 0 <= x < d"""
    x, d = (ranges.get(operand) for operand in op.operands)
    if isinstance(op, arith.RemSIOp):
        return op.operands[0] if x.smin >= 0 and x.smax < d.smin else None
    return op.operands[0] if x.umax < d.umin else None


def note_division(op: Operation, ranges: IntegerRangeAnalysis) -> None:
    """What is known of a signed division that stays one: for the lowering, which makes it of sizes, the sign afterwards.

    As ops of their own the sizes and signs would hide from axis info what it knows of quotients and remainders.
    """
    if not isinstance(op, arith.DivSIOp | arith.RemSIOp) or int_constant(op.operands[1]) is not None:
        return
    if fits_but_for_one(op, ranges):
        op.attributes[FITS_32_BITS] = UnitAttr()
    elif ranges.get(op.operands[0]).is_non_negative:
        op.attributes[NON_NEGATIVE_DIVIDEND] = UnitAttr()


def known_side(op: Operation, ranges: IntegerRangeAnalysis, at: Inserter) -> SSAValue | None:
    """min(x, y) = x where x <= y; max(x, y) = y"""
    kind = IntegerExtremum.of(op)
    assert kind is not None
    predicate = SLE if kind.signed else ULE
    left, right = op.operands
    small, large = (left, right) if not kind.greatest else (right, left)
    if compare(predicate, ranges.get(left), ranges.get(right)):
        return small
    return large if compare(predicate, ranges.get(right), ranges.get(left)) else None


def mask_of_less(op: Operation, ranges: IntegerRangeAnalysis, at: Inserter) -> SSAValue | None:
    """x & m = x where m has all bits that x may have"""
    for value, mask in (tuple(op.operands), tuple(reversed(op.operands))):
        number = int_constant(mask)
        if number is not None and number != 0:
            low_ones = (number & ~(number + 1)) % (1 << width_of(mask.type))
            if ranges.get(value).umax <= low_ones:
                return value
    return None


def extension_of_part(op: Operation, ranges: IntegerRangeAnalysis, at: Inserter) -> SSAValue | None:
    """ext (trunci x) = x where x fits"""
    part = op.operands[0]
    if not isinstance(part, OpResult) or not isinstance(part.op, arith.TruncIOp):
        return None
    whole = part.op.operands[0]
    if whole.type != op.results[0].type:
        return None
    x, half = ranges.get(whole), 1 << (width_of(part.type) - 1)
    fits = x.umax < 2 * half if isinstance(op, arith.ExtUIOp) else -half <= x.smin and x.smax < half
    return whole if fits else None


_NUMBERED = (arith.SelectOp, arith.ShLIOp, arith.ShRSIOp, arith.ShRUIOp, arith.TruncIOp, math.AbsIOp)
_SUMS = (arith.AddiOp, arith.SubiOp, arith.MuliOp, arith.OrIOp, arith.XOrIOp)
_RULES: OpRules[tuple[Rule, ...]] = OpRules()
"""What is tried of each op, in this order."""
_RULES.update(
    {
        **dict.fromkeys(_NUMBERED, (one_number,)),
        **dict.fromkeys(_SUMS, (one_number, narrow_bits)),
        arith.AndIOp: (one_number, mask_of_less, narrow_bits),
        arith.CmpiOp: (one_number, narrow_comparison),
        arith.DivSIOp: (one_number, narrow_division, divide_unsigned),
        arith.DivUIOp: (one_number, narrow_division),
        arith.FloorDivSIOp: (one_number, divide_unsigned),
        arith.CeilDivSIOp: (one_number, divide_unsigned),
        arith.RemSIOp: (one_number, remainder_of_less, narrow_division, divide_unsigned),
        arith.RemUIOp: (one_number, remainder_of_less, narrow_division),
        arith.MinSIOp: (one_number, known_side, narrow_extremum),
        arith.MaxSIOp: (one_number, known_side, narrow_extremum),
        arith.MinUIOp: (one_number, known_side),
        arith.MaxUIOp: (one_number, known_side),
        arith.ExtSIOp: (one_number, extension_of_part),
        arith.ExtUIOp: (one_number, extension_of_part),
        tt.AddPtrOp: (narrow_offset,),
    }
)

_WORTH_LOOKING = frozenset(_RULES) - {*_NUMBERED, *_SUMS, arith.AndIOp, arith.ExtUIOp, tt.AddPtrOp}
"""Ops without which a module is not analysed: there is nothing to gain, or LLVM sees it too."""


def rewrite_by_ranges(module: ModuleOp, max_programs: int) -> bool | None:
    """Rewrites every op whose ranges allow it, once, in order; at most `max_programs` programs run along x. None: nothing is to be looked at.

    Where False is returned, divisions may have been marked nevertheless.
    """
    found = [each for each in ops_in(module) if _RULES.of(each) is not None]
    if not any(each.__class__ in _WORTH_LOOKING for each in found):
        return None
    ranges = IntegerRangeAnalysis(module, (max_programs, *GRID_LIMITS[1:]))
    rewritten = [each for each in found if _rewrite(each, ranges)]
    return bool(rewritten)


def _rewrite(op: Operation, ranges: IntegerRangeAnalysis) -> bool:
    """Put the value of the first rule that applies in place of the op's result."""
    if not op.results or op.results[0].first_use is None:
        return False
    at = Inserter.before(op)
    for rule in _RULES.of(op) or ():
        value = rule(op, ranges, at)
        if value is not None:
            _replace(op, value, ranges)
            return True
    note_division(op, ranges)
    return False


def _replace(op: Operation, value: SSAValue, ranges: IntegerRangeAnalysis) -> None:
    old = op.results[0]
    if value not in ranges.facts:
        ranges.facts[value] = ranges.get(old)
    for use in list(old.uses):
        if not _is_assumed(use.operation):
            use.operation.operands[use.index] = value
    if value.name_hint is None:
        value.name_hint = old.name_hint
    if old.first_use is None and op.parent is not None:
        op.parent.erase_op(op)


def _is_assumed(user: Operation) -> bool:
    """Whether an op does no more than say what is assumed: of `n % 16 == 0` the comparison too, which makes the remainder 0."""
    if isinstance(user, AssumeOp):
        return True
    return isinstance(user, arith.AndIOp | arith.CmpiOp) and all(
        _is_assumed(use.operation) for use in user.results[0].uses
    )
