"""Copies of blocks by the tensor memory accelerator (`cp.async.bulk.tensor`, PTX ISA 9.7.9.25.5). Declarations, see `declare.py`."""

# pyright: reportReturnType=false

from __future__ import annotations

from minitriton.language.declare import builtin
from minitriton.language.gluon.layouts import NVMMASharedLayout
from minitriton.language.gluon.types import shared_memory_descriptor, tensor_descriptor, tensor_descriptor_type
from minitriton.language.values import ConstInt, ConstInts, ConstStr, Indices, Operand, constexpr, tensor

__all__ = [
    "async_copy_global_to_shared", "async_copy_shared_to_global", "make_tensor_descriptor", "store_wait",
    "tensor_descriptor", "tensor_descriptor_type",
]  # fmt: skip


@builtin
def async_copy_global_to_shared(
    tensor_desc: tensor_descriptor,
    coord: Indices,
    barrier: shared_memory_descriptor,
    result: shared_memory_descriptor,
    pred: Operand = True,
) -> None:
    """Starts copying the block at `coord` to the buffer `result`; `barrier` gets its bytes. Outside of the tensor it is padding."""


@builtin
def async_copy_shared_to_global(tensor_desc: tensor_descriptor, coord: Indices, src: shared_memory_descriptor) -> None:
    """Starts copying the buffer `src` to the block at `coord`; what is outside of the tensor is left out."""


@builtin
def store_wait(pendings: ConstInt) -> None:
    """Waits until at most `pendings` stores still read their buffers."""


@builtin
def make_tensor_descriptor(
    base: tensor,
    shape: Indices,
    strides: Indices,
    block_shape: ConstInts,
    layout: NVMMASharedLayout | constexpr,
    padding_option: ConstStr = "zero",
) -> tensor_descriptor:
    """A descriptor, made in the kernel, of the tensor of `shape` and `strides` (the last 1) at `base`, whose blocks have `layout`."""
