"""Elementwise mathematics: declarations only, see `declare.py`."""

# Declarations have no bodies: what they give is what the frontend emits.
# pyright: reportReturnType=false

from __future__ import annotations

from minitriton.language.declare import builtin
from minitriton.language.values import ConstBool, Operand, member, tensor


@builtin
def umulhi(x: Operand, y: Operand) -> tensor:
    """The upper half of the product of two 32- or 64-bit integers, taken as unsigned."""


@member
@builtin
def exp(x: Operand) -> tensor:
    """e to the power of `x`."""


@member
@builtin
def exp2(x: Operand) -> tensor:
    """2 to the power of `x`."""


@member
@builtin
def log(x: Operand) -> tensor:
    """Natural logarithm."""


@member
@builtin
def log2(x: Operand) -> tensor:
    """Logarithm to base 2."""


@member
@builtin
def cos(x: Operand) -> tensor:
    """Cosine."""


@member
@builtin
def sin(x: Operand) -> tensor:
    """Sine."""


@member
@builtin
def sqrt(x: Operand) -> tensor:
    """Square root, fast."""


@member
@builtin
def sqrt_rn(x: Operand) -> tensor:
    """Square root, correctly rounded."""


@member
@builtin
def rsqrt(x: Operand) -> tensor:
    """One over the square root."""


@member
@builtin
def abs(x: Operand) -> tensor:
    """Absolute value."""


@builtin
def fdiv(x: Operand, y: Operand, ieee_rounding: ConstBool = False) -> tensor:
    """Quotient of floats, fast."""


@builtin
def div_rn(x: Operand, y: Operand) -> tensor:
    """Quotient of floats, correctly rounded."""


@member
@builtin
def erf(x: Operand) -> tensor:
    """Error function."""


@member
@builtin
def floor(x: Operand) -> tensor:
    """The largest integer not above `x`."""


@member
@builtin
def ceil(x: Operand) -> tensor:
    """The smallest integer not below `x`."""


@builtin
def fma(x: Operand, y: Operand, z: Operand) -> tensor:
    """`x * y + z`, rounded once."""
