"""Ops of `arith` on floating-point numbers.

%3 = arith.mulf %0, %1 fastmath<contract> : tensor<64xf32>
"""

from typing import ClassVar

from xdsl.ir import Operation, SSAValue
from xdsl.irdl import operand_def, prop_def, result_def, traits_def
from xdsl.traits import Commutative, Pure

from minitriton.dialects.arith.base import FLOAT, NO_FASTMATH, FastMathFlagsAttr
from minitriton.dialects.facts import MAXIMUM, MINIMUM, PRODUCT, SUM, Expensive, Inexact, OrderSensitive
from minitriton.dialects.facts.layout import Elementwise
from minitriton.dialects.fast_paths.op_definition import Op, named
from minitriton.dialects.tt.traits import var


class FloatUnaryOp(Op):
    """Base of ops on one floating-point number."""

    T: ClassVar = var("T", FLOAT)
    operand = operand_def(T)
    fastmath = prop_def(FastMathFlagsAttr, default_value=NO_FASTMATH)
    result = result_def(T)
    traits = traits_def(Pure(), Elementwise())
    assembly_format = "$operand (`fastmath` `` $fastmath^)? attr-dict `:` type($result)"

    def __init__(self, operand: SSAValue, *, fastmath: FastMathFlagsAttr = NO_FASTMATH) -> None:
        Operation.__init__(self, operands=(operand,), result_types=(operand.type,), properties={"fastmath": fastmath})


class FloatBinaryOp(Op):
    """Base of ops on two floating-point numbers of one type."""

    T: ClassVar = var("T", FLOAT)
    lhs = operand_def(T)
    rhs = operand_def(T)
    fastmath = prop_def(FastMathFlagsAttr, default_value=NO_FASTMATH)
    result = result_def(T)
    traits = traits_def(Pure(), Elementwise())
    assembly_format = "$lhs `,` $rhs (`fastmath` `` $fastmath^)? attr-dict `:` type($result)"

    def __init__(self, lhs: SSAValue, rhs: SSAValue, *, fastmath: FastMathFlagsAttr = NO_FASTMATH) -> None:
        Operation.__init__(self, operands=(lhs, rhs), result_types=(lhs.type,), properties={"fastmath": fastmath})


AddfOp = named(FloatBinaryOp, "AddfOp", "arith.addf", "Sum.", Commutative(), SUM, OrderSensitive())
SubfOp = named(FloatBinaryOp, "SubfOp", "arith.subf", "Difference.", Inexact())
MulfOp = named(FloatBinaryOp, "MulfOp", "arith.mulf", "Multiplication.", Commutative(), PRODUCT, OrderSensitive())
DivfOp = named(FloatBinaryOp, "DivfOp", "arith.divf", "Quotient.", Expensive(), Inexact())
RemfOp = named(FloatBinaryOp, "RemfOp", "arith.remf", "Remainder, with the sign of the dividend.", Inexact())
MaximumfOp = named(
    FloatBinaryOp, "MaximumfOp", "arith.maximumf", "Maximum; NaN if either is NaN.", Commutative(), MAXIMUM
)
MaxnumfOp = named(
    FloatBinaryOp, "MaxnumfOp", "arith.maxnumf", "Maximum; of NaN the other number.", Commutative(), MAXIMUM
)
MinimumfOp = named(
    FloatBinaryOp, "MinimumfOp", "arith.minimumf", "Minimum; NaN if either is NaN.", Commutative(), MINIMUM
)
MinnumfOp = named(
    FloatBinaryOp, "MinnumfOp", "arith.minnumf", "Minimum; of NaN the other number.", Commutative(), MINIMUM
)
NegfOp = named(FloatUnaryOp, "NegfOp", "arith.negf", "The number with its sign changed.")
