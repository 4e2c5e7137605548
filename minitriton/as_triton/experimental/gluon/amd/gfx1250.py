"""Gluon's tensor descriptor for gfx1250: that of `gluon.nvidia.hopper`, with a layout that does not swizzle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from minitriton.as_triton.experimental.gluon.nvidia import hopper
from minitriton.as_triton.tools.tensor_descriptor import DescribedArray, DescriptorError, strides_of
from minitriton.language.gluon.layouts import PaddedSharedLayout, SwizzledSharedLayout


@dataclass
class TensorDescriptor(hopper.TensorDescriptor):
    """Of a tensor of two dimensions. Raises `DescriptorError` for what cannot be described."""

    layout: PaddedSharedLayout | SwizzledSharedLayout  # pyright: ignore[reportIncompatibleVariableOverride]

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.shape) != 2 or self.padding != "zero":
            raise DescriptorError(f"a descriptor has two dimensions and padding of zeros, got {self}")
        if not isinstance(self.layout, (PaddedSharedLayout, SwizzledSharedLayout)):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise DescriptorError(f"expected a PaddedSharedLayout or SwizzledSharedLayout, got {self.layout}")
        if isinstance(self.layout, SwizzledSharedLayout) and self.layout.max_phase != 1:
            raise DescriptorError(f"expected max_phase to be 1, got {self.layout}")

    @staticmethod
    def from_tensor(  # pyright: ignore[reportIncompatibleMethodOverride]
        tensor: DescribedArray, block_shape: Sequence[int], layout: PaddedSharedLayout | SwizzledSharedLayout
    ) -> TensorDescriptor:
        return TensorDescriptor(tensor, tensor.shape, strides_of(tensor), list(block_shape), layout)
