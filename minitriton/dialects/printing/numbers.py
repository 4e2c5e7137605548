"""How MLIR spells floating-point numbers.

1.000000e+00      six decimals if they say it exactly
0.693147182       else as many digits as the type needs, if the result has a point
0xFF800000        else the bits: infinities, NaNs, large whole numbers
"""

from __future__ import annotations

from math import copysign, inf, isfinite

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


def float_text(value: float, type_: AnyFloat) -> str:
    """The number as MLIR prints it in `dense<...>` and float attributes of `type_`."""
    if isfinite(value):
        text = _decimal(value, 6, pad=True)
        if _round(float(text), type_) == value:
            return text
        text = _decimal(value, 2 + _MANTISSA_BITS.get(type(type_), _FP8_E5M2_BITS) * 59 // 196, pad=False)
        if "." in text:
            return text
    return f"0x{int.from_bytes(type_.pack((value,)), 'little'):X}"


def _round(value: float, type_: AnyFloat) -> float:
    """`value` as the type holds it."""
    try:
        return type_.unpack(type_.pack((value,)), 1)[0]
    except OverflowError:
        return inf


def _decimal(value: float, precision: int, pad: bool) -> str:
    """`value` in `precision` significant digits.

    With `pad` it is always scientific and filled up with zeros, as in `1.500000e+00`; without, it is short and scientific only
    far from 1, as in `0.693147182` or `1.5E-10`.
    """
    sign = "-" if copysign(1.0, value) < 0 else ""
    digits, exponent = _digits(abs(value), precision)
    leading = exponent + len(digits) - 1
    if pad:
        return f"{sign}{digits[0]}.{digits[1:]:0<{precision}}e{leading:+03d}"
    if exponent >= 0:
        scientific = exponent > 3 or len(digits) + exponent > precision
    else:
        scientific = leading < -3
    if scientific:
        return f"{sign}{digits[0]}.{digits[1:] or '0'}E{leading:+d}"
    if exponent >= 0:
        return sign + digits + "0" * exponent
    if leading >= 0:
        return f"{sign}{digits[: leading + 1]}.{digits[leading + 1 :]}"
    return f"{sign}0.{'0' * (-leading - 1)}{digits}"


def _digits(value: float, precision: int) -> tuple[str, int]:
    """Digits without trailing zeros, and the power of ten of the last one.

    LLVM first drops digits that cannot matter, rounding down, and only then rounds to nearest: the result may be off by one in the
    last digit, which decides whether MLIR accepts the six-digit form.
    """
    if not value:
        return "0", 0
    significand, divisor = value.as_integer_ratio()
    exponent = 1 - divisor.bit_length()
    significand *= 5**-exponent
    excess = significand.bit_length() - (precision * 196 + 58) // 59
    removable = max(excess, 0) * 59 // 196
    exponent += removable
    digits = str(significand // 10**removable)
    surplus = len(digits) - precision
    if surplus > 0:
        kept = int(digits[:precision]) + (digits[precision] >= "5")
        digits, exponent = str(kept), exponent + surplus
    stripped = digits.rstrip("0")
    return stripped, exponent + len(digits) - len(stripped)
