"""The compiled kernels of one function, by device and key: `kernel.device_caches[device][0][key]`, as in Triton.

Programs may look into them, clear them, copy them and make empty ones of the same type (tracers do); who is given as `forget`
is told of a clearing, and drops what it remembers too. A copy tells nobody: it belongs to no kernel.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Self


def _nobody() -> None:
    """Told of what happens to caches that belong to no kernel."""


class Kernels(dict[str, Any]):
    """The kernels on one device."""

    _forget: Callable[[], None] = staticmethod(_nobody)

    @classmethod
    def telling(cls, forget: Callable[[], None]) -> Kernels:
        """Empty ones whose clearing `forget` is told of."""
        made = cls()
        made._forget = forget
        return made

    def clear(self) -> None:
        super().clear()
        self._forget()

    def copy(self) -> Kernels:
        return Kernels(self)

    __copy__ = copy

    def __reduce__(self) -> tuple[object, ...]:
        return Kernels, (), None, None, iter(self.items())


class DeviceCaches(defaultdict[int, tuple[Kernels]]):
    """Device → `(kernels,)`."""

    def __init__(
        self,
        forget: Callable[[], None] | None = None,
        entries: Iterable[tuple[int, tuple[Kernels]]] | Mapping[int, tuple[Kernels]] = (),
    ) -> None:
        super().__init__(None, entries)
        self._forget = forget or _nobody

    def __missing__(self, device: int) -> tuple[Kernels]:
        made = self[device] = (Kernels.telling(self._forget),)
        return made

    def clear(self) -> None:
        super().clear()
        self._forget()

    def copy(self) -> Self:
        return type(self)(None, self)

    def __copy__(self) -> Self:
        return self.copy()

    def __reduce__(self) -> tuple[object, ...]:
        return DeviceCaches, (), None, None, iter(self.items())
