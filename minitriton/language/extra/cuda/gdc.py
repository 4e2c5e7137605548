"""Programmatic dependent launch (Hopper): declarations only."""

from __future__ import annotations

from minitriton.language.declare import builtin


@builtin
def gdc_wait() -> None:
    """Waits until the kernels that this one depends on have finished and their writes are visible (Hopper)."""


@builtin
def gdc_launch_dependents() -> None:
    """Lets the kernels that depend on this one start (Hopper). It orders no memory accesses: they wait with `gdc_wait`."""
