"""Canonical forms of loads and stores whose mask is a constant.

    tt.load %p, dense<true>, %o   =>  tt.load %p            tt.store %p, %v, dense<true>   =>  tt.store %p, %v
    tt.load %p, dense<false>, %o  =>  %o                    tt.store %p, %v, dense<false>  =>  nothing

Only tensor masks are looked at, as in Triton.
"""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from minitriton.dialects import tt
from minitriton.dialects.attribute_values import i32_array
from minitriton.dialects.fast_paths.op_access import operand_values
from minitriton.rewriting.constants import int_constant
from minitriton.rewriting.patterns import PatternSet
from minitriton.rewriting.rewriter import Rewriter

patterns = PatternSet()


def _constant_mask(mask: SSAValue | None) -> int | None:
    return int_constant(mask) if mask is not None and isinstance(mask.type, TensorType) else None


@patterns.pattern(tt.LoadOp)
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


@patterns.pattern(tt.StoreOp)
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
