"""Arithmetic of float16 and bfloat16, single and in pairs, on bit patterns.

    narrow("add", "f16", 0x3c00, 0x3c00) -> 0x4000      (1 + 1 = 2)

Sums and products of two values are exact enough in float32, and a fused multiply-add in float64 rounded to odd, that
rounding them once more gives the correctly rounded result.
"""

from __future__ import annotations

import operator
from collections.abc import Callable

import numpy as np

from minitriton.emulator.arithmetic import floats as fm
from minitriton.emulator.arithmetic import small_floats as sf
from minitriton.emulator.lanes import Lanes, Singles, Words16, Words32
from minitriton.interpreter.numbers.formats import extreme

U16, U32 = np.uint16, np.uint32


_OPERATIONS: dict[str, Callable[..., Singles]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul,
    "ex2": fm.exp2_32, "tanh": fm.tanh32,
}  # fmt: skip


def widen(bits: Words16, format: str) -> Singles:
    """16-bit patterns to float32."""
    return sf.f16_to(bits) if format == "f16" else sf.bf16_to(bits)


def _from(format: str) -> Callable[[Lanes], Words16]:
    return sf.f16_from if format == "f16" else sf.bf16_from


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
    low = narrow(operation, format, *(sf.low16(v) for v in operands))
    high = narrow(operation, format, *(sf.high16(v) for v in operands))
    return sf.pack16(low, high)
