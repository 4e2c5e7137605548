"""Elementwise mathematics: declarations only, see `declare.py`."""

from __future__ import annotations

from typing import Any

from minitriton.language.declare import builtin
from minitriton.language.values import member


@builtin
def umulhi(x: Any, y: Any) -> Any:
    """The upper half of the product of two 32- or 64-bit integers, taken as unsigned."""


@member
@builtin
def exp(x: Any) -> Any:
    """e to the power of `x`."""


@member
@builtin
def exp2(x: Any) -> Any:
    """2 to the power of `x`."""


@member
@builtin
def log(x: Any) -> Any:
    """Natural logarithm."""


@member
@builtin
def log2(x: Any) -> Any:
    """Logarithm to base 2."""


@member
@builtin
def cos(x: Any) -> Any:
    """Cosine."""


@member
@builtin
def sin(x: Any) -> Any:
    """Sine."""


@member
@builtin
def sqrt(x: Any) -> Any:
    """Square root, fast."""


@member
@builtin
def sqrt_rn(x: Any) -> Any:
    """Square root, correctly rounded."""


@member
@builtin
def rsqrt(x: Any) -> Any:
    """One over the square root."""


@member
@builtin
def abs(x: Any) -> Any:
    """Absolute value."""


@builtin
def fdiv(x: Any, y: Any, ieee_rounding: Any = False) -> Any:
    """Quotient of floats, fast."""


@builtin
def div_rn(x: Any, y: Any) -> Any:
    """Quotient of floats, correctly rounded."""


@member
@builtin
def erf(x: Any) -> Any:
    """Error function."""


@member
@builtin
def floor(x: Any) -> Any:
    """The largest integer not above `x`."""


@member
@builtin
def ceil(x: Any) -> Any:
    """The smallest integer not below `x`."""


@builtin
def fma(x: Any, y: Any, z: Any) -> Any:
    """`x * y + z`, rounded once."""
