"""Device memory: the arguments' bytes in one buffer, with guard gaps and bounds.

In: NumPy arrays. Out: a 64-bit address for each; overlapping arrays share one allocation, so that kernels in place work.

    array at bytes 0..15999 of the first allocation   →   address BASE + 4096

An address is as aligned as the host's, up to 16 bytes: what kernels are specialised on.

What the instructions of a launch do to global memory, whatever the order of the threads, as numbers that two launches can be compared by.

trace.note(7, "what is stored", [threads, addresses, values])      trace.seen[7, "what is stored"] is the sum of their hashes
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from minitriton.emulator.memory.device_shadow import GlobalShadow
from minitriton.interpreter.memory.device import byte_bounds
from minitriton.target.architectures import WARP_SIZE


@dataclass
class Trace:
    """What each instruction of a launch did, whatever the order of the threads: sums of hashes by instruction, of addresses and of values stored."""

    word: int = 0
    registers: frozenset[str] = frozenset()
    """Those that have the `word`; the others are 0."""
    seen: dict[tuple[int, str], int] = field(default_factory=dict[tuple[int, str], int])

    def register(self, name: str) -> np.uint32:
        """What a register holds that stands for lanes which nobody gave a value."""
        return np.uint32(self.word if name in self.registers else 0)

    def note(self, site: int, what: str, numbers: Iterable[np.ndarray], mask: np.ndarray | None = None) -> None:
        """An instruction does something to global memory with `numbers`, of the threads of `mask`, if these are of threads."""
        total = np.zeros(1, np.uint64)
        for number in numbers:
            number = number if mask is None else number[mask]
            bits = number.view(f"u{number.dtype.itemsize}").astype(np.uint64)
            total = (total ^ bits) * np.uint64(0x9E3779B97F4A7C15)
            total ^= total >> np.uint64(29)
        self.seen[site, what] = (self.seen.get((site, what), 0) + int(total.sum(dtype=np.uint64))) & (1 << 64) - 1


BASE = 0x7F0000000000
GAP = 4096
ALIGNMENT = 16


@dataclass
class DeviceAllocation:
    """Bytes `start` to `end` of the buffer; `host` is where they came from and go back to. `has_words`: integers of 8 bytes, which may
    be addresses."""

    start: int
    end: int
    name: str
    host: np.ndarray | None = None
    item: int = 4
    initialised: bool = True
    has_words: bool = False


class GlobalMemory:
    """The buffer, its allocations, and the shadow of who wrote and read what."""

    def __init__(self) -> None:
        self.allocations: list[DeviceAllocation] = []
        self.position = GAP
        self.starts = np.zeros(0, np.int64)
        self.ends = np.zeros(0, np.int64)
        self.size = 0
        self.shadow: GlobalShadow | None = None
        self.hosts: HostAddresses | None = None
        self.trace: Trace | None = None
        """What notes accesses, where the launch is one of several that are compared."""

    def add(
        self,
        size: int,
        name: str,
        host: np.ndarray | None = None,
        item: int = 4,
        initialised: bool = True,
        misalignment: int = 0,
    ) -> int:
        """Reserves bytes, `misalignment` after an aligned address, and returns their address."""
        start = self.position + misalignment
        self.allocations.append(DeviceAllocation(start, start + size, name, host, min(item, 4), initialised))
        self.position = -(-(start + size + GAP) // 1024) * 1024
        return BASE + start

    def add_arrays(self, arrays: list[tuple[str, np.ndarray]]) -> list[int]:
        """Addresses of arrays, in order."""
        spans = [(*byte_bounds(a), position) for position, (_, a) in enumerate(arrays)]
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
            self.allocations[-1].has_words = any(a.dtype.kind in "iu" and a.dtype.itemsize == 8 for _, a in members)
            if self.hosts is not None:
                self.hosts.spans.append((low, high, start))
            for p in positions:
                addresses[p] = start + arrays[p][1].__array_interface__["data"][0] - low
        return addresses

    def freeze(self) -> None:
        """Makes the buffer once all allocations are known, and copies the arguments in."""
        self.size = -(-(self.position + GAP) // 16) * 16
        self.bytes = np.zeros(self.size, np.uint8)
        self.views = {s: self.bytes.view(f"u{s}") for s in (1, 2, 4, 8)}
        self.starts = np.array([a.start for a in self.allocations], np.int64)
        self.ends = np.array([a.end for a in self.allocations], np.int64)
        for a in self.allocations:
            if a.host is not None:
                self.bytes[a.start : a.end] = a.host
                if self.hosts is not None and a.has_words:
                    _words(self.bytes, a)[:] = self.hosts.to_device(_words(self.bytes, a))
        self.read_only = [a for a in self.allocations if a.host is not None and not a.host.flags.writeable]

    def follow(self, granule: int, followed: set[int], group_lanes: int, warp_size: int = WARP_SIZE) -> None:
        """Notes from now on who reads and writes what, in `granule`s of bytes; `group_lanes` are the lanes of a cluster."""
        starts = [a.start for a in self.allocations]
        self.shadow = GlobalShadow(self.size, granule, starts, followed, group_lanes, warp_size)
        for a in self.allocations:
            if not a.initialised:
                self.shadow.mark_fresh(a.start, a.end)

    @property
    def item(self) -> int:
        """Bytes of the narrowest element of the arguments, at most 4."""
        return min((a.item for a in self.allocations), default=4)

    def write_back(self) -> None:
        """Copies results into the arguments' arrays."""
        for a in self.allocations:
            if a.host is not None and a.host.flags.writeable:
                if self.hosts is not None and a.has_words:
                    self._take_addresses_back(a, a.host)
                a.host[:] = self.bytes[a.start : a.end]

    def _take_addresses_back(self, a: DeviceAllocation, host: np.ndarray) -> None:
        hosts, words = self.hosts, _words(self.bytes, a)
        assert hosts is not None
        kept = host[-a.start % 8 :][: words.size * 8].copy().view(np.uint64)
        words[:] = hosts.to_host(words, kept, hosts.to_device(kept))

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
        """Which addresses are outside of the arrays that the host keeps read-only."""
        good = np.ones(offset.shape, np.bool_)
        for a in self.read_only:
            good &= (offset < a.start) | (offset >= a.end)
        return good

    def describe(self, offset: int) -> str:
        """Where an address is, in words."""
        nearest = min(self.allocations, key=lambda a: max(a.start - offset, offset - a.end, 0), default=None)
        if nearest is None or offset < 0 or offset > self.size:
            return f"address {BASE + offset:#x}"
        return f"byte {offset - nearest.start} of `{nearest.name}` ({nearest.end - nearest.start} bytes)"


