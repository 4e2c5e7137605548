"""Integer divisions.

Signed ones about which integer ranges know more than their type: made of sizes, unsigned and of 32 bits, the sign afterwards.

    non_negative_dividend        x / d = (x / |d|) with the sign of d               x % d = x % |d|
    fits_32_bits (of 64)         x / d = (|x| / |d|) with the sign of x ^ d         x % d = (|x| % |d|) with the sign of x

`minitriton-simplify-integers` notes which divisions these are. The size of the least number, read as unsigned, is right as it is.

Divisions that round up or down are made of the one that rounds to zero:

    ceil(a / b)  = a / b + (a % b != 0 and a, b have one sign)          ceildivsi(7, 2) = 3 + 1
    floor(a / b) = a / b - (a % b != 0 and a, b have two signs)         floordivsi(-7, 2) = -3 - 1
"""

from collections.abc import Callable, Sequence

from xdsl.dialects import llvm as L
from xdsl.ir import Operation, SSAValue

from minitriton.analysis.integer_range.analysis import FITS_32_BITS, NON_NEGATIVE_DIVIDEND
from minitriton.codegen.builder import Builder
from minitriton.codegen.types import I32, I64, bit_width, lane_type
from minitriton.dialects import arith
from minitriton.dialects.op_rules import OpRules

Emit = Callable[[Builder, Sequence[SSAValue]], SSAValue]


def _size(b: Builder, number: SSAValue) -> SSAValue:
    return b.overloaded("llvm.smax", (number, b.sub(b.constant(number.type, 0), number)))


def _sign(b: Builder, number: SSAValue) -> SSAValue:
    """-1 for what is negative, else 0."""
    last = b.constant(number.type, bit_width(lane_type(number.type)) - 1)
    return b.lanewise(L.AShrOp, (number, last), number.type)


def _with_sign(b: Builder, size: SSAValue, sign: SSAValue) -> SSAValue:
    """`size` flipped and less -1 where `sign` is -1: its negative."""
    return b.sub(b.xor(size, sign), sign)


def _quotient_of_non_negative(b: Builder, v: Sequence[SSAValue]) -> SSAValue:
    dividend, divisor = v
    quotient = b.lanewise(L.UDivOp, (dividend, _size(b, divisor)), dividend.type)
    return _with_sign(b, quotient, _sign(b, divisor))


def _remainder_of_non_negative(b: Builder, v: Sequence[SSAValue]) -> SSAValue:
    dividend, divisor = v
    return b.lanewise(L.URemOp, (dividend, _size(b, divisor)), dividend.type)


def _quotient_of_32_bits(b: Builder, v: Sequence[SSAValue]) -> SSAValue:
    """The sign is given to 64 bits: 2^31 is a quotient too."""
    dividend, divisor = (b.cast(L.TruncOp, x, I32) for x in v)
    quotient = b.lanewise(L.UDivOp, (_size(b, dividend), _size(b, divisor)), dividend.type)
    sign = _sign(b, b.xor(dividend, divisor))
    return _with_sign(b, b.cast(L.ZExtOp, quotient, I64), b.cast(L.SExtOp, sign, I64))


def _remainder_of_32_bits(b: Builder, v: Sequence[SSAValue]) -> SSAValue:
    dividend, divisor = (b.cast(L.TruncOp, x, I32) for x in v)
    remainder = b.lanewise(L.URemOp, (_size(b, dividend), _size(b, divisor)), dividend.type)
    return b.cast(L.SExtOp, _with_sign(b, remainder, _sign(b, dividend)), I64)


_OF_NON_NEGATIVE: OpRules[Emit] = OpRules()
_OF_NON_NEGATIVE.update({arith.DivSIOp: _quotient_of_non_negative, arith.RemSIOp: _remainder_of_non_negative})
_OF_32_BITS: OpRules[Emit] = OpRules()
_OF_32_BITS.update({arith.DivSIOp: _quotient_of_32_bits, arith.RemSIOp: _remainder_of_32_bits})


def known_division(op: Operation) -> Emit | None:
    """How a division with something noted is made, lane by lane; None for every other op."""
    if not op.attributes:
        return None
    if FITS_32_BITS in op.attributes:
        return _OF_32_BITS.of(op)
    return _OF_NON_NEGATIVE.of(op) if NON_NEGATIVE_DIVIDEND in op.attributes else None


def _correction(b: Builder, numerator: SSAValue, divisor: SSAValue, quotient: SSAValue, sign: str) -> SSAValue:
    """1 where the division leaves a rest and the sign bit of `numerator ^ divisor` compares with 0 as `sign` says."""
    zero = b.constant(numerator.type, 0)
    is_inexact = b.icmp("ne", b.mul(quotient, divisor), numerator)
    is_signed_so = b.icmp(sign, b.xor(numerator, divisor), zero)
    return b.cast(L.ZExtOp, b.and_(is_inexact, is_signed_so), lane_type(numerator.type))


def rounded_up(b: Builder, v: Sequence[SSAValue]) -> SSAValue:
    """`ceil(a / b)`."""
    quotient = b.binary(L.SDivOp, v[0], v[1])
    return b.add(quotient, _correction(b, v[0], v[1], quotient, "sge"))


def rounded_down(b: Builder, v: Sequence[SSAValue]) -> SSAValue:
    """`floor(a / b)`."""
    quotient = b.binary(L.SDivOp, v[0], v[1])
    return b.sub(quotient, _correction(b, v[0], v[1], quotient, "slt"))


def unsigned_rounded_up(b: Builder, v: Sequence[SSAValue]) -> SSAValue:
    """`ceil(a / b)` of numbers without signs."""
    quotient = b.binary(L.UDivOp, v[0], v[1])
    is_inexact = b.icmp("ne", b.mul(quotient, v[1]), v[0])
    return b.add(quotient, b.cast(L.ZExtOp, is_inexact, lane_type(v[0].type)))
