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

from xdsl.dialects.builtin import i1
from xdsl.ir import Block, Operation, SSAValue

from minitriton.analysis.assumptions import Assumed, assumed_in, integer_constant, is_defined_in
from minitriton.analysis.axis_info.lattice import MAX_DIVISOR, AxisInfo, constant, power_of_two_part
from minitriton.dialects import arith
from minitriton.dialects.arith.compare import EQ, SGE, SGT


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
    made = (promise for each in assumed_in(block) for promise in _of_comparison(each))
    return [promise for promise in made if is_defined_in(promise.value, block)]


def _of_comparison(assumed: Assumed) -> Iterator[Promise]:
    value, predicate, bound, assumption = assumed
    if (predicate == SGE and bound >= 0) or (predicate == SGT and bound >= -1):
        yield Promise(value, assumption, non_negative=True)
    elif predicate == EQ and value.type != i1:
        yield Promise(value, assumption, constant_value=bound)
        op = value.owner
        if bound == 0 and isinstance(op, Operation) and len(op.operands) == 2:
            yield from _of_zero(op, assumption)


def _of_zero(op: Operation, assumption: Operation) -> Iterator[Promise]:
    """From `x % c == 0` or `x & (2^k - 1) == 0`."""
    number = integer_constant(op.operands[1])
    if number is None:
        return
    if isinstance(op, arith.RemSIOp | arith.RemUIOp):
        yield Promise(op.operands[0], assumption, divisibility=power_of_two_part(number))
    elif isinstance(op, arith.AndIOp):
        yield Promise(op.operands[0], assumption, divisibility=power_of_two_part(number + 1))
