"""Masks that are true up to some element of each group and false from there on: `offsets < n`.

In: a mask, its axis info, an axis and the length of aligned groups along it. Out: whether every group begins with its true elements.
Then the last element of a group tells that all are true, and the first that all are false.

    offsets = 0, 1, 2, ...     n = 6        mask of groups of 4:   1 1 1 1 | 1 1 0 0 | 0 0 0 0
"""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from minitriton.analysis.axis_info.analysis import AxisInfoAnalysis
from minitriton.analysis.axis_info.types import shape_of
from minitriton.dialects import arith, tt, ttg
from minitriton.dialects.arith.predicates import SGE, SGT, SLE, SLT, predicate_of
from minitriton.dialects.narrowing import instance_of


def is_prefix(axis_info: AxisInfoAnalysis, mask: SSAValue, axis: int, length: int) -> bool:
    """Whether `mask` never changes from false to true within an aligned group of `length` along `axis`."""
    if not instance_of(mask.type, TensorType) or shape_of(mask.type)[axis] < length:
        return False
    if axis_info.get(mask).constancy[axis] >= length:
        return True
    op = mask.owner
    if not isinstance(op, Operation):
        return False
    if isinstance(op, ttg.ConvertLayoutOp | tt.BroadcastOp):
        return is_prefix(axis_info, op.operands[0], axis, length)
    if isinstance(op, tt.ExpandDimsOp):
        added = op.axis.value.data
        return axis != added and is_prefix(axis_info, op.operands[0], axis - (axis > added), length)
    if isinstance(op, arith.AndIOp):
        return all(is_prefix(axis_info, side, axis, length) for side in op.operands)
    return isinstance(op, arith.CmpiOp) and _is_below(axis_info, op, axis, length)


def _is_below(axis_info: AxisInfoAnalysis, op: arith.CmpiOp, axis: int, length: int) -> bool:
    """Whether a signed comparison says that numbers that rise along `axis` are below a bound that is constant."""
    predicate = predicate_of(op)
    if predicate in (SLT, SLE):
        rising, bound = op.operands
    elif predicate in (SGT, SGE):
        bound, rising = op.operands
    else:
        return False
    return axis_info.get(rising).contiguity[axis] >= length and axis_info.get(bound).constancy[axis] >= length
