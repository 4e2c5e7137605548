"""What `llvm.intr.assume` promises about the range of a value.

In: a block. Out: per value that the block defines, comparisons with numbers that hold wherever the value exists.

    %c = arith.cmpi slt, %n, %c65536        tl.assume(n < 65536)        n is below 65536
    llvm.intr.assume %c : i1

A promise behind `tt.assert` or a call is made only if that returns, and counts for nothing.
"""

from __future__ import annotations

from typing import NamedTuple

from xdsl.ir import Block, SSAValue

from minitriton.analysis.assumptions import assumed_in, is_defined_in
from minitriton.analysis.axis_info.types import integer_width
from minitriton.analysis.integer_range.fact import IntegerRange
from minitriton.analysis.integer_range.rules import exactly, restricted


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
    return [
        RangePromise(each.value, each.predicate, exactly(integer_width(each.value.type), each.number))
        for each in assumed_in(block)
        if is_defined_in(each.value, block)
    ]
