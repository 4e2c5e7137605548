"""Ops of `arith` on floating-point numbers.

%3 = arith.mulf %0, %1 fastmath<contract> : tensor<64xf32>
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import Operation, SSAValue
from xdsl.irdl import IRDLOperation, operand_def, prop_def, result_def, traits_def
from xdsl.traits import Commutative, Pure

from minitriton.dialects.arith.base import FLOAT, NO_FASTMATH, FastMathFlagsAttr
from minitriton.dialects.facts import MAXIMUM, MINIMUM, PRODUCT, SUM, Expensive, Inexact, OrderSensitive
from minitriton.dialects.facts.layout import Elementwise
from minitriton.dialects.fast_paths.op_definition import op_definition
from minitriton.dialects.tt.constraints import var


class FloatUnaryOp(IRDLOperation):
    """Base of ops on one floating-point number."""

    T: ClassVar = var("T", FLOAT)
    operand = operand_def(T)
    fastmath = prop_def(FastMathFlagsAttr, default_value=NO_FASTMATH)
    result = result_def(T)
    traits = traits_def(Pure(), Elementwise())
    assembly_format = "$operand (`fastmath` `` $fastmath^)? attr-dict `:` type($result)"

    def __init__(self, operand: SSAValue, *, fastmath: FastMathFlagsAttr = NO_FASTMATH) -> None:
        Operation.__init__(self, operands=(operand,), result_types=(operand.type,), properties={"fastmath": fastmath})


class FloatBinaryOp(IRDLOperation):
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


@op_definition
class AddfOp(FloatBinaryOp):
    """Sum."""

    name = "arith.addf"
    traits = traits_def(Pure(), Commutative(), SUM, OrderSensitive())


@op_definition
class SubfOp(FloatBinaryOp):
    """Difference."""

    name = "arith.subf"
    traits = traits_def(Inexact())


@op_definition
class MulfOp(FloatBinaryOp):
    """Multiplication."""

    name = "arith.mulf"
    traits = traits_def(Pure(), Commutative(), PRODUCT, OrderSensitive())


@op_definition
class DivfOp(FloatBinaryOp):
    """Quotient."""

    name = "arith.divf"
    traits = traits_def(Expensive(), Inexact())


@op_definition
class RemfOp(FloatBinaryOp):
    """Remainder, with the sign of the dividend."""

    name = "arith.remf"
    traits = traits_def(Inexact())


@op_definition
class MaximumfOp(FloatBinaryOp):
    """Maximum; NaN if either is NaN."""

    name = "arith.maximumf"
    traits = traits_def(Pure(), Commutative(), MAXIMUM)


@op_definition
class MaxnumfOp(FloatBinaryOp):
    """Maximum; the other number if one is NaN."""

    name = "arith.maxnumf"
    traits = traits_def(Pure(), Commutative(), MAXIMUM)


@op_definition
class MinimumfOp(FloatBinaryOp):
    """Minimum; NaN if either is NaN."""

    name = "arith.minimumf"
    traits = traits_def(Pure(), Commutative(), MINIMUM)


@op_definition
class MinnumfOp(FloatBinaryOp):
    """Minimum; the other number if one is NaN."""

    name = "arith.minnumf"
    traits = traits_def(Pure(), Commutative(), MINIMUM)


@op_definition
class NegfOp(FloatUnaryOp):
    """The number with its sign changed."""

    name = "arith.negf"
