"""Folds of `scf` ops."""

from __future__ import annotations

from xdsl.dialects import scf
from xdsl.ir import OpResult

from minitriton.dialects import arith
from minitriton.dialects.fast_paths.op_access import operand_at
from minitriton.rewriting.constants import int_constant
from minitriton.rewriting.folding import MODIFIED, Folded, folder


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
