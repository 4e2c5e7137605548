"""Making blocks and changing their shape."""

import warnings
from collections.abc import Sequence
from typing import cast as cast_type

from minitriton.dialects import tt
from minitriton.frontend.builder import IRBuilder, ir_type
from minitriton.frontend.errors import LanguageTypeError, LanguageValueError
from minitriton.frontend.semantic.casts import cast
from minitriton.frontend.semantic.values import (
    broadcast_pair,
    broadcast_to_shape,
    representable,
    several,
    splat,
    to_tensor,
)
from minitriton.frontend.semantic.values import expand_dims as insert_dimension
from minitriton.language import dtypes as dt
from minitriton.language.dtypes import block_of, validate_block_shape
from minitriton.language.dtypes import dtype as language_dtype
from minitriton.language.values import Operand, tensor
from minitriton.language.values import slice as language_slice

Size = int | tensor | Sequence[int | tensor]
"""A size, or all of them, as a kernel may name them: a tensor among them is refused."""


def shape_argument(shape: Sequence[Size]) -> tuple[int, ...]:
    """A shape given as arguments or as one sequence, checked."""
    if len(shape) == 1 and isinstance(shape[0], (tuple, list)):
        shape = tuple(shape[0])
    for i, size in enumerate(shape):
        if isinstance(size, tensor):
            raise LanguageTypeError(
                f"Shape element {i} must have type `constexpr[int]`, got a run-time value of type {size.type}",
                "make it a tl.constexpr parameter",
            )
        if isinstance(size, int) and (size & (size - 1) or size < 1):
            raise LanguageValueError(
                f"Shape element {i} must be a power of 2", f"round {size} up and mask the rest of the block"
            )
    validate_block_shape(shape)
    return tuple(map(int, cast_type("tuple[int, ...]", shape)))


def arange(b: IRBuilder, start: object, end: object) -> tensor:
    """The int32 values of `[start, end)`."""
    low, high = range_bounds(start, end)
    return range_of(b, low, high, block_of(dt.int32, (high - low,)))


def range_bounds(start: object, end: object) -> tuple[int, int]:
    """`start` and `end`, if a block can have the numbers between them."""
    if not isinstance(start, int) or not isinstance(end, int):
        raise LanguageValueError(
            "arange's arguments must be of type tl.constexpr", "annotate the parameter: `BLOCK: tl.constexpr`"
        )
    start, end = int(start), int(end)
    if start >> 32 or end >> 32:
        raise LanguageValueError("arange must fit in int32")
    if end <= start:
        raise LanguageValueError("arange's end argument must be greater than the start argument")
    size = end - start
    if size & (size - 1):
        raise LanguageValueError(
            "arange's range must be a power of 2", f"use {1 << size.bit_length()} and mask the rest"
        )
    return start, end


def range_of(b: IRBuilder, start: int, end: int, type: dt.dtype) -> tensor:
    """The integers of `[start, end)` as a block of `type`."""
    return tensor(b.value(tt.MakeRangeOp(ir_type(type), start=start, end=end)), type)


def full(b: IRBuilder, shape: Size, value: Operand, dtype: object) -> tensor:
    """A block filled with one value."""
    shape = shape_argument((shape,))
    if not isinstance(dtype, language_dtype):
        raise LanguageTypeError(f"{dtype!r} is not a dtype", "for example tl.float32")
    if not isinstance(value, tensor):
        type = block_of(dtype, shape) if shape else dtype
        return tensor(b.constant(type, representable(value, dtype)), type)
    return splat(b, cast(b, unsplat(b, value), dtype), shape)


def unsplat(b: IRBuilder, x: tensor) -> tensor:
    """The element of a block of one element."""
    if not x.type.is_block():
        return x
    if x.type.numel != 1:
        raise LanguageValueError(
            f"can only unsplat single-element tensors, got shape {list(x.type.shape)}",
            "reduce it first, as with tl.sum",
        )
    return tensor(b.op(tt.UnsplatOp, (x.handle,), ir_type(x.dtype)), x.dtype)


def reshape(b: IRBuilder, x: Operand, *shape: Size, can_reorder: bool = False) -> tensor:
    """The same elements in another shape."""
    x = to_tensor(b, x)
    sizes = shape_argument(shape)
    if not sizes:
        return unsplat(b, x)
    numel = 1
    for size in sizes:
        numel *= size
    if x.type.numel != numel:
        raise LanguageValueError(
            "reshape() cannot change total number of elements in tensor",
            f"it has {x.type.numel}, of the shape {list(x.type.shape)}; {list(sizes)} has {numel}",
        )
    if not x.type.is_block():
        return splat(b, x, sizes)
    result = x.type.reshaped(sizes)
    return tensor(b.value(tt.ReshapeOp(x.handle, ir_type(result), allow_reorder=bool(can_reorder))), result)


def view(b: IRBuilder, x: Operand, *shape: Size) -> tensor:
    """`reshape` that may reorder."""
    warnings.warn("view is deprecated, please use reshape with can_reorder being true.", stacklevel=2)
    return reshape(b, x, *shape, can_reorder=True)


def broadcast(b: IRBuilder, input: Operand, other: Operand) -> tuple[tensor, tensor]:
    """Both broadcast to one shape."""
    return broadcast_pair(b, to_tensor(b, input), to_tensor(b, other))


def broadcast_to(b: IRBuilder, x: Operand, *shape: Size) -> tensor:
    """`x` broadcast to a shape."""
    return broadcast_to_shape(b, to_tensor(b, x), shape_argument(shape))


