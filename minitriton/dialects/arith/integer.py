"""Ops of `arith` on integers.

%3 = arith.addi %0, %cst overflow<nsw> : tensor<64xi32>
"""

from typing import ClassVar

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import operand_def, prop_def, result_def, traits_def
from xdsl.traits import Commutative, ConditionallySpeculatable, NoMemoryEffect, Pure

from minitriton.dialects.arith.base import INTEGER, NO_OVERFLOW_FLAGS, ConstantOp, IntegerOverflowAttr, bool_like
from minitriton.dialects.facts import (
    PRODUCT,
    SUM,
    Bitwise,
    Division,
    IntegerExtremum,
    MayLoseContiguity,
    Neutral,
    TruncationCommutes,
)
from minitriton.dialects.facts.layout import Elementwise
from minitriton.dialects.fast_paths.op_definition import Op
from minitriton.dialects.tt.traits import follows, var


class _IntegerBinaryOp(Op):
    """Base of ops on two integers of one type."""

    T: ClassVar = var("T", INTEGER)
    lhs = operand_def(T)
    rhs = operand_def(T)
    result = result_def(T)
    traits = traits_def(Elementwise())
    assembly_format = "$lhs `,` $rhs attr-dict `:` type($result)"

    def __init__(self, lhs: SSAValue, rhs: SSAValue) -> None:
        Operation.__init__(self, operands=(lhs, rhs), result_types=(lhs.type,))


class _IntegerBinaryOpWithOverflow(Op):
    """Base of ops on two integers that may promise not to overflow."""

    T: ClassVar = var("T", INTEGER)
    lhs = operand_def(T)
    rhs = operand_def(T)
    overflow_flags = prop_def(IntegerOverflowAttr, default_value=NO_OVERFLOW_FLAGS, prop_name="overflowFlags")
    result = result_def(T)
    traits = traits_def(Pure(), Elementwise())
    assembly_format = "$lhs `,` $rhs (`overflow` `` $overflowFlags^)? attr-dict `:` type($result)"

    def __init__(self, lhs: SSAValue, rhs: SSAValue, *, overflow: IntegerOverflowAttr = NO_OVERFLOW_FLAGS) -> None:
        Operation.__init__(self, operands=(lhs, rhs), result_types=(lhs.type,), properties={"overflowFlags": overflow})


class _DivisorNotZero(ConditionallySpeculatable):
    """May be hoisted above its condition only if the divisor is a constant that cannot trap."""

    @classmethod
    def is_speculatable(cls, op: Operation) -> bool:
        divisor = op.operands[1].owner
        if not isinstance(divisor, ConstantOp):
            return False
        value = divisor.value
        numbers = value.get_values() if isinstance(value, DenseIntOrFPElementsAttr) else (value.value.data,)
        division = Division.of(op)
        forbidden = (0, -1) if division is not None and division.signed else (0,)
        return not any(number in forbidden for number in numbers)


class AddiOp(_IntegerBinaryOpWithOverflow):
    """Sum."""

    name = "arith.addi"
    traits = traits_def(Pure(), Commutative(), SUM, TruncationCommutes())


class SubiOp(_IntegerBinaryOpWithOverflow):
    """Difference."""

    name = "arith.subi"
    traits = traits_def(TruncationCommutes())


class MuliOp(_IntegerBinaryOpWithOverflow):
    """Multiplication, its lower half."""

    name = "arith.muli"
    traits = traits_def(Pure(), Commutative(), PRODUCT, TruncationCommutes())


class ShLIOp(_IntegerBinaryOpWithOverflow):
    """Shift to the left."""

    name = "arith.shli"


class DivSIOp(_IntegerBinaryOp):
    """Signed quotient, rounded towards zero."""

    name = "arith.divsi"
    traits = traits_def(NoMemoryEffect(), _DivisorNotZero(), Division(signed=True, overflows=True), MayLoseContiguity())


class DivUIOp(_IntegerBinaryOp):
    """Unsigned quotient, rounded down."""

    name = "arith.divui"
    traits = traits_def(NoMemoryEffect(), _DivisorNotZero(), Division(signed=False), MayLoseContiguity())


class CeilDivSIOp(_IntegerBinaryOp):
    """Signed quotient, rounded up."""

    name = "arith.ceildivsi"
    traits = traits_def(NoMemoryEffect(), _DivisorNotZero(), Division(signed=True, overflows=True), MayLoseContiguity())


