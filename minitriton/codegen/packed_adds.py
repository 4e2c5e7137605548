"""Sums of two 16-bit numbers at once whose constants differ, taken apart: ptxas assembles them wrongly.

    mov.b32 %r14, 8257536;                  the same
    add.s16x2 %r15, %r12, %r14;       →     two add.s16 on the halves of %r12 and %r14

Where only the upper half of the sum is read, ptxas 12.8 (of CUDA 12.8, which Triton 3.6.0 ships) adds the lower half of the constant to it: for
8257536, which is (0, 126), it writes `VIADD.16x2 R8, R8, 0x0`. nvJitLink 13.5 is right (2026-11-22).
"""

from __future__ import annotations

import re

_CONSTANT = re.compile(r"mov\.b32\s+(%r\d+), (-?\d+);")
_SUM = re.compile(r"add\.s16x2\s+(%r\d+), (%r\d+), (%r\d+|-?\d+);")


def split_uneven_sums(ptx: str) -> str:
    """`ptx` without packed sums of a constant whose halves differ."""
    if "add.s16x2" not in ptx:
        return ptx
    constants = {name: int(value) for name, value in _CONSTANT.findall(ptx)}
    return _SUM.sub(lambda found: _halves(found) if _is_uneven(found, constants) else found[0], ptx)


def _is_uneven(found: re.Match[str], constants: dict[str, int]) -> bool:
    """Whether a summand is a constant of two different halves."""
    for operand in (found[2], found[3]):
        value = constants.get(operand) if operand.startswith("%") else int(operand)
        if value is not None and (value & 0xFFFF) != (value >> 16 & 0xFFFF):
            return True
    return False


def _halves(found: re.Match[str]) -> str:
    result, left, right = found.groups()
    return (
        "{ .reg .b16 %half<6>; "
        f"mov.b32 {{%half0, %half1}}, {left}; mov.b32 {{%half2, %half3}}, {right}; "
        "add.s16 %half4, %half0, %half2; add.s16 %half5, %half1, %half3; "
        f"mov.b32 {result}, {{%half4, %half5}}; }}"
    )
