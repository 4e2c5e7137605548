"""Integer divisions that round up or down, from the one that rounds to zero.

ceil(a / b)  = a / b + (a % b != 0 and a, b have one sign)          ceildivsi(7, 2) = 3 + 1
floor(a / b) = a / b - (a % b != 0 and a, b have two signs)         floordivsi(-7, 2) = -3 - 1
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import llvm as L
from xdsl.ir import SSAValue

from minitriton.codegen.builder import Builder
from minitriton.codegen.lowering.elementwise import lanewise
from minitriton.codegen.lowering.registry import LOWERINGS
from minitriton.codegen.types import lane_type
from minitriton.dialects import arith


def _correction(b: Builder, numerator: SSAValue, divisor: SSAValue, quotient: SSAValue, sign: str) -> SSAValue:
    """1 where the division leaves a rest and the sign bit of `numerator ^ divisor` compares with 0 as `sign` says."""
    zero = b.constant(numerator.type, 0)
    is_inexact = b.icmp("ne", b.mul(quotient, divisor), numerator)
    is_signed_so = b.icmp(sign, b.xor(numerator, divisor), zero)
    return b.cast(L.ZExtOp, b.and_(is_inexact, is_signed_so), lane_type(numerator.type))


def _up(b: Builder, v: Sequence[SSAValue]) -> SSAValue:
    quotient = b.binary(L.SDivOp, v[0], v[1])
    return b.add(quotient, _correction(b, v[0], v[1], quotient, "sge"))


def _down(b: Builder, v: Sequence[SSAValue]) -> SSAValue:
    quotient = b.binary(L.SDivOp, v[0], v[1])
    return b.sub(quotient, _correction(b, v[0], v[1], quotient, "slt"))


def _up_unsigned(b: Builder, v: Sequence[SSAValue]) -> SSAValue:
    quotient = b.binary(L.UDivOp, v[0], v[1])
    is_inexact = b.icmp("ne", b.mul(quotient, v[1]), v[0])
    return b.add(quotient, b.cast(L.ZExtOp, is_inexact, lane_type(v[0].type)))


LOWERINGS.update(
    {
        arith.CeilDivSIOp: lanewise(_up),
        arith.CeilDivUIOp: lanewise(_up_unsigned),
        arith.FloorDivSIOp: lanewise(_down),
    }
)
