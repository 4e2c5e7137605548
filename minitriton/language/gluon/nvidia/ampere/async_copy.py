"""Copies from global to shared memory that pass no register (`cp.async`, PTX ISA 9.7.9.25.3). Declarations, see `declare.py`."""

from __future__ import annotations

from minitriton.language.declare import builtin
from minitriton.language.gluon.types import shared_memory_descriptor
from minitriton.language.values import ConstBool, ConstInt, ConstStr, Operand, tensor

__all__ = ["async_copy_global_to_shared", "commit_group", "mbarrier_arrive", "wait_group"]


@builtin
def async_copy_global_to_shared(
    smem: shared_memory_descriptor,
    pointer: tensor,
    mask: Operand | None = None,
    cache_modifier: ConstStr = "",
    eviction_policy: ConstStr = "",
    volatile: ConstBool = False,
) -> None:
    """Starts copying what `pointer` points at to the buffer `smem` of the same shape; where `mask` is false nothing is read."""


@builtin
def mbarrier_arrive(mbarrier: shared_memory_descriptor, increment_count: ConstBool = True) -> None:
    """Arrives at `mbarrier` once this thread's copies so far are done; `increment_count` lets it expect one arrival more for that."""


@builtin
def commit_group() -> None:
    """Closes a group: the copies since the last one."""


@builtin
def wait_group(num_outstanding: ConstInt = 0) -> None:
    """Waits until at most `num_outstanding` groups are in flight."""
