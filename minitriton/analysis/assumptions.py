"""What `llvm.intr.assume` says of values, for the analyses that make facts of it.

In: a block. Out: comparisons with numbers that hold. What they promise of a value counts for every use of it only if it is made wherever the value
exists: in the block that defines it (`is_defined_in`).

    %c = arith.cmpi sgt, %n, %c0        tl.assume(n > 0)        Assumed(%n, SGT, 0)
    llvm.intr.assume %c : i1
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Block, Operation, SSAValue

from minitriton.dialects import arith
from minitriton.dialects.arith.compare import MIRRORED, predicate_of
from minitriton.dialects.facts import MayNotReturn
from minitriton.dialects.fast_paths.op_access import ops_in
from minitriton.dialects.llvm import AssumeOp


class Assumed(NamedTuple):
    """`value`, compared by `predicate` with `number`: this holds, as `op` says."""

    value: SSAValue
    predicate: int
    number: int
    op: Operation


def assumed_in(block: Block) -> Iterator[Assumed]:
    """The comparisons that hold whenever the block is entered: those before which control cannot end."""
    passed: list[Operation] = []
    for op in block.ops:
        if type(op) is AssumeOp:
            if any(MayNotReturn.of(inner) is not None for each in passed for inner in ops_in(each)):
                return
            passed.clear()
            yield from _of_condition(op.cond, op)
        elif op.regions or MayNotReturn.of(op) is not None:
            passed.append(op)


def _of_condition(condition: SSAValue, assumption: Operation) -> Iterator[Assumed]:
    op = condition.owner
    if isinstance(op, arith.AndIOp):
        for operand in op.operands:
            yield from _of_condition(operand, assumption)
    elif isinstance(op, arith.CmpiOp):
        predicate = predicate_of(op)
        for value, other, how in ((op.lhs, op.rhs, predicate), (op.rhs, op.lhs, MIRRORED[predicate])):
            number = integer_constant(other)
            if number is not None:
                yield Assumed(value, how, number, assumption)


def is_defined_in(value: SSAValue, block: Block) -> bool:
    """Whether `value` is an argument of `block` or the result of an op in it."""
    owner = value.owner
    return owner is block or (isinstance(owner, Operation) and owner.parent is block)


def integer_constant(value: SSAValue) -> int | None:
    """The number of a scalar `arith.constant`, None for other values."""
    owner = value.owner
    if not isinstance(owner, arith.ConstantOp):
        return None
    attribute = owner.value
    return attribute.value.data if isinstance(attribute, IntegerAttr) else None
