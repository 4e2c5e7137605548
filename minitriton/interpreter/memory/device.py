"""The memory of an interpreted launch: the arrays that were passed, at their real addresses, and nothing else.

In: arrays, then tensors of addresses (int64). Out: elements loaded or stored; `MemoryFault` for an address outside every array
or one that is not a multiple of the element's size, as on a GPU.

    memory.load(np.array([a, a + 4, a + 8]), np.dtype(np.float32))      the first three floats at address a

Stores go straight to the arrays. Several lanes that store to one address leave the value of the last one.
"""

import ctypes
from bisect import bisect_right
from dataclasses import dataclass, field

import numpy as np

from minitriton.interpreter.errors import InterpreterError
from minitriton.interpreter.memory.trace import Trace
from minitriton.interpreter.registry import Array


class MemoryFault(InterpreterError):
    """An access outside every array, misaligned, or a store to a read-only array; `end`: one past its last byte, if outside."""

    end: int | None = None


@dataclass
class Region:
    """The bytes from `low` up to `high`; `name` says in messages whose they are."""

    low: int
    high: int
    writable: bool
    name: str
    owner: object
    views: dict[np.dtype, tuple[int, np.ndarray]] = field(default_factory=dict[np.dtype, tuple[int, np.ndarray]])

    def view(self, dtype: np.dtype) -> tuple[int, np.ndarray]:
        """The aligned elements of the region, and the address of the first one."""
        found = self.views.get(dtype)
        if found is None:
            first = -(-self.low // dtype.itemsize) * dtype.itemsize
            count = max(0, (self.high - first) // dtype.itemsize)
            if count:
                buffer = (ctypes.c_uint8 * (count * dtype.itemsize)).from_address(first)
                elements = np.frombuffer(memoryview(buffer), dtype, count)
            else:
                elements = np.empty(0, dtype)
            found = self.views[dtype] = (first, elements)
        return found


class Memory:
    """All regions of a launch, by address."""

    def __init__(self, trace: Trace | None = None) -> None:
        self.trace = trace
        self._regions: list[Region] = []
        self._lows: list[int] = []
        self._last: Region | None = None

    def add(self, array: np.ndarray, name: str) -> int:
        """Make `array` accessible; the address of its first element. Overlapping arrays become one region."""
        low, high = byte_bounds(array)
        region = Region(low, high, bool(array.flags.writeable), name, array)
        if high > low:
            for other in [r for r in self._regions if r.low < high and low < r.high]:
                self._regions.remove(other)
                region = Region(
                    min(other.low, region.low),
                    max(other.high, region.high),
                    other.writable or region.writable,
                    f"{other.name}, {region.name}",
                    (other.owner, region.owner),
                )
            self._regions.append(region)
            self._regions.sort(key=lambda r: r.low)
            self._lows = [r.low for r in self._regions]
        return array.__array_interface__["data"][0]

    def arrays(self) -> list[np.ndarray]:
        """Every region as its bytes; those that are read-only cannot be written."""
        found: list[np.ndarray] = []
        for region in self._regions:
            view = region.view(np.dtype(np.uint8))[1].view()
            view.flags.writeable = region.writable
            found.append(view)
        return found

    def load(self, addresses: np.ndarray, dtype: np.dtype) -> np.ndarray:
        """The elements at `addresses`, which must all be accessible."""
        if not addresses.size:
            return np.empty(addresses.shape, dtype)
        if self.trace is not None:
            self.trace.reaches(addresses)
        region = self._single_region(addresses, dtype)
        if region is not None:
            first, elements = region.view(dtype)
            return elements[self._indices(addresses, first, dtype)]
        result = np.empty(addresses.shape, dtype)
        for part, chosen in self._parts(addresses, dtype):
            first, elements = part.view(dtype)
            result[chosen] = elements[self._indices(addresses[chosen], first, dtype)]
        return result

    def holds(self, addresses: np.ndarray, dtype: np.dtype) -> np.ndarray:
        """Which of the elements at `addresses` are in some array."""
        found = np.zeros(addresses.shape, np.bool_)
        for region in self._regions:
            found |= (addresses >= region.low) & (addresses + dtype.itemsize <= region.high)
        return found

    def store(self, addresses: np.ndarray, values: Array, dtype: np.dtype) -> None:
        """Write `values` (broadcast to the shape of `addresses`)."""
        if not addresses.size:
            return
        if self.trace is not None:
            self.trace.reaches(addresses)
            self.trace.stores(values)
        region = self._single_region(addresses, dtype)
        if region is not None:
            first, elements = self._writable(region).view(dtype)
            elements[self._indices(addresses, first, dtype)] = values
            return
        values = np.broadcast_to(values, addresses.shape)
        for part, chosen in self._parts(addresses, dtype):
            first, elements = self._writable(part).view(dtype)
            elements[self._indices(addresses[chosen], first, dtype)] = values[chosen]

    def element(self, address: int, dtype: np.dtype) -> tuple[np.ndarray, int]:
        """The array and index that hold the one element at `address`, to be changed in place."""
        where = np.array([address], np.int64)
        if self.trace is not None:
            self.trace.reaches(where)
        region = self._single_region(where, dtype)
        if region is None:
            raise self._fault(where, dtype)
        first, elements = self._writable(region).view(dtype)
        return elements, int(self._indices(where, first, dtype)[0])

    def _single_region(self, addresses: np.ndarray, dtype: np.dtype) -> Region | None:
        """The region that holds all accesses, if one does."""
        low, high = int(addresses.min()), int(addresses.max()) + dtype.itemsize
        region = self._last
        if region is None or not (region.low <= low and high <= region.high):
            region = self._find(low)
            if region is None or high > region.high:
                return None
            self._last = region
        return region

    def _find(self, address: int) -> Region | None:
        index = bisect_right(self._lows, address) - 1
        region = self._regions[index] if index >= 0 else None
        return region if region is not None and address < region.high else None

    def _parts(self, addresses: np.ndarray, dtype: np.dtype) -> list[tuple[Region, np.ndarray]]:
        """The regions that hold the accesses, each with a mask of its own ones."""
        parts: list[tuple[Region, np.ndarray]] = []
        left = addresses.size
        for region in self._regions:
            chosen = (addresses >= region.low) & (addresses + dtype.itemsize <= region.high)
            count = int(chosen.sum())
            if count:
                parts.append((region, chosen))
                left -= count
        if left:
            raise self._fault(addresses, dtype)
        return parts

    def _indices(self, addresses: np.ndarray, first: int, dtype: np.dtype) -> np.ndarray:
        offsets = addresses - first
        size = dtype.itemsize
        if size == 1:
            return offsets
        if (offsets & (size - 1)).any():
            bad = np.flatnonzero((offsets & (size - 1)).reshape(-1))[0]
            address = int(addresses.reshape(-1)[bad])
            raise MemoryFault(
                f"misaligned access: address {address:#x} is not a multiple of {size} bytes",
                help="a pointer was cast to a wider type, or a byte offset was added to it",
            )
        return offsets >> (size.bit_length() - 1)

    def _writable(self, region: Region) -> Region:
        if not region.writable:
            raise MemoryFault(f"store to {region.name}, which is read-only", help="pass a copy of the array")
        return region

    def _fault(self, addresses: np.ndarray, dtype: np.dtype) -> MemoryFault:
        size = dtype.itemsize
        for position, address in enumerate(addresses.reshape(-1).tolist()):
            region = self._find(address)
            if region is None or address + size > region.high:
                lane = np.unravel_index(position, addresses.shape) if addresses.ndim else ()
                where = f" (element {tuple(int(i) for i in lane)} of the tile)" if addresses.ndim else ""
                fault = MemoryFault(
                    f"access of {size} bytes at {address:#x}{where} is outside every array{self._nearest(address)}",
                    help="check the mask, the strides and the sizes that the kernel was given",
                )
                fault.end = address + size
                return fault
        return MemoryFault("access outside every array")

    def _nearest(self, address: int) -> str:
        if not self._regions:
            return "; the kernel was given none"
        region = min(self._regions, key=lambda r: max(r.low - address, address - r.high + 1))
        if address < region.low:
            return f", {region.low - address} bytes before {region.name}"
        return f", {address - region.high} bytes past the end of {region.name} ({region.high - region.low} bytes)"


def byte_bounds(array: np.ndarray) -> tuple[int, int]:
    """The first byte of `array` and the one after its last, whatever its strides."""
    low = high = array.__array_interface__["data"][0]
    if not array.size:
        return low, low
    for size, stride in zip(array.shape, array.strides, strict=True):
        if stride < 0:
            low += (size - 1) * stride
        else:
            high += (size - 1) * stride
    return low, high + array.itemsize
