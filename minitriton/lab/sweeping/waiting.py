"""Which batch is whose: a kernel goes to the process that knows it, and to another one only where that ends the sweep sooner."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Set

from minitriton.lab.sweeping.batches import PointBatch
from minitriton.lab.sweeping.references import Reference

WORTH_A_COPY = 0.1
"""Seconds that the processes at a kernel have before them, from which on another one helps: it costs some hundredths of that (a copy of
100 MB 10 to 20 ms, 2026-11-25)."""


class Waiting:
    """Batches not given out yet, by kernel."""

    def __init__(self, batches: Iterable[PointBatch]) -> None:
        self._by_kernel: dict[Reference, deque[PointBatch]] = {}
        self._seconds: dict[Reference, float] = {}
        """What the last batch of each kernel took."""
        self.put(batches)

    def put(self, batches: Iterable[PointBatch]) -> None:
        """Adds batches, in this order."""
        for batch in batches:
            self._by_kernel.setdefault(batch.reference, deque()).append(batch)

    def __bool__(self) -> bool:
        return any(self._by_kernel.values())

    def took(self, reference: Reference, seconds: float) -> None:
        """Says what a batch of a kernel has taken."""
        self._seconds[reference] = seconds

    def next_for(self, judged: Set[Reference], drawn: Set[Reference], begun: Set[Reference]) -> PointBatch | None:
        """A batch for a process that has `judged` and `drawn` these kernels: of one that it knows, else of one that no process has
        `begun` to judge, of its own first; else one that needs no states. None where there are others only."""
        left = {reference: queue[0] for reference, queue in self._by_kernel.items() if queue}
        fresh = [reference for reference, batch in left.items() if batch.drawing or reference not in begun]
        own = [reference for reference in fresh if reference in drawn]
        known = [reference for reference in left if reference in judged]
        chosen = next(iter((*known, *own, *fresh, *(r for r, batch in left.items() if batch.measure))), None)
        return self.take(chosen) if chosen is not None else None

    def take(self, reference: Reference) -> PointBatch:
        """The next batch of a kernel that has one."""
        return self._by_kernel[reference].popleft()

    def to_help(self, busy: Mapping[Reference, int], coming: Mapping[Reference, int]) -> Reference | None:
        """The kernel whose batches take the `busy` processes at it the longest, those that are `coming` among them; None where a copy
        costs what it saves."""
        seconds = {
            reference: len(queue) * self._seconds.get(reference, 1.0) / max(1, busy.get(reference, 0))
            for reference, queue in self._by_kernel.items()
            if len(queue) > coming.get(reference, 0)
        }
        longest = max(seconds, key=seconds.__getitem__, default=None)
        return longest if longest is not None and seconds[longest] > WORTH_A_COPY else None
