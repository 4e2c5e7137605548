"""How many iterations a fused loop has (64 bits, as they are a product), and how many of them each inner loop takes.

    inner = max(1, len_j) + max(1, len_k) - 1           one iteration ends a loop and begins the next
    total = len_i * inner

What depends on the outer counter is left out of `inner` here; a loop in front of the fused one adds it to `total`, and the
fused loop adds it to `inner` whenever the counter moves.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from xdsl.dialects import scf
from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Block, Operation, Region, SSAValue

from minitriton.dialects import arith
from minitriton.dialects.fast_paths.op_access import operand_at
from minitriton.passes.fuse_nested_loops.bounds import (
    bounds_of,
    cast_integer,
    copies_of,
    is_surely_not_negative,
    iterations,
    unread,
)
from minitriton.rewriting.constants import width_of
from minitriton.rewriting.insertion import Inserter


@dataclass
class InnerLoop:
    """An inner loop that is fused."""

    loop: scf.ForOp
    sliced: list[Operation]
    """What computes its bounds from the outer counter; empty if they do not depend on it."""


class Lengths:
    """The lengths of the loops in `outer` that are fused with it."""

    def __init__(self, outer: scf.ForOp, inner: list[InnerLoop], *, exact: bool) -> None:
        """With `exact` lengths are right however far the bounds are apart."""
        self.outer = outer
        self.inner = inner
        self.exact = exact
        lows = [operand_at(loop, 0) for loop in (outer, *(i.loop for i in inner))]
        far_apart = exact and not all(map(is_surely_not_negative, lows))
        self.type = IntegerType(max(64 if far_apart else 32, *(width_of(low.type) for low in lows)))
        """Of the length of one loop: narrower bounds may be further apart than they can say."""
        self.total = IntegerType(64)
        """Of the length of the fused loop: a product of lengths."""
        self.all_invariant = not any(i.sliced for i in inner)

    def clamped(self, at: Inserter, length: SSAValue) -> SSAValue:
        """max(1, length)"""
        return at.value(arith.MaxSIOp(at.integer(self.type, 1), length))

    def in_front(self, at: Inserter) -> tuple[list[SSAValue], SSAValue, SSAValue]:
        """In front of the loop: the length of each inner loop (zero where it varies), of all of them, and of the fused one."""
        outer_length = self._of(at, bounds_of(self.outer))
        if (
            len(self.inner) > 1 and not self.all_invariant
        ):  # the product below would be positive of two negative numbers
            outer_length = at.value(arith.MaxSIOp(at.integer(self.type, 0), outer_length))
        lengths: list[SSAValue] = []
        for each in self.inner:
            if each.sliced:
                lengths.append(unread(at, self.type))
            else:
                lengths.append(self._of(at, bounds_of(each.loop)))
        total = at.integer(self.type, 0)
        for each, length in zip(self.inner, lengths, strict=True):
            if not each.sliced:
                total = at.value(arith.AddiOp(total, self.clamped(at, length)))
        inner_length = at.value(arith.SubiOp(total, at.integer(self.type, len(self.inner) - 1)))
        total = at.value(
            arith.MuliOp(cast_integer(at, outer_length, self.total), cast_integer(at, inner_length, self.total))
        )
        return lengths, inner_length, self._with_varying_lengths(at, total)

    def _with_varying_lengths(self, at: Inserter, total: SSAValue) -> SSAValue:
        """`total` and the lengths of the inner loops that vary, added up by a loop (which canonicalisation drops if none does)."""
        low, high, step = bounds_of(self.outer)
        block = Block(arg_types=[low.type, total.type])
        loop = at.insert(
            scf.ForOp.create(operands=[low, high, step, total], result_types=[total.type], regions=[Region(block)])
        )
        inside = at.at_end(block)
        values: dict[SSAValue, SSAValue] = {self.outer.regions[0].block.args[0]: block.args[0]}
        total = block.args[1]
        for each in self.inner:
            if each.sliced:
                length = self.copied_length(inside, each, values)
                clamped = cast_integer(inside, self.clamped(inside, length), self.total)
                total = inside.value(arith.AddiOp(total, clamped))
        inside.insert(scf.YieldOp.create(operands=[total]))
        return loop.results[0]

    def copied_length(self, at: Inserter, each: InnerLoop, values: dict[SSAValue, SSAValue]) -> SSAValue:
        """The length of a loop whose bounds vary, from copies of what computes them."""
        copies_of(at, each.sliced, values)
        return self._of(at, (values.get(value, value) for value in bounds_of(each.loop)))

    def _of(self, at: Inserter, bounds: Iterable[SSAValue]) -> SSAValue:
        """The length of a loop with these bounds."""
        bounds = tuple(bounds)
        may_wrap = self.exact and width_of(bounds[0].type) >= width_of(self.type)
        return iterations(at, bounds, self.type, may_wrap=may_wrap)
