"""Floats narrower than 32 bits: bfloat16, tf32 and the two fp8 formats, as bit patterns on NumPy arrays.

bf16_from(float32 1.00390625) -> 0x3f80      (a tie, to even)
e4m3_from(500.0)              -> 0x7e        (saturates at 448)
"""

from __future__ import annotations

import numpy as np

from minitriton.emulator.lanes import Bytes, Doubles, Lanes, Singles, Words16, Words32

U8, U16, U32, F32, F64 = np.uint8, np.uint16, np.uint32, np.float32, np.float64


def bf16_from(x: Singles, mode: str = "rn", relu: bool = False) -> Words16:
    """float32 to the bits of bfloat16, rounded `rn` or `rz`; NaN is 0x7fff."""
    x = np.asarray(x)
    bits = x.view(U32)
    if mode == "rn":
        bits = bits + U32(0x7FFF) + ((bits >> U32(16)) & U32(1))
    result = (bits >> U32(16)).astype(U16)
    nan = x != x
    if nan.any():
        result = np.where(nan, U16(0x7FFF), result)
    return np.where(x < 0, U16(0), result) if relu else result


def bf16_from64(x: Doubles) -> Words16:
    """float64 (rounded to odd if inexact) to the bits of bfloat16, rounded once."""
    x = np.asarray(x)
    near = x.astype(F32)
    bits = near.view(U32)
    back = near.astype(F64)
    inexact = (back != x) & np.isfinite(near) & ((bits & U32(1)) == 0)
    away = (np.abs(x) > np.abs(back)) | (near == 0)
    odd = np.where(inexact, np.where(away, bits + U32(1), bits - U32(1)), bits)
    return bf16_from(odd.view(F32))


def bf16_to(bits: Words16) -> Singles:
    """The bits of bfloat16 to float32."""
    return (bits.astype(U32) << U32(16)).view(F32)


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


def _table(exponent_bits: int, mantissa_bits: int, bias: int, finite: bool) -> np.ndarray:
    """All 256 values of an fp8 format; `finite` has no infinities and one NaN per sign."""
    values = np.zeros(256, F64)
    for code in range(256):
        sign = -1.0 if code & 0x80 else 1.0
        exponent = (code >> mantissa_bits) & ((1 << exponent_bits) - 1)
        mantissa = code & ((1 << mantissa_bits) - 1)
        top = exponent == (1 << exponent_bits) - 1
        if finite and code & 0x7F == 0x7F:
            value = np.nan
        elif top and not finite:
            value = np.inf if mantissa == 0 else np.nan
        elif exponent == 0:
            value = mantissa * 2.0 ** (1 - bias - mantissa_bits)
        else:
            value = (1 + mantissa / (1 << mantissa_bits)) * 2.0 ** (exponent - bias)
        values[code] = sign * value
    return values


E4M3 = _table(4, 3, 7, finite=True)
E5M2 = _table(5, 2, 15, finite=False)
_E4M3_F32, _E5M2_F32 = E4M3.astype(F32), E5M2.astype(F32)


def _nearest(x: Lanes, table: np.ndarray, largest: int, nan: int, infinity: int | None) -> Bytes:
    """The code nearest to |x|, ties to even; what exceeds the largest finite value saturates, or is `infinity`."""
    x = np.asarray(x)
    size = np.abs(x.astype(F64))
    finite = table[: largest + 1]
    above = np.clip(np.searchsorted(finite, size), 1, largest)
    middle = (finite[above] + finite[above - 1]) / 2
    up = (size > middle) | ((size == middle) & (above % 2 == 0))
    code = np.where(up, above, above - 1)
    code = np.where(size >= finite[largest], largest, code)
    if infinity is not None:
        limit = finite[largest] + (finite[largest] - finite[largest - 1]) / 2
        code = np.where(size >= limit, infinity, code)
    code = code | np.where(np.signbit(x), 0x80, 0)
    return np.where(x != x, nan, code).astype(U8)


def e4m3_from(x: Lanes) -> Bytes:
    """To e4m3 with saturation (`.satfinite`); NaN is 0x7f."""
    return _nearest(x, E4M3, 0x7E, 0x7F, None)


def e5m2_from(x: Lanes) -> Bytes:
    """To e5m2 with saturation (`.satfinite`); NaN is 0x7f."""
    return _nearest(x, E5M2, 0x7B, 0x7F, None)


def e4m3_to(bits: Bytes) -> Singles:
    """e4m3 codes to float32."""
    return _E4M3_F32[bits]


def e5m2_to(bits: Bytes) -> Singles:
    """e5m2 codes to float32."""
    return _E5M2_F32[bits]


def pack16(low: Words16, high: Words16) -> Words32:
    """Two 16-bit patterns to one 32-bit word."""
    return low.astype(U32) | (high.astype(U32) << U32(16))


def low16(x: Words32) -> Words16:
    """The lower half of a word."""
    return x.astype(U16)


def high16(x: Words32) -> Words16:
    """The upper half of a word."""
    return (x >> U32(16)).astype(U16)
