"""Tensor memory copies of rows in any order, and those of `hopper.tma`. Declarations, see `declare.py`."""

from __future__ import annotations

from minitriton.language.declare import builtin
from minitriton.language.gluon.nvidia.hopper.tma import (
    async_copy_global_to_shared,
    async_copy_shared_to_global,
    make_tensor_descriptor,
    store_wait,
    tensor_descriptor,
    tensor_descriptor_type,
)
from minitriton.language.gluon.types import shared_memory_descriptor
from minitriton.language.values import Operand, tensor

__all__ = [
    "async_copy_global_to_shared", "async_copy_shared_to_global", "async_gather", "async_scatter", "make_tensor_descriptor",
    "store_wait", "tensor_descriptor", "tensor_descriptor_type",
]  # fmt: skip


@builtin
def async_gather(
    tensor_desc: tensor_descriptor,
    x_offsets: tensor,
    y_offset: Operand,
    barrier: shared_memory_descriptor,
    result: shared_memory_descriptor,
    pred: Operand = True,
) -> None:
    """Starts copying the rows `x_offsets` (int32), from column `y_offset` on, to the buffer `result`; `barrier` gets its bytes."""


@builtin
def async_scatter(
    tensor_desc: tensor_descriptor, x_offsets: tensor, y_offset: Operand, src: shared_memory_descriptor
) -> None:
    """Starts copying the rows of the buffer `src` to the rows `x_offsets` (int32), from column `y_offset` on."""
