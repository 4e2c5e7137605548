"""Barriers in shared memory that count arrivals. Declarations, see `declare.py`."""

# pyright: reportReturnType=false

from __future__ import annotations

from minitriton.language.declare import builtin
from minitriton.language.gluon.nvidia.ampere.mbarrier import MBarrierLayout
from minitriton.language.gluon.types import shared_memory_descriptor
from minitriton.language.values import ConstInt, Operand, tensor

__all__ = ["MBarrierLayout", "arrive", "init", "wait"]


@builtin
def init(mbarrier: shared_memory_descriptor, count: ConstInt) -> None:
    """Makes a buffer a barrier whose phase, at first 0, completes with `count` arrivals."""


@builtin
def wait(mbarrier: shared_memory_descriptor, phase: Operand) -> None:
    """Waits until the phase `phase` is complete."""


@builtin
def arrive(mbarrier: shared_memory_descriptor, *, count: ConstInt = 1) -> tensor:
    """Arrives `count` times. Gives the phase before."""
