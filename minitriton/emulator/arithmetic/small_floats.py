"""Floats narrower than 32 bits as bit patterns on NumPy arrays: conversions, and arithmetic of float16 and bfloat16, single and in pairs.

    bf16_from(float32 1.00390625) -> 0x3f80             (a tie, to even)
    e4m3_from(500.0)              -> 0x7e               (saturates at 448)
    narrow("add", "f16", 0x3c00, 0x3c00) -> 0x4000      (1 + 1 = 2)

Sums and products of two values are exact enough in float32, and a fused multiply-add in float64 rounded to odd, that
rounding them once more gives the correctly rounded result.
"""

import operator
from collections.abc import Callable

import numpy as np

from minitriton.emulator.arithmetic import floats as fm
from minitriton.emulator.lanes import Bytes, Lanes, Singles, Words16, Words32
from minitriton.interpreter.numbers.formats import decode_bf16, decode_small, encode_bf16, encode_small, extreme

U16, U32, F32, F64 = np.uint16, np.uint32, np.float32, np.float64


def bf16_from(x: Lanes, mode: str = "rn", relu: bool = False) -> Words16:
    """float32 or float64 to the bits of bfloat16, rounded once, `rn` or `rz`; NaN is 0x7fff."""
    bits = encode_bf16(x, toward_zero=mode == "rz")
    return np.where(x < 0, U16(0), bits) if relu else bits


bf16_to = decode_bf16


def f16_from(x: Lanes, mode: str = "rn", relu: bool = False, saturate: bool = False) -> Words16:
    """float32 or float64 to the bits of float16; NaN is 0x7fff."""
    x = np.asarray(x)
    half = x.astype(np.float16)
    if mode == "rz":
        over = np.abs(half.astype(F64)) > np.abs(x.astype(F64))
        half = np.where(over, np.nextafter(half, np.float16(0)), half)
    if saturate:
        half = np.clip(half, np.float16(-65504), np.float16(65504))
    result = half.view(U16)
    nan = x != x
    if nan.any():
        result = np.where(nan, U16(0x7FFF), result)
    return np.where(x < 0, U16(0), result) if relu else result


def f16_to(bits: Words16) -> Singles:
    """The bits of float16 to float32."""
    return bits.view(np.float16).astype(F32)


def tf32_from(x: Singles, mode: str = "rna") -> Words32:
    """float32 to tf32 in the upper 19 bits: `rna` (ties away), `rn` (ties to even), `rz`."""
    x = np.asarray(x)
    bits = x.view(U32)
    if mode == "rna":
        rounded = (bits + U32(0x1000)) & U32(0xFFFFE000)
    elif mode == "rn":
        rounded = (bits + U32(0xFFF) + ((bits >> U32(13)) & U32(1))) & U32(0xFFFFE000)
    else:
        rounded = bits & U32(0xFFFFE000)
    return np.where(np.isfinite(x), rounded, np.where(x != x, U32(0x7FFFFFFF), bits))


E4M3, E5M2 = (decode_small(name, np.arange(256)).astype(F64) for name in ("f8E4M3FN", "f8E5M2"))
"""All values of the formats of 8 bits."""


def e4m3_from(x: Lanes) -> Bytes:
    """To e4m3 with saturation (`.satfinite`); NaN is 0x7f."""
    return encode_small("f8E4M3FN", x)


def e5m2_from(x: Lanes) -> Bytes:
    """To e5m2 with saturation (`.satfinite`); NaN is 0x7f."""
    return encode_small("f8E5M2", x)


def e4m3_to(bits: Bytes) -> Singles:
    """e4m3 codes to float32."""
    return decode_small("f8E4M3FN", bits)


def e5m2_to(bits: Bytes) -> Singles:
    """e5m2 codes to float32."""
    return decode_small("f8E5M2", bits)


def pack16(low: Words16, high: Words16) -> Words32:
    """Two 16-bit patterns to one 32-bit word."""
    return low.astype(U32) | (high.astype(U32) << U32(16))


def low16(x: Words32) -> Words16:
    """The lower half of a word."""
    return x.astype(U16)


def high16(x: Words32) -> Words16:
    """The upper half of a word."""
    return (x >> U32(16)).astype(U16)


_OPERATIONS: dict[str, Callable[..., Singles]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul,
    "ex2": fm.exp2_32, "tanh": fm.tanh32,
}  # fmt: skip


def widen(bits: Words16, format: str) -> Singles:
    """16-bit patterns to float32."""
    return f16_to(bits) if format == "f16" else bf16_to(bits)


def _from(format: str) -> Callable[[Lanes], Words16]:
    return f16_from if format == "f16" else bf16_from


def narrow(operation: str, format: str, *operands: Words16) -> Words16:
    """One operation on 16-bit patterns; its modifiers (`ftz`, `sat`, `relu`, `NaN`, `xorsign`) follow its name after dots."""
    name, *modifiers = operation.split(".")
    if name == "neg":
        return operands[0] ^ U16(0x8000)
    if name == "abs":
        return operands[0] & U16(0x7FFF)
    values = [widen(v, format) for v in operands]
    if "ftz" in modifiers:
        values = [_flushed(v, format) for v in values]
    if name == "fma":
        wide = fm.fused64(*values)
        result = _from(format)(wide)
    else:
        if name in ("min", "max"):
            function = fm.minmax_by_size if "xorsign" in modifiers else extreme
            value = function(values[0], values[1], name == "max", "NaN" in modifiers)
        else:
            value = _OPERATIONS[name](*values)
        result = _from(format)(value)
    if "ftz" in modifiers:
        small = (result & U16(0x7FFF)) < (U16(0x0400) if format == "f16" else U16(0x0080))
        result = np.where(small, result & U16(0x8000), result)
    if "relu" in modifiers:
        result = np.where(widen(result, format) < 0, U16(0), result)
    if "sat" in modifiers:
        one = U16(0x3C00 if format == "f16" else 0x3F80)
        value = widen(result, format)
        result = np.where(value >= 1, one, np.where(value > 0, result, U16(0)))
    return result


def _flushed(value: Singles, format: str) -> Singles:
    """Values below the normal range as zeros of their sign."""
    smallest = np.float32(2.0**-14 if format == "f16" else 2.0**-126)
    return np.where(np.abs(value) < smallest, np.copysign(np.float32(0), value), value)


def pairs(operation: str, format: str, *operands: Words32) -> Words32:
    """One operation on both halves of 32-bit words."""
    low = narrow(operation, format, *(low16(v) for v in operands))
    high = narrow(operation, format, *(high16(v) for v in operands))
    return pack16(low, high)
