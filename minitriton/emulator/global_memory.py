"""Device memory: the arguments' bytes in one buffer, with guard gaps, bounds, and who wrote what.

In: NumPy arrays. Out: a 64-bit address for each; overlapping arrays share one allocation, so that in-place kernels work.

    array at bytes 0..15999 of the first allocation   →   address BASE + 4096

An address is as aligned as the host's, up to 16 bytes: what kernels are specialised on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

BASE = 0x7F0000000000
GAP = 4096
ALIGNMENT = 16
NOBODY, SEVERAL = -1, -2


@dataclass
class Allocation:
    """Bytes `start` to `end` of the buffer; `host` is where they came from and go back to."""

    start: int
    end: int
    name: str
    host: np.ndarray | None = None
    item: int = 4
    initialised: bool = True


class GlobalMemory:
    """The buffer, its allocations, and per 4-byte (or narrower) granule the CTA that last wrote and read it."""

    def __init__(self) -> None:
        self.allocations: list[Allocation] = []
        self.position = GAP
        self.starts = np.zeros(0, np.int64)
        self.ends = np.zeros(0, np.int64)
        self.size = 0
        self.seen: dict[int, set[int]] = {}
        """By CTA: those whose work is ordered before what it does now, through atomics that release and acquire."""
        self.released: dict[int, set[int]] = {}
        """By place: the CTAs whose work a release there has published."""

    def add(
        self,
        size: int,
        name: str,
        host: np.ndarray | None = None,
        item: int = 4,
        initialised: bool = True,
        misalignment: int = 0,
    ) -> int:
        """Reserves bytes, `misalignment` behind an aligned address, and returns their address."""
        start = self.position + misalignment
        self.allocations.append(Allocation(start, start + size, name, host, min(item, 4), initialised))
        self.position = -(-(start + size + GAP) // 1024) * 1024
        return BASE + start

    def add_arrays(self, arrays: list[tuple[str, np.ndarray]]) -> list[int]:
        """Addresses of arrays, in order."""
        spans = [(*_byte_bounds(a), position) for position, (_, a) in enumerate(arrays)]
        addresses = [0] * len(arrays)
        merged: list[list[int]] = []
        for low, high, position in sorted(spans):
            if merged and low < merged[-1][1]:
                merged[-1][1] = max(merged[-1][1], high)
                merged[-1].append(position)
            else:
                merged.append([low, high, position])
        for low, high, *positions in merged:
            members = [arrays[p] for p in positions]
            item = min(a.dtype.itemsize for _, a in members)
            name, host = "/".join(n for n, _ in members), _bytes_at(members, low, high)
            start = self.add(high - low, name, host, item, misalignment=low % ALIGNMENT)
            for p in positions:
                addresses[p] = start + arrays[p][1].__array_interface__["data"][0] - low
        return addresses

    def freeze(self, shadow: bool) -> None:
        """Makes the buffer once all allocations are known, and copies the arguments in."""
        self.size = -(-(self.position + GAP) // 16) * 16
        self.bytes = np.zeros(self.size, np.uint8)
        self.views = {s: self.bytes.view(f"u{s}") for s in (1, 2, 4, 8)}
        self.starts = np.array([a.start for a in self.allocations], np.int64)
        self.ends = np.array([a.end for a in self.allocations], np.int64)
        for a in self.allocations:
            if a.host is not None:
                self.bytes[a.start : a.end] = a.host
        self.read_only = [a for a in self.allocations if a.host is not None and not a.host.flags.writeable]
        self.granule = min((a.item for a in self.allocations), default=4)
        if shadow:
            self.writer = np.full(self.size // self.granule, NOBODY, np.int32)
            self.reader = np.full(self.size // self.granule, NOBODY, np.int32)
            self.fresh = np.zeros(self.size // self.granule, np.bool_)
            for a in self.allocations:
                if not a.initialised:
                    self.fresh[a.start // self.granule : a.end // self.granule] = True

    def write_back(self) -> None:
        """Copies results into the arguments' arrays."""
        for a in self.allocations:
            if a.host is not None and a.host.flags.writeable:
                a.host[:] = self.bytes[a.start : a.end]

    def inside(self, offset: np.ndarray, size: int) -> np.ndarray | None:
        """Which accesses lie within one allocation; None if all do."""
        low, high = int(offset.min()), int(offset.max()) + size
        found = int(np.searchsorted(self.starts, low, "right")) - 1
        if found >= 0 and high <= self.ends[found]:
            return None
        index = np.searchsorted(self.starts, offset, "right") - 1
        good = (index >= 0) & (offset + size <= self.ends[np.maximum(index, 0)])
        return None if good.all() else good

    def may_be_written(self, offset: np.ndarray) -> np.ndarray:
        """Which places lie outside of the arrays that the host keeps read-only."""
        good = np.ones(offset.shape, np.bool_)
        for a in self.read_only:
            good &= (offset < a.start) | (offset >= a.end)
        return good

    def describe(self, offset: int) -> str:
        """Where an address lies, in words."""
        nearest = min(self.allocations, key=lambda a: max(a.start - offset, offset - a.end, 0), default=None)
        if nearest is None or offset < 0 or offset > self.size:
            return f"address {BASE + offset:#x}"
        return f"byte {offset - nearest.start} of `{nearest.name}` ({nearest.end - nearest.start} bytes)"

    def granules(self, offset: np.ndarray, size: int) -> np.ndarray:
        """Granules that accesses touch: [accesses, granules of one]."""
        count = max(1, size // self.granule)
        return (offset // self.granule)[:, None] + np.arange(count)

    def read_by(self, offset: np.ndarray, size: int, cta: np.ndarray) -> tuple[Any, Any]:
        """Notes readers; returns which accesses race with another CTA's write, and which read uninitialised bytes."""
        g = self.granules(offset, size)
        writer = self.writer[g]
        race = np.any((writer != NOBODY) & (writer != cta[:, None]), axis=1)
        if self.seen and race.any():
            race &= self.unordered(np.where(writer == cta[:, None], NOBODY, writer), cta)
        reader = self.reader[g]
        mine = np.where((reader == NOBODY) | (reader == cta[:, None]), cta[:, None], SEVERAL)
        self.reader[g] = mine
        clash = self.reader[g] != mine
        if clash.any():
            self.reader[g[clash]] = SEVERAL
        return race, np.any(self.fresh[g], axis=1)

    def written_by(self, offset: np.ndarray, size: int, cta: np.ndarray) -> np.ndarray:
        """Notes writers; returns which accesses race with another CTA's read or write."""
        g = self.granules(offset, size)
        writer, reader = self.writer[g], self.reader[g]
        own = cta[:, None]
        race = ((writer != NOBODY) & (writer != own)) | ((reader != NOBODY) & (reader != own))
        self.writer[g] = own
        race |= self.writer[g] != own
        self.fresh[g] = False
        found = race.any(1)
        if self.seen and found.any():
            others = np.concatenate([np.where(v == own, NOBODY, v) for v in (writer, reader)], axis=1)
            found &= self.unordered(others, cta)
        return found

    def synchronize(self, cta: int, place: int, acquire: bool, release: bool) -> None:
        """An atomic of a CTA at a place, with acquire or release semantics."""
        if acquire and place in self.released:
            self.seen.setdefault(cta, set()).update(self.released[place])
        if release:
            self.released.setdefault(place, set()).update(self.seen.get(cta, ()), (cta,))

    def unordered(self, others: np.ndarray, cta: np.ndarray) -> np.ndarray:
        """Which accesses meet one of CTAs `others` that no release and acquire put before them."""
        rows = zip(others.tolist(), cta.tolist(), strict=True)
        return np.array([any(o >= 0 and o not in self.seen.get(c, ()) for o in row) for row, c in rows], np.bool_)


def _byte_bounds(array: np.ndarray) -> tuple[int, int]:
    low = high = array.__array_interface__["data"][0]
    if array.size == 0:
        return low, low
    for extent, stride in zip(array.shape, array.strides, strict=True):
        if stride < 0:
            low += (extent - 1) * stride
        else:
            high += (extent - 1) * stride
    return low, high + array.itemsize


def _bytes_at(members: list[tuple[str, np.ndarray]], low: int, high: int) -> np.ndarray:
    """The host's bytes as an array that keeps the first member alive."""
    writeable = all(a.flags.writeable for _, a in members)
    interface = {"data": (low, not writeable), "shape": (high - low,), "typestr": "|u1", "version": 3}
    holder: Any = type("Bytes", (), {"__array_interface__": interface, "owners": [a for _, a in members]})()
    return np.asarray(holder)
