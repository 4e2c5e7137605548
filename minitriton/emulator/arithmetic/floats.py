"""Float arithmetic with the rounding that the PTX ISA states, on NumPy arrays.

In and out: float32 or float64 arrays (or scalars). `fma32(a, b, c)` rounds a*b + c once, as the hardware does:

    fma32(1 + 2**-23, 1 + 2**-23, -1 - 2**-22) = 2**-46, where multiplying first would give 0

Arithmetic rounded as asked from exact results, element by element: for the few instructions that NumPy has no answer to.

exactly("add", "rp", 1.0, 2**-60) -> the float64 above 1, where NumPy's sum is 1
exactly("fma", "rn", 2**1000, 2**1000, -inf) -> -inf
"""

import math
import operator
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from minitriton.emulator.lanes import Doubles, Lanes, Singles, Words16, Words32, Words64
from minitriton.interpreter.numbers.formats import extreme


def halves(pairs: Words64) -> Singles:
    """The two float32 of each 64 bits, the low one first, along a new last axis."""
    return np.ascontiguousarray(pairs, np.uint64)[..., None].view(np.float32)


def joined(numbers: Singles) -> Words64:
    """The reverse of `halves`."""
    return np.ascontiguousarray(numbers, np.float32).view(np.uint64)[..., 0]


_BITS = {np.dtype(np.float64): (53, -1074), np.dtype(np.float32): (24, -149)}
"""Bits of a significand and exponent of the smallest number."""


def _fused(a: Any, b: Any, c: Any) -> Any:
    return a * b + c


def _quotient(a: Any, b: Any) -> Any:
    return a / b


