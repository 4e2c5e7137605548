"""What `llvm.intr.assume` promises about the range of a value.

In: a block. Out: per value that the block defines, comparisons with numbers that hold wherever the value exists.

    %c = arith.cmpi slt, %n, %c65536        tl.assume(n < 65536)        n is below 65536
    llvm.intr.assume %c : i1

A promise behind `tt.assert` or a call is made only if that returns, and counts for nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Block, Operation, SSAValue

from minitriton.analysis.axis_info.rules_choice import (
    EQ,
    NE,
    SGE,
    SGT,
    SLE,
    SLT,
    UGE,
    UGT,
    ULE,
    ULT,
    predicate_of,
)
from minitriton.analysis.axis_info.types import integer_width
from minitriton.analysis.integer_range.fact import IntegerRange
from minitriton.analysis.integer_range.rules import exactly, restricted
from minitriton.dialects import arith
from minitriton.dialects.facts import MayNotReturn
from minitriton.dialects.llvm import AssumeOp

MIRRORED = {EQ: EQ, NE: NE, SLT: SGT, SLE: SGE, SGT: SLT, SGE: SLE, ULT: UGT, ULE: UGE, UGT: ULT, UGE: ULE}
"""The predicate of `r ? l` that says the same as that of `l ? r`."""


class RangePromise(NamedTuple):
    """`value`, compared by `predicate` with a number of `other`: this holds."""

    value: SSAValue
    predicate: int
    other: IntegerRange

    def apply(self, fact: IntegerRange) -> IntegerRange:
        """`fact` strengthened by this promise."""
        return restricted(fact, self.predicate, self.other)


def promises(block: Block) -> list[RangePromise]:
    """The promises that assumptions of `block` make about values that the block defines."""
    found: list[RangePromise] = []
    for op in block.ops:
        if isinstance(op, AssumeOp):
            found.extend(p for p in _of_condition(op.operands[0]) if _defined_in(p.value, block))
        elif MayNotReturn.of(op) is not None:
            break
    return found


def _defined_in(value: SSAValue, block: Block) -> bool:
    owner = value.owner
    return owner is block or (isinstance(owner, Operation) and owner.parent is block)


def _of_condition(condition: SSAValue) -> Iterator[RangePromise]:
    op = condition.owner
    if not isinstance(op, Operation):
        return
    if isinstance(op, arith.AndIOp):
        for operand in op.operands:
            yield from _of_condition(operand)
    elif isinstance(op, arith.CmpiOp):
        left, right = op.operands
        predicate = predicate_of(op)
        for value, other, how in ((left, right, predicate), (right, left, MIRRORED[predicate])):
            number = _constant(other)
            if number is not None:
                yield RangePromise(value, how, exactly(integer_width(value.type), number))


def _constant(value: SSAValue) -> int | None:
    owner = value.owner
    if not isinstance(owner, arith.ConstantOp):
        return None
    attribute = owner.value
    return attribute.value.data if isinstance(attribute, IntegerAttr) else None
