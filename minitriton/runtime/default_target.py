"""What kernels are compiled for where a program does not say."""

from __future__ import annotations

import re

from minitriton import knobs
from minitriton.errors import MinitritonError
from minitriton.runtime.cuda_driver import get_driver, has_gpu
from minitriton.target import GPUTarget
from minitriton.target.backends import active_backend, backend


def default_target() -> GPUTarget:
    """The current device's architecture; without a GPU, Hopper (or `TRITON_OVERRIDE_ARCH=smXY`)."""
    override = knobs.runtime.override_arch
    if override:
        arch = re.fullmatch(r"(?:sm)?(\d+)a?", override)
        if arch is None:
            raise MinitritonError(
                f"TRITON_OVERRIDE_ARCH is {override!r}, which names no architecture", help="write it as in sm90"
            )
        return GPUTarget("cuda", int(arch[1]), 32)
    if (name := active_backend()) != "cuda":
        return backend(name).load("driver")().get_current_target()
    if not has_gpu():
        return GPUTarget("cuda", 90, 32)
    driver = get_driver()
    return driver.target(driver.current_device())
