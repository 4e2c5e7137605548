"""How MLIR spells floating-point numbers.

1.000000e+00      six decimals if they say it exactly
0.693147182       else as many digits as the type needs, if the result has a point
0xFF800000        else the bits: infinities, NaNs, large whole numbers
"""

from __future__ import annotations

from functools import lru_cache
from math import isfinite

from xdsl.dialects.builtin import (
    AnyFloat,
    BFloat16Type,
    Float8E4M3FNType,
    Float8E4M3FNUZType,
    Float16Type,
    Float32Type,
    Float64Type,
)

_MANTISSA_BITS: dict[type, int] = {
    Float64Type: 53,
    Float32Type: 24,
    Float16Type: 11,
    BFloat16Type: 8,
    Float8E4M3FNType: 4,
    Float8E4M3FNUZType: 4,
}
_FP8_E5M2_BITS = 3


@lru_cache(maxsize=4096)
def float_text(value: float, type_: AnyFloat) -> str:
    """The number as MLIR prints it in `dense<...>` and float attributes of `type_`."""
    if isfinite(value):
        rounded = f"{value:.5e}"
        mantissa, exponent = rounded.split("e")
        if _round(float(rounded), type_) == value:
            return f"{mantissa}0e{exponent}"
        digits = 2 + _MANTISSA_BITS.get(type(type_), _FP8_E5M2_BITS) * 59 // 196
        text = _natural(value, digits)
        if "." in text:
            return text
    return "0x" + format(int.from_bytes(type_.pack((value,)), "little"), "X")


def _round(value: float, type_: AnyFloat) -> float:
    """`value` as the type holds it."""
    try:
        return type_.unpack(type_.pack((value,)), 1)[0]
    except OverflowError:
        return float("inf")


def _natural(value: float, precision: int) -> str:
    """`precision` significant digits without trailing zeros, scientific only far from 1."""
    sign = "-" if value < 0 else ""
    mantissa, exponent_text = f"{abs(value):.{precision - 1}e}".split("e")
    digits = mantissa.replace(".", "").rstrip("0") or "0"
    exponent = int(exponent_text) - (len(digits) - 1)
    leading = exponent + len(digits) - 1
    if exponent >= 0:
        scientific = exponent > 3 or len(digits) + exponent > precision
    else:
        scientific = leading < -3
    if scientific:
        fraction = digits[1:] or "0"
        return f"{sign}{digits[0]}.{fraction}E{leading:+d}"
    if exponent >= 0:
        return sign + digits + "0" * exponent
    if leading >= 0:
        return f"{sign}{digits[: leading + 1]}.{digits[leading + 1 :]}"
    return f"{sign}0.{'0' * (-leading - 1)}{digits}"
