"""The compiled kernels of one function, by device and key: `kernel.device_caches[device][0][key]`, as in Triton.

Programs may look into them, clear them, copy them and make empty ones of the same type (tracers do); who is given as `forget`
is notified of a clearing, and drops what it remembers too. A copy tells nobody: it belongs to no kernel.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Self


def _nobody() -> None:
    """Notified of what happens to caches that belong to no kernel."""


class Kernels(dict[str, Any]):
    """The kernels on one device."""

    _forget: Callable[[], None] = staticmethod(_nobody)

    @classmethod
    def telling(cls, forget: Callable[[], None]) -> Kernels:
        """Empty ones whose clearing `forget` is notified of."""
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


class DeviceCaches(defaultdict[Any, tuple[Any, ...]]):
    """Device → `(kernels, keys, target, backend, binder)`, which programs take apart; all but `kernels` is what `parts(device)` gives."""

    def __init__(
        self,
        forget: Callable[[], None] | None = None,
        parts: Callable[[object], tuple[object, ...]] = lambda device: (),
        entries: Iterable[tuple[int, tuple[Any, ...]]] | Mapping[int, tuple[Any, ...]] = (),
    ) -> None:
        super().__init__(None, entries)
        self._forget = forget or _nobody
        self._parts = parts

    def __missing__(self, device: object) -> tuple[Any, ...]:
        made = self[device] = (Kernels.telling(self._forget), *self._parts(device))
        return made

    def clear(self) -> None:
        super().clear()
        self._forget()

    def copy(self) -> Self:
        return type(self)(entries=self)

    def __copy__(self) -> Self:
        return self.copy()

    def __reduce__(self) -> tuple[object, ...]:
        return DeviceCaches, (), None, None, iter([(device, entry[:1]) for device, entry in self.items()])
