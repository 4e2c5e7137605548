"""Offsets for buffers whose lives are known: those alive at the same time must not overlap in memory.

In: buffers with size, alignment and the interval of their life. Out: their offsets, and the bytes that all need together.
The algorithm is that of "Algorithms for Compile-Time Memory Optimization" (Gergov, SODA 1999): the biggest first, each at the
lowest free place of its life (`assign_first_places`); conflicts left over are solved by colouring and moving up until none is left.

    life        1 2 3 4 5 6
    a 64 bytes  x x x             at 0
    b 64 bytes        x x x       at 0, for a is dead
    c 32 bytes    x x x x         at 64
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Protocol

from xdsl.ir import Operation, Region

from minitriton.analysis.shared_memory.free_places import FreePlaces, WaitingLives
from minitriton.analysis.shared_memory.liveness import Interval, intersects
from minitriton.dialects.facts.gpu_traits import AsyncRegions

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
    assign_first_places(ordered)
    places = [_concurrent_place(buffer.owner) for buffer in ordered]
    conflicts = _conflicts(ordered, places)
    while conflicts:
        _move_apart(ordered, conflicts)
        conflicts = _conflicts(ordered, places)
    return max((buffer.offset + buffer.size for buffer in ordered), default=0)


def _align(buffer: PlacedBuffer, offset: int) -> int:
    return -(-offset // buffer.alignment) * buffer.alignment


def assign_first_places(buffers: Sequence[PlacedBuffer]) -> None:
    """Fill free places from the lowest upwards, each with the first buffer that lives then and nowhere else is in its way."""
    free = FreePlaces()
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


def _concurrent_place(owner: Operation) -> tuple[Operation | None, Region | None]:
    """The op around `owner` whose regions run at the same time, and the region that `owner` is in."""
    parent = owner.parent_op()
    while parent is not None and not parent.has_trait(AsyncRegions, value_if_unregistered=False):
        parent = parent.parent_op()
    return parent, owner.parent_region()


def _conflicts(
    buffers: Sequence[PlacedBuffer], places: Sequence[tuple[Operation | None, Region | None]]
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
    concurrent = [i for i, place in enumerate(places) if place[0] is not None]
    for i, j in combinations(concurrent, 2):
        if (
            places[i][0] is places[j][0]
            and places[i][1] is not places[j][1]
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
