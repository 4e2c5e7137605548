"""The PTX at the end of a check, on the GPU: arrays copied there and back, whole or not at all.

In: a `Launch` and PTX text. Out: the device's name and an `Outcome`. No library is needed but the driver's.
"""

from __future__ import annotations

import ctypes

from minitriton.errors import MinitritonError
from minitriton.lab.device_memory import on_device
from minitriton.lab.execution import Launch, Level, Outcome
from minitriton.runtime.cuda_driver import CudaDriver, get_driver
from minitriton.runtime.launching.launcher import Launcher, LaunchShape
from minitriton.runtime.launching.loading import full_grid


def run_on_gpu(launch: Launch, ptx: str) -> tuple[str, Outcome]:
    """Runs the kernel of `launch` from `ptx` on the current device."""
    driver = get_driver()
    device = driver.current_device()
    name = f"on {_name(driver, device)}"
    try:
        loaded = driver.load(launch.name, ptx.encode() + b"\0", launch.shared, device)
    except MinitritonError as error:
        return name, Outcome(Level.GPU, gap=str(error).splitlines()[0])
    options = launch.options
    threads = options.num_warps * options.warp_size
    shape = LaunchShape(
        threads, launch.shared, options.launch_cooperative_grid, options.launch_pdl, launch.global_scratch,
        num_ctas=options.num_ctas, parameter_places=driver.parameter_places(loaded.function),
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
