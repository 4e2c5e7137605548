"""Barriers in shared memory that count arrivals and bytes (mbarrier, PTX ISA 9.7.13.15). Declarations, see `declare.py`."""

from __future__ import annotations

from collections.abc import Sequence

from minitriton.language.declare import builtin
from minitriton.language.gluon.layouts import Bases, SwizzledSharedLayout
from minitriton.language.gluon.types import shared_memory_descriptor
from minitriton.language.values import ConstInt, Operand

__all__ = ["MBarrierLayout", "arrive", "init", "invalidate", "wait"]


class MBarrierLayout(SwizzledSharedLayout):
    """The layout of the int64 buffer of shape [1] that an mbarrier is."""

    module = "mbarrier"

    def __init__(self, cga_layout: Bases | None = None) -> None:
        super().__init__(1, 1, 1, [0], cga_layout or [])


@builtin
def init(mbarrier: shared_memory_descriptor, count: ConstInt) -> None:
    """Makes a buffer an mbarrier whose phase completes with `count` arrivals, and the bytes that are expected."""


@builtin
def invalidate(mbarrier: shared_memory_descriptor) -> None:
    """Ends the life of an mbarrier: its memory may be used again."""


@builtin
def wait(
    mbarrier: shared_memory_descriptor,
    phase: Operand,
    pred: Operand = True,
    deps: Sequence[shared_memory_descriptor] = (),
) -> None:
    """Waits, where `pred` holds, until the phase of parity `phase` is complete. `deps`: buffers that are written until then."""


@builtin
def arrive(mbarrier: shared_memory_descriptor, *, pred: Operand = True) -> None:
    """Arrives once, where `pred` holds."""
