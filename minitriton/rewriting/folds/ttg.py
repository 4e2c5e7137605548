"""Folds of `ttg` ops: views of buffers that change nothing, a tensor stored where it was loaded from."""

from __future__ import annotations

from xdsl.ir import Block, Operation, OpResult

from minitriton.dialects import ttg, ttng
from minitriton.dialects.facts.layout import order_of
from minitriton.dialects.fast_paths.op_access import operand_at, operand_values
from minitriton.rewriting.folding import Folded, folder
from minitriton.rewriting.folds.tt import merge_transpositions


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
