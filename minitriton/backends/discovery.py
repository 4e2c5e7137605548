"""The backends that there are: `backends["nvidia"].compiler` and `.driver`."""

from __future__ import annotations

from dataclasses import dataclass

from minitriton.backends.compiler import BaseBackend, CUDABackend
from minitriton.backends.driver import DriverBase


@dataclass(frozen=True)
class Backend:
    """The classes that compile for a vendor's GPUs and that drive them."""

    compiler: type[BaseBackend]
    driver: type[DriverBase]


backends: dict[str, Backend] = {"nvidia": Backend(CUDABackend, DriverBase)}
