"""What registers hold, as types: one number for each thread of a batch.

Where all threads have the same number it may be a NumPy scalar, which has the dtype, the methods and the operators of an array (`view`,
`astype`, `ndim`, `&`): rules and operations need not ask which of the two they were given, and `Batch.spread` makes an array of either.
"""

from typing import TypeAlias, cast

import numpy as np
import numpy.typing as npt

Lanes: TypeAlias = np.ndarray
"""Of any dtype."""
Flags: TypeAlias = npt.NDArray[np.bool_]
Bytes: TypeAlias = npt.NDArray[np.uint8]
Words16: TypeAlias = npt.NDArray[np.uint16]
Words32: TypeAlias = npt.NDArray[np.uint32]
Words64: TypeAlias = npt.NDArray[np.uint64]
Singles: TypeAlias = npt.NDArray[np.float32]
Doubles: TypeAlias = npt.NDArray[np.float64]


def same(number: np.generic) -> Lanes:
    """A number that all threads have, as lanes: it stays the scalar that it is."""
    return cast(Lanes, number)