def wrap_axis(axis: object, rank: int) -> int:
    """A dimension counted from 0, given from either end."""
    if not isinstance(axis, int):
        raise LanguageTypeError(f"an axis must be a compile-time integer, got {axis!r}")
    if not -rank <= axis < rank:
        raise LanguageValueError(f"invalid axis {axis}. Expected {-rank} <= axis < {rank}")
    return axis % rank


def expand_dims(b: IRBuilder, x: Operand, axis: int | Sequence[int]) -> tensor:
    """`x` with dimensions of size 1 at `axis` of the result."""
    x = to_tensor(b, x)
    axes = several(axis)
    rank = len(x.type.shape) + len(axes)
    axes = [wrap_axis(a, rank) for a in axes]
    if len(set(axes)) != len(axes):
        raise LanguageValueError(f"expand_dims received duplicate axes, normalized axes = {axes}")
    for a in sorted(axes):
        x = insert_dimension(b, x, a)
    return x


_SLICES = (language_slice, slice)


def _keeps(one: object) -> bool:
    """Whether one index is `:`."""
    part = cast_type(language_slice, one)
    return isinstance(one, _SLICES) and part.start is None and part.stop is None and part.step is None


def index(b: IRBuilder, x: tensor, slices: object) -> tensor:
    """`x[:, None]`: `None` inserts a dimension, `:` keeps one."""
    for position, one in enumerate(several(slices)):
        if one is None:
            x = insert_dimension(b, x, position)
        elif not _keeps(one):
            raise LanguageValueError(
                f"unsupported tensor index: {one!r}", "blocks are indexed only by `:` and `None`; load through pointers"
            )
    return x


def _dimensions(given: tuple[int | Sequence[int], ...]) -> tuple[int, ...]:
    """Dimensions given as arguments or as one sequence."""
    if len(given) == 1 and isinstance(given[0], (tuple, list)):
        return tuple(given[0])
    return cast_type("tuple[int, ...]", given)


def permute(b: IRBuilder, x: Operand, *dims: int | Sequence[int]) -> tensor:
    """`x` with its dimensions in the order `dims`."""
    x, order = to_tensor(b, x), _dimensions(dims)
    shape = x.type.shape
    if len(shape) != len(order):
        raise LanguageValueError("permute dims must have the same length as input shape")
    if sorted(order) != list(range(len(order))):
        raise LanguageValueError(f"permute dims must be a permutation of 0, 1, ..., n-1, but were {order}")
    result = x.type.permuted(order)
    return tensor(b.value(tt.TransOp(x.handle, order=order, result_type=ir_type(result))), result)


def trans(b: IRBuilder, x: Operand, *dims: int | Sequence[int]) -> tensor:
    """`permute`, by default of the last two dimensions."""
    x, order = to_tensor(b, x), _dimensions(dims)
    if not order:
        rank = len(x.type.shape)
        if rank < 2:
            raise LanguageValueError("tl.trans invoked with a 0- or 1-dimensional tensor")
        order = (*range(rank - 2), rank - 1, rank - 2)
    return permute(b, x, *order)


def cat(b: IRBuilder, input: tensor, other: tensor, can_reorder: bool = False, dim: int = 0) -> tensor:
    """Two blocks in one, along a dimension or in any order."""
    if not input.type.is_block() or input.type != other.type or (can_reorder and len(input.type.shape) != 1):
        kinds = "two 1-dimensional blocks" if can_reorder else "two blocks"
        raise LanguageValueError(f"cat takes {kinds} of one type, got {input} and {other}")
    if can_reorder:
        result = block_of(input.dtype, (2 * input.type.shape[0],))
        return tensor(b.op(tt.CatOp, (input.handle, other.handle), ir_type(result)), result)
    shape = list(input.type.shape)
    axis = wrap_axis(dim, len(shape))
    order = list(range(len(shape)))
    order.insert(axis, len(shape))
    shape[axis] *= 2
    return reshape(b, permute(b, join(b, input, other), order), shape)


def join(builder: IRBuilder, a: Operand, b: Operand) -> tensor:
    """Two blocks stacked along a new last dimension."""
    x, y = broadcast_pair(builder, to_tensor(builder, a), to_tensor(builder, b))
    if x.dtype != y.dtype:
        raise LanguageTypeError(
            f"join takes blocks of one dtype, got {x.dtype} and {y.dtype}", "cast one with .to(...)"
        )
    scalars = not x.type.is_block()
    if scalars:
        x, y = splat(builder, x, (1,)), splat(builder, y, (1,))
    result = x.type.joined()
    joined = tensor(builder.op(tt.JoinOp, (x.handle, y.handle), ir_type(result)), result)
    return reshape(builder, joined, 2) if scalars else joined


def split(b: IRBuilder, x: Operand) -> tuple[tensor, tensor]:
    """The two halves along a last dimension of size 2."""
    x = to_tensor(b, x)
    if not x.type.is_block() or x.type.shape[-1] != 2:
        raise LanguageValueError(f"split takes a block whose last dimension is 2, got {x}")
    flat = len(x.type.shape) == 1
    if flat:
        x = insert_dimension(b, x, 0)
    result = x.type.halved()
    op = b.insert(tt.SplitOp(x.handle, ir_type(result)))
    first, second = (tensor(value, result) for value in op.results)
    return (unsplat(b, first), unsplat(b, second)) if flat else (first, second)
