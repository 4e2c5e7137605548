"""Conversions of `arith`, element by element.

%1 = arith.extsi %0 : tensor<64xi8> to tensor<64xi32>
"""

from typing import ClassVar

from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import operand_def, opt_prop_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from minitriton.dialects.arith.base import ANY, FLOAT, INTEGER, FastMathFlagsAttr, bool_like, width_of
from minitriton.dialects.facts import Inexact, Widens
from minitriton.dialects.facts.layout import Elementwise
from minitriton.dialects.fast_paths.op_definition import Op


class _CastOp(Op):
    """Base of conversions, element by element."""

    traits = traits_def(Pure(), Elementwise())
    assembly_format = "$input attr-dict `:` type($input) `to` type($result)"
    DIRECTION: ClassVar[int] = 0
    """1 if the result must be wider than the input, -1 if narrower."""

    def __init__(self, input: SSAValue, result_type: Attribute) -> None:
        Operation.__init__(self, operands=(input,), result_types=(result_type,))

    def verify_(self) -> None:
        source, target = self.operands[0].type, self.results[0].type
        if bool_like(source) != bool_like(target):
            raise VerifyException(
                f"'{self.name}' op requires the same shape and encoding for all operands and results: "
                f"expected those of '{source}', found '{target}'"
            )
        if self.DIRECTION and self.DIRECTION * (width_of(target) - width_of(source)) <= 0:
            kind = "wider" if self.DIRECTION > 0 else "shorter"
            raise VerifyException(f"result type '{target}' must be {kind} than operand type '{source}'")


class ExtSIOp(_CastOp):
    """Widens an integer, repeating its sign."""

    name = "arith.extsi"
    traits = traits_def(Widens())
    input = operand_def(INTEGER)
    result = result_def(INTEGER)
    DIRECTION: ClassVar[int] = 1


class ExtUIOp(_CastOp):
    """Widens an integer with zeros."""

    name = "arith.extui"
    traits = traits_def(Widens())
    input = operand_def(INTEGER)
    result = result_def(INTEGER)
    DIRECTION: ClassVar[int] = 1


class TruncIOp(_CastOp):
    """Keeps the lower bits."""

    name = "arith.trunci"
    input = operand_def(INTEGER)
    result = result_def(INTEGER)
    DIRECTION: ClassVar[int] = -1


class SIToFPOp(_CastOp):
    """A signed integer as a floating-point number."""

    name = "arith.sitofp"
    traits = traits_def(Inexact())
    input = operand_def(INTEGER)
    result = result_def(FLOAT)


class UIToFPOp(_CastOp):
    """An unsigned integer as a floating-point number."""

    name = "arith.uitofp"
    traits = traits_def(Inexact())
    input = operand_def(INTEGER)
    result = result_def(FLOAT)


class FPToSIOp(_CastOp):
    """A floating-point number as a signed integer, rounded towards zero."""

    name = "arith.fptosi"
    input = operand_def(FLOAT)
    result = result_def(INTEGER)


class FPToUIOp(_CastOp):
    """A floating-point number as an unsigned integer, rounded towards zero."""

    name = "arith.fptoui"
    input = operand_def(FLOAT)
    result = result_def(INTEGER)


class BitcastOp(_CastOp):
    """The same bits as another type of the same width."""

    name = "arith.bitcast"
    input = operand_def(ANY)
    result = result_def(ANY)


class IndexCastOp(_CastOp):
    """Between `index` and a signed integer."""

    name = "arith.index_cast"
    input = operand_def(INTEGER)
    result = result_def(INTEGER)


class IndexCastUIOp(_CastOp):
    """Between `index` and an unsigned integer."""

    name = "arith.index_castui"
    input = operand_def(INTEGER)
    result = result_def(INTEGER)


class _FloatCastOp(_CastOp):
    """Base of conversions between floating-point types."""

    input = operand_def(FLOAT)
    fastmath = opt_prop_def(FastMathFlagsAttr)
    result = result_def(FLOAT)
    assembly_format = "$input (`fastmath` `` $fastmath^)? attr-dict `:` type($input) `to` type($result)"


class ExtFOp(_FloatCastOp):
    """Widens a floating-point number."""

    name = "arith.extf"
    traits = traits_def(Widens())
    DIRECTION: ClassVar[int] = 1


class TruncFOp(_FloatCastOp):
    """Narrows a floating-point number, rounded to nearest."""

    name = "arith.truncf"
    traits = traits_def(Inexact())
    DIRECTION: ClassVar[int] = -1
