"""Copies from global to shared memory that pass no register. Declarations, see `declare.py`."""

from __future__ import annotations

from minitriton.language.declare import builtin
from minitriton.language.gluon.amd.cdna4.async_copy import commit_group, wait_group
from minitriton.language.gluon.types import shared_memory_descriptor
from minitriton.language.values import ConstStr, Operand, tensor

__all__ = ["commit_group", "global_to_shared", "mbarrier_arrive", "wait_group"]


@builtin
def global_to_shared(
    smem: shared_memory_descriptor,
    pointer: tensor,
    mask: Operand | None = None,
    other: Operand | None = None,
    cache_modifier: ConstStr = "",
) -> None:
    """Starts copying what `pointer` points at to the buffer `smem` of the same shape; `other` where `mask` is false."""


@builtin
def mbarrier_arrive(mbarrier: shared_memory_descriptor) -> None:
    """Arrives at `mbarrier` once this thread's copies so far are done."""
