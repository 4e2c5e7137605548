"""Whether two runs of a program gave the same numbers.

compare([1.0, 2.0], [1.0, 2.0])  →  BIT_EQUAL         compare([1.0], [1.0000001])  →  CLOSE
compare([1.0], [1.5])            →  WRONG             integers and booleans are never merely close
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

import numpy as np

from minitriton.lab.arguments import as_numbers

_RELATIVE = {"fp64": 1e-9, "fp32": 1e-4, "fp16": 4e-3, "bf16": 3e-2}
"""By element type: what a different order of the operations of a sum, or an approximate `ex2`, may change."""
_RELATIVE_FP8 = 0.25


class Verdict(StrEnum):
    """How the numbers after a pass compare."""

    BIT_EQUAL = "bit-equal"
    CLOSE = "within tolerance"
    WRONG = "wrong"
    NOT_RUN = "not executable"


def relative_tolerance(element: str) -> float:
    """Of an element type by its name: `fp32`, `bf16`, `fp8e5`."""
    return _RELATIVE.get(element, _RELATIVE_FP8)


def compare(
    ours: Sequence[np.ndarray], theirs: Sequence[np.ndarray], elements: Sequence[str], tolerance: float = 0.0
) -> Verdict:
    """The worst verdict over the arrays, whose element types are `elements`. `tolerance`: relative, where the type's is less."""
    verdict = Verdict.BIT_EQUAL
    for a, b, element in zip(ours, theirs, elements, strict=True):
        if a.tobytes() == b.tobytes():
            continue
        if differing(a, b, element, tolerance).any():
            return Verdict.WRONG
        verdict = Verdict.CLOSE
    return verdict


def differing(a: np.ndarray, b: np.ndarray, element: str, tolerance: float = 0.0) -> np.ndarray:
    """Which elements differ by more than the type's tolerance, and by more than `tolerance`."""
    a, b = as_numbers(a, element), as_numbers(b, element)
    if a.dtype.kind != "f":
        return a != b
    a, b = a.astype(np.float64), b.astype(np.float64)
    finite = np.abs(b[np.isfinite(b)])
    relative = max(relative_tolerance(element), tolerance)
    absolute = relative * 0.1 * float(finite.mean()) if finite.size else 0.0
    return ~np.isclose(a, b, rtol=relative, atol=absolute, equal_nan=True)
