"""Tensor descriptors: a tensor in memory that is read and written block by block, by TMA where the target has it.

desc = tl.make_tensor_descriptor(ptr, shape=[M, N], strides=[N, 1], block_shape=[64, 64])
x = desc.load([i, j])
"""

# Declarations have no bodies: what they give is what the frontend emits.
# pyright: reportReturnType=false

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from minitriton.language.declare import builtin
from minitriton.language.dtypes import base_type, block_type, dtype, tuple_type
from minitriton.language.values import ConstInts, ConstStr, Indices, Named, Operand, base_value, tensor
from minitriton.language.values import tuple as language_tuple

if TYPE_CHECKING:
    from xdsl.ir import SSAValue

__all__ = [
    "load_tensor_descriptor",
    "make_tensor_descriptor",
    "store_tensor_descriptor",
    "tensor_descriptor",
    "tensor_descriptor_type",
]
"""What `tl` offers of it."""


class tensor_descriptor_type(base_type):
    """The type of a descriptor: its blocks, and the types of its shape and strides."""

    def __init__(self, block_type: block_type, shape_type: tuple_type, strides_type: tuple_type) -> None:
        self.block_type = block_type
        self.shape_type = shape_type
        self.strides_type = strides_type
        self.name: str = f"tensor_descriptor<{block_type}, {shape_type}, {strides_type}>"

    def value(self, handle: SSAValue, shape: Sequence[object], strides: Sequence[object]) -> tensor_descriptor:
        """A value of this type."""
        return tensor_descriptor(handle, shape, strides, self.block_type)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, tensor_descriptor_type) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __str__(self) -> str:
        return f"tensor_descriptor<{self.block_type}>"

    def mangle(self) -> str:
        return f"TD{self.block_type.mangle()}"


class tensor_descriptor(base_value):
    """A descriptor in a kernel. Methods are `members`; `shape` and `strides` are those of the whole tensor."""

    members: ClassVar[dict[str, Named]] = {}

    def __init__(
        self, handle: SSAValue, shape: Sequence[object], strides: Sequence[object], block_type: block_type
    ) -> None:
        self.handle = handle
        self.shape = language_tuple(shape)
        self.strides = language_tuple(strides)
        self.type: tensor_descriptor_type = tensor_descriptor_type(block_type, self.shape.type, self.strides.type)

    @property
    def block_type(self) -> block_type:
        return self.type.block_type

    @property
    def block_shape(self) -> tuple[int, ...]:
        return self.type.block_type.shape

    @property
    def dtype(self) -> dtype:
        return self.type.block_type.element_ty

    def __str__(self) -> str:
        return str(self.type)

    __repr__ = __str__

    if TYPE_CHECKING:
        # What the methods give in a kernel, for those who read its types.
        def load(self, offsets: Indices) -> tensor: ...
        def store(self, offsets: Indices, value: tensor) -> None: ...


tensor_descriptor_base = tensor_descriptor


@builtin
def make_tensor_descriptor(
    base: tensor, shape: Indices, strides: Indices, block_shape: ConstInts, padding_option: ConstStr = "zero"
) -> tensor_descriptor:
    """A descriptor of the tensor of `shape` and `strides` (the last 1) at pointer `base`. Outside of it reads give zeros or NaNs."""


@builtin
def load_tensor_descriptor(desc: tensor_descriptor, offsets: Indices) -> tensor:
    """The block at `offsets`: `desc.load(offsets)`."""


@builtin
def store_tensor_descriptor(desc: tensor_descriptor, offsets: Indices, value: tensor) -> None:
    """Stores a block at `offsets`: `desc.store(offsets, value)`. What is outside of the tensor is left out, but on sm_90 rows are
    written in chunks of 16 bytes: up to 15 bytes past the end of a row whose size is not a multiple of that."""


@builtin
def descriptor_atomic_add(desc: tensor_descriptor, offsets: Indices, value: tensor) -> None:
    """Adds a block to memory, each element atomically; past the end of a row as `store` does."""


@builtin
def descriptor_atomic_min(desc: tensor_descriptor, offsets: Indices, value: tensor) -> None:
    """Takes the minimum with memory, each element atomically."""


@builtin
def descriptor_atomic_max(desc: tensor_descriptor, offsets: Indices, value: tensor) -> None:
    """Takes the maximum with memory, each element atomically."""


@builtin
def descriptor_atomic_and(desc: tensor_descriptor, offsets: Indices, value: tensor) -> None:
    """Bitwise and with memory, each element atomically."""


@builtin
def descriptor_atomic_or(desc: tensor_descriptor, offsets: Indices, value: tensor) -> None:
    """Bitwise or with memory, each element atomically."""


@builtin
def descriptor_atomic_xor(desc: tensor_descriptor, offsets: Indices, value: tensor) -> None:
    """Bitwise exclusive or with memory, each element atomically."""


@builtin
def descriptor_gather(desc: tensor_descriptor, x_offsets: tensor, y_offset: Operand) -> tensor:
    """The rows that `x_offsets` names, from column `y_offset` on."""


@builtin
def descriptor_scatter(desc: tensor_descriptor, value: tensor, x_offsets: tensor, y_offset: Operand) -> None:
    """Stores to the rows that `x_offsets` names, from column `y_offset` on."""


tensor_descriptor.members.update(
    load=load_tensor_descriptor,
    store=store_tensor_descriptor,
    atomic_add=descriptor_atomic_add,
    atomic_min=descriptor_atomic_min,
    atomic_max=descriptor_atomic_max,
    atomic_and=descriptor_atomic_and,
    atomic_or=descriptor_atomic_or,
    atomic_xor=descriptor_atomic_xor,
    gather=descriptor_gather,
    scatter=descriptor_scatter,
)
