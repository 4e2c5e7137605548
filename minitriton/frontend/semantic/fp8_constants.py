"""Numbers as constants of 8-bit floats, rounded as casts from fp32 are at run time.

in_fp8(fp8e4nv, 465.0, native=True) = 448.0         saturated, as `cvt.rn.satfinite` does
in_fp8(fp8e5, 61440.0, native=False) = inf          as GPUs before compute capability 8.9 are made to
bits_of_fp8e4b15(1.0) = 0x78                        MLIR does not have the type: its constants are integers
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable

from minitriton.language.dtypes import dtype

_LARGEST = {"fp8e4nv": 448.0, "fp8e5": 57344.0, "fp8e4b8": 240.0, "fp8e5b16": 57344.0}
_FP16 = 10, -14, 65504.0
"""Bits of the mantissa, the least exponent, the largest number."""


def in_fp8(type: dtype, number: float, native: bool) -> float:
    """`number` as `type` holds it. `native`: the GPU has instructions for 8-bit floats, which saturate."""
    number = _in_fp32(number)
    if not native:
        number = _quantized(number, *_FP16, math.floor)
    if math.isnan(number) or number == 0:
        return number
    largest = _LARGEST[type.name]
    found = _quantized(number, type.fp_mantissa_width, 1 - type.exponent_bias, math.inf, round)
    if abs(found) > largest:
        return math.copysign(largest if native else math.inf, number)
    return found


def bits_of_fp8e4b15(number: float) -> int:
    """The bits of `number` as fp8e4b15, an upper part of fp16, as a signed integer of 8 bits."""
    number = _in_fp32(number)
    sign = 0x80 if math.copysign(1.0, number) < 0 else 0
    magnitude = 0x3F00 if math.isnan(number) else _fp16_bits(min(abs(_quantized(number, *_FP16, math.floor)), 1.75))
    bits = sign | (magnitude * 2 + 0x80) >> 8
    return bits - 0x100 if bits >= 0x80 else bits


def _fp16_bits(number: float) -> int:
    return struct.unpack("<H", struct.pack("<e", number))[0]


def _in_fp32(number: float) -> float:
    try:
        return struct.unpack("<f", struct.pack("<f", number))[0]
    except OverflowError:
        return math.copysign(math.inf, number)


def _quantized(number: float, mantissa: int, least: int, largest: float, to_integer: Callable[[float], int]) -> float:
    """`number` in steps of a format, its magnitude rounded by `to_integer` and limited (infinity too, where `to_integer` rounds down)."""
    if math.isnan(number) or number == 0 or math.isinf(number):
        return number
    size = abs(number)
    step = 2.0 ** (max(math.frexp(size)[1] - 1, least) - mantissa)
    return math.copysign(min(to_integer(size / step) * step, largest), number)
