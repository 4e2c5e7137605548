"""Copies of blocks of a described tensor (tensor data mover). Declarations, see `declare.py`."""

# pyright: reportReturnType=false

from __future__ import annotations

from minitriton.language.declare import builtin
from minitriton.language.gluon.layouts import PaddedSharedLayout, SwizzledSharedLayout
from minitriton.language.gluon.types import shared_memory_descriptor, tensor_descriptor, tensor_descriptor_type
from minitriton.language.values import ConstInt, ConstInts, Indices, Operand, constexpr, tensor

__all__ = [
    "async_load", "async_store", "async_wait", "make_tensor_descriptor", "tensor_descriptor", "tensor_descriptor_type",
]  # fmt: skip


@builtin
def make_tensor_descriptor(
    base: tensor,
    shape: Indices,
    strides: Indices,
    block_shape: ConstInts,
    layout: PaddedSharedLayout | SwizzledSharedLayout | constexpr,
) -> tensor_descriptor:
    """A descriptor of the tensor of `shape` and `strides` at `base`, whose blocks have `layout`, which does not swizzle."""


@builtin
def async_load(
    src: tensor_descriptor,
    offsets: Indices,
    dest: shared_memory_descriptor,
    pred: Operand = True,
    mbarrier: shared_memory_descriptor | None = None,
) -> None:
    """Starts copying the block at `offsets` to the buffer `dest`, where `pred` holds; arrives at `mbarrier` when it is done."""


@builtin
def async_store(dest: tensor_descriptor, offsets: Indices, src: shared_memory_descriptor) -> None:
    """Starts copying the buffer `src` to the block at `offsets`."""


@builtin
def async_wait(num_outstanding: ConstInt = 0) -> None:
    """Waits until at most `num_outstanding` copies are in flight."""
