"""Offsets for buffers whose lives are known: those alive at the same time must not overlap in memory.

In: buffers with size, alignment and the interval of their life. Out: their offsets, and the bytes that all need together.
The algorithm is that of "Algorithms for Compile-Time Memory Optimization" (Gergov, SODA 1999): the biggest first, each at the
lowest free offset of its life (`assign_first_offsets`); conflicts left over are solved by colouring and moving up until none is left.

    life        1 2 3 4 5 6
    a 64 bytes  x x x             at 0
    b 64 bytes        x x x       at 0, for a is dead
    c 32 bytes    x x x x         at 64

What the assignment of offsets asks again and again, answered without a look at every buffer.

`FreeOffsets`: the intervals of life at whose offset memory is free, the lowest offset first; whether any meets a life.
`WaitingLives`: lives in the order in which their buffers are to be placed; the first that meets an interval and passes a test.

    waiting = WaitingLives([(0, 4), (2, 6), (5, 9)])
    waiting.take_first((4, 7), lambda life: True)     # 1, for (0, 4) ends before; the next such call gives 2
"""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Protocol

from xdsl.ir import Operation, Region

from minitriton.analysis.shared_memory.liveness import Interval, intersects
from minitriton.dialects.facts.gpu_traits import AsyncRegions

_NEVER: Interval = (1 << 62, -1)


class FreeOffsets:
    """Offsets with intervals of life, none of them empty."""

    def __init__(self) -> None:
        self._intervals: list[tuple[int, int, Interval]] = []
        self._added = 0
        self._starts: list[int] = []
        self._ends: list[int] = []

    def add(self, offset: int, interval: Interval) -> None:
        """Memory is free from `offset` during `interval`."""
        self._added += 1
        insort(self._intervals, (offset, self._added, interval))
        insort(self._starts, interval[0])
        insort(self._ends, interval[1])

    def take_lowest(self) -> tuple[int, Interval]:
        """The slot with the lowest offset, of these the first that was added; it is gone then."""
        offset, _, interval = self._intervals.pop(0)
        del self._starts[bisect_left(self._starts, interval[0])]
        del self._ends[bisect_left(self._ends, interval[1])]
        return offset, interval

    def any_meets(self, life: Interval) -> bool:
        """Whether one of the intervals intersects `life`: fewer have ended before it than have begun before its end."""
        return bisect_left(self._starts, life[1]) > bisect_right(self._ends, life[0])


class WaitingLives:
    """Lives, each with a position in the order, as the leaves of a tree whose nodes know from when to when any life below them lasts."""

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


_FOREVER = 1 << 62


class PlacedBuffer(Protocol):
    """What offset assignment needs to know of a buffer, and the offset that it sets."""

    owner: Operation
    size: int
    alignment: int
    live: Interval
    offset: int


def assign_offsets(buffers: Sequence[PlacedBuffer]) -> int:
    """Set `offset` of every buffer; the number of bytes that they take."""
    ordered = sorted(buffers, key=lambda buffer: -buffer.size)
    assign_first_offsets(ordered)
    regions = [_concurrent_region(buffer.owner) for buffer in ordered]
    conflicts = _conflicts(ordered, regions)
    while conflicts:
        _move_apart(ordered, conflicts)
        conflicts = _conflicts(ordered, regions)
    return max((buffer.offset + buffer.size for buffer in ordered), default=0)


def _align(buffer: PlacedBuffer, offset: int) -> int:
    return -(-offset // buffer.alignment) * buffer.alignment


def assign_first_offsets(buffers: Sequence[PlacedBuffer]) -> None:
    """Fill free offsets from the lowest upwards, each with the first buffer that lives then and nowhere else is in its way."""
    free = FreeOffsets()
    free.add(0, (0, _FOREVER))
    waiting = WaitingLives([buffer.live for buffer in buffers])
    while waiting.left:
        offset, (start, end) = free.take_lowest()
        found = waiting.take_first((start, end), lambda life: not free.any_meets(life))
        if found is None:
            continue
        chosen = buffers[found]
        first, last = chosen.live
        chosen.offset = _align(chosen, offset)
        free.add(chosen.offset + chosen.size, (max(start, first), min(end, last)))
        if start < first:
            free.add(offset, (start, last))
        if last < end:
            free.add(offset, (first, end))


def _concurrent_region(owner: Operation) -> tuple[Operation | None, Region | None]:
    """The op around `owner` whose regions run at the same time, and the region that `owner` is in."""
    parent = owner.parent_op()
    while parent is not None and not parent.has_trait(AsyncRegions, value_if_unregistered=False):
        parent = parent.parent_op()
    return parent, owner.parent_region()


def _conflicts(
    buffers: Sequence[PlacedBuffer], regions: Sequence[tuple[Operation | None, Region | None]]
) -> dict[int, list[int]]:
    """For each buffer (by position) those that overlap with it in memory and may be alive at the same time."""
    found: dict[int, list[int]] = {}

    def compare(i: int, j: int) -> None:
        x, y = buffers[i], buffers[j]
        if x.offset < y.offset + y.size and y.offset < x.offset + x.size:
            found.setdefault(i, []).append(j)
            found.setdefault(j, []).append(i)

    alive: list[int] = []
    for i in sorted(range(len(buffers)), key=lambda i: buffers[i].live[0]):
        life = buffers[i].live
        alive = [j for j in alive if buffers[j].live[1] > life[0]]
        for j in alive:
            if intersects(buffers[j].live, life):
                compare(i, j)
        alive.append(i)
    concurrent = [i for i, region in enumerate(regions) if region[0] is not None]
    for i, j in combinations(concurrent, 2):
        if (
            regions[i][0] is regions[j][0]
            and regions[i][1] is not regions[j][1]
            and not intersects(buffers[i].live, buffers[j].live)
        ):
            compare(i, j)
    return found


def _move_apart(buffers: Sequence[PlacedBuffer], conflicts: dict[int, list[int]]) -> None:
    """Colour the buffers so that no two in conflict share a colour, and move those that are not colour 0 above their rivals."""
    colors = [0] + [-1] * (len(buffers) - 1)
    for i in range(len(buffers)):
        taken = {colors[j] for j in conflicts.get(i, ())}
        colors[i] = next(color for color in range(len(buffers)) if color not in taken)
    for i, buffer in enumerate(buffers):
        if colors[i] != 0:
            above = max((buffers[j].offset + buffers[j].size for j in conflicts.get(i, ())), default=0)
            buffer.offset = _align(buffer, above)
