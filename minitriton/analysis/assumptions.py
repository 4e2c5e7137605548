"""What `llvm.intr.assume` says of values: comparisons with numbers that hold, and what they promise to the analysis of axis info.

    %c = arith.cmpi sgt, %n, %c0        tl.assume(n > 0)             Assumed(%n, SGT, 0)      n is not negative
    %r = arith.remsi %n, %c16           tl.assume(n % 16 == 0)       Assumed(%r, EQ, 0)       n is divisible by 16
    %e = arith.cmpi eq, %r, %c0
    %o = arith.cmpi eq, %stride, %c1    tl.assume(stride == 1)       Assumed(%stride, EQ, 1)  stride is 1
    llvm.intr.assume %c : i1

What is promised of a value counts for every use of it only if it is made wherever the value exists: in the block that defines it (`is_defined_in`).
"""

from collections.abc import Iterator
from typing import NamedTuple

from xdsl.dialects.builtin import IntegerAttr, i1
from xdsl.ir import Block, Operation, SSAValue

from minitriton.analysis.axis_info.lattice import MAX_DIVISOR, AxisInfo, constant, power_of_two_part
from minitriton.dialects import arith
from minitriton.dialects.arith.compare import EQ, MIRRORED, SGE, SGT, predicate_of
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
