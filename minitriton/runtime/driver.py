"""The module that Triton programs know as `triton.runtime.driver`: `active`, `default`, and setting another driver.

The CUDA driver itself is `cuda_driver`; what it and the emulator answer to programs is `active_driver`.
"""

import sys
from typing import Any

from minitriton.runtime.benchmarking import TimingDriver as Driver
from minitriton.runtime.cuda_driver import CudaDriver, get_driver, has_gpu, torch_module
from minitriton.target.backends import active_backend, backend

__all__ = ["CudaDriver", "get_driver", "has_gpu", "reset_active", "set_active", "torch_module"]

_default: Driver | None = None
_active: Driver | None = None


def set_active(driver: Driver | None) -> None:
    """Makes `driver` what `triton.runtime.driver.active` answers by."""
    global _active
    _active = driver


def reset_active() -> None:
    """Goes back to the CUDA driver."""
    set_active(None)


def active_driver() -> Driver:
    """`driver.active`, made when first asked for."""
    return _default_driver() if _active is None else _active


def _default_driver() -> Driver:
    global _default
    if _default is None:
        _default = backend(active_backend()).load("driver")()
    assert _default is not None
    return _default


def __getattr__(name: str) -> Any:
    """`driver.active` and `driver.default`, as in Triton. `driver`, Triton's object in this module that has them, is the module itself."""
    if name == "driver":
        return sys.modules[__name__]
    if name == "active":
        return active_driver()
    if name != "default":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _default_driver()
