"""The element types that fuzzed kernels compute with.

"uint8"  →  8 bits, unsigned, [0, 255], held as np.uint8, `*u8` in a signature, `tl.uint8` in a kernel
"bfloat16"  →  8 bits of mantissa, held as the bit patterns of np.uint16
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from minitriton.lab.arguments import as_numbers


@dataclass(frozen=True)
class Element:
    """One element type. `mantissa` counts the hidden bit and is 0 for integers; `largest` is the largest finite float."""

    name: str
    short: str
    bits: int
    dtype: np.dtype
    signed: bool = True
    mantissa: int = 0
    largest: float = 0.0
    finest: int = 0
    """The smallest positive float is 2 to the power of minus this."""

    @property
    def is_float(self) -> bool:
        return self.mantissa > 0

    @property
    def is_int(self) -> bool:
        return self.mantissa == 0 and self.bits > 1

    @property
    def is_bool(self) -> bool:
        return self.bits == 1

    @property
    def is_fp8(self) -> bool:
        return self.is_float and self.bits == 8

    @property
    def low(self) -> int:
        return -(1 << (self.bits - 1)) if self.signed and self.bits > 1 else 0

    @property
    def high(self) -> int:
        return (1 << (self.bits - 1 if self.signed and self.bits > 1 else self.bits)) - 1

    def __str__(self) -> str:
        return self.name


def _float(
    name: str, short: str, bits: int, dtype: npt.DTypeLike, mantissa: int, largest: float, finest: int
) -> Element:
    return Element(name, short, bits, np.dtype(dtype), True, mantissa, largest, finest)


INTEGERS = tuple(
    Element(
        f"{'' if signed else 'u'}int{bits}",
        f"{'i' if signed else 'u'}{bits}",
        bits,
        np.dtype(f"{'' if signed else 'u'}int{bits}"),
        signed,
    )
    for bits in (8, 16, 32, 64)
    for signed in (True, False)
)
BOOL = Element("int1", "i1", 1, np.dtype(np.bool_), False)
FLOATS = (
    _float("float16", "fp16", 16, np.float16, 11, 65504.0, 24),
    _float("bfloat16", "bf16", 16, np.uint16, 8, float(2.0**127 * (2 - 2.0**-7)), 133),
    _float("float32", "fp32", 32, np.float32, 24, float(np.finfo(np.float32).max), 149),
    _float("float64", "fp64", 64, np.float64, 53, float(np.finfo(np.float64).max), 1074),
)
FP8 = (
    _float("float8e4nv", "fp8e4nv", 8, np.uint8, 4, 448.0, 9),
    _float("float8e5", "fp8e5", 8, np.uint8, 3, 57344.0, 16),
)
ELEMENTS = {e.name: e for e in (*INTEGERS, BOOL, *FLOATS, *FP8)}
INT32, INT64, FLOAT32 = ELEMENTS["int32"], ELEMENTS["int64"], ELEMENTS["float32"]


def integer(bits: int, signed: bool) -> Element:
    """The integer type of a width and sign."""
    return ELEMENTS[f"{'' if signed else 'u'}int{bits}"]


def promoted(a: Element, b: Element) -> Element:
    """The integer type of `a + b`, by C's usual conversions as the language applies them."""
    if a == b:
        return a
    if a.signed == b.signed:
        return a if a.bits > b.bits else b
    unsigned, signed = (b, a) if a.signed else (a, b)
    return unsigned if unsigned.bits >= signed.bits else signed


def numbers(array: np.ndarray, element: Element) -> np.ndarray:
    """The values that an array of `element` holds: what NumPy lacks is decoded."""
    return as_numbers(array, element.short)
