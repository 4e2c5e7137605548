"""`DriverBase` under the module path that Triton programs import it from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from minitriton.runtime.active_driver import ActiveDriver


class Benchmarker(Protocol):
    """What measures a call: `bench(call, quantiles=[0.5])` gives milliseconds."""

    def __call__(self, kernel_call: Callable[[], Any], *, quantiles: list[float], **kwargs: Any) -> Sequence[float]: ...


DriverBase = ActiveDriver
GPUDriver = ActiveDriver

__all__ = ["Benchmarker", "DriverBase", "GPUDriver"]
