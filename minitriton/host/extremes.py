"""The smaller and the larger of floats as PTX and IEEE 754-2019 order them, where NumPy's choice among zeros is any.

extreme(-0.0, 0.0, largest=True) = 0.0        extreme(1.0, nan, largest=True) = 1.0
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.floating[Any]]


def extreme(a: Floats, b: Floats, largest: bool, nan: bool = False) -> Floats:
    """min or max of float arrays of one type: -0 < +0; one NaN gives the other operand, or NaN with `nan` (PTX ISA, `min` and `max`)."""
    result = (np.fmax if largest else np.fmin)(a, b)
    zeros = (a == 0) & (b == 0)
    if zeros.any():
        result = np.where(zeros, a + b if largest else -(-a - b), result)
    if nan:
        result = np.where((a != a) | (b != b), a.dtype.type(np.nan), result)
    return result
