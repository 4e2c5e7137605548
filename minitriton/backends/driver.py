"""`DriverBase` under the module path that Triton programs import it from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from minitriton.runtime.active_driver import ActiveDriver


class Benchmarker(Protocol):
    """What measures a call: `bench(call, quantiles=[0.5])` gives milliseconds."""

    def __call__(
        self, kernel_call: Callable[[], object], *, quantiles: list[float], **kwargs: object
    ) -> Sequence[float]: ...


DriverBase = ActiveDriver
GPUDriver = ActiveDriver

__all__ = ["Benchmarker", "DriverBase", "GPUDriver"]
