"""A launch's arguments in device memory, as a launch from Python passes them.

In: the arguments of a launch on the host. Out: the same with every array a copy on the device, tensor descriptors of such copies, and
global scratch memory for the kernels that need it. All of it is given back at the end.

`run_on_gpu` runs the PTX at the end of a check so: arrays copied there and back. No library is needed but the driver's.
"""

from __future__ import annotations

import ctypes
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np

from minitriton.errors import MinitritonError
from minitriton.interpreter.memory.device import byte_bounds
from minitriton.lab.arguments import Arguments, array_of
from minitriton.lab.execution import Launch, Level, Outcome
from minitriton.runtime._allocation import allocator_scope
from minitriton.runtime.cuda_driver import CudaDriver, get_cuda_driver
from minitriton.runtime.launching.arguments import Argument
from minitriton.runtime.launching.descriptor_arguments import expanded_arguments, is_descriptor_type
from minitriton.runtime.launching.launcher import Launcher, LaunchShape
from minitriton.runtime.launching.loading import full_grid, passed_values
from minitriton.target.tensor_map import DescriptorCopy


@dataclass(frozen=True)
class DeviceCopy:
    """An array on the device."""

    address: int
    dtype: np.dtype[np.generic]

    @property
    def __cuda_array_interface__(self) -> dict[str, tuple[int, bool]]:
        """Its address; the shape is the launch's business."""
        return {"data": (self.address, False)}


@dataclass(frozen=True)
class _Allocation:
    """Bytes on the device that are copies of those from `host` on."""

    device: int
    host: int
    size: int


@dataclass(frozen=True)
class DeviceArguments:
    """The arguments of one launch, its arrays on the device."""

    passed: tuple[Argument, ...]
    _driver: CudaDriver
    _allocations: tuple[_Allocation, ...]

    def types_and_values(self, descriptors: Sequence[DescriptorCopy] | None) -> tuple[list[str], tuple[object, ...]]:
        """What a `Launcher` takes: type names and values of the PTX's parameters. `descriptors`: what the kernel's metadata say of the
        tensor maps that it takes; None where it takes descriptors apart."""
        expanded = expanded_arguments(self.passed, descriptors)
        return [argument.type_name for argument in expanded], passed_values(expanded)

    def copy_back(self) -> None:
        """The arrays on the host as the device has them."""
        library = self._driver.library
        for one in self._allocations:
            code = library.cuMemcpyDtoH_v2(
                ctypes.c_void_p(one.host), ctypes.c_uint64(one.device), ctypes.c_size_t(one.size)
            )
            self._driver.check("cuMemcpyDtoH", code)


@contextmanager
def on_device(driver: CudaDriver, arguments: Arguments) -> Generator[DeviceArguments]:
    """`arguments` with fresh arrays on the device, and the allocator of scratch memory set."""
    memory = _Memory(driver)
    try:
        arguments.fresh()
        passed = tuple(_on_device(argument, memory) for argument in arguments.passed)
        with allocator_scope(memory.scratch):
            yield DeviceArguments(passed, driver, tuple(memory.copies.values()))
    finally:
        memory.free()


def _on_device(argument: Argument, memory: _Memory) -> Argument:
    array = array_of(argument.value)
    if array is None:
        return argument
    copy = memory.copied(array)
    if is_descriptor_type(argument.type_name):
        return Argument(argument.name, argument.type_name, replace(argument.value, base=copy))
    return Argument(argument.name, argument.type_name, copy)


@dataclass(frozen=True)
class _Scratch:
    """Memory as an allocator gives it."""

    address: int

    def data_ptr(self) -> int:
        """Its address."""
        return self.address


class _Memory:
    """What one set of launches has on the device."""

    def __init__(self, driver: CudaDriver) -> None:
        self._driver = driver
        self._addresses: list[int] = []
        self._scratch: dict[int, _Scratch] = {}
        self.copies: dict[tuple[int, int], _Allocation] = {}
        """By the bytes on the host that they are of: two arguments that are one array stay one."""

    def copied(self, array: np.ndarray) -> DeviceCopy:
        """A copy of the bytes that `array` spans."""
        start, end = byte_bounds(array)
        copy = self.copies.get((start, end))
        if copy is None:
            copy = self.copies[start, end] = _Allocation(self._allocate(end - start), start, end - start)
            code = self._driver.library.cuMemcpyHtoD_v2(
                ctypes.c_uint64(copy.device), ctypes.c_void_p(start), ctypes.c_size_t(copy.size)
            )
            self._driver.check("cuMemcpyHtoD", code)
        return DeviceCopy(copy.device + array.__array_interface__["data"][0] - start, array.dtype)

    def scratch(self, size: int, alignment: int, stream: int | None) -> _Scratch:
        """An allocator: launches of one stream, one after the other, share what is of one size. The driver aligns to 256 bytes
        (CUDA C programming guide, "Device Memory Accesses"), as much as any kernel asks for."""
        if size not in self._scratch:
            self._scratch[size] = _Scratch(self._allocate(size))
        return self._scratch[size]

    def _allocate(self, size: int) -> int:
        address = ctypes.c_uint64()
        code = self._driver.library.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(max(size, 1)))
        self._driver.check("cuMemAlloc", code)
        self._addresses.append(address.value)
        return address.value

    def free(self) -> None:
        """Gives everything back."""
        while self._addresses:
            self._driver.library.cuMemFree_v2(ctypes.c_uint64(self._addresses.pop()))


def run_on_gpu(launch: Launch, ptx: str) -> tuple[str, Outcome]:
    """Runs the kernel of `launch` from `ptx` on the current device."""
    driver = get_cuda_driver()
    device = driver.current_device()
    name = f"on {_name(driver, device)}"
    try:
        loaded = driver.load(launch.name, ptx.encode() + b"\0", launch.shared, device)
    except MinitritonError as error:
        return name, Outcome(Level.GPU, gap=str(error).splitlines()[0])
    options = launch.options
    threads = options.num_warps * options.warp_size
    shape = LaunchShape(
        threads, launch.shared, options.launch_cooperative_grid, getattr(options, "launch_pdl", False), launch.global_scratch,
        num_ctas=options.num_ctas, parameter_slots=driver.parameter_slots(loaded.function),
    )  # fmt: skip
    try:
        with on_device(driver, launch.arguments) as arguments:
            types, values = arguments.types_and_values(launch.descriptors)
            launcher = Launcher(driver, loaded.function, launch.name, types, shape, device)
            launcher.launch(*full_grid(launch.grid), 0, values)
            driver.synchronize()
            arguments.copy_back()
    except MinitritonError as error:
        return name, Outcome(Level.GPU, fault=error)
    return name, Outcome(Level.GPU, launch.arguments.contents())


def _name(driver: CudaDriver, device: int) -> str:
    handle, text = ctypes.c_int(), ctypes.create_string_buffer(128)
    driver.check("cuDeviceGet", driver.library.cuDeviceGet(ctypes.byref(handle), device))
    driver.check("cuDeviceGetName", driver.library.cuDeviceGetName(text, len(text), handle))
    return text.value.decode()
