"""Canonical forms of `tt` ops: splats and broadcasts move outwards; loads and stores lose a mask that is a constant tensor.

tt.broadcast (tt.splat x)          =>  tt.splat x
tt.expand_dims (tt.broadcast x)    =>  tt.broadcast (tt.expand_dims x)
tt.reshape (tt.reshape x)          =>  tt.reshape x
tt.load %p, dense<true>, %o        =>  tt.load %p
tt.load %p, dense<false>, %o       =>  %o
tt.store %p, %v, dense<false>      =>  nothing
"""

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from minitriton.dialects import tt
from minitriton.dialects.attribute_values import i32_array
from minitriton.dialects.fast_paths.op_access import defining, operand_at, operand_values
from minitriton.rewriting.constants import int_constant
from minitriton.rewriting.patterns import PatternSet
from minitriton.rewriting.rewriter import Rewriter

shape_patterns = PatternSet()


def _resplat(op: Operation, rewriter: Rewriter) -> bool:
    """shape(splat x) = splat x"""
    splat = defining(operand_at(op, 0), tt.SplatOp)
    if splat is None:
        return False
    rewriter.replace_with(op, tt.SplatOp.create(operands=operand_values(splat), result_types=[op.results[0].type]))
    return True


@shape_patterns.pattern(tt.BroadcastOp)
def broadcast_of_splat(op: Operation, rewriter: Rewriter) -> bool:
    """broadcast(splat x) = splat x"""
    splat = defining(operand_at(op, 0), tt.SplatOp)
    if splat is not None:
        rewriter.at(op, splat)
    return _resplat(op, rewriter)


@shape_patterns.pattern(tt.BroadcastOp)
def broadcast_of_broadcast(op: Operation, rewriter: Rewriter) -> bool:
    """broadcast(broadcast x) = broadcast x"""
    inner = defining(operand_at(op, 0), tt.BroadcastOp)
    if inner is None:
        return False
    rewriter.at(op, inner)
    rewriter.replace_with(op, tt.BroadcastOp.create(operands=operand_values(inner), result_types=[op.results[0].type]))
    return True


@shape_patterns.pattern(tt.ExpandDimsOp)
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


@shape_patterns.pattern(tt.ReshapeOp)
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


memory_patterns = PatternSet()


def _constant_mask(mask: SSAValue | None) -> int | None:
    return int_constant(mask) if mask is not None and isinstance(mask.type, TensorType) else None


@memory_patterns.pattern(tt.LoadOp)
def simplify_masked_load(op: tt.LoadOp, rewriter: Rewriter) -> bool:
    """A load of everything has no mask; one of nothing is its `other`."""
    known = _constant_mask(op.mask)
    if known is None:
        return False
    if known:
        rewriter.replace_with(op, _unmasked(op, operand_values(op)[:1], 2))
        return True
    other = op.other
    if other is None:
        return False
    rewriter.replace_op(op, other)
    return True


@memory_patterns.pattern(tt.StoreOp)
def simplify_masked_store(op: tt.StoreOp, rewriter: Rewriter) -> bool:
    """A store of everything has no mask; one of nothing is none."""
    known = _constant_mask(op.mask)
    if known is None:
        return False
    if known:
        new = _unmasked(op, operand_values(op)[:2], 1)
        rewriter.insert(new, op)
    rewriter.erase_op(op)
    return True


def _unmasked(op: Operation, operands: tuple[SSAValue, ...], dropped: int) -> Operation:
    """`op` with only its first operands; the `dropped` optional ones after them are absent."""
    properties = dict(op.properties)
    if "operandSegmentSizes" in properties:
        properties["operandSegmentSizes"] = i32_array((1,) * len(operands) + (0,) * dropped)
    return op.__class__.create(
        operands=operands, result_types=[result.type for result in op.results], properties=properties
    )
