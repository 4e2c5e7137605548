"""How long what is launched takes: pairs of CUDA events, or the emulator's estimates where there is no GPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from minitriton.runtime.on_cpu.emulation_cost import TIMING

MOST_PENDING = 4096
"""Pairs of events that wait to be read."""


class Clock(Protocol):
    """Calls `done(nanoseconds)` for each span, at once or when `settle` is called."""

    def begin(self) -> Any:
        """A span begins on the current stream; what `end` is to be given."""
        ...

    def end(self, begun: Any, done: Callable[[float], None]) -> None:
        """The span ends."""
        ...

    def settle(self) -> None:
        """Waits until every span is known."""
        ...


class EventClock:
    """CUDA events on torch's current stream."""

    def __init__(self, device: Any) -> None:
        self._device = device
        self._pending: list[tuple[Any, Any, Callable[[float], None]]] = []

    def begin(self) -> Any:
        event = self._device.Event(enable_timing=True)
        event.record()
        return event

    def end(self, begun: Any, done: Callable[[float], None]) -> None:
        self._pending.append((begun, self.begin(), done))
        if len(self._pending) >= MOST_PENDING:
            self.settle()

    def settle(self) -> None:
        self._device.synchronize()
        for start, end, done in self._pending:
            done(1e6 * start.elapsed_time(end))
        self._pending.clear()


class EmulatorClock:
    """The emulator's estimates."""

    def begin(self) -> float:
        return TIMING.now()

    def end(self, begun: float, done: Callable[[float], None]) -> None:
        done(1e6 * (TIMING.now() - begun))

    def settle(self) -> None:
        """Every span is known when it ends."""


def clock_here() -> Clock:
    """The clock of this machine."""
    from minitriton.runtime import driver

    torch = driver.torch_module()
    return EventClock(torch.cuda) if torch is not None and torch.cuda.is_available() else EmulatorClock()
