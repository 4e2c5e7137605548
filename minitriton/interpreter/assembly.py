"""What the interpreter asks of whoever runs PTX and device functions for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np


class DeviceFunctions(Protocol):
    """Runs functions of libdevice: of one array for each argument, the results. Raises `MinitritonError` if there is no such function."""

    def __call__(self, symbol: str, arguments: Sequence[np.ndarray], result: np.dtype) -> np.ndarray: ...


class Assembly(Protocol):
    """Runs PTX: for every input register an array of words, for every output register one, of the widths in `results`.

    The inputs numbered `pointers` are addresses in the arrays `memory`. Raises `MinitritonError` for what it cannot run,
    `InterpreterError` for what goes wrong when it runs.
    """

    def __call__(
        self,
        asm: str,
        constraints: str,
        inputs: Sequence[np.ndarray],
        results: Sequence[int],
        memory: Sequence[np.ndarray] = (),
        pointers: Sequence[int] = (),
    ) -> list[np.ndarray]: ...
