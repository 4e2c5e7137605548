"""`TensorDescriptor`: a tensor passed to a kernel together with the shape of the blocks that the kernel reads and writes.

TensorDescriptor.from_tensor(x, [64, 64])    →    `desc.load([row, column])` in the kernel gives a 64x64 block

`x` is a torch tensor, a NumPy array, or an array of another library with shape and strides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol, cast

from minitriton.as_triton._utils import validate_block_shape
from minitriton.errors import MinitritonError
from minitriton.runtime.launching.arguments import data_address, dtype_name

_ALIGNMENT = 16
"""Bytes that base and outer strides must be a multiple of (PTX ISA, "Tensors")."""

_MAX_RANK = 5

_MISALIGNED = "base must be 16-byte aligned"
_STEPS = "strides must be 16-byte aligned"
_EMPTY = "shape must be positive"
_SPREAD = "Last dimension must be contiguous"

_WITHOUT_ADDRESS = ("FakeTensor", "FunctionalTensor")
"""Tensors that torch traces a program with."""


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


_sound: set[tuple[object, ...]] = set()
"""All but the address of descriptors that were made: programs make the same ones for every launch."""
_MOST_SOUND = 1024


@dataclass(init=False)
class TensorDescriptor:
    """`base` is a tensor, `shape` and `strides` count elements, `padding` is what is outside: "zero" or "nan".

    With `round_f32_to_tf32` loads round float32 to the nearest tf32, as tensor cores do not. It needs copies of sm_90.
    """

    base: DescribedArray
    shape: Sequence[int]
    strides: Sequence[int]
    block_shape: list[int]
    padding: str = "zero"
    round_f32_to_tf32: bool = False

    def __init__(
        self,
        base: DescribedArray,
        shape: Sequence[int],
        strides: Sequence[int],
        block_shape: list[int],
        padding: str = "zero",
        round_f32_to_tf32: bool = False,
    ) -> None:
        self.base, self.shape, self.strides, self.block_shape = base, shape, strides, block_shape
        self.padding, self.round_f32_to_tf32 = padding, round_f32_to_tf32
        key = (shape, strides, base.dtype, tuple(block_shape), padding, round_f32_to_tf32)
        try:
            if key in _sound and not base.data_ptr() & 15:  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
                return
        except Exception:
            key = None
        why = self._refusal()
        if why is not None:
            raise DescriptorError(why, help=self._remedy(why))
        if key is not None:
            if len(_sound) >= _MOST_SOUND:
                _sound.clear()
            _sound.add(key)

    def _remedy(self, why: str) -> str | None:
        """What to do about a refusal."""
        grain = max(_ALIGNMENT // self.base.dtype.itemsize, 1)
        return {
            _MISALIGNED: f"copy it to memory of its own, or let it begin at a multiple of {grain} elements",
            _STEPS: f"they are {list(self.strides)} elements: pad all but the last to multiples of {grain}, or pass a pointer",
            _EMPTY: f"it is {list(self.shape)}: launch nothing where there is nothing to do",
            _SPREAD: f"its stride is {self.strides[-1] if len(self.strides) else 0}: copy the tensor, or describe its transpose",
        }.get(why)

    def _refusal(self) -> str | None:
        """Why there is no such descriptor."""
        base, shape, strides, padding = self.base, self.shape, self.strides, self.padding
        rank = len(shape)
        if not len(strides) == len(self.block_shape) == rank:
            # Not of `self`: the text of a tensor fetches its numbers from the device.
            sizes = f"shape {list(shape)}, strides {list(strides)}, block_shape {list(self.block_shape)}"
            return f"rank mismatch: {sizes}"
        if rank == 0:
            return "rank must not be zero"
        if rank > _MAX_RANK:
            return f"rank cannot be more than {_MAX_RANK}"
        if type(base).__name__ not in _WITHOUT_ADDRESS:
            try:
                address: int = base.data_ptr()  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]
            except Exception:
                address = data_address(base)
            if address % _ALIGNMENT:
                return _MISALIGNED
        _validated(*self.block_shape)
        width = base.dtype.itemsize
        for stride in strides[:-1]:
            if stride * width % _ALIGNMENT:
                return _STEPS
        for size in shape:
            if size <= 0:
                return _EMPTY
        if strides[-1] != 1:
            return _SPREAD
        if self.round_f32_to_tf32 and dtype_name(base.dtype) != "fp32":
            return "round_f32_to_tf32 is only supported for float32 tensors"
        if padding == "zero":
            return None
        if padding != "nan":
            return f"Illegal value for padding: {padding!r}"
        if dtype_name(base.dtype)[:2] not in ("fp", "bf"):
            return "Padding option `nan` is only supported for floating point tensors"
        return None

    @staticmethod
    def from_tensor(
        tensor: DescribedArray, block_shape: list[int], padding: str = "zero", round_f32_to_tf32: bool = False
    ) -> TensorDescriptor:
        """A descriptor of all of `tensor`."""
        return TensorDescriptor(tensor, tensor.shape, strides_of(tensor), block_shape, padding, round_f32_to_tf32)


def strides_of(tensor: DescribedArray) -> Sequence[int]:
    """In elements."""
    stride = getattr(tensor, "stride", None)
    if stride is not None:
        return stride()
    return [step // tensor.dtype.itemsize for step in cast(HostArray, tensor).strides]


@lru_cache(maxsize=256, typed=True)
def _validated(*block_shape: int) -> int:
    return validate_block_shape(block_shape)


class DescriptorError(MinitritonError, AssertionError):
    """A tensor that no descriptor can describe."""


def require(condition: bool, message: str) -> None:
    """Raises `DescriptorError` with `message` unless `condition`."""
    if not condition:
        raise DescriptorError(message)
