"""Folds of `ttg` ops: views of buffers that change nothing, a tensor stored where it was loaded from."""

from __future__ import annotations

from xdsl.ir import Operation, OpResult

from minitriton.dialects import ttg
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
    """local_alloc(local_load x) = x, for immutable buffers of one type."""
    if not operand_values(op):
        return None
    source = operand_at(op, 0)
    if not isinstance(source, OpResult) or source.op.__class__ is not ttg.LocalLoadOp:
        return None
    result_type = op.results[0].type
    assert isinstance(result_type, ttg.MemDescType)
    buffer = operand_at(source.op, 0)
    return None if result_type.mutable or buffer.type != result_type else buffer
