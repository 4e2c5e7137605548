"""The PTX at the end of a check, on the GPU: arrays copied there and back, whole or not at all.

In: a `Launch` and PTX text. Out: the device's name and an `Outcome`. No library is needed but the driver's.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from minitriton.errors import MinitritonError
from minitriton.interpreter.memory.device import byte_bounds
from minitriton.lab.execution import Launch, Level, Outcome
from minitriton.runtime.cuda_driver import CudaDriver, get_driver
from minitriton.runtime.launching.launcher import Launcher, LaunchShape
from minitriton.runtime.launching.loading import full_grid


def run_on_gpu(launch: Launch, ptx: str) -> tuple[str, Outcome]:
    """Runs the kernel of `launch` from `ptx` on the current device."""
    driver = get_driver()
    device = driver.current_device()
    name = f"on {_name(driver, device)}"
    if launch.global_scratch:
        return name, Outcome(Level.GPU, gap="the kernel needs global memory of its own, which a check does not give it")
    if launch.arguments.has_descriptors or launch.options.num_ctas > 1:
        return name, Outcome(Level.GPU, gap="a check passes neither tensor descriptors nor clusters to a GPU")
    try:
        loaded = driver.load(launch.name, ptx.encode() + b"\0", launch.shared, device)
    except MinitritonError as error:
        return name, Outcome(Level.GPU, gap=str(error).splitlines()[0])
    options = launch.options
    threads = options.num_warps * options.warp_size
    shape = LaunchShape(threads, launch.shared, options.launch_cooperative_grid, options.launch_pdl)
    launcher = Launcher(
        driver,
        loaded.function,
        launch.name,
        [argument.type_name for argument in launch.arguments.passed],
        shape,
        device,
    )
    values = launch.arguments.fresh()
    try:
        with _on_device(driver, values) as passed:
            launcher.launch(*full_grid(launch.grid), 0, tuple(passed))
            driver.synchronize()
    except MinitritonError as error:
        return name, Outcome(Level.GPU, fault=error)
    return name, Outcome(Level.GPU, launch.arguments.contents())


def _name(driver: CudaDriver, device: int) -> str:
    handle, text = ctypes.c_int(), ctypes.create_string_buffer(128)
    driver.check("cuDeviceGet", driver.library.cuDeviceGet(ctypes.byref(handle), device))
    driver.check("cuDeviceGetName", driver.library.cuDeviceGetName(text, len(text), handle))
    return text.value.decode()


@contextmanager
def _on_device(driver: CudaDriver, values: list[object]) -> Iterator[list[object]]:
    """`values` with every array as the address of a copy in device memory; arrays are copied back at the end."""
    library, addresses = driver.library, []
    passed: list[object] = []
    try:
        for value in values:
            if not isinstance(value, np.ndarray):
                passed.append(value)
                continue
            start, end = byte_bounds(value)
            address, size = ctypes.c_uint64(), end - start
            driver.check("cuMemAlloc", library.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(max(size, 1))))
            addresses.append((address, start, size))
            driver.check(
                "cuMemcpyHtoD", library.cuMemcpyHtoD_v2(address, ctypes.c_void_p(start), ctypes.c_size_t(size))
            )
            passed.append(address.value + value.__array_interface__["data"][0] - start)
        yield passed
        for address, start, size in addresses:
            driver.check(
                "cuMemcpyDtoH", library.cuMemcpyDtoH_v2(ctypes.c_void_p(start), address, ctypes.c_size_t(size))
            )
    finally:
        for address, _, _ in addresses:
            library.cuMemFree_v2(address)
