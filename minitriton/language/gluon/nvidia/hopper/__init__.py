"""Since compute capability 9.0: `wgmma` and tensor memory copies. Declarations, see `declare.py`."""

# pyright: reportReturnType=false

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minitriton.language.declare import builtin
from minitriton.language.gluon.nvidia.ampere import async_copy, mma_v2
from minitriton.language.gluon.nvidia.hopper import mbarrier, tma
from minitriton.language.gluon.types import shared_memory_descriptor, warpgroup_mma_accumulator
from minitriton.language.values import ConstBool, ConstInt, ConstStr, Operand, tensor

__all__ = [
    "async_copy", "fence_async_shared", "mbarrier", "mma_v2", "tma", "warpgroup_mma", "warpgroup_mma_init",
    "warpgroup_mma_wait",
]  # fmt: skip


@builtin
def fence_async_shared(cluster: ConstBool = False) -> None:
    """Makes this thread's writes to shared memory visible to TMA and `wgmma` (`fence.proxy.async`), of the whole `cluster` if asked."""


@builtin
def warpgroup_mma_init(value: tensor) -> warpgroup_mma_accumulator:
    """`value` as an accumulator."""


@builtin
def warpgroup_mma(
    a: tensor | shared_memory_descriptor,
    b: shared_memory_descriptor,
    acc: tensor | warpgroup_mma_accumulator,
    *,
    use_acc: Operand = True,
    precision: ConstStr | None = None,
    max_num_imprecise_acc: ConstInt | None = None,
    is_async: ConstBool = False,
) -> Any:
    """`a @ b + acc` by `wgmma` (`a @ b` where `use_acc` is false): a tensor, or, `is_async`, an accumulator to be waited for.

    `max_num_imprecise_acc`: MMAs of fp8 after which the accumulator is added to one of full precision.
    """


@builtin
def warpgroup_mma_wait(num_outstanding: ConstInt = 0, deps: Sequence[Any] | None = None) -> Any:
    """Waits until at most `num_outstanding` groups of MMAs are in flight. Gives `deps`, accumulators as tensors: what they read is kept until here."""
