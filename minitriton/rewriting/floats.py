"""Rounding Python floats to the float types of the IR, to nearest even.

round_to(0.1, f32) == 0.10000000149011612        round_to(1e6, f16) == inf
"""

from __future__ import annotations

import math
import struct

from xdsl.dialects.builtin import BFloat16Type, Float16Type, Float32Type, Float64Type
from xdsl.ir import Attribute


def _through(code: str, value: float) -> float:
    try:
        return struct.unpack(code, struct.pack(code, value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)


def _to_bf16(value: float) -> float:
    """`value` must be a float32 already, or lie where double rounding cannot matter."""
    if value == 0 or math.isnan(value) or math.isinf(value):
        return value
    mantissa, exponent = math.frexp(value)
    digits = 8 if exponent >= -125 else 8 - (-125 - exponent)
    if digits < 0:
        return math.copysign(0.0, value)
    rounded = math.copysign(math.ldexp(round(math.ldexp(mantissa, digits)), exponent - digits), value)
    return rounded if abs(rounded) < 2.0**128 else math.copysign(math.inf, value)


def round_to(value: float, type: Attribute) -> float:
    """`value` rounded to the nearest number of `type`; types not listed are left to their own packing."""
    match type:
        case Float32Type():
            return _through("<f", value)
        case Float64Type():
            return value
        case Float16Type():
            return _through("<e", value)
        case BFloat16Type():
            return _to_bf16(value)
        case _:
            return value
