"""How control and values move through the regions of an op: one interface for loops, branches and groups of warps.

    scf.for ... iter_args(%x = %init) {            RegionFlow.of(op).branches(op):
      scf.yield %next                                  from the op     into the body    %init -> %x
    }  results %r                                      from the op     after the op    %init -> %r
                                                       from the body   into the body    %next -> %x
                                                       from the body   after the op    %next -> %r

Counterpart of MLIR's RegionBranchOpInterface.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from xdsl.dialects import scf
from xdsl.ir import Operation, Region, SSAValue
from xdsl.traits import IsTerminator

from minitriton.dialects.facts import Fact, MayNotReturn, give
from minitriton.dialects.facts.layout import NeverRematerialized, NoLayoutRule
from minitriton.dialects.fast_paths.op_access import (
    block_of,
    block_successors,
    end_of,
    entry_of,
    operand_at,
    operand_values,
)

ConstantOf = Callable[[SSAValue], int | None]


class Branch(NamedTuple):
    """One way that control may go. `passed[i]` becomes `received[i]`."""

    origin: Region | None
    """The region that ends; None: the op itself begins."""
    target: Region | None
    """The region that begins; None: the op is over."""
    passed: Sequence[SSAValue]
    received: Sequence[SSAValue]
    concurrent: bool = False
    """Whether the target runs next to others, in warps of its own."""


class RegionFlow(Fact):
    """The op runs its regions as its `branches` say."""

    def branches(self, op: Operation) -> list[Branch]:
        """Every way that control may go into, between and out of the regions."""
        raise NotImplementedError

    def goes(self, op: Operation, origin: Region | None, constant_of: ConstantOf) -> list[Branch]:
        """The branches that may follow `origin`; `constant_of` knows the numbers that some values are."""
        return [branch for branch in self.branches(op) if branch.origin is origin]

    def counter(self, op: Operation) -> tuple[SSAValue, SSAValue, SSAValue] | None:
        """What counts the runs of a region, with the first number and the step."""
        return None


class ScalarRegions(Fact):
    """The regions compute with elements of the op's tensors; what is in them has no layout, and no value flows in or out."""


class Call(Fact):
    """Runs a function, which takes the operands and gives the results."""


class Loop(RegionFlow):
    """Runs a region again and again."""


class CountedLoop(Loop):
    """`scf.for`: bounds and step, then what is carried; the body's first argument counts."""

    def branches(self, op: Operation) -> list[Branch]:
        body, inits = op.regions[0], operand_values(op)[3:]
        arguments, yielded = block_of(op).args[1:], passed_by(body)
        return [
            Branch(None, body, inits, arguments),
            Branch(None, None, inits, op.results),
            Branch(body, None, yielded, op.results),
            Branch(body, body, yielded, arguments),
        ]

    def goes(self, op: Operation, origin: Region | None, constant_of: ConstantOf) -> list[Branch]:
        body = op.regions[0]
        passed = operand_values(op)[3:] if origin is None else passed_by(body)
        again, over = Branch(origin, body, passed, block_of(op).args[1:]), Branch(origin, None, passed, op.results)
        return [again, over] if origin is None else [over, again]

    def counter(self, op: Operation) -> tuple[SSAValue, SSAValue, SSAValue] | None:
        return op.regions[0].block.args[0], op.operands[0], op.operands[2]


class WhileLoop(Loop):
    """`scf.while`: a region that decides and passes on, a region that runs if it goes on."""

    def branches(self, op: Operation) -> list[Branch]:
        before, after = op.regions
        passed = passed_by(before)[1:]
        return [
            Branch(None, before, operand_values(op), block_of(op).args),
            Branch(before, after, passed, block_of(op, 1).args),
            Branch(before, None, passed, op.results),
            Branch(after, before, passed_by(after), block_of(op).args),
        ]

    def goes(self, op: Operation, origin: Region | None, constant_of: ConstantOf) -> list[Branch]:
        before, after = op.regions
        carried = block_of(op).args
        if origin is None:
            return [Branch(None, before, operand_values(op), carried)]
        if origin is after:
            return [Branch(after, before, passed_by(after), carried)]
        holds, *passed = passed_by(before)
        condition = constant_of(holds)
        found: list[Branch] = []
        if condition is None or condition:
            found.append(Branch(before, after, passed, block_of(op, 1).args))
        if not condition:
            found.append(Branch(before, None, passed, op.results))
        return found


