"""How far the arrays of two runs are apart: how many elements differ, by how much, where, and whether rounding explains it.

distance(now, before, "fp16")       37 of 4096 elements, by up to 0.0039 at [3, 17] (1.5039 for 1.5), 0.26 % of it, 4 ulps

An ulp is the distance of neighbours among the numbers of the element's type, at the larger of the two.
"""

from __future__ import annotations

import numpy as np

from minitriton.explorer.wire import ApartJson
from minitriton.lab.comparison import numbers_differ

_PRECISION = {
    "fp64": (52, -1022), "fp32": (23, -126), "fp16": (10, -14), "bf16": (7, -126), "fp8e5": (2, -14), "fp8e4nv": (3, -6), "fp8e4b15": (3, -14),
}  # fmt: skip
"""By element type, the bits of its mantissa, and the exponent of its least normal number."""

_FEWEST, _DEVIATIONS = 32, 5
"""Of so many numbers, rounding makes as many larger as smaller: more apart than so many standard deviations, and something else did."""


def distance(now: np.ndarray, before: np.ndarray, element: str, tolerance: float = 0.0) -> ApartJson:
    """How far the numbers `now` are from those `before`; `tolerance` as `lab.comparison.rounding_tolerance` gives it."""
    if now.size != before.size:
        return {"differing": max(now.size, before.size), "sizes": [now.size, before.size]}
    a, b = (np.asarray(each, np.float64).reshape(-1) for each in (now, before))
    apart = ~((a == b) | (np.isnan(a) & np.isnan(b)))
    where = np.flatnonzero(apart)
    found: ApartJson = {"differing": len(where)}
    if not len(where):
        return found
    a, b = a[where], b[where]
    finite = np.isfinite(a) & np.isfinite(b)
    if lost := int((~finite).sum()):
        found["not_finite"] = lost
    with np.errstate(invalid="ignore", over="ignore"):
        by = np.where(finite, np.abs(a - b), np.inf)
    worst = int(by.argmax())
    found["first"] = _index(now, where[0])
    found["at"], found["now"], found["before"] = _index(now, where[worst]), _plain(a[worst]), _plain(b[worst])
    found["beyond"] = int(numbers_differ(now, before, element, tolerance).sum())
    if not finite.any():
        return found
    found["absolute"] = float(by[finite].max())
    larger_now, count = int((np.abs(a[finite]) > np.abs(b[finite])).sum()), int(finite.sum())
    if count >= _FEWEST and abs(2 * larger_now - count) > _DEVIATIONS * count**0.5:
        found["larger"] = larger_now
    if now.dtype.kind == "f":
        compared = finite & (b != 0)
        if compared.any():
            found["relative"] = float((by[compared] / np.abs(b[compared])).max())
        if element in _PRECISION:
            bits, least = _PRECISION[element]
            larger = np.maximum(np.abs(a[finite]), np.abs(b[finite]))
            exponents = np.maximum(np.frexp(larger)[1] - 1, least)
            found["ulps"] = float(np.ldexp(by[finite], bits - exponents).max())
    return found


def _index(array: np.ndarray, flat: int) -> list[int]:
    return [int(at) for at in np.unravel_index(flat, array.shape)] if array.ndim else [0]


def _plain(number: float) -> float | str:
    return float(number) if np.isfinite(number) else str(number)
