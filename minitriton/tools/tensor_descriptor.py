"""`TensorDescriptor`: a tensor passed to a kernel together with the shape of the blocks that the kernel reads and writes.

TensorDescriptor.from_tensor(x, [64, 64])    →    `desc.load([row, column])` in the kernel gives a 64x64 block

`x` is a torch tensor, a NumPy array, or an array of another library with shape and strides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, cast

from minitriton._utils import validate_block_shape
from minitriton.errors import MinitritonError
from minitriton.runtime.launching.arguments import data_address, dtype_name

_ALIGNMENT = 16
"""Bytes that base and outer strides must be a multiple of (PTX ISA, "Tensors")."""

_MAX_RANK = 5


class ItemSize(Protocol):
    """A dtype of an array library."""

    @property
    def itemsize(self) -> int: ...


class DescribedArray(Protocol):
    """A tensor of torch, or an array of NumPy or another library."""

    @property
    def shape(self) -> Sequence[int]: ...

    @property
    def dtype(self) -> ItemSize: ...


class HostArray(DescribedArray, Protocol):
    """An array of NumPy, or of another library that follows it."""

    @property
    def strides(self) -> Sequence[int]: ...


class StridedArray(DescribedArray, Protocol):
    """A tensor of torch."""

    def stride(self) -> Sequence[int]: ...


@dataclass
class TensorDescriptor:
    """`base` is a tensor, `shape` and `strides` count elements, `padding` is what lies outside: "zero" or "nan"."""

    base: DescribedArray
    shape: Sequence[int]
    strides: Sequence[int]
    block_shape: list[int]
    padding: str = "zero"

    def __post_init__(self) -> None:
        rank = len(self.shape)
        width = self.base.dtype.itemsize
        is_fake = type(self.base).__name__ in ("FakeTensor", "FunctionalTensor")
        if not len(self.strides) == len(self.block_shape) == rank:
            # Not of `self`: the text of a tensor fetches its numbers from the device.
            sizes = f"shape {list(self.shape)}, strides {list(self.strides)}, block_shape {list(self.block_shape)}"
            raise DescriptorError(f"rank mismatch: {sizes}")
        require(rank > 0, "rank must not be zero")
        require(rank <= _MAX_RANK, f"rank cannot be more than {_MAX_RANK}")
        require(is_fake or data_address(self.base) % _ALIGNMENT == 0, "base must be 16-byte aligned")
        validate_block_shape(self.block_shape)
        require(all(s * width % _ALIGNMENT == 0 for s in self.strides[:-1]), "strides must be 16-byte aligned")
        require(all(size > 0 for size in self.shape), "shape must be positive")
        require(self.strides[-1] == 1, "Last dimension must be contiguous")
        require(self.padding in ("zero", "nan"), f"Illegal value for padding: {self.padding!r}")
        require(
            self.padding == "zero" or dtype_name(self.base.dtype)[:2] in ("fp", "bf"),
            "Padding option `nan` is only supported for floating point tensors",
        )

    @staticmethod
    def from_tensor(tensor: DescribedArray, block_shape: list[int], padding: str = "zero") -> TensorDescriptor:
        """A descriptor of all of `tensor`."""
        stride = getattr(tensor, "stride", None)
        if stride is not None:
            strides = stride()
        else:
            strides = [step // tensor.dtype.itemsize for step in cast(HostArray, tensor).strides]
        return TensorDescriptor(tensor, tensor.shape, strides, block_shape, padding)


class DescriptorError(MinitritonError, AssertionError):
    """A tensor that no descriptor can describe."""


def require(condition: bool, message: str) -> None:
    """Raises `DescriptorError` with `message` unless `condition`."""
    if not condition:
        raise DescriptorError(message)