@dataclass(frozen=True)
class _HostBytes:
    """What NumPy asks for the bytes of arrays. One class for all: a class is in a circle, which would keep its arrays until the garbage collector comes."""

    __array_interface__: dict[str, Any]
    owners: list[np.ndarray]


def _words(buffer: np.ndarray, a: DeviceAllocation) -> np.ndarray:
    """The aligned words of 8 bytes of an allocation; its address is as aligned as the host's."""
    first = -(-a.start // 8)
    return buffer.view(np.uint64)[first : max(first, a.end // 8)]


def _bytes_at(members: list[tuple[str, np.ndarray]], low: int, high: int) -> np.ndarray:
    """The host's bytes as an array that keeps the first member alive."""
    writeable = all(a.flags.writeable for _, a in members)
    interface = {"data": (low, not writeable), "shape": (high - low,), "typestr": "|u1", "version": 3}
    return np.asarray(_HostBytes(interface, [a for _, a in members]))


# Where arrays are on the host and on the device, for kernels that take addresses out of arrays.
#
#     the array at 0x55d0_0000..0x55d0_0100 of the host is at 0x7f00_0000_1000   →   the word 0x55d0_0010 becomes 0x7f00_0000_1010
#
# A launch's 8-byte words that are addresses of its arrays are translated on the way in; on the way out the words that the kernel has
# written.


@dataclass
class HostAddresses:
    """Spans of bytes: `low` to `high` on the host, from `start` on the device."""

    spans: list[tuple[int, int, int]] = field(default_factory=list[tuple[int, int, int]])

    def to_device(self, words: np.ndarray) -> np.ndarray:
        """`words` (uint64) with the host's addresses made the device's."""
        return _moved(words, [(low, high, start - low) for low, high, start in self.spans])

    def to_host(self, words: np.ndarray, kept: np.ndarray, brought: np.ndarray) -> np.ndarray:
        """What the host gets of `words`: `kept` where they still are what was `brought` to the device."""
        moved = _moved(words, [(start, start + high - low, low - start) for low, high, start in self.spans])
        return np.where(words == brought, kept, moved)


def _moved(words: np.ndarray, spans: list[tuple[int, int, int]]) -> np.ndarray:
    moved = words.copy()
    for low, high, distance in spans:
        inside = (words >= np.uint64(low)) & (words < np.uint64(high))
        moved[inside] = words[inside] + np.uint64(distance % (1 << 64))
    return moved
