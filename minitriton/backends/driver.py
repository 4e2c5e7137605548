"""`DriverBase` under the module path that Triton programs import it from, and `backends["nvidia"].compiler` and `.driver`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from minitriton.backends.compiler import BaseBackend, CUDABackend
from minitriton.runtime.active_driver import ActiveDriver


class Benchmarker(Protocol):
    """What measures a call: `bench(call, quantiles=[0.5])` gives milliseconds."""

    def __call__(
        self, kernel_call: Callable[[], object], *, quantiles: list[float], **kwargs: object
    ) -> Sequence[float]: ...


DriverBase = ActiveDriver
GPUDriver = ActiveDriver

__all__ = ["Benchmarker", "DriverBase", "GPUDriver"]


@dataclass(frozen=True)
class Backend:
    """The classes that compile for a vendor's GPUs and that drive them."""

    compiler: type[BaseBackend]
    driver: type[DriverBase]


backends: dict[str, Backend] = {"nvidia": Backend(CUDABackend, DriverBase)}
