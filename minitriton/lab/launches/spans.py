"""The memory of a launch's arrays: copied once where arrays share it, and laid out again as it was.

x, x[1:], y     →     two spans; the second array begins 4 bytes into the first's
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from minitriton.errors import MinitritonError
from minitriton.interpreter.memory.device import byte_bounds
from minitriton.lab.launches.recorded import Span, View
from minitriton.runtime.launching.arguments import foreign_array, is_host_array, offers
from minitriton.runtime.on_cpu.host_arrays import host_view
from minitriton.runtime.tensor_wrapper import TensorWrapper

ALIGNMENT = 128
"""Bytes of a line of the cache: two runs whose arrays begin alike in it have the same traffic."""
APART = 1 << 26
"""Bytes between two spans that are laid out, so that an access past the end of one is not taken for another."""


@dataclass
class Reached:
    """What an array reaches: the address of its memory, its bytes, and the array in them."""

    start: int
    contents: np.ndarray
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def end(self) -> int:
        return self.start + self.contents.size


def reached(array: Any) -> Reached:
    """A copy of the memory of `array`, on the host or on a device. Raises `MinitritonError` for what cannot be copied."""
    while isinstance(array, TensorWrapper):
        array = array.base
    if offers(array, "as_strided"):
        return _of_tensor(array)
    if is_host_array(array):
        view = host_view(array, "recorder")
        low, high = byte_bounds(view)
        address = view.__array_interface__["data"][0]
        return Reached(low, _bytes_at(low, high - low), address - low, view.shape, view.strides)
    if offers(array, "get"):
        # CuPy's way to the host keeps the shape, and makes it contiguous.
        copy = np.ascontiguousarray(array.get())
        contents = copy.reshape(-1).view(np.uint8)
        if offers(array, "strides") and tuple(array.strides) == copy.strides:
            return Reached(foreign_array(array).address, contents, 0, copy.shape, copy.strides)
    raise MinitritonError(f"an array of type {type(array).__name__} cannot be copied to the host")


def _of_tensor(tensor: Any) -> Reached:
    """Of torch: its strides are no less than 0, so that it begins where its memory does."""
    width = tensor.element_size()
    shape, steps = tuple(tensor.shape), tuple(tensor.stride())
    elements = 1 + sum((size - 1) * step for size, step in zip(shape, steps, strict=True)) if tensor.numel() else 0
    memory = tensor.detach().as_strided((elements,), (1,)).cpu()
    contents = _bytes_at(memory.data_ptr(), elements * width)
    return Reached(tensor.data_ptr(), contents, 0, shape, tuple(step * width for step in steps))


def _bytes_at(address: int, count: int) -> np.ndarray:
    if not count:
        return np.zeros(0, np.uint8)
    return np.ctypeslib.as_array((ctypes.c_uint8 * count).from_address(address)).copy()


@dataclass
class SpannedMemory:
    """The memory of several arrays. `contents` has what was copied, by the name of the first array that reaches it."""

    spans: dict[str, Span] = field(default_factory=dict[str, Span])
    contents: dict[str, np.ndarray] = field(default_factory=dict[str, np.ndarray])
    views: dict[str, View] = field(default_factory=dict[str, View])

    @classmethod
    def of(cls, arrays: dict[str, object], most_bytes: int) -> SpannedMemory:
        """Copies the memory of `arrays` by name; the contents of at most `most_bytes` are kept, the smallest spans first."""
        found = {name: reached(array) for name, array in arrays.items()}
        memory = cls()
        groups: list[list[str]] = []
        end = -1
        for name in sorted(found, key=lambda one: (found[one].start, -found[one].end)):
            if found[name].start >= end:
                groups.append([])
            groups[-1].append(name)
            end = max(end, found[name].end)
        order = list(arrays)
        sizes: dict[str, int] = {}
        for group in groups:
            owner = min(group, key=order.index)
            start = min(found[name].start for name in group)
            whole = np.zeros(max(found[name].end for name in group) - start, np.uint8)
            for name in group:
                one = found[name]
                whole[one.start - start : one.end - start] = one.contents
                memory.views[name] = View(owner, one.start - start + one.offset, one.shape, one.strides)
            memory.contents[owner] = whole
            memory.spans[owner] = Span(whole.size, start % ALIGNMENT, True)
            sizes[owner] = whole.size
        left = most_bytes
        for owner in sorted(sizes, key=sizes.__getitem__):
            left -= sizes[owner]
            if left < 0:
                memory.spans[owner] = Span(sizes[owner], memory.spans[owner].residue, False)
                del memory.contents[owner]
        return memory


def laid_out(spans: dict[str, Span]) -> dict[str, np.ndarray]:
    """Zeroed memory for each span, beginning where it did modulo 128, far from the others."""
    whole = np.zeros(sum(span.bytes + APART for span in spans.values()) + APART, np.uint8)
    address = whole.__array_interface__["data"][0]
    found: dict[str, np.ndarray] = {}
    at = 0
    for name, span in spans.items():
        at += (span.residue - (address + at)) % ALIGNMENT
        found[name] = whole[at : at + span.bytes]
        at += span.bytes + APART - ALIGNMENT
    return found


def array_in(memory: np.ndarray, view: View, dtype: np.dtype[np.generic]) -> np.ndarray:
    """The array of `view` over `memory`."""
    return np.ndarray(view.shape, dtype, memory.data, view.offset, view.strides)
