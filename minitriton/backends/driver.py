"""`DriverBase` under the module path that Triton programs import it from."""

from minitriton.runtime.active_driver import ActiveDriver

DriverBase = ActiveDriver
GPUDriver = ActiveDriver

__all__ = ["DriverBase", "GPUDriver"]