class CeilDivUIOp(_IntegerBinaryOp):
    """Unsigned quotient, rounded up."""

    name = "arith.ceildivui"
    traits = traits_def(NoMemoryEffect(), _DivisorNotZero(), Division(signed=False), MayLoseContiguity())


class FloorDivSIOp(_IntegerBinaryOp):
    """Signed quotient, rounded down."""

    name = "arith.floordivsi"
    traits = traits_def(NoMemoryEffect(), _DivisorNotZero(), Division(signed=True, overflows=True), MayLoseContiguity())


class RemSIOp(_IntegerBinaryOp):
    """Signed remainder, with the sign of the dividend."""

    name = "arith.remsi"
    traits = traits_def(NoMemoryEffect(), _DivisorNotZero(), Division(signed=True), MayLoseContiguity())


class RemUIOp(_IntegerBinaryOp):
    """Unsigned remainder."""

    name = "arith.remui"
    traits = traits_def(NoMemoryEffect(), _DivisorNotZero(), Division(signed=False), MayLoseContiguity())


class MaxSIOp(_IntegerBinaryOp):
    """Signed maximum."""

    name = "arith.maxsi"
    traits = traits_def(Pure(), Commutative(), IntegerExtremum(integers="least", greatest=True, signed=True))


class MaxUIOp(_IntegerBinaryOp):
    """Unsigned maximum."""

    name = "arith.maxui"
    traits = traits_def(Pure(), Commutative(), IntegerExtremum(integers=0, greatest=True))


class MinSIOp(_IntegerBinaryOp):
    """Signed minimum."""

    name = "arith.minsi"
    traits = traits_def(Pure(), Commutative(), IntegerExtremum(integers="greatest", signed=True))


class MinUIOp(_IntegerBinaryOp):
    """Unsigned minimum."""

    name = "arith.minui"
    traits = traits_def(Pure(), Commutative(), IntegerExtremum(integers=-1))


class AndIOp(_IntegerBinaryOp):
    """Bitwise and."""

    name = "arith.andi"
    traits = traits_def(Pure(), Commutative(), Neutral(integers=-1), Bitwise())


class OrIOp(_IntegerBinaryOp):
    """Bitwise or."""

    name = "arith.ori"
    traits = traits_def(Pure(), Commutative(), Neutral(integers=0), MayLoseContiguity(), Bitwise())


class XOrIOp(_IntegerBinaryOp):
    """Bitwise exclusive or."""

    name = "arith.xori"
    traits = traits_def(Pure(), Commutative(), Neutral(integers=0), MayLoseContiguity(), Bitwise())


class ShRSIOp(_IntegerBinaryOp):
    """Shift to the right that keeps the sign."""

    name = "arith.shrsi"
    traits = traits_def(Pure(), MayLoseContiguity())


class ShRUIOp(_IntegerBinaryOp):
    """Shift to the right that fills with zeros."""

    name = "arith.shrui"
    traits = traits_def(Pure(), MayLoseContiguity())


class _ExtendedProductOp(Op):
    """Base of multiplications with both halves."""

    T: ClassVar = var("T", INTEGER)
    lhs = operand_def(T)
    rhs = operand_def(T)
    low = result_def(T)
    high = result_def(T)
    traits = traits_def(Pure(), Commutative(), Elementwise())
    assembly_format = "$lhs `,` $rhs attr-dict `:` type($lhs)"

    def __init__(self, lhs: SSAValue, rhs: SSAValue) -> None:
        Operation.__init__(self, operands=(lhs, rhs), result_types=(lhs.type, lhs.type))


class MulSIExtendedOp(_ExtendedProductOp):
    """Both halves of the signed multiplication."""

    name = "arith.mulsi_extended"


class MulUIExtendedOp(_ExtendedProductOp):
    """Both halves of the unsigned multiplication."""

    name = "arith.mului_extended"


class AddUIExtendedOp(Op):
    """Sum and carry."""

    T: ClassVar = var("T", INTEGER)
    name = "arith.addui_extended"
    lhs = operand_def(T)
    rhs = operand_def(T)
    sum = result_def(T)
    overflow = result_def(follows("T", bool_like, "overflow has i1 element type and same shape as operands"))
    traits = traits_def(Pure(), Commutative(), Elementwise())
    assembly_format = "$lhs `,` $rhs attr-dict `:` type($sum) `,` type($overflow)"

    def __init__(self, lhs: SSAValue, rhs: SSAValue) -> None:
        Operation.__init__(self, operands=(lhs, rhs), result_types=(lhs.type, bool_like(lhs.type)))
