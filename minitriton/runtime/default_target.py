"""What kernels are compiled for where a program does not say."""

from minitriton import knobs
from minitriton.errors import MinitritonError
from minitriton.runtime.cuda_driver import get_driver, has_gpu
from minitriton.target import GPUTarget, arch_named, target_named
from minitriton.target.backends import active_backend, backend


def default_target() -> GPUTarget:
    """The current device's architecture; without a GPU, Hopper (or `TRITON_OVERRIDE_ARCH=sm80`, `gfx942`)."""
    override = knobs.runtime.override_arch
    if override:
        try:
            return target_named(override)
        except MinitritonError as error:
            if isinstance(arch_named(override), int):
                raise
            raise MinitritonError(
                f"TRITON_OVERRIDE_ARCH is {override!r}, which names no architecture",
                help=f"write it as in sm90; {error.help}",
            ) from None
    if (name := active_backend()) != "cuda":
        return backend(name).load("driver")().get_current_target()
    if not has_gpu():
        return GPUTarget("cuda", 90, 32)
    driver = get_driver()
    return driver.target(driver.current_device())
