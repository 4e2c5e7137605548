"""The compiled kernels of one function, by device and key: `kernel.device_caches[device][0][key]`, as in Triton.

Programs may look into them and clear them; who is given as `forget` is told of a clearing, and drops what it remembers too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any


class Kernels(dict[Any, Any]):
    """The kernels on one device."""

    def __init__(self, forget: Callable[[], None]) -> None:
        super().__init__()
        self._forget = forget

    def clear(self) -> None:
        super().clear()
        self._forget()


class DeviceCaches(defaultdict[int, tuple[Kernels]]):
    """Device → `(kernels,)`."""

    def __init__(self, forget: Callable[[], None]) -> None:
        super().__init__()
        self._forget = forget

    def __missing__(self, device: int) -> tuple[Kernels]:
        made = self[device] = (Kernels(self._forget),)
        return made

    def clear(self) -> None:
        super().clear()
        self._forget()
