"""Elementwise mathematics: declarations only, see `declare.py`."""

# Declarations have no bodies: what they give is what the frontend emits.
# pyright: reportReturnType=false

from __future__ import annotations

from minitriton.language.declare import builtin, elementwise
from minitriton.language.values import ConstBool, Operand, member, tensor

__all__ = [
    "abs", "ceil", "cos", "div_rn", "erf", "exp", "exp2", "fdiv", "floor", "fma", "log", "log2", "rsqrt", "sin",
    "sqrt", "sqrt_rn", "umulhi",
]  # fmt: skip
"""What `tl` offers of it."""


@elementwise("tt.mulhiui", "int32", "int64", "uint32", "uint64")
def umulhi(x: Operand, y: Operand) -> tensor:
    """The upper half of the product of two 32- or 64-bit integers, taken as unsigned."""


@member
@elementwise("math.exp")
def exp(x: Operand) -> tensor:
    """e to the power of `x`."""


@member
@elementwise("math.exp2")
def exp2(x: Operand) -> tensor:
    """2 to the power of `x`."""


@member
@elementwise("math.log")
def log(x: Operand) -> tensor:
    """Natural logarithm."""


@member
@elementwise("math.log2")
def log2(x: Operand) -> tensor:
    """Logarithm to base 2."""


@member
@elementwise("math.cos")
def cos(x: Operand) -> tensor:
    """Cosine."""


@member
@elementwise("math.sin")
def sin(x: Operand) -> tensor:
    """Sine."""


@member
@elementwise("math.sqrt")
def sqrt(x: Operand) -> tensor:
    """Square root, fast."""


@member
@elementwise("tt.precise_sqrt", "fp32")
def sqrt_rn(x: Operand) -> tensor:
    """Square root, correctly rounded."""


@member
@elementwise("math.rsqrt")
def rsqrt(x: Operand) -> tensor:
    """One over the square root."""


@member
@builtin
def abs(x: Operand) -> tensor:
    """Absolute value."""


@builtin
def fdiv(x: Operand, y: Operand, ieee_rounding: ConstBool = False, approx: ConstBool = False) -> tensor:
    """Quotient of floats, fast; of float32 with `ieee_rounding` correctly rounded, with `approx` within 2 units in the last digit
    and 0 for divisors above 2^126."""


@elementwise("tt.precise_divf", "fp32")
def div_rn(x: Operand, y: Operand) -> tensor:
    """Quotient of floats, correctly rounded."""


@member
@elementwise("math.erf")
def erf(x: Operand) -> tensor:
    """Error function."""


@member
@elementwise("math.floor")
def floor(x: Operand) -> tensor:
    """The largest integer not above `x`."""


@member
@elementwise("math.ceil")
def ceil(x: Operand) -> tensor:
    """The smallest integer not below `x`."""


@builtin
def fma(x: Operand, y: Operand, z: Operand) -> tensor:
    """`x * y + z`, rounded once."""
