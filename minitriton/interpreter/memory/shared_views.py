"""Views of shared memory, and which warps hold which element of a tensor: layouts as NumPy arrays.

In: an encoding and a shape. Out: for a buffer the offset of each element, for a tensor the warps of each element.

    SwizzledShared(vec 1, ...) on (4,), f32 at byte 256      addresses [256, 260, 264, 268]
    Blocked((1,), (32,), (2,), (0,)) on (64,)                holders: 32 times 0b01, then 32 times 0b10

A view is the array of its elements' addresses, so that an index, a slice or a transpose of a buffer is one of that array,
whatever the swizzle.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation

from minitriton.dialects.encodings import layout_of
from minitriton.dialects.narrowing import instance_of
from minitriton.dialects.ttg.types import MemDescType
from minitriton.interpreter.errors import UnsupportedOpError
from minitriton.interpreter.values import dtype_of
from minitriton.layouts.encodings import Encoding, PaddedShared, SharedEncoding
from minitriton.layouts.linear_layout import LinearLayout
from minitriton.layouts.properties import slot_bytes
from minitriton.layouts.to_linear import to_linear_layout


@dataclass(frozen=True, eq=False)
class AllocatedBuffer:
    """One execution of an allocation: `size` bytes from `start`. `number` tells executions apart."""

    op: Operation
    number: int
    start: int
    size: int


@dataclass(frozen=True, eq=False, repr=False)
class BufferView:
    """Elements of a buffer: the address of each, in the shape that the program sees."""

    buffer: AllocatedBuffer
    addresses: np.ndarray
    dtype: np.dtype

    def byte_addresses(self) -> np.ndarray:
        """The address of every byte, in the order of the elements."""
        first = self.addresses.reshape(-1, 1)
        return (first + np.arange(self.dtype.itemsize)).reshape(-1)

    def __repr__(self) -> str:
        start = int(self.addresses.min()) - self.buffer.start
        return f"<{self.dtype} view of shape {self.addresses.shape} from byte {start} of its buffer>"

    def of(self, addresses: np.ndarray) -> BufferView:
        """Other elements of the same buffer."""
        return BufferView(self.buffer, addresses, self.dtype)


def element_dtype(type_: Attribute) -> np.dtype:
    """What holds an element of a buffer."""
    assert isinstance(type_, MemDescType)
    return dtype_of(type_.element_type)


def element_offsets(type_: Attribute) -> np.ndarray:
    """The byte at which each element begins, counted from the buffer's first; of a part of a buffer, that at its start."""
    assert isinstance(type_, MemDescType)
    layout = layout_of(type_)
    if not isinstance(layout, SharedEncoding):
        raise UnsupportedOpError(f"the interpreter knows no shared memory of type {type_}")
    shape = type_.get_shape()
    item = element_dtype(type_).itemsize
    whole = _element_offsets(layout, type_.get_alloc_shape()[-len(shape) :], item)
    return whole[tuple(map(slice, shape))] * item


def holders(type_: Attribute) -> np.ndarray:
    """For each element of a tensor the warps that hold it, as bits. A tensor without layout is held by warp 0."""
    assert instance_of(type_, TensorType)
    layout = layout_of(type_)
    return np.ones(type_.get_shape(), np.uint64) if layout is None else _holders(layout, type_.get_shape())


@lru_cache(maxsize=1024)
def _element_offsets(encoding: SharedEncoding, shape: tuple[int, ...], item: int) -> np.ndarray:
    """In elements of `item` bytes. Dimensions that the encoding does not have number slots."""
    copies, inner = shape[: len(shape) - encoding.rank], shape[len(shape) - encoding.rank :]
    layout = _row_major(to_linear_layout(encoding, inner))
    if layout.has_in_dim("block") and layout.get_in_dim_size("block") > 1:
        raise UnsupportedOpError("the interpreter lacks shared memory of clusters", help="use one CTA per program")
    images = _images(layout.flat_bases("offset"))
    offsets = np.zeros(prod(inner), np.int64)
    # Where several offsets stand for one element the first one counts, hence the last assignment.
    offsets[images[::-1]] = np.arange(len(images) - 1, -1, -1)
    count, span = prod(copies), len(images)
    if not isinstance(encoding, PaddedShared):
        span = slot_bytes(encoding, inner, 8 * item) // item
    offsets = (offsets + np.arange(count).reshape(-1, 1) * span).reshape(shape)
    if isinstance(encoding, PaddedShared):
        padded = offsets.copy()
        for interval, padding in zip(encoding.intervals, encoding.paddings, strict=True):
            padded += offsets // interval * padding
        return padded
    return offsets


@lru_cache(maxsize=1024)
def _holders(encoding: Encoding, shape: tuple[int, ...]) -> np.ndarray:
    layout = _row_major(to_linear_layout(encoding, shape))
    first = _images((*layout.flat_bases("register"), *layout.flat_bases("lane"), *layout.flat_bases("block")))
    masks = np.zeros(prod(shape), np.uint64)
    for warp, start in enumerate(_images(layout.flat_bases("warp")).tolist()):
        masks[first ^ start] |= np.uint64(1 << warp)
    return masks.reshape(shape)


def _row_major(layout: LinearLayout) -> LinearLayout:
    """The same layout with the last dimension in the lowest bits, as NumPy numbers elements."""
    return layout.transpose_outs([*layout.out_dims][::-1])


def _images(columns: Sequence[int]) -> np.ndarray:
    """What the numbers 0, 1, 2, ... are mapped to by the matrix with these columns."""
    images = np.zeros(1, np.int64)
    for column in columns:
        images = np.concatenate([images, images ^ column])
    return images
