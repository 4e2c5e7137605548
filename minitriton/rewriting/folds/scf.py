"""Folds of `scf` ops."""

from __future__ import annotations

from xdsl.dialects import scf
from xdsl.ir import OpResult

from minitriton.dialects import arith
from minitriton.rewriting.constants import int_constant
from minitriton.rewriting.folding import MODIFIED, Folded, folder


@folder(scf.IfOp)
def fold_if(op: scf.IfOp) -> Folded:
    """if (not c) A else B  =>  if (c) B else A"""
    then, other = op.regions
    if other.first_block is None:
        return None
    condition = op._operands[0]
    if not isinstance(condition, OpResult) or condition.op.__class__ is not arith.XOrIOp:
        return None
    if int_constant(condition.op._operands[1]) != -1:
        return None
    op.operands[0] = condition.op._operands[0]
    op.regions = (other, then)
    return MODIFIED
