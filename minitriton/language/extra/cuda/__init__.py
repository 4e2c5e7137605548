"""What NVIDIA GPUs have beyond the common language: declarations only."""

from __future__ import annotations

from typing import Any

from minitriton.language.declare import builtin
from minitriton.language.extra import libdevice


@builtin
def globaltimer() -> Any:
    """The GPU's nanosecond timer, int64."""


@builtin
def smid() -> Any:
    """The number of the multiprocessor that this program runs on."""


@builtin
def num_threads() -> Any:
    """Threads in a program, a compile-time value."""


@builtin
def num_warps() -> Any:
    """Warps in a program, a compile-time value."""


@builtin
def gdc_wait() -> Any:
    """Waits until the kernels that this one depends on have finished and their writes are visible (Hopper)."""


@builtin
def gdc_launch_dependents() -> Any:
    """Lets the kernels that depend on this one start (Hopper). It orders no memory accesses: they wait with `gdc_wait`."""


__all__ = ["gdc_launch_dependents", "gdc_wait", "globaltimer", "libdevice", "num_threads", "num_warps", "smid"]
