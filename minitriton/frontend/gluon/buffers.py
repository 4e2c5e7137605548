"""Buffers in shared memory: allocation, views, loads and stores.

ttgl.allocate_shared_memory(...)    ttg.local_alloc : () -> !ttg.memdesc<64xf16, #shared, #smem, mutable>
buffer.index(i).load(layout)        ttg.memdesc_index %buffer[%i]; ttg.local_load
"""

import math
from collections.abc import Sequence
from typing import Any

from xdsl.ir import Operation, SSAValue

from minitriton.dialects import ttg
from minitriton.dialects.encodings import layout_of as encoding_value
from minitriton.frontend.builder import IRBuilder, ir_type
from minitriton.frontend.errors import LanguageTypeError, LanguageValueError
from minitriton.frontend.semantic.shapes import wrap_axis
from minitriton.frontend.semantic.values import is_integer, to_tensor
from minitriton.language import dtypes as dt
from minitriton.language.gluon.layouts import DistributedLayout, SharedLayout, layout_of
from minitriton.language.gluon.types import (
    distributed_type,
    memory_descriptor,
    memory_descriptor_type,
    shared_memory_descriptor,
    shared_memory_descriptor_type,
)
from minitriton.language.values import Operand, handle_value, tensor
from minitriton.layouts.to_linear import to_linear_layout


def buffer_of(value: object, what: str) -> shared_memory_descriptor:
    """`value`, a buffer in shared memory. Raises `LanguageTypeError` for another."""
    if not isinstance(value, shared_memory_descriptor):
        raise LanguageTypeError(f"{what} must be a shared_memory_descriptor, got {value}")
    return value


def integers(given: Sequence[object], name: str) -> list[int]:
    """`given`, integers that are known. Raises `LanguageValueError` for others."""
    found = [each for each in given if is_integer(each)]
    if len(found) != len(given):
        raise LanguageValueError(f"all elements of '{name}' must be integers but got {list(given)}")
    return found


def _shared_layout(layout: object) -> SharedLayout:
    if not isinstance(layout, SharedLayout):
        raise LanguageTypeError(
            f"expected 'layout' to be a SharedLayout but got {layout}", "for example ttgl.SwizzledSharedLayout(...)"
        )
    return layout


def dtype_of(given: object, name: str) -> dt.dtype:
    """`given`, a dtype. Raises `LanguageTypeError` for another."""
    if not isinstance(given, dt.dtype):
        raise LanguageTypeError(f"expected '{name}' to be a dtype but got {given}", "for example ttgl.float16")
    return given


def allocate_shared_memory(
    b: IRBuilder, element_ty: object, shape: Sequence[object], layout: object, value: tensor | None = None
) -> shared_memory_descriptor:
    """A new buffer."""
    sizes = integers(shape, "shape")
    type = shared_memory_descriptor_type(dtype_of(element_ty, "element_ty"), sizes, _shared_layout(layout), sizes)
    encoding = type.layout.encoding()
    to_linear_layout(encoding, tuple(sizes[max(0, len(sizes) - encoding.rank) :]))  # raises where it does not fit
    return shared_memory_descriptor(
        b.value(ttg.LocalAllocOp(None if value is None else value.handle, ir_type(type))), type
    )


def load(b: IRBuilder, buffer: shared_memory_descriptor, layout: object) -> tensor:
    """A buffer's content."""
    if not isinstance(layout, DistributedLayout):
        raise LanguageTypeError(
            f"expected 'layout' to be a DistributedLayout but got {layout}", "for example ttgl.BlockedLayout(...)"
        )
    type = distributed_type(buffer.dtype, buffer.shape, layout)
    return tensor(b.value(ttg.LocalLoadOp(buffer.handle, None, ir_type(type))), type)


def store(b: IRBuilder, buffer: shared_memory_descriptor, value: object) -> None:
    """A tensor written to a buffer."""
    if not isinstance(value, tensor):
        help = value.as_tensor if isinstance(value, handle_value) else "a tensor of the buffer's shape and dtype"
        raise LanguageTypeError(f"expected 'value' to be a tensor, but got a {type(value)}", help)
    if list(value.type.shape) != buffer.shape:
        raise LanguageValueError(
            f"source shape {list(value.type.shape)} and destination shape {buffer.shape} must match"
        )
    if value.dtype != buffer.dtype:
        raise LanguageValueError(
            f"source dtype {value.dtype} and destination dtype {buffer.dtype} must match", "cast it with .to(...)"
        )
    b.insert(ttg.LocalStoreOp(value.handle, buffer.handle))


