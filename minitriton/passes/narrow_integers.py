"""64-bit integers that fit 32 bits, computed in 32: the rules of `minitriton-integer-ranges` for this.

    muli (extsi a), %c : i64, in [-2^31, 2^31)      =>  extsi (muli a, c : i32)        so too + - & | ^ <<
    divsi (extsi a), (extsi b) : i64                =>  extsi (divsi a, b : i32)       unsigned where neither is negative
    divsi (extsi a), (extsi b), any a and b         =>  the same {fits_32_bits}: -2^31 / -1 = 2^31 is left to the lowering
    cmpi slt (extsi a), %c                          =>  cmpi slt a, c
    addptr %p, (broadcast (extsi a))                =>  addptr %p, (broadcast a)

Sums and bits are narrowed where their operands were extended from 32 bits, so that no number goes to and fro; products, quotients and
remainders wherever they fit. By ptxas 12.8 for sm_90a a product of 64 bits is 4 instructions, a signed quotient 88, a remainder 82, and of 32
bits 1, 25 and 23 (19 and 18 unsigned).
"""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerType, TensorType, i32
from xdsl.ir import Attribute, Operation, OpResult, SSAValue

from minitriton.analysis.integer_range.analysis import IntegerRange, IntegerRangeAnalysis
from minitriton.analysis.integer_range.fact import signed, unsigned
from minitriton.dialects import arith, tt
from minitriton.dialects.arith.predicates import predicate_of
from minitriton.dialects.facts import Division, MovesElements, OfLowBits
from minitriton.dialects.narrowing import instance_of
from minitriton.dialects.tt.types import element_type
from minitriton.rewriting.constants import int_constant
from minitriton.rewriting.insertion import Inserter

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
    """32 bits in place of the result of `op`, of which either range fits."""
    found = ranges.get(op.results[0])
    if fits_signed(found):
        ranges.facts[value] = signed(32, found.smin, found.smax)
        return at.value(arith.ExtSIOp(value, op.results[0].type))
    ranges.facts[value] = unsigned(32, found.umin, found.umax)
    return at.value(arith.ExtUIOp(value, op.results[0].type))


def narrow_bits(op: Operation, ranges: IntegerRangeAnalysis, at: Inserter) -> SSAValue | None:
    """ext a + ext b = ext (a + b) where that fits; so too - * & | ^"""
    if OfLowBits.of(op) is None or not _is_64_bits(op.results[0].type):
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
