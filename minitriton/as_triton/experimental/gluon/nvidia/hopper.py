"""Gluon's tensor descriptor: Triton's, with the layout that blocks have in shared memory.

TensorDescriptor.from_tensor(x, [64, 64], NVMMASharedLayout(128, 16))    →    a `tensordesc<fp16[64, 64],NVMMASharedLayout(...)>`
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from minitriton.as_triton.tools.tensor_descriptor import DescribedArray, strides_of
from minitriton.as_triton.tools.tensor_descriptor import TensorDescriptor as _Plain
from minitriton.language.gluon.layouts import NVMMASharedLayout


@dataclass
class TensorDescriptor:
    """As `minitriton.as_triton.tools.tensor_descriptor.TensorDescriptor`, with `layout`. Raises `DescriptorError` for what cannot be described."""

    base: DescribedArray
    shape: Sequence[int]
    strides: Sequence[int]
    block_shape: list[int]
    layout: NVMMASharedLayout
    padding: str = "zero"

    def __post_init__(self) -> None:
        _Plain(self.base, self.shape, self.strides, self.block_shape, self.padding)

    @staticmethod
    def from_tensor(
        tensor: DescribedArray, block_shape: list[int], layout: NVMMASharedLayout, padding: str = "zero"
    ) -> TensorDescriptor:
        return TensorDescriptor(tensor, tensor.shape, strides_of(tensor), block_shape, layout, padding)
