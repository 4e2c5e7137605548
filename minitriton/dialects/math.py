"""The `math` dialect, on scalars and on tensors.

xDSL's is not used because its constructors are slow. Names and fields are the same: `operand`; `lhs`, `rhs`; `a`, `b`, `c` of `FmaOp`.

    %1 = math.exp2 %0 : tensor<64xf32>
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import Dialect, Operation, SSAValue
from xdsl.irdl import IRDLOperation, operand_def, prop_def, result_def, traits_def
from xdsl.traits import Pure

from minitriton.dialects.arith import FLOAT, INTEGER, NO_FASTMATH, FastMathFlagsAttr
from minitriton.dialects.arith.float import FloatBinaryOp, FloatUnaryOp
from minitriton.dialects.facts import DeviceFunction, Expensive, Inexact
from minitriton.dialects.facts.layout import Elementwise
from minitriton.dialects.fast_paths.op_definition import declared, op_definition
from minitriton.dialects.tt.constraints import var


class _IntegerUnaryOp(IRDLOperation):
    """Base of functions of one integer."""

    T: ClassVar = var("T", INTEGER)
    operand = operand_def(T)
    result = result_def(T)
    traits = traits_def(Pure(), Elementwise())
    assembly_format = "$operand attr-dict `:` type($result)"

    def __init__(self, operand: SSAValue) -> None:
        Operation.__init__(self, operands=(operand,), result_types=(operand.type,))


@op_definition
class AbsFOp(FloatUnaryOp):
    """Absolute value."""

    name = "math.absf"


@op_definition
class AcosOp(FloatUnaryOp):
    """Arc cosine."""

    name = "math.acos"
    traits = traits_def(Expensive(), Inexact(), DeviceFunction("__nv_acosf", "__nv_acos"))


@op_definition
class AsinOp(FloatUnaryOp):
    """Arc sine."""

    name = "math.asin"
    traits = traits_def(Expensive(), Inexact(), DeviceFunction("__nv_asinf", "__nv_asin"))


@op_definition
class AtanOp(FloatUnaryOp):
    """Arc tangent."""

    name = "math.atan"
    traits = traits_def(Expensive(), Inexact(), DeviceFunction("__nv_atanf", "__nv_atan"))


@op_definition
class CbrtOp(FloatUnaryOp):
    """Cube root."""

    name = "math.cbrt"
    traits = traits_def(Expensive(), Inexact(), DeviceFunction("__nv_cbrtf", "__nv_cbrt"))


@op_definition
class CeilOp(FloatUnaryOp):
    """Rounded up."""

    name = "math.ceil"


@op_definition
class CosOp(FloatUnaryOp):
    """Cosine."""

    name = "math.cos"
    traits = traits_def(Expensive(), Inexact())


@op_definition
class CoshOp(FloatUnaryOp):
    """Hyperbolic cosine."""

    name = "math.cosh"
    traits = traits_def(Expensive(), Inexact(), DeviceFunction("__nv_coshf", "__nv_cosh"))


@op_definition
class ErfOp(FloatUnaryOp):
    """Error function."""

    name = "math.erf"
    traits = traits_def(Expensive(), Inexact())


@op_definition
class Exp2Op(FloatUnaryOp):
    """Power of two."""

    name = "math.exp2"
    traits = traits_def(Expensive(), Inexact())


@op_definition
class ExpM1Op(FloatUnaryOp):
    """`exp(x) - 1`."""

    name = "math.expm1"
    traits = traits_def(Expensive(), Inexact(), DeviceFunction("__nv_expm1f", "__nv_expm1"))


@op_definition
class ExpOp(FloatUnaryOp):
    """Exponential."""

    name = "math.exp"
    traits = traits_def(Expensive(), Inexact())


@op_definition
class FloorOp(FloatUnaryOp):
    """Rounded down."""

    name = "math.floor"


@op_definition
class Log10Op(FloatUnaryOp):
    """Logarithm to base 10."""

    name = "math.log10"
    traits = traits_def(Expensive(), Inexact(), DeviceFunction("__nv_log10f", "__nv_log10"))


@op_definition
class Log1pOp(FloatUnaryOp):
    """`log(1 + x)`."""

    name = "math.log1p"
    traits = traits_def(Expensive(), Inexact(), DeviceFunction("__nv_log1pf", "__nv_log1p"))


@op_definition
class Log2Op(FloatUnaryOp):
    """Logarithm to base 2."""

    name = "math.log2"
    traits = traits_def(Expensive(), Inexact())


@op_definition
class LogOp(FloatUnaryOp):
    """Natural logarithm."""

    name = "math.log"
    traits = traits_def(Expensive(), Inexact())


@op_definition
class RoundEvenOp(FloatUnaryOp):
    """Rounded to nearest, ties to even."""

    name = "math.roundeven"


@op_definition
class RoundOp(FloatUnaryOp):
    """Rounded to nearest, ties away from zero."""

    name = "math.round"


@op_definition
class RsqrtOp(FloatUnaryOp):
    """`1 / sqrt(x)`."""

    name = "math.rsqrt"
    traits = traits_def(Expensive(), Inexact())


@op_definition
class SinOp(FloatUnaryOp):
    """Sine."""

    name = "math.sin"
    traits = traits_def(Expensive(), Inexact())


@op_definition
class SinhOp(FloatUnaryOp):
    """Hyperbolic sine."""

    name = "math.sinh"
    traits = traits_def(Expensive(), Inexact(), DeviceFunction("__nv_sinhf", "__nv_sinh"))


@op_definition
class SqrtOp(FloatUnaryOp):
    """Square root."""

    name = "math.sqrt"
    traits = traits_def(Expensive(), Inexact())


@op_definition
class TanOp(FloatUnaryOp):
    """Tangent."""

    name = "math.tan"
    traits = traits_def(Expensive(), Inexact(), DeviceFunction("__nv_tanf", "__nv_tan"))


@op_definition
class TanhOp(FloatUnaryOp):
    """Hyperbolic tangent."""

    name = "math.tanh"
    traits = traits_def(Expensive(), Inexact(), DeviceFunction("__nv_tanhf", "__nv_tanh"))


@op_definition
class TruncOp(FloatUnaryOp):
    """Rounded towards zero."""

    name = "math.trunc"


@op_definition
class Atan2Op(FloatBinaryOp):
    """Angle of the point `(rhs, lhs)`."""

    name = "math.atan2"
    traits = traits_def(Expensive(), Inexact())


@op_definition
class CopySignOp(FloatBinaryOp):
    """`lhs` with the sign of `rhs`."""

    name = "math.copysign"


@op_definition
class PowFOp(FloatBinaryOp):
    """Power."""

    name = "math.powf"
    traits = traits_def(Expensive(), Inexact())


@op_definition
class AbsIOp(_IntegerUnaryOp):
    """Absolute value."""

    name = "math.absi"


@op_definition
class CountLeadingZerosOp(_IntegerUnaryOp):
    """Number of leading zeros."""

    name = "math.ctlz"
    traits = traits_def(Expensive())


@op_definition
class CountTrailingZerosOp(_IntegerUnaryOp):
    """Number of trailing zeros."""

    name = "math.cttz"
    traits = traits_def(Expensive())


@op_definition
class CtPopOp(_IntegerUnaryOp):
    """Number of ones."""

    name = "math.ctpop"
    traits = traits_def(Expensive())


@op_definition
class FmaOp(IRDLOperation):
    """`a * b + c`, rounded once."""

    T: ClassVar = var("T", FLOAT)
    name = "math.fma"
    a = operand_def(T)
    b = operand_def(T)
    c = operand_def(T)
    fastmath = prop_def(FastMathFlagsAttr, default_value=NO_FASTMATH)
    result = result_def(T)
    traits = traits_def(Pure(), Elementwise(), Inexact())
    assembly_format = "$a `,` $b `,` $c (`fastmath` `` $fastmath^)? attr-dict `:` type($result)"

    def __init__(self, a: SSAValue, b: SSAValue, c: SSAValue, *, fastmath: FastMathFlagsAttr = NO_FASTMATH) -> None:
        Operation.__init__(self, operands=(a, b, c), result_types=(a.type,), properties={"fastmath": fastmath})


MATH = Dialect("math", *declared("math", globals()))
