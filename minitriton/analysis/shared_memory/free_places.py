"""What the assignment of offsets asks again and again, answered without a look at every buffer.

`FreePlaces`: the intervals of life at whose offset memory is free, the lowest offset first; whether any meets a life.
`WaitingLives`: lives in the order in which their buffers are to be placed; the first that meets an interval and passes a test.

    waiting = WaitingLives([(0, 4), (2, 6), (5, 9)])
    waiting.take_first((4, 7), lambda life: True)     # 1, for (0, 4) ends before; the next such call gives 2
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Sequence

from minitriton.analysis.shared_memory.liveness import Interval

_NEVER: Interval = (1 << 62, -1)


class FreePlaces:
    """Offsets with intervals of life, none of them empty."""

    def __init__(self) -> None:
        self._places: list[tuple[int, int, Interval]] = []
        self._added = 0
        self._starts: list[int] = []
        self._ends: list[int] = []

    def add(self, offset: int, interval: Interval) -> None:
        """Memory is free from `offset` during `interval`."""
        self._added += 1
        insort(self._places, (offset, self._added, interval))
        insort(self._starts, interval[0])
        insort(self._ends, interval[1])

    def take_lowest(self) -> tuple[int, Interval]:
        """The place with the lowest offset, of these the first that was added; it is gone then."""
        offset, _, interval = self._places.pop(0)
        del self._starts[bisect_left(self._starts, interval[0])]
        del self._ends[bisect_left(self._ends, interval[1])]
        return offset, interval

    def any_meets(self, life: Interval) -> bool:
        """Whether one of the intervals intersects `life`: fewer have ended before it than have begun before its end."""
        return bisect_left(self._starts, life[1]) > bisect_right(self._ends, life[0])


class WaitingLives:
    """Lives, each with a place in the order, as the leaves of a tree whose nodes know from when to when any life below them lasts."""

    def __init__(self, lives: Sequence[Interval]) -> None:
        self._leaves = 1 << max(len(lives) - 1, 0).bit_length()
        self._hulls = [_NEVER] * self._leaves + list(lives) + [_NEVER] * (self._leaves - len(lives))
        for node in range(self._leaves - 1, 0, -1):
            self._join(node)
        self.left = len(lives)
        """How many wait."""

    def _join(self, node: int) -> None:
        first, second = self._hulls[2 * node], self._hulls[2 * node + 1]
        self._hulls[node] = min(first[0], second[0]), max(first[1], second[1])

    def take_first(self, interval: Interval, passes: Callable[[Interval], bool]) -> int | None:
        """The position of the first life that intersects `interval` and `passes`; it waits no longer."""
        start, end = interval
        pending = [1]
        while pending:
            node = pending.pop()
            first, last = self._hulls[node]
            if first >= end or start >= last:
                continue
            if node < self._leaves:
                pending += (2 * node + 1, 2 * node)
            elif passes((first, last)):
                self._remove(node)
                return node - self._leaves
        return None

    def _remove(self, node: int) -> None:
        self.left -= 1
        self._hulls[node] = _NEVER
        while node > 1:
            node >>= 1
            self._join(node)
