"""Copies from global to shared memory that pass no register. Declarations, see `declare.py`.

A thread's share of the pointers or offsets is 32 or 128 bits of elements, and a warp writes one range of shared memory: the hardware has one address
of shared memory for a warp.
"""

# pyright: reportReturnType=false

from __future__ import annotations

from minitriton.language.declare import builtin
from minitriton.language.gluon.core import LayoutArgument
from minitriton.language.gluon.types import shared_memory_descriptor
from minitriton.language.values import ConstInt, ConstStr, Operand, tensor

__all__ = ["buffer_load_to_shared", "commit_group", "global_load_to_shared", "load_shared_relaxed", "wait_group"]


@builtin
def global_load_to_shared(
    dest: shared_memory_descriptor,
    ptr: tensor,
    mask: Operand | None = None,
    other: Operand | None = None,
    cache_modifier: ConstStr = "",
) -> None:
    """Starts copying what `ptr` points at to the buffer `dest` of the same shape; `other` where `mask` is false."""


@builtin
def buffer_load_to_shared(
    dest: shared_memory_descriptor,
    ptr: tensor,
    offsets: tensor,
    mask: Operand | None = None,
    other: Operand | None = None,
    cache_modifier: ConstStr = "",
) -> None:
    """`global_load_to_shared` of `ptr + offsets`, a scalar pointer and int32 offsets."""


@builtin
def commit_group() -> None:
    """Closes a group: the copies since the last one."""


@builtin
def wait_group(num_outstanding: ConstInt = 0) -> None:
    """Waits until at most `num_outstanding` groups are in flight."""


@builtin
def load_shared_relaxed(smem: shared_memory_descriptor, layout: LayoutArgument) -> tensor:
    """`smem.load(layout)` without waits of the compiler's: `wait_group` has been called for what is loaded."""
