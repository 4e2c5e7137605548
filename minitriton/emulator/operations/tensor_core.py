"""The sums of the tensor cores, as Hopper's hardware makes them.

In: operands A [..., rows, k] and B [..., k, columns] as exact values, an addend C. Out: A B + C, where

1. every product is exact and has the sum of its operands' exponents;
2. a group of dots and the addend are aligned to the largest exponent E among them and truncated (toward zero) below
   2**(E - fraction); the truncated terms are added exactly;
3. the sum is truncated to the result's format (float16: rounded to nearest even), and is the addend of the next group.

    1 + 2**-25 + 2**-25 (terms), addend 0   →   1 + 2**-24; with 2**-26 in place of 2**-25 the result is 1

A group is 32 bytes of an operand's row: 16 halves, 8 tf32, 32 fp8. `fraction` is 25; 13 for fp8 in `wgmma`, whose float32
results keep 13 bits of fraction. Fasi et al., "Numerical behavior of NVIDIA tensor cores" (2021) found the alignment and the
truncation, Xie et al., "MMA-Sim" (2025, arXiv 2511.10909) the widths, validated bit for bit on an H100.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from minitriton.emulator.arithmetic.floats import fma64

GROUP_BYTES = 32
_SMALLEST = {"f16": -14, "bf16": -126, "tf32": -126, "f32": -126, "e4m3": -6, "e5m2": -14}
"""Exponent of the subnormal numbers of a format."""
_ITEM = {"f16": 2, "bf16": 2, "tf32": 4, "e4m3": 1, "e5m2": 1}
_OF_ZERO = -300
"""Below every exponent of a sum that a result can show, and far enough from the end of float64's range."""
_KEPT = (~np.uint64((1 << 29) - 1), ~np.uint64((1 << 39) - 1))
"""Bits of a float64 that float32, and the narrow results of fp8, keep."""
_NORMAL = 2.0**-126
_AT_ONCE = 1 << 15
"""Terms that are summed in one array; more go term by term, over arrays that fit the cache."""


@dataclass(frozen=True)
class Accumulation:
    """How dots of one format accumulate in another."""

    operand: str
    other: str
    """Formats of A and of B."""
    result: str
    """`f32` or `f16`."""
    narrow: bool = False
    """fp8 in `wgmma`."""

    @property
    def group(self) -> int:
        """Terms that are aligned together."""
        return GROUP_BYTES // _ITEM[self.operand]

    @property
    def fraction(self) -> int:
        """Bits of the aligned terms below the largest one's exponent."""
        return 13 if self.narrow else 25


def _exponents(values: np.ndarray, format: str) -> np.ndarray:
    exponents = np.maximum(np.frexp(values)[1] - 1, _SMALLEST[format])
    return np.where(values == 0, _OF_ZERO, exponents)


def _power(exponents: np.ndarray) -> np.ndarray:
    """2**e as float64, for normal results."""
    return ((exponents.astype(np.int64) + 1023) << 52).view(np.float64)


def multiply_accumulate(a: np.ndarray, b: np.ndarray, c: np.ndarray, how: Accumulation) -> np.ndarray:
    """A B + C: float32 or float16 [..., rows, columns] from A [..., rows, k], B [..., k, columns] and C of the result's type."""
    a, b = a.astype(np.float64), b.astype(np.float64)
    exponents_a, exponents_b = _exponents(a, how.operand), _exponents(b, how.other)
    for start in range(0, a.shape[-1], how.group):
        part = slice(start, start + how.group)
        c = _fused(
            a[..., part], b[..., part, :], c, exponents_a[..., part], exponents_b[..., part, :], how
        )  # fmt: skip
    return c


def _fused(
    a: np.ndarray, b: np.ndarray, c: np.ndarray, ea: np.ndarray, eb: np.ndarray, how: Accumulation
) -> np.ndarray:
    wide = c.astype(np.float64)
    largest = _exponents(wide, how.result)
    if not (np.isfinite(a).all() and np.isfinite(b).all() and np.isfinite(wide).all()):
        plain = a @ b + wide
        special = ~np.isfinite(plain)
        a, b, wide = (np.where(np.isfinite(v), v, 0.0) for v in (a, b, wide))
        ea, eb = _exponents(a, how.operand), _exponents(b, how.other)
        return np.where(special, plain.astype(c.dtype), _fused(a, b, wide.astype(c.dtype), ea, eb, how))
    terms = a.shape[-1]
    if c.size * terms <= _AT_ONCE:
        sums = ea[..., :, :, None] + eb[..., None, :, :]
        largest = np.maximum(np.maximum(largest, sums.max(axis=-2)), _OF_ZERO)
        scale = _power(how.fraction - largest)
        total = np.trunc(a[..., :, :, None] * b[..., None, :, :] * scale[..., :, None, :]).sum(axis=-2)
        total += np.trunc(wide * scale)
    else:
        for k in range(terms):
            np.maximum(largest, ea[..., :, k, None] + eb[..., None, k, :], out=largest)
        np.maximum(largest, _OF_ZERO, out=largest)
        scale = _power(how.fraction - largest)
        total = np.trunc(wide * scale)
        term = np.empty_like(total)
        for k in range(terms):
            np.multiply(a[..., :, k, None], b[..., None, k, :], out=term)
            term *= scale
            np.trunc(term, out=term)
            total += term
    return _rounded(total * _power(largest - how.fraction), how)


def _rounded(exact: np.ndarray, how: Accumulation) -> np.ndarray:
    exact = exact + 0.0
    if how.result == "f16":
        return exact.astype(np.float16)
    truncated = (exact.view(np.uint64) & _KEPT[how.narrow]).view(np.float64).astype(np.float32)
    size = np.abs(exact)
    small = (size < _NORMAL) & (size > 0)
    if small.any():
        step = 2.0**-136 if how.narrow else 2.0**-149
        truncated = np.where(small, (np.trunc(exact / step) * step).astype(np.float32), truncated)
    return truncated


def multiply_accumulate64(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """A B + C of float64: a fused multiply-add for every k, in order."""
    for k in range(a.shape[-1]):
        left, right = np.broadcast_arrays(a[..., :, k, None], b[..., None, k, :])
        c = fma64(left, right, c)
    return c


def multiply_accumulate_integers(a: np.ndarray, b: np.ndarray, c: np.ndarray, saturate: bool) -> np.ndarray:
    """A B + C of integers, exact, as int32; beyond its range clamped with `saturate`, else wrapped."""
    exact = (a.astype(np.float64) @ b.astype(np.float64)).astype(np.int64) + c.astype(np.int64)
    limits = np.iinfo(np.int32)
    wide = np.clip(exact, limits.min, limits.max) if saturate else exact
    return wide.astype(np.int32)
