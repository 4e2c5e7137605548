"""More results for an op with regions, where it stands: loops and conditionals that carry one value more.

%0 = scf.for ... iter_args(%a = %x) -> (f32)      ->      %0:2 = scf.for ... iter_args(%a = %x, %b = %y) -> (f32, f32)
"""

from __future__ import annotations

from xdsl.ir import Attribute, Operation, OpResult, SSAValues


def append_result(op: Operation, type_: Attribute) -> OpResult:
    """A new last result of `op`; operands, arguments and yields are the caller's business."""
    result = OpResult(type_, op, len(op.results))
    op.results = SSAValues((*op.results, result))
    return result
