"""The pointers and the mask of a block of a strided tensor in memory: what block pointers and descriptors stand for.

    block [8, 16] at (%i, %j) of a tensor of sizes (%m, %n) and strides (%s, 1)
        pointers   %base + (%i + 0..7)[:, None] * %s + (%j + 0..15)[None, :]
        mask       0 <= %i + 0..7 < %m, and the same for the columns

Positions are i64 and have the rank of the block, with size 1 along all dimensions but their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from xdsl.dialects.builtin import i1, i32, i64
from xdsl.ir import Operation, SSAValue

from minitriton.dialects import arith, tt
from minitriton.dialects.tt.types import tensor_type
from minitriton.rewriting.constants import constant_op, int_attr

Insert = Callable[[Operation], SSAValue]
"""Puts an op where the access is and gives its result."""

Positions = Callable[[int], SSAValue]
"""The positions along a dimension."""


def positions(insert: Insert, start: SSAValue, shape: Sequence[int], dim: int) -> SSAValue:
    """`start`, `start` + 1, ... along dimension `dim` of a block of `shape`."""
    size = shape[dim]
    row = tensor_type((size,), i64)
    first = insert(tt.SplatOp(start, row))
    steps = insert(tt.MakeRangeOp(tensor_type((size,), i32), start=0, end=size))
    summed = insert(arith.AddiOp(first, insert(arith.ExtSIOp(steps, row))))
    return along(insert, summed, len(shape), dim)


def along(insert: Insert, row: SSAValue, rank: int, dim: int) -> SSAValue:
    """A tensor of one dimension as one of `rank` dimensions, along `dim`."""
    for axis in range(rank):
        if axis != dim:
            row = insert(tt.ExpandDimsOp(row, axis=axis))
    return row


def pointers(
    insert: Insert, base: SSAValue, strides: Sequence[SSAValue], shape: Sequence[int], at: Positions
) -> SSAValue:
    """The addresses of a block's elements."""
    full = tuple(shape)
    result = insert(tt.SplatOp(base, tensor_type(full, base.type)))
    for dim, stride in enumerate(strides):
        where = at(dim)
        # The stride in the positions' shape, not as a row: so its divisibility is known of every element.
        distance = insert(arith.MuliOp(where, insert(tt.SplatOp(stride, where.type))))
        result = insert(tt.AddPtrOp(result, insert(tt.BroadcastOp(distance, tensor_type(full, i64)))))
    return result


def inside(
    insert: Insert, sizes: Sequence[SSAValue], shape: Sequence[int], dims: Iterable[int], at: Positions
) -> SSAValue | None:
    """Which elements of a block lie in the tensor, looking at `dims`; None without any."""
    mask: SSAValue | None = None
    for dim in dims:
        where = at(dim)
        zero = insert(tt.SplatOp(insert(constant_op(int_attr(i64, 0))), where.type))
        not_before = insert(arith.CmpiOp(where, zero, "sge"))
        not_behind = insert(arith.CmpiOp(where, insert(tt.SplatOp(sizes[dim], where.type)), "slt"))
        both = insert(arith.AndIOp(not_before, not_behind))
        whole = insert(tt.BroadcastOp(both, tensor_type(tuple(shape), i1)))
        mask = whole if mask is None else insert(arith.AndIOp(mask, whole))
    return mask
