"""Arithmetic of float16 and bfloat16, single and in pairs, on bit patterns.

    narrow("add", "f16", 0x3c00, 0x3c00) -> 0x4000      (1 + 1 = 2)

Sums and products of two values are exact enough in float32, and a fused multiply-add in float64 rounded to odd, that
rounding them once more gives the correctly rounded result.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minitriton.emulator import float_math as fm
from minitriton.emulator import small_floats as sf

U16, U32 = np.uint16, np.uint32


def _minmax(largest: bool, nan: bool) -> Any:
    return lambda a, b: fm.minmax32(a, b, largest, nan)


_OPERATIONS: dict[str, Any] = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b,
    "min": _minmax(False, False), "max": _minmax(True, False),
    "min.NaN": _minmax(False, True), "max.NaN": _minmax(True, True),
    "ex2": fm.exp2_32, "tanh": fm.tanh32,
}  # fmt: skip


def widen(bits: Any, format: str) -> Any:
    """16-bit patterns to float32."""
    return sf.f16_to(bits) if format == "f16" else sf.bf16_to(bits)


def narrow(operation: str, format: str, *operands: Any) -> Any:
    """One operation on 16-bit patterns."""
    if operation == "neg":
        return operands[0] ^ U16(0x8000)
    if operation == "abs":
        return operands[0] & U16(0x7FFF)
    values = [widen(v, format) for v in operands]
    if operation in ("fma", "fma.relu"):
        wide = fm.fused64(*values)
        result = sf.f16_from(wide) if format == "f16" else sf.bf16_from64(wide)
        return np.where(wide < 0, U16(0), result) if operation == "fma.relu" else result
    value = _OPERATIONS[operation](*values)
    return sf.f16_from(value) if format == "f16" else sf.bf16_from(value)


def pairs(operation: str, format: str, *operands: Any) -> Any:
    """One operation on both halves of 32-bit words."""
    low = narrow(operation, format, *(sf.low16(v) for v in operands))
    high = narrow(operation, format, *(sf.high16(v) for v in operands))
    return sf.pack16(low, high)