_OPERATIONS: dict[str, Callable[..., Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": _quotient, "fma": _fused,
}  # fmt: skip


def _unit(size: Fraction, bits: int, smallest: int) -> Fraction:
    """The spacing of the numbers around `size`."""
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    if Fraction(2) ** exponent > size:
        exponent -= 1
    return Fraction(2) ** max(exponent - bits + 1, smallest)


def _round(steps: Fraction, mode: str, negative: bool) -> int:
    """A positive number of units, rounded to a whole one."""
    down = math.floor(steps)
    if mode == "rn":
        half = steps - down
        return down + (half > Fraction(1, 2) or (half == Fraction(1, 2) and down % 2 == 1))
    away = (mode == "rp" and not negative) or (mode == "rm" and negative)
    return down + 1 if away and down != steps else down


def _to_float(value: Fraction, mode: str, dtype: np.dtype) -> float:
    bits, smallest = _BITS[dtype]
    unit = _unit(abs(value), bits, smallest)
    sign = -1.0 if value < 0 else 1.0
    whole = _round(abs(value) / unit, mode, value < 0) * unit
    largest = Fraction(float(np.finfo(dtype).max))
    if whole > largest:
        away = mode == "rn" or mode == ("rm" if value < 0 else "rp")
        return (math.inf if away else float(largest)) * sign
    return float(whole) * sign


def _root(value: Fraction, mode: str, dtype: np.dtype) -> float:
    """Square root: found as a whole number of quarter units with a sticky last bit, then rounded."""
    shift = 2 * (_BITS[dtype][0] + 2) - (value.numerator.bit_length() - value.denominator.bit_length()) // 2 * 2
    scaled = value * Fraction(4) ** (shift // 2)
    root = math.isqrt(math.floor(scaled))
    exact = Fraction(root)
    if exact * exact != scaled:
        exact += Fraction(1, 2)
    return _to_float(exact / Fraction(2) ** (shift // 2), mode, dtype)


def _one(operation: str, mode: str, dtype: np.dtype, plain: float, *operands: float) -> float:
    """One element; `plain` is NumPy's result, which is right where it or an operand is not finite, or an exact zero."""
    if not all(map(math.isfinite, operands)):
        return plain
    if (operation == "div" and operands[1] == 0) or (operation == "sqrt" and operands[0] <= 0):
        return plain
    values = [Fraction(float(v)) for v in operands]
    if operation == "sqrt":
        return _root(values[0], mode, dtype)
    exact = _OPERATIONS[operation](*values)
    if exact:
        return _to_float(exact, mode, dtype)
    if operation in ("mul", "div"):
        return plain
    terms = (operands[0], operands[1] if operation == "add" else -operands[-1])
    if operation == "fma":
        terms = (math.copysign(1.0, operands[0]) * math.copysign(1.0, operands[1]) * 0.0, operands[2])
    negative = [math.copysign(1.0, t) < 0 for t in terms]
    both_zero = all(v == 0 for v in values) or (operation == "fma" and values[0] * values[1] == 0)
    minus = all(negative) if both_zero and mode != "rm" else mode == "rm" and (any(negative) or not both_zero)
    return -0.0 if minus else 0.0


def exactly(operation: str, mode: str, *operands: Lanes) -> Lanes:
    """`add`, `sub`, `mul`, `div`, `fma`, `sqrt` of float64 or float32, rounded `rn`, `rz`, `rm` or `rp` (PTX ISA)."""
    arrays = np.broadcast_arrays(*(np.asarray(o) for o in operands))
    dtype = arrays[0].dtype
    with np.errstate(all="ignore"):
        plain = np.asarray(_OPERATIONS.get(operation, np.sqrt)(*arrays))
    rows = zip(plain.ravel().tolist(), *(v.ravel().tolist() for v in arrays), strict=True)
    found = [_one(operation, mode, dtype, *row) for row in rows]
    return np.array(found, dtype).reshape(plain.shape)


U32, U64, F32, F64 = np.uint32, np.uint64, np.float32, np.float64
_NAN32 = U32(0x7FFFFFFF)
_NAN64 = U64(0x7FF8000000000000)
_NAN16 = np.uint16(0x7FFF)
_SIGN32 = U32(0x80000000)
_LOW29 = U64((1 << 29) - 1)
_HALF29 = U64(1 << 28)
_ONE64 = U64(1)
_TINY32 = F64(2.0**-126)


def bits32(x: Singles) -> Words32:
    """The bits of float32 results; every NaN is the one that NVIDIA hardware makes, 0x7fffffff."""
    u = x.view(U32)
    nan = x != x
    return np.where(nan, _NAN32, u) if nan.any() else u


def bits64(x: Doubles) -> Words64:
    """The bits of float64 results, NaNs canonical."""
    u = x.view(U64)
    nan = x != x
    return np.where(nan, _NAN64, u) if nan.any() else u


def bits16(x: npt.NDArray[np.float16]) -> Words16:
    """The bits of float16 results; NaNs are 0x7fff."""
    u = x.view(np.uint16)
    nan = x != x
    return np.where(nan, _NAN16, u) if nan.any() else u


def flush32(x: Singles) -> Singles:
    """Subnormal float32 values become zeros of their sign (`.ftz`)."""
    small = np.abs(x) < F32(2.0**-126)
    return np.where(small, np.copysign(F32(0), x), x) if small.any() else x


def _odd(s: Doubles, error: Doubles) -> Doubles:
    """`s` rounded to odd, given the exact sum is `s + error`: a later rounding to fewer bits is then right."""
    bits = s.view(U64)
    step = (error != 0) & ((bits & _ONE64) == 0) & np.isfinite(s)
    away = (error > 0) == (s > 0)
    moved = np.where(away, bits + _ONE64, bits - _ONE64)
    zero = s == 0
    return np.where(step & ~zero, moved, bits).view(F64)


def _sum_error(a: Doubles, b: Doubles, s: Doubles) -> Doubles:
    """Knuth's TwoSum: the exact error of `s = a + b`."""
    back = s - a
    return (a - (s - back)) + (b - back)


def fused64(a: Lanes, b: Lanes, c: Lanes) -> Doubles:
    """a*b + c of float32 (or narrower) values as float64, rounded to odd where it matters; rounding it is one rounding."""
    p = a.astype(F64) * b.astype(F64)
    wide = c.astype(F64)
    s = np.asarray(p + wide)
    return _odd(s, _sum_error(p, wide, s))


def fma32(a: Singles, b: Singles, c: Singles) -> Singles:
    """a*b + c in float32, rounded once to nearest even."""
    p = a.astype(F64) * b.astype(F64)
    wide = c.astype(F64)
    s = p + wide
    risky = ((s.view(U64) & _LOW29) == _HALF29) | (np.abs(s) < _TINY32)
    if risky.any():
        s = np.asarray(s)
        s = _odd(s, _sum_error(p, wide, s))
    return s.astype(F32)


def fma64(a: Doubles, b: Doubles, c: Doubles) -> Doubles:
    """a*b + c in float64, rounded once (Boldo and Melquiond 2008); near the ends of the range from exact fractions."""
    a, b, c = np.asarray(a), np.asarray(b), np.asarray(c)
    uh, ul = _product(a, b)
    th = c + ul
    tl = _sum_error(c, ul, th)
    vh = uh + th
    vl = _sum_error(uh, th, vh)
    z = tl + vl
    z = _odd(z, _sum_error(tl, vl, z))
    result = vh + z
    plain = a * b + c
    # A product with zero is exact, and so is the sign of its sum with another zero.
    result = np.where(np.isfinite(result) & (a != 0) & (b != 0), result, plain)
    size = np.abs(np.stack(np.broadcast_arrays(a, b, c, a * b)))
    extreme = (((size > 2.0**900) | (size < 2.0**-900)) & (size != 0)).any(0) & np.isfinite(size[:3]).all(0)
    extreme |= (size[3] == 0) & (size[0] != 0) & (size[1] != 0)
    if extreme.any():
        operands = [np.broadcast_to(v, extreme.shape)[extreme] for v in (a, b, c)]
        result = np.array(result)
        result[extreme] = exactly("fma", "rn", *operands)
    return result


def _product(a: Doubles, b: Doubles) -> tuple[Doubles, Doubles]:
    p = a * b
    split = F64(134217729.0)
    ah = split * a
    ah = ah - (ah - a)
    bh = split * b
    bh = bh - (bh - b)
    al, bl = a - ah, b - bh
    return p, ((ah * bh - p) + ah * bl + al * bh) + al * bl


def add_directed(a: Singles, b: Singles, mode: str) -> Singles:
    """a + b in float32 rounded by `mode` (`rz`, `rm`, `rp`)."""
    return round32(fused64(a, np.ones_like(a), b), mode)


def multiply_directed(a: Singles, b: Singles, mode: str) -> Singles:
    """a * b in float32 rounded by `mode`."""
    return round32(a.astype(F64) * b.astype(F64), mode)


def fma_directed(a: Singles, b: Singles, c: Singles, mode: str) -> Singles:
    """a*b + c in float32 rounded by `mode`."""
    return round32(fused64(a, b, c), mode)


def round32(x: Doubles, mode: str) -> Singles:
    """float64 to float32 by `mode`: `rn`, `rz` (to zero), `rm` (down), `rp` (up)."""
    near = np.asarray(x.astype(F32))
    if mode == "rn":
        return near
    back = near.astype(F64)
    if mode == "rz":
        wrong, target = np.abs(back) > np.abs(x), F32(0)
    elif mode == "rm":
        wrong, target = back > x, F32(-np.inf)
    else:
        wrong, target = back < x, F32(np.inf)
    return np.where(wrong, np.nextafter(near, target), near)


def _in_double(function: Callable[[Doubles], Doubles]) -> Callable[[Singles], Singles]:
    """A function of float32 that an `.approx` instruction computes: in float64, rounded once."""
    return lambda x: function(x.astype(F64)).astype(F32)


exp2_32, log2_32, sin32, cos32, tanh32 = map(_in_double, (np.exp2, np.log2, np.sin, np.cos, np.tanh))
rsqrt32 = _in_double(lambda x: 1.0 / np.sqrt(x))
reciprocal32, root32, quotient32 = partial(np.divide, F32(1)), np.sqrt, np.divide
"""What `rcp`, `sqrt.approx`, and `div.full` and `div.approx` compute: rounded to nearest, as the ISA permits."""


def upper64(x: Doubles) -> Doubles:
    """A float64 result where only the upper 32 bits are computed (`rcp.approx.ftz.f64`, `rsqrt.approx.ftz.f64`)."""
    small = np.abs(x) < 2.0**-1022
    flushed = np.where(small, np.copysign(0.0, x), x)
    return (np.asarray(flushed).view(U64) & U64(0xFFFFFFFF00000000)).view(F64)


def flush64(x: Doubles) -> Doubles:
    """Subnormal float64 values become zeros of their sign."""
    return np.where(np.abs(x) < 2.0**-1022, np.copysign(0.0, x), x)


def minmax_by_size(a: Singles, b: Singles, largest: bool, nan: bool) -> Singles:
    """min/max of magnitudes with the signs multiplied (`.xorsign.abs`)."""
    size = extreme(np.abs(a), np.abs(b), largest, nan)
    sign = (a.view(U32) ^ b.view(U32)) & _SIGN32
    return np.where(size != size, size, (size.view(U32) | sign).view(F32))


def saturate32(x: Singles) -> Singles:
    """Clamps to [0, 1]; NaN gives 0 (`.sat`)."""
    return np.where(x != x, F32(0), np.clip(x, F32(0), F32(1)))
