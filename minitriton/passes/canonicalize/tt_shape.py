"""Canonical forms of ops that only change a tensor's shape: splats and broadcasts move outwards.

tt.broadcast (tt.splat x)          =>  tt.splat x
tt.expand_dims (tt.broadcast x)    =>  tt.broadcast (tt.expand_dims x)
tt.reshape (tt.reshape x)          =>  tt.reshape x
"""

from __future__ import annotations

from xdsl.ir import Operation

from minitriton.dialects import tt
from minitriton.dialects.fast_paths.op_access import defining, operand_at, operand_values
from minitriton.rewriting.patterns import PatternSet
from minitriton.rewriting.rewriter import Rewriter

patterns = PatternSet()


def _resplat(op: Operation, rewriter: Rewriter) -> bool:
    """shape(splat x) = splat x"""
    splat = defining(operand_at(op, 0), tt.SplatOp)
    if splat is None:
        return False
    rewriter.replace_with(op, tt.SplatOp.create(operands=operand_values(splat), result_types=[op.results[0].type]))
    return True


@patterns.pattern(tt.BroadcastOp)
def broadcast_of_splat(op: Operation, rewriter: Rewriter) -> bool:
    """broadcast(splat x) = splat x"""
    splat = defining(operand_at(op, 0), tt.SplatOp)
    if splat is not None:
        rewriter.at(op, splat)
    return _resplat(op, rewriter)


@patterns.pattern(tt.BroadcastOp)
def broadcast_of_broadcast(op: Operation, rewriter: Rewriter) -> bool:
    """broadcast(broadcast x) = broadcast x"""
    inner = defining(operand_at(op, 0), tt.BroadcastOp)
    if inner is None:
        return False
    rewriter.at(op, inner)
    rewriter.replace_with(op, tt.BroadcastOp.create(operands=operand_values(inner), result_types=[op.results[0].type]))
    return True


@patterns.pattern(tt.ExpandDimsOp)
def expand_splat_or_broadcast(op: tt.ExpandDimsOp, rewriter: Rewriter) -> bool:
    """expand_dims(splat x) = splat x;  expand_dims(broadcast x) = broadcast(expand_dims x)"""
    if _resplat(op, rewriter):
        return True
    inner = defining(operand_at(op, 0), tt.BroadcastOp)
    if inner is None:
        return False
    axis = op.axis.value.data
    expanded = rewriter.insert(tt.ExpandDimsOp(operand_at(inner, 0), axis=axis))
    broadcast = tt.BroadcastOp.create(
        operands=expanded.results, result_types=[op.results[0].type], location=inner.location
    )
    rewriter.replace_with(op, broadcast)
    return True


@patterns.pattern(tt.ReshapeOp)
def reshape_of_reshape_or_splat(op: Operation, rewriter: Rewriter) -> bool:
    """reshape(reshape x) = reshape x, in any order if either is;  reshape(splat x) = splat x"""
    if "efficient_layout" in op.properties:
        return False
    inner = defining(operand_at(op, 0), tt.ReshapeOp)
    if inner is None:
        return _resplat(op, rewriter)
    any_order = "allow_reorder" in op.properties or "allow_reorder" in inner.properties
    rewriter.replace_with(op, tt.ReshapeOp(operand_at(inner, 0), op.results[0].type, allow_reorder=any_order))
    return True
