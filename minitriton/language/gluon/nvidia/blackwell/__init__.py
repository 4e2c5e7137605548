"""Since compute capability 10.0: tensor memory and the MMAs that use it. Declarations, see `declare.py`."""

from __future__ import annotations

from collections.abc import Sequence

from minitriton.language.declare import builtin
from minitriton.language.gluon.nvidia.blackwell import float2, tma
from minitriton.language.gluon.nvidia.blackwell.tensor_memory import (
    TensorMemoryLayout,
    TensorMemoryScalesLayout,
    allocate_tensor_memory,
    get_tmem_reg_layout,
    tensor_memory_descriptor,
    tensor_memory_descriptor_type,
)
from minitriton.language.gluon.nvidia.hopper import async_copy, fence_async_shared, mbarrier, mma_v2
from minitriton.language.gluon.types import shared_memory_descriptor
from minitriton.language.values import ConstStr, Operand

__all__ = [
    "TensorMemoryLayout", "TensorMemoryScalesLayout", "allocate_tensor_memory", "async_copy", "fence_async_shared", "float2",
    "get_tmem_reg_layout", "mbarrier", "mma_v2", "tcgen05_commit", "tcgen05_copy", "tcgen05_mma", "tcgen05_mma_scaled",
    "tensor_memory_descriptor", "tensor_memory_descriptor_type", "tma",
]  # fmt: skip


@builtin
def tcgen05_copy(src: shared_memory_descriptor, dst: tensor_memory_descriptor) -> None:
    """Starts copying the buffer `src` to tensor memory; `tcgen05_commit` tells when it is done."""


@builtin
def tcgen05_mma(
    a: shared_memory_descriptor | tensor_memory_descriptor,
    b: shared_memory_descriptor,
    acc: tensor_memory_descriptor,
    *,
    use_acc: Operand = True,
    pred: Operand = True,
    mbarriers: Sequence[shared_memory_descriptor] | None = None,
    mbarrier_preds: Sequence[Operand] | None = None,
) -> None:
    """`acc += a @ b` (`acc = a @ b` where `use_acc` is false), where `pred` holds.

    With `mbarriers` it is asynchronous, and arrives at each whose predicate holds when it is done.
    """


@builtin
def tcgen05_mma_scaled(
    a: shared_memory_descriptor | tensor_memory_descriptor,
    b: shared_memory_descriptor,
    acc: tensor_memory_descriptor,
    a_scale: tensor_memory_descriptor,
    b_scale: tensor_memory_descriptor,
    a_type: ConstStr,
    b_type: ConstStr,
    *,
    use_acc: Operand = True,
    pred: Operand = True,
    mbarriers: Sequence[shared_memory_descriptor] | None = None,
    mbarrier_preds: Sequence[Operand] | None = None,
) -> None:
    """`tcgen05_mma` of operands with a scale for each block of 32 along k. `a_type`, `b_type`: "e2m1", "e4m3" or "e5m2"."""


@builtin
def tcgen05_commit(barrier: shared_memory_descriptor) -> None:
    """Arrives once at `barrier` when the MMAs and copies that this thread started before are done."""