class Alternatives(RegionFlow):
    """`scf.index_switch`, `scf.execute_region`: one of the regions, whose last op gives the results."""

    def branches(self, op: Operation) -> list[Branch]:
        found = self._begin(op)
        for region in op.regions:
            found += self._end(op, region)
        return found

    def goes(self, op: Operation, origin: Region | None, constant_of: ConstantOf) -> list[Branch]:
        return self._begin(op) if origin is None else self._end(op, origin)

    def _begin(self, op: Operation) -> list[Branch]:
        return [Branch(None, region if region.first_block else None, (), ()) for region in op.regions]

    def _end(self, op: Operation, region: Region) -> list[Branch]:
        return [Branch(region, None, operand_values(end), op.results) for end in ends_of(region)]


class Conditional(Alternatives):
    """`scf.if`: the first region if operand 0 is true, else the second, which may be missing."""

    def goes(self, op: Operation, origin: Region | None, constant_of: ConstantOf) -> list[Branch]:
        found = super().goes(op, origin, constant_of)
        condition = None if origin is not None else constant_of(operand_at(op, 0))
        return found if condition is None else [found[0 if condition else 1]]


def ends_of(region: Region) -> Iterator[Operation]:
    """The ops that end a region: the last ones of its blocks, but for jumps within it."""
    block = region.first_block
    while block is not None:
        last = block.last_op
        if last is not None and not block_successors(last):
            yield last
        block = block.next_block


def passed_by(region: Region) -> Sequence[SSAValue]:
    """The operands of the last op of a region of one block."""
    block = entry_of(region)
    last = None if block is None else end_of(block)
    return () if last is None else operand_values(last)


def flows(op: Operation) -> Iterator[tuple[SSAValue, SSAValue]]:
    """The values that the regions of `op` take and give, as pairs (from, to)."""
    flow = RegionFlow.of(op)
    if flow is not None:
        for branch in flow.branches(op):
            yield from zip(branch.passed, branch.received, strict=False)


def is_forwarding_terminator(op: Operation) -> bool:
    """Whether `op` does nothing to its operands but pass them to where control goes: it runs regions, ends a block, or calls."""
    return RegionFlow.of(op) is not None or Call.of(op) is not None or op.has_trait(IsTerminator)


def receivers(op: Operation, operand: int) -> list[SSAValue]:
    """The values that operand number `operand` of `op`, an op with regions or the last op of one, becomes."""
    flow, holder, origin = RegionFlow.of(op), op, None
    if flow is None:
        origin = op.parent_region()
        parent = op.parent_op()
        flow = None if parent is None else RegionFlow.of(parent)
        if flow is None or parent is None:
            return []
        holder = parent
    found: list[SSAValue] = []
    for branch in flow.branches(holder):
        if branch.origin is origin:
            index = operand - (len(op.operands) - len(branch.passed))
            if 0 <= index < len(branch.received):
                found.append(branch.received[index])
    return found


give(scf.ForOp, CountedLoop(), NoLayoutRule())
give(scf.WhileOp, WhileLoop(), NoLayoutRule(), NeverRematerialized(), MayNotReturn())
give(scf.IfOp, Conditional())
give(scf.IndexSwitchOp, Alternatives())
give(scf.ExecuteRegionOp, Alternatives())
give(scf.YieldOp, NoLayoutRule())
give(scf.ConditionOp, NoLayoutRule(), NeverRematerialized())
