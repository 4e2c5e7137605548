"""What `llvm.intr.assume` promises about the values its condition is made of.

In: a block. Out: per value, a claim to be added to its fact.

    %c = arith.cmpi sgt, %n, %c0        tl.assume(n > 0)             n is not negative
    %r = arith.remsi %n, %c16           tl.assume(n % 16 == 0)       n is divisible by 16
    %e = arith.cmpi eq, %r, %c0
    %o = arith.cmpi eq, %stride, %c1    tl.assume(stride == 1)       stride is 1
    llvm.intr.assume %c : i1

A promise counts for every use of the value only if it is made wherever the value exists: in the block that defines it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from xdsl.dialects.builtin import IntegerAttr, i1
from xdsl.ir import Block, Operation, SSAValue

from minitriton.analysis.axis_info.fact import MAX_DIVISOR, AxisInfo, constant, power_of_two_part
from minitriton.analysis.axis_info.rules_choice import EQ, SGE, SGT, SLE, SLT, predicate_of
from minitriton.dialects import arith
from minitriton.dialects.llvm import AssumeOp


class Promise(NamedTuple):
    """One claim about one scalar, and the op that makes it."""

    value: SSAValue
    op: Operation
    divisibility: int = 1
    non_negative: bool = False
    constant_value: int | None = None

    def apply(self, fact: AxisInfo) -> AxisInfo:
        """`fact` strengthened by this promise."""
        if self.constant_value is not None:
            return constant(self.constant_value, fact.constancy)
        if fact.constant_value is not None:
            return fact
        divisibility = tuple(min(max(d, self.divisibility), MAX_DIVISOR) for d in fact.divisibility)
        return fact._replace(divisibility=divisibility, non_negative=fact.non_negative or self.non_negative)


def promises(block: Block) -> list[Promise]:
    """The promises that assumptions of `block` make about values that the block defines."""
    found: list[Promise] = []
    for op in block.ops:
        if op.__class__ is AssumeOp:
            found.extend(promise for promise in _of_condition(op.operands[0], op) if _defined_in(promise.value, block))
    return found


def _defined_in(value: SSAValue, block: Block) -> bool:
    owner = value.owner
    return owner is block or (isinstance(owner, Operation) and owner.parent is block)


def _of_condition(condition: SSAValue, assumption: Operation) -> Iterator[Promise]:
    op = condition.owner
    if not isinstance(op, Operation):
        return
    if isinstance(op, arith.AndIOp):
        for operand in op.operands:
            yield from _of_condition(operand, assumption)
    elif isinstance(op, arith.CmpiOp):
        left, right = op.operands
        predicate = predicate_of(op)
        bound = _constant(right)
        if bound is not None:
            yield from _of_comparison(predicate, left, bound, assumption)
        else:
            bound = _constant(left)
            mirrored = {SGT: SLT, SLT: SGT, SGE: SLE, SLE: SGE, EQ: EQ}.get(predicate)
            if bound is not None and mirrored is not None:
                yield from _of_comparison(mirrored, right, bound, assumption)


def _of_comparison(predicate: int, value: SSAValue, bound: int, assumption: Operation) -> Iterator[Promise]:
    if (predicate == SGE and bound >= 0) or (predicate == SGT and bound >= -1):
        yield Promise(value, assumption, non_negative=True)
    elif predicate == EQ and value.type != i1:
        yield Promise(value, assumption, constant_value=bound)
        op = value.owner
        if bound == 0 and isinstance(op, Operation) and len(op.operands) == 2:
            yield from _of_zero(op, assumption)


def _of_zero(op: Operation, assumption: Operation) -> Iterator[Promise]:
    """From `x % c == 0` or `x & (2^k - 1) == 0`."""
    number = _constant(op.operands[1])
    if number is None:
        return
    if isinstance(op, arith.RemSIOp | arith.RemUIOp):
        yield Promise(op.operands[0], assumption, divisibility=power_of_two_part(number))
    elif isinstance(op, arith.AndIOp):
        yield Promise(op.operands[0], assumption, divisibility=power_of_two_part(number + 1))


def _constant(value: SSAValue) -> int | None:
    owner = value.owner
    if not isinstance(owner, arith.ConstantOp):
        return None
    attribute = owner.value
    return attribute.value.data if isinstance(attribute, IntegerAttr) else None
