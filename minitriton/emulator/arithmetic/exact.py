"""Arithmetic rounded as asked from exact results, element by element: for the few instructions that NumPy has no answer to.

apply("add", "rp", 1.0, 2**-60) -> the float64 above 1, where NumPy's sum is 1
apply("fma", "rn", 2**1000, 2**1000, -inf) -> -inf
"""

import math
import operator
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from minitriton.emulator.lanes import Lanes

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


def apply(operation: str, mode: str, *operands: Lanes) -> Lanes:
    """`add`, `sub`, `mul`, `div`, `fma`, `sqrt` of float64 or float32, rounded `rn`, `rz`, `rm` or `rp` (PTX ISA)."""
    arrays = np.broadcast_arrays(*(np.asarray(o) for o in operands))
    dtype = arrays[0].dtype
    with np.errstate(all="ignore"):
        plain = np.asarray(_OPERATIONS.get(operation, np.sqrt)(*arrays))
    rows = zip(plain.ravel().tolist(), *(v.ravel().tolist() for v in arrays), strict=True)
    found = [_one(operation, mode, dtype, *row) for row in rows]
    return np.array(found, dtype).reshape(plain.shape)