def _view(
    b: IRBuilder, op: Operation, like: shared_memory_descriptor, shape: Sequence[int], alloc_shape: Sequence[int]
) -> shared_memory_descriptor:
    """The view that `op` makes, whose layout it inferred."""
    handle = b.value(op)
    encoding = encoding_value(handle.type)
    assert encoding is not None
    layout = layout_of(encoding)
    return shared_memory_descriptor(
        handle, shared_memory_descriptor_type(like.dtype, shape, _shared_layout(layout), alloc_shape)
    )


def retyped(
    b: IRBuilder, make: Any, buffer: memory_descriptor, type: memory_descriptor_type, *args: object, **attributes: object
) -> SSAValue:  # fmt: skip
    """The view of `type` that the op `make` makes of a buffer."""
    return b.value(make(buffer.handle, *args, ir_type(type), **attributes))


def slice(b: IRBuilder, buffer: shared_memory_descriptor, start: int, length: int, dim: int = 0) -> shared_memory_descriptor:  # fmt: skip
    """Some elements along a dimension."""
    for name, given in (("start", start), ("length", length), ("dim", dim)):
        if not is_integer(given):
            raise LanguageTypeError(f"expected '{name}' to be an int but got {given}")
    dim = wrap_axis(dim, buffer.rank)
    offsets = [start if d == dim else 0 for d in range(buffer.rank)]
    shape = [length if d == dim else size for d, size in enumerate(buffer.shape)]
    type = shared_memory_descriptor_type(buffer.dtype, shape, buffer.layout, buffer.type.alloc_shape)
    return shared_memory_descriptor(retyped(b, ttg.MemDescSubsliceOp, buffer, type, offsets=offsets), type)


def index(b: IRBuilder, buffer: shared_memory_descriptor, index: Operand) -> shared_memory_descriptor:
    """One element along the first dimension."""
    if is_integer(index) and not 0 <= index < buffer.shape[0]:
        raise LanguageValueError(f"index {index} of a buffer of {buffer.shape[0]}", f"0 to {buffer.shape[0] - 1}")
    at = to_tensor(b, index)
    if at.type != dt.int32:
        raise LanguageTypeError(f"expected 'index' to be int32 but got {at.type}", "cast it with .to(ttgl.int32)")
    shape = buffer.shape[1:]
    type = shared_memory_descriptor_type(buffer.dtype, shape, buffer.layout, shape)
    return shared_memory_descriptor(retyped(b, ttg.MemDescIndexOp, buffer, type, at.handle), type)


def permute(b: IRBuilder, buffer: shared_memory_descriptor, order: Sequence[object]) -> shared_memory_descriptor:
    """The dimensions in another order."""
    dims = integers(order, "order")
    if len(dims) != buffer.rank:
        raise LanguageValueError(f"source rank ({buffer.rank}) and order length ({len(dims)}) must match")
    if sorted(dims) != list(range(buffer.rank)):
        raise LanguageValueError(
            f"{dims} is not an order of {buffer.rank} dimensions", f"each of 0 to {buffer.rank - 1} once"
        )
    alloc = buffer.type.alloc_shape
    outer, inner = alloc[: len(alloc) - buffer.rank], alloc[len(alloc) - buffer.rank :]
    op = ttg.MemDescTransOp(buffer.handle, order=dims)
    return _view(b, op, buffer, [buffer.shape[d] for d in dims], [*outer, *(inner[d] for d in dims)])


def reshape(b: IRBuilder, buffer: shared_memory_descriptor, shape: Sequence[object]) -> shared_memory_descriptor:
    """The same elements in another shape."""
    sizes = integers(shape, "shape")
    if math.prod(sizes) != buffer.numel:
        raise LanguageValueError(f"memdesc_reshape total elements mismatch: {buffer.shape} -> {sizes}")
    alloc = buffer.type.alloc_shape
    op = ttg.MemDescReshapeOp.to_shape(buffer.handle, sizes)
    return _view(b, op, buffer, sizes, [*alloc[: len(alloc) - buffer.rank], *sizes])


def reinterpret(
    b: IRBuilder, buffer: shared_memory_descriptor, dtype: object, shape: Sequence[object], layout: object
) -> shared_memory_descriptor:
    """The bytes as other elements."""
    sizes = integers(shape, "shape")
    type = shared_memory_descriptor_type(dtype_of(dtype, "dtype"), sizes, _shared_layout(layout), sizes)
    return shared_memory_descriptor(retyped(b, ttg.MemDescReinterpretOp, buffer, type), type)


def keep_alive(b: IRBuilder, buffer: shared_memory_descriptor) -> None:
    """The end of a buffer's life."""
    b.insert(ttg.LocalDeallocOp(buffer.handle))
