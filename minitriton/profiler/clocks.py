"""How long what is launched takes: pairs of CUDA events, or the emulator's estimates where there is no GPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias

from minitriton.runtime.benchmarking import DeviceInterface, TimingEvent
from minitriton.runtime.on_cpu.emulation_cost import TIMING

MOST_PENDING = 4096
"""Pairs of events that wait to be read."""


Done: TypeAlias = Callable[[float], None]
"""Is told how many nanoseconds a span took."""
End: TypeAlias = Callable[[Done], None]
"""Ends the span that it was given for."""


class Clock(Protocol):
    """Tells how long each span took, when it ends or when `settle` is called."""

    def begin(self) -> End:
        """A span begins on the current stream; what ends it."""
        ...

    def settle(self) -> None:
        """Waits until every span is known."""
        ...


class EventClock:
    """CUDA events on torch's current stream."""

    def __init__(self, device: DeviceInterface) -> None:
        self._device = device
        self._pending: list[tuple[TimingEvent, TimingEvent, Done]] = []

    def begin(self) -> End:
        start = self._now()

        def end(done: Done) -> None:
            self._pending.append((start, self._now(), done))
            if len(self._pending) >= MOST_PENDING:
                self.settle()

        return end

    def _now(self) -> TimingEvent:
        event = self._device.Event(enable_timing=True)
        event.record()
        return event

    def settle(self) -> None:
        self._device.synchronize()
        for start, end, done in self._pending:
            done(1e6 * start.elapsed_time(end))
        self._pending.clear()


class EmulatorClock:
    """The emulator's estimates."""

    def begin(self) -> End:
        start = TIMING.now()
        return lambda done: done(1e6 * (TIMING.now() - start))

    def settle(self) -> None:
        """Every span is known when it ends."""


def clock_here() -> Clock:
    """The clock of this machine."""
    from minitriton.runtime import driver

    torch = driver.torch_module()
    return EventClock(torch.cuda) if torch is not None and torch.cuda.is_available() else EmulatorClock()
