"""What tensors and scalars are held in, as a type."""

from __future__ import annotations

from typing import TypeAlias, cast

import numpy as np

Array: TypeAlias = np.ndarray
"""A NumPy array or a NumPy scalar: tensors and scalars are computed alike, and a scalar has the attributes and operators of an array."""


def scalar(number: np.generic) -> Array:
    """A NumPy scalar, which stays one, as an operand like any other."""
    return cast(Array, number)
