"""Folds of `tt` ops (shapes of splat constants, steps of zero, conversions to the same type) and of views of buffers."""

import math

from xdsl.dialects import scf
from xdsl.dialects.builtin import DenseArrayBase, DenseIntOrFPElementsAttr, TensorType, i32
from xdsl.ir import Attribute, Block, Operation, OpResult

from minitriton.dialects import arith, tt, ttg, ttng
from minitriton.dialects.attribute_values import dense_bytes
from minitriton.dialects.facts.layout import order_of
from minitriton.dialects.fast_paths.op_access import operand_at, operand_values
from minitriton.dialects.narrowing import instance_of
from minitriton.rewriting.constants import (
    constant_attr,
    element_type,
    float_attr,
    float_constant,
    int_attr,
    int_constant,
    number_attr,
    number_of,
    splat_to,
)
from minitriton.rewriting.patterns import MODIFIED, Folded, folder


def merge_transpositions(op: Operation, inner: Operation) -> Folded:
    """trans(trans x, p), q) = trans(x, p[q])"""
    order = order_of(inner)
    merged = [order[axis] for axis in order_of(op)]
    op.properties["order"] = DenseArrayBase.from_list(i32, merged)
    op.operands[0] = operand_at(inner, 0)
    return MODIFIED


def _resized(op: Operation) -> Attribute | None:
    """The splat constant that the operand is, in the result's shape."""
    attr = constant_attr(operand_at(op, 0))
    return None if attr is None else splat_to(attr, op.results[0].type)


@folder(tt.TransOp)
def fold_trans(op: Operation) -> Folded:
    """trans(x, iota) = x;  trans(trans x) = trans x;  trans(splat constant)"""
    order = order_of(op)
    source = operand_at(op, 0)
    if order == tuple(range(len(order))) and source.type == op.results[0].type:
        return source
    if isinstance(source, OpResult) and source.op.__class__ is tt.TransOp:
        return merge_transpositions(op, source.op)
    return _resized(op)


@folder(tt.MakeRangeOp)
def fold_make_range(op: tt.MakeRangeOp) -> Folded:
    """make_range(s, s + 1) = dense<s>"""
    start, end = op.start.value.data, op.end.value.data
    return int_attr(op.results[0].type, start) if start + 1 == end else None


@folder(tt.SplatOp)
def fold_splat(op: Operation) -> Folded:
    """splat(constant) = dense<constant>"""
    number = number_of(constant_attr(operand_at(op, 0)))
    return None if number is None else number_attr(op.results[0].type, number)


@folder(tt.ExpandDimsOp)
def fold_expand_dims(op: Operation) -> Folded:
    """A constant in another shape."""
    return _reshaped(op)


@folder(tt.ReshapeOp)
def fold_reshape(op: Operation) -> Folded:
    """reshape(x) = x if the types agree and no element moves; a constant in another shape."""
    source = operand_at(op, 0)
    if source.type == op.results[0].type and "allow_reorder" not in op.properties:
        return source
    return _reshaped(op)


def _reshaped(op: Operation) -> Attribute | None:
    attr = constant_attr(operand_at(op, 0))
    if attr is None:
        return None
    splat = splat_to(attr, op.results[0].type)
    type = op.results[0].type
    if splat is None and instance_of(attr, DenseIntOrFPElementsAttr) and instance_of(type, TensorType):
        return dense_bytes(type, attr.data)
    return splat


@folder(tt.BroadcastOp)
def fold_broadcast(op: Operation) -> Folded:
    """broadcast(x) = x if the types agree; a splat constant in a larger shape."""
    source = operand_at(op, 0)
    return source if source.type == op.results[0].type else _resized(op)


@folder(tt.FpToFpOp)
def fold_fp_to_fp(op: Operation) -> Folded:
    """fp_to_fp(x) = x if the types agree; zero stays zero (of the same sign, where the type has both)."""
    source, result_type = operand_at(op, 0), op.results[0].type
    if source.type == result_type:
        return source
    value = float_constant(source)
    if value is None or value != 0.0:
        return None
    unsigned_zero = element_type(result_type).name.endswith("fnuz")
    return float_attr(result_type, 0.0 if unsigned_zero else math.copysign(0.0, value))


@folder(tt.AddPtrOp)
def fold_addptr(op: Operation) -> Folded:
    """p + 0 = p"""
    return operand_at(op, 0) if int_constant(operand_at(op, 1)) == 0 else None


@folder(tt.AdvanceOp)
def fold_advance(op: Operation) -> Folded:
    """advance(p, [0, ...]) = p"""
    return operand_at(op, 0) if all(int_constant(offset) == 0 for offset in operand_values(op)[1:]) else None


# Folds of `scf` ops.


@folder(scf.IfOp)
def fold_if(op: scf.IfOp) -> Folded:
    """if (not c) A else B  =>  if (c) B else A"""
    then, other = op.regions
    if other.first_block is None:
        return None
    condition = operand_at(op, 0)
    if not isinstance(condition, OpResult) or condition.op.__class__ is not arith.XOrIOp:
        return None
    if int_constant(operand_at(condition.op, 1)) != -1:
        return None
    op.operands[0] = operand_at(condition.op, 0)
    op.regions = (other, then)
    return MODIFIED


@folder(ttg.MemDescTransOp)
def fold_memdesc_trans(op: Operation) -> Folded:
    """memdesc_trans(x, iota) = x;  memdesc_trans(memdesc_trans x) = memdesc_trans x"""
    order = order_of(op)
    source = operand_at(op, 0)
    if order == tuple(range(len(order))):
        return source
    if isinstance(source, OpResult) and source.op.__class__ is ttg.MemDescTransOp:
        return merge_transpositions(op, source.op)
    return None


@folder(ttg.MemDescReinterpretOp)
def fold_memdesc_reinterpret(op: Operation) -> Folded:
    """A view of the same type is the buffer itself."""
    source = operand_at(op, 0)
    return source if source.type == op.results[0].type else None


@folder(ttg.LocalAllocOp)
def fold_local_alloc(op: Operation) -> Folded:
    """local_alloc(local_load x) = x, for immutable buffers of one type that are not released before the last use of the copy."""
    if not operand_values(op):
        return None
    source = operand_at(op, 0)
    if not isinstance(source, OpResult) or source.op.__class__ is not ttg.LocalLoadOp:
        return None
    result_type = op.results[0].type
    assert isinstance(result_type, ttg.MemDescType)
    buffer = operand_at(source.op, 0)
    if result_type.mutable or buffer.type != result_type or _is_released(source.op, op):
        return None
    return buffer


def _is_released(load: Operation, alloc: Operation) -> bool:
    """Whether other warps are notified, between `load` and the last use of `alloc` in its block, that they may write the buffer again."""
    if load.parent is not alloc.parent:
        return False
    pending = {alloc}
    following = load.next_op
    is_released = False
    while following is not None and pending:
        is_released |= isinstance(following, ttng.ArriveBarrierOp)
        if following in pending:
            pending.discard(following)
            pending.update(_users_in(load.parent, following))
        following = following.next_op
        if is_released and pending:
            return True
    return False


def _users_in(block: Block | None, op: Operation) -> set[Operation]:
    """The ops of `block` that use a buffer of `op`, or have an op within that does."""
    found: set[Operation] = set()
    for result in op.results:
        if block is not None and isinstance(result.type, ttg.MemDescType):
            users = (block.find_ancestor_op_in_block(use.operation) for use in result.uses)
            found.update(user for user in users if user is not None)
    return found
