"""The `math` dialect, on scalars and on tensors.

xDSL's is not used because its constructors are slow. Names and fields are the same: `operand`; `lhs`, `rhs`; `a`, `b`, `c` of `FmaOp`.

    %1 = math.exp2 %0 : tensor<64xf32>
"""

from typing import ClassVar

from xdsl.ir import Dialect, Operation, SSAValue
from xdsl.irdl import operand_def, prop_def, result_def, traits_def
from xdsl.traits import Pure

from minitriton.dialects.arith import FLOAT, INTEGER, NO_FASTMATH, FastMathFlagsAttr
from minitriton.dialects.arith.float import FloatBinaryOp, FloatUnaryOp
from minitriton.dialects.facts import DeviceFunction, Expensive, Inexact
from minitriton.dialects.facts.layout import Elementwise
from minitriton.dialects.fast_paths.op_definition import Op, declared, named
from minitriton.dialects.tt.traits import var

_ROUNDED = (Expensive(), Inexact())


def _device(function: str) -> DeviceFunction:
    """Computed by libdevice, in f32 and in f64."""
    return DeviceFunction(f"__nv_{function}f", f"__nv_{function}")


class _IntegerUnaryOp(Op):
    """Base of functions of one integer."""

    T: ClassVar = var("T", INTEGER)
    operand = operand_def(T)
    result = result_def(T)
    traits = traits_def(Pure(), Elementwise())
    assembly_format = "$operand attr-dict `:` type($result)"

    def __init__(self, operand: SSAValue) -> None:
        Operation.__init__(self, operands=(operand,), result_types=(operand.type,))


class AbsFOp(FloatUnaryOp):
    """Absolute value."""

    name = "math.absf"


AcosOp = named(FloatUnaryOp, "AcosOp", "math.acos", "Arc cosine.", *_ROUNDED, _device("acos"))
AsinOp = named(FloatUnaryOp, "AsinOp", "math.asin", "Arc sine.", *_ROUNDED, _device("asin"))
AtanOp = named(FloatUnaryOp, "AtanOp", "math.atan", "Arc tangent.", *_ROUNDED, _device("atan"))
CbrtOp = named(FloatUnaryOp, "CbrtOp", "math.cbrt", "Cube root.", *_ROUNDED, _device("cbrt"))
CeilOp = named(FloatUnaryOp, "CeilOp", "math.ceil", "Rounded up.")
CosOp = named(FloatUnaryOp, "CosOp", "math.cos", "Cosine.", *_ROUNDED)
CoshOp = named(FloatUnaryOp, "CoshOp", "math.cosh", "Hyperbolic cosine.", *_ROUNDED, _device("cosh"))
ErfOp = named(FloatUnaryOp, "ErfOp", "math.erf", "Error function.", *_ROUNDED)
Exp2Op = named(FloatUnaryOp, "Exp2Op", "math.exp2", "Power of two.", *_ROUNDED)
ExpM1Op = named(FloatUnaryOp, "ExpM1Op", "math.expm1", "`exp(x) - 1`.", *_ROUNDED, _device("expm1"))
ExpOp = named(FloatUnaryOp, "ExpOp", "math.exp", "Exponential.", *_ROUNDED)
FloorOp = named(FloatUnaryOp, "FloorOp", "math.floor", "Rounded down.")
Log10Op = named(FloatUnaryOp, "Log10Op", "math.log10", "Logarithm to base 10.", *_ROUNDED, _device("log10"))
Log1pOp = named(FloatUnaryOp, "Log1pOp", "math.log1p", "`log(1 + x)`.", *_ROUNDED, _device("log1p"))
Log2Op = named(FloatUnaryOp, "Log2Op", "math.log2", "Logarithm to base 2.", *_ROUNDED)
LogOp = named(FloatUnaryOp, "LogOp", "math.log", "Natural logarithm.", *_ROUNDED)
RoundEvenOp = named(FloatUnaryOp, "RoundEvenOp", "math.roundeven", "Rounded to nearest, ties to even.")
RoundOp = named(FloatUnaryOp, "RoundOp", "math.round", "Rounded to nearest, ties away from zero.")
RsqrtOp = named(FloatUnaryOp, "RsqrtOp", "math.rsqrt", "`1 / sqrt(x)`.", *_ROUNDED)
SinOp = named(FloatUnaryOp, "SinOp", "math.sin", "Sine.", *_ROUNDED)
SinhOp = named(FloatUnaryOp, "SinhOp", "math.sinh", "Hyperbolic sine.", *_ROUNDED, _device("sinh"))
SqrtOp = named(FloatUnaryOp, "SqrtOp", "math.sqrt", "Square root.", *_ROUNDED)
TanOp = named(FloatUnaryOp, "TanOp", "math.tan", "Tangent.", *_ROUNDED, _device("tan"))
TanhOp = named(FloatUnaryOp, "TanhOp", "math.tanh", "Hyperbolic tangent.", *_ROUNDED, _device("tanh"))
TruncOp = named(FloatUnaryOp, "TruncOp", "math.trunc", "Rounded towards zero.")
Atan2Op = named(FloatBinaryOp, "Atan2Op", "math.atan2", "Angle of the point `(rhs, lhs)`.", *_ROUNDED)
CopySignOp = named(FloatBinaryOp, "CopySignOp", "math.copysign", "`lhs` with the sign of `rhs`.")
PowFOp = named(FloatBinaryOp, "PowFOp", "math.powf", "Power.", *_ROUNDED)


class AbsIOp(_IntegerUnaryOp):
    """Absolute value."""

    name = "math.absi"


CountLeadingZerosOp = named(
    _IntegerUnaryOp, "CountLeadingZerosOp", "math.ctlz", "Number of leading zeros.", Expensive()
)
CountTrailingZerosOp = named(
    _IntegerUnaryOp, "CountTrailingZerosOp", "math.cttz", "Number of trailing zeros.", Expensive()
)
CtPopOp = named(_IntegerUnaryOp, "CtPopOp", "math.ctpop", "Number of ones.", Expensive())


class FmaOp(Op):
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
