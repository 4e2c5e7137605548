"""The numbers of narrow floating-point formats, as NumPy arrays of bytes and of float64."""

from __future__ import annotations

import numpy as np

FORMATS = {"e4m3": (4, 3), "e5m2": (5, 2), "e2m1": (2, 1)}


def values(kind: str) -> np.ndarray:
    """What each code of a format stands for."""
    exponents, mantissas = FORMATS[kind]
    bias = 2 ** (exponents - 1) - 1
    found: list[float] = []
    for code in range(2 ** (1 + exponents + mantissas)):
        sign = -1 if code >> (exponents + mantissas) else 1
        exponent, mantissa = code >> mantissas & 2**exponents - 1, code & 2**mantissas - 1
        fraction = mantissa / 2**mantissas
        number = 2.0 ** (1 - bias) * fraction if exponent == 0 else 2.0 ** (exponent - bias) * (1 + fraction)
        if kind == "e4m3" and (exponent, mantissa) == (15, 7):
            number = np.nan
        if kind == "e5m2" and exponent == 31:
            number = np.nan if mantissa else np.inf
        found.append(sign * number)
    return np.array(found)


def random_codes(rng: np.random.Generator, kind: str, *shape: int) -> np.ndarray:
    """Codes of numbers of moderate size."""
    size = np.abs(values(kind))
    with np.errstate(invalid="ignore"):
        moderate = np.flatnonzero((size < 4) & (size > 0.01))
    return rng.choice(moderate, shape).astype(np.uint8)


def as_bf16(x: np.ndarray) -> np.ndarray:
    """Floats cut off to bf16, as their 16 bits."""
    return (x.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)


def from_bf16(bits: np.ndarray) -> np.ndarray:
    """The floats whose 16 bits these are."""
    return (bits.astype(np.uint32) << 16).view(np.float32)
