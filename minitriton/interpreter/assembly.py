"""What the interpreter asks of whoever runs PTX for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np


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
