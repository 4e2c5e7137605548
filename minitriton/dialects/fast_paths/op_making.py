"""Makes single ops: nothing is checked.

make(llvm.AddOp, (x, y), (i32,), {}, location)      a detached `llvm.add`
"""

# This file is one of those that touch what xDSL keeps private (see `dialects.fast_paths.op_access`).
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue, Use
from xdsl.ir.core import SSAValues


def make(
    cls: type[Operation],
    operands: Sequence[SSAValue],
    result_types: Sequence[Attribute],
    properties: Mapping[str, Attribute],
    location: LocationAttr,
) -> Operation:
    """A detached op, made without checks (`Operation.__init__` minus what is default here)."""
    op = cls.__new__(cls)
    op._operands = SSAValues(operands)
    uses = tuple([Use(op, index) for index in range(len(operands))])
    for operand, use in zip(operands, uses, strict=True):
        operand.add_use(use)
    op._operand_uses = uses
    op.results = SSAValues([OpResult(type_, op, index) for index, type_ in enumerate(result_types)])
    op.properties = dict(properties)
    op.attributes = {}
    op.location = location
    op.regions = ()
    op.parent = None
    op._next_op = op._prev_op = None
    op._successors = ()
    op._successor_uses = ()
    return op


def append(block: Block, op: Operation) -> None:
    """Adds a detached op at the end of `block` (`Block.add_op` without its checks: no block is in an op just made)."""
    last = block._last_op
    op.parent = block
    if last is None:
        block._first_op = op
    else:
        last._next_op = op
        op._prev_op = last
    block._last_op = op
