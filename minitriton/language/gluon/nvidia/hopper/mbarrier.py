"""mbarriers that expect bytes, and several arrivals at once. Declarations, see `declare.py`."""

from __future__ import annotations

from minitriton.language.declare import builtin
from minitriton.language.gluon.nvidia.ampere.mbarrier import MBarrierLayout, init, invalidate, wait
from minitriton.language.gluon.types import shared_memory_descriptor
from minitriton.language.values import ConstInt, Operand

__all__ = ["MBarrierLayout", "arrive", "expect", "init", "invalidate", "wait"]


@builtin
def expect(mbarrier: shared_memory_descriptor, bytes: ConstInt, pred: Operand = True) -> None:
    """Arrives, and lets the phase also wait for `bytes` more that copies write, where `pred` holds."""


@builtin
def arrive(mbarrier: shared_memory_descriptor, *, count: ConstInt = 1, pred: Operand = True) -> None:
    """Arrives `count` times, where `pred` holds."""
