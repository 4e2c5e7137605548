"""Launching a loaded kernel with the least Python: one `struct.pack_into` for the arguments, one for the launch
configuration, one call of the driver.

A `Launcher` belongs to one compiled kernel on one device. Its argument block is the kernel's parameter space laid out
as PTX lays it out (each parameter aligned to its size); the driver copies it during the call, so blocks are pooled and
reused rather than built (`cuLaunchKernelEx`, CUDA driver API, section "Execution Control").
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from minitriton.errors import MinitritonError
from minitriton.runtime.driver import CudaDriver

PACK_CODES = {
    "i1": "b", "i8": "b", "i16": "h", "i32": "i", "i64": "q",
    "u1": "B", "u8": "B", "u16": "H", "u32": "I", "u64": "Q",
    "fp16": "H", "bf16": "H", "fp32": "f", "f32": "f", "fp64": "d",
}  # fmt: skip
"""`struct` codes of Triton's scalar type names; pointers are `Q`."""

_CONFIG = struct.Struct("=7I4xQQI4x")
"""CUlaunchConfig: grid x y z, block x y z, shared bytes, stream, attributes, attribute count."""

_ATTRIBUTE_COOPERATIVE = 2
_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION = 6
_ATTRIBUTE_BYTES = 72
"""sizeof(CUlaunchAttribute): id, padding, 64 bytes of value."""

_LAUNCH_PARAM_END, _LAUNCH_PARAM_BUFFER_POINTER, _LAUNCH_PARAM_BUFFER_SIZE = 0, 1, 2


@dataclass(frozen=True)
class LaunchShape:
    """What every launch of one kernel has in common."""

    num_threads: int
    shared_bytes: int
    cooperative: bool = False
    programmatic_dependent: bool = False


class _Block:
    """One reusable set of buffers: parameters, configuration, attributes, and the `extra` array that points at them."""

    __slots__ = (
        "_kept_alive",
        "attribute_address",
        "attribute_count",
        "config",
        "config_pointer",
        "configured",
        "extra_pointer",
        "parameters",
    )  # fmt: skip

    def __init__(self, parameter_bytes: int, shape: LaunchShape) -> None:
        self.parameters = ctypes.create_string_buffer(parameter_bytes)
        size = ctypes.c_size_t(parameter_bytes)
        self.config = ctypes.create_string_buffer(_CONFIG.size)
        ids: list[int] = []
        if shape.cooperative:
            ids.append(_ATTRIBUTE_COOPERATIVE)
        if shape.programmatic_dependent:
            ids.append(_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
        attributes = ctypes.create_string_buffer(_ATTRIBUTE_BYTES * max(len(ids), 1))
        for index, id in enumerate(ids):
            struct.pack_into("=I4xi", attributes, index * _ATTRIBUTE_BYTES, id, 1)
        self.attribute_count = len(ids)
        self.attribute_address = ctypes.addressof(attributes) if ids else 0
        extra = (ctypes.c_void_p * 5)(
            _LAUNCH_PARAM_BUFFER_POINTER,
            ctypes.addressof(self.parameters),
            _LAUNCH_PARAM_BUFFER_SIZE,
            ctypes.addressof(size),
            _LAUNCH_PARAM_END,
        )
        self.config_pointer = ctypes.c_void_p(ctypes.addressof(self.config))
        self.extra_pointer = ctypes.c_void_p(ctypes.addressof(extra))
        self.configured: tuple[int, int, int, int] | None = None
        self._kept_alive = (size, attributes, extra)


class Launcher:
    """Launches one kernel. `parameter_types` are Triton's names (`*fp32`, `i32`, ...) of the runtime parameters in order;
    the two hidden scratch pointers of the kernel ABI follow them and are passed as null.

    `launch(grid_x, grid_y, grid_z, stream, values)` enqueues one launch on `stream` (a CUstream as an integer); `values` are
    addresses and numbers. It raises `MinitritonError` that names the kernel if a value does not fit or the driver refuses.
    """

    def __init__(
        self, driver: CudaDriver, function: int, name: str, parameter_types: list[str], shape: LaunchShape
    ) -> None:
        self.driver = driver
        self.name = name
        self.shape = shape
        self._types = parameter_types
        self.launch: Callable[[int, int, int, int, tuple[Any, ...]], None] = self._make_launch(function)

    def _make_launch(self, function: int) -> Callable[[int, int, int, int, tuple[Any, ...]], None]:
        """The launch function as a closure: its variables are cells, cheaper to reach than attributes."""
        codes = "".join("Q" if t.startswith("*") else _pack_code(t) for t in self._types)
        parameter_bytes = struct.calcsize(f"@{codes}QQ")
        pack = struct.Struct(f"@{codes}").pack_into
        halves = [i for i, t in enumerate(self._types) if t in ("fp16", "bf16")]
        shape, call, function_pointer = self.shape, self.driver.library.cuLaunchKernelEx, ctypes.c_void_p(function)
        pool: list[_Block] = []
        pop, push = pool.pop, pool.append

        def launch(x: int, y: int, z: int, stream: int, values: tuple[Any, ...]) -> None:
            try:
                block = pop()
            except IndexError:
                block = _Block(parameter_bytes, shape)
            if halves:
                values = self._encode_halves(values, halves)
            try:
                pack(block.parameters, 0, *values)
                if block.configured != (x, y, z, stream):
                    _configure(block, shape, x, y, z, stream)
            except struct.error as error:
                raise self._does_not_fit(error, (x, y, z)) from error
            code = call(block.config_pointer, function_pointer, None, block.extra_pointer)
            push(block)
            if code:
                self._failed(code, (x, y, z))

        return launch

    def _encode_halves(self, values: tuple[Any, ...], halves: list[int]) -> tuple[Any, ...]:
        encoded = list(values)
        for i in halves:
            if self._types[i] == "fp16":
                encoded[i] = struct.unpack("<H", struct.pack("<e", values[i]))[0]
            else:
                bits = struct.unpack("<I", struct.pack("<f", values[i]))[0]
                encoded[i] = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
        return tuple(encoded)

    def _does_not_fit(self, error: struct.error, grid: tuple[int, int, int]) -> MinitritonError:
        return MinitritonError(
            f"kernel {self.name!r}: an argument or the grid does not fit its type ({error})",
            help=f"grid {grid}, parameter types {self._types}",
        )

    def _failed(self, code: int, grid: tuple[int, int, int]) -> None:
        help = f"grid {grid}, {self.shape.num_threads} threads, {self.shape.shared_bytes} bytes of shared memory"
        if code in _ASYNCHRONOUS_FAULTS:
            help = "an earlier kernel on this device failed: run with CUDA_LAUNCH_BLOCKING=1 to see which; " + help
        self.driver.check(f"launching kernel {self.name!r}", code, help=help)


def _configure(block: _Block, shape: LaunchShape, x: int, y: int, z: int, stream: int) -> None:
    _CONFIG.pack_into(
        block.config, 0, x, y, z, shape.num_threads, 1, 1, shape.shared_bytes, stream,
        block.attribute_address, block.attribute_count,
    )  # fmt: skip
    block.configured = (x, y, z, stream)


_ASYNCHRONOUS_FAULTS = {700, 702, 710, 714, 715, 716, 717, 718, 719}
"""CUresults that a launch reports for work that went wrong before it: illegal address, timeout, assert, ..."""


def _pack_code(type_name: str) -> str:
    code = PACK_CODES.get(type_name)
    if code is None:
        raise MinitritonError(f"a kernel parameter of type {type_name!r} cannot be passed from the host")
    return code
