"""A launch's arguments as the bytes of the kernel's parameters; arrays become device memory.

[x, 4000, 0.5] for (.param .u64 p0, .param .u32 p1, .param .f32 p2)   →   address of x, a0 0f 00 00, 00 00 00 3f
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeAlias

import numpy as np

from minitriton.emulator.memory.device import GlobalMemory, HostAddresses
from minitriton.emulator.ptx.program import EmulationError, KernelParameter
from minitriton.errors import SourceLocation
from minitriton.target import tensor_map
from minitriton.target.tensor_map import TensorMap

_FLOATS = {8: "<d", 4: "<f", 2: "<e"}


@dataclass(frozen=True)
class MappedArray:
    """An argument that is a tensor map of `array`: `map` with the array's device address put in."""

    array: np.ndarray
    map: TensorMap


Value: TypeAlias = "np.ndarray | MappedArray | np.generic | bytes | bytearray | float | None"
"""What a parameter may be given: memory, a tensor map, a number, its bytes, or None for zeros."""


class Bound(Protocol):
    """A kernel of any instruction set."""

    @property
    def name(self) -> str: ...
    @property
    def parameters(self) -> list[KernelParameter]: ...
    def reads(self, parameter: KernelParameter) -> bool:
        """Whether it uses it."""
        ...


@dataclass(frozen=True)
class Binding:
    """What a launch gives to `kernel`: arguments, their names, bytes for each pointer that is left out, and the further arrays that words of 8
    bytes may be addresses of (None: no word is an address)."""

    text: str
    kernel: Bound
    arguments: Sequence[Value]
    names: Sequence[str] = ()
    scratch: int = 0
    reachable: Sequence[np.ndarray] | None = None
    language: str = "ptx"
    """Of `text`, where the kernel stands."""

    def lay_out(self, memory: GlobalMemory) -> np.ndarray:
        """The parameters' bytes. Raises `EmulationError` at the parameter whose argument is missing or of another kind."""
        kernel, args = self.kernel, self.arguments
        if len(args) > len(kernel.parameters):
            raise EmulationError(
                f"kernel `{kernel.name}` has {len(kernel.parameters)} parameters, but {len(args)} arguments were given"
            )
        end = max((p.offset + p.size for p in kernel.parameters), default=0)
        data = bytearray(-(-max(end, 8) // 8) * 8)
        for parameter in kernel.parameters[len(args) :]:
            if not parameter.is_pointer or (not self.scratch and kernel.reads(parameter)):
                raise self._fail(parameter, f"no argument was given for it; there were {len(args)}", _MISSING)
            if kernel.reads(parameter):
                address = memory.add(self.scratch, parameter.name, initialised=False)
                data[parameter.offset : parameter.offset + 8] = address.to_bytes(8, "little")
        for parameter, value in zip(kernel.parameters, args, strict=False):
            array = value.array if isinstance(value, MappedArray) else value
            if isinstance(array, np.ndarray) and (array.dtype.hasobject or not array.dtype.isnative):
                raise self._fail(parameter, f"elements of type {array.dtype} cannot be given to a kernel", _ELEMENTS)
        owners = [a.array if isinstance(a, MappedArray) else a for a in args]
        arrays = [(self._label(n), a) for n, a in enumerate(owners) if isinstance(a, np.ndarray)]
        if self.reachable is not None:
            memory.hosts = HostAddresses()
            arrays += [(f"an array of {a.size} elements, reached by its address", a) for a in self.reachable]
        addresses = iter(memory.add_arrays(arrays))
        for parameter, value in zip(kernel.parameters, args, strict=False):
            if isinstance(value, np.ndarray):
                if not parameter.is_pointer:
                    raise self._fail(parameter, f"a .{parameter.type} was given an array")
                content = next(addresses).to_bytes(8, "little")
            elif isinstance(value, MappedArray):
                content = self._map_bytes(parameter, replace(value.map, address=next(addresses)))
            else:
                content = self._bytes(parameter, value)
                if memory.hosts is not None and parameter.size == 8:
                    content = memory.hosts.to_device(np.frombuffer(content, np.uint64)).tobytes()
            data[parameter.offset : parameter.offset + parameter.size] = content
        return np.frombuffer(bytes(data), np.uint8)

    def _label(self, position: int) -> str:
        return self.names[position] if position < len(self.names) else f"argument {position}"

    def _fail(self, parameter: KernelParameter, what: str, help: str | None = None) -> EmulationError:
        position = self.kernel.parameters.index(parameter)
        name = f"{self._label(position)} " if position < len(self.names) else ""
        found = self.text.find(parameter.name)
        line = self.text.count("\n", 0, found) + 1
        text = f"parameter {position} ({name}`{parameter.name}`) of kernel `{self.kernel.name}`: {what}"
        source = self.text.splitlines()[line - 1] if found >= 0 else None
        return EmulationError(text, SourceLocation(f"<{self.language}>", line), source_line=source, help=help)

    def _map_bytes(self, parameter: KernelParameter, map: TensorMap) -> bytes:
        if parameter.size != tensor_map.SIZE:
            raise self._fail(parameter, f"it has {parameter.size} bytes, a tensor map {tensor_map.SIZE}")
        try:
            return map.encode()
        except ValueError as error:
            raise self._fail(parameter, f"its tensor map: {error}") from None

    def _bytes(self, parameter: KernelParameter, value: Value) -> bytes:
        if value is None:
            return bytes(parameter.size)
        if isinstance(value, bytes | bytearray):
            if len(value) > parameter.size:
                raise self._fail(parameter, f"it has {parameter.size} bytes, {len(value)} were given")
            return bytes(value).ljust(parameter.size, b"\0")
        if isinstance(value, np.generic):
            value = value.item()
        if not isinstance(value, bool | int | float) or parameter.count > 1:
            wanted = "an array, an address or None" if parameter.is_pointer else "a number or bytes"
            raise self._fail(parameter, f"a .{parameter.type} takes {wanted}, not {type(value).__name__}")
        if parameter.type[0] == "f" or (isinstance(value, float) and parameter.type[0] == "b"):
            if parameter.size not in _FLOATS:
                raise self._fail(parameter, f"a .{parameter.type} takes no number {value!r}")
            return struct.pack(_FLOATS[parameter.size], value)
        bits = 8 * parameter.size
        if isinstance(value, float) or not -(1 << bits - 1) <= value < 1 << bits:
            raise self._fail(parameter, f"{value!r} is not an integer of {bits} bits")
        return (value & (1 << bits) - 1).to_bytes(parameter.size, "little")


_ELEMENTS = "give numbers in the byte order of this machine: array.astype(...)"
_MISSING = "give every argument; `scratch=` says how many bytes a compiler's own scratch pointers at the end get"
