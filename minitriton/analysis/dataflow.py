"""Forward dataflow over SSA values, through structured and unstructured control flow.

In: a region and, in a subclass, a lattice value with a join and a transfer function. Out: `facts`, one lattice value per value, that holds
however often a loop runs and whichever branch is taken.

    scf.for %i = %lb to %ub iter_args(%x = %init) {      fact(%x) = join(fact(%init), fact(%next)), found by running
      ...                                                the body until nothing changes; the loop's result has the
      scf.yield %next                                    lattice value of %x
    }

Lattice values start out as the best that any path seen so far allows and only get weaker, so a loop ends with the strongest lattice value
that this iteration can justify. A value that was never reached has no lattice value: `fact` answers with what is true of every value.
An op whose control flow is not known has its regions visited with nothing known of their arguments.
"""

# This file is one of those that touch what xDSL keeps private (see `dialects.fast_paths.op_access`): reading a field costs a third of calling its property.
# pyright: reportPrivateUsage=false

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Generic, TypeVar

from xdsl.dialects import cf
from xdsl.ir import Block, Operation, Region, SSAValue

from minitriton.dialects.facts.region_flow import Branch, RegionFlow
from minitriton.dialects.verification.dominance import reverse_postorder, successors_of
from minitriton.pipeline.choice import remark

Lattice = TypeVar("Lattice")
Where = TypeVar("Where")

MOST_TIMES = 200
"""How often a lattice value may get weaker before nothing is supposed any more. A lattice value of powers of 2 up to 2^64 for each of a few axes takes less."""


class ForwardDataflow(ABC, Generic[Lattice]):
    """One analysis: subclasses say what a lattice value is, and `run` finds the lattice values of a region."""

    def __init__(self) -> None:
        self.facts: dict[SSAValue, Lattice] = {}
        self._times: dict[SSAValue, int] = {}
        self.sources: dict[SSAValue, tuple[SSAValue, ...]] = {}
        """For a value that control flow defines (block arguments, results of loops and branches): what flows into it."""

    @abstractmethod
    def transfer(self, op: Operation) -> None:
        """Store the lattice values of the results of `op`, an op without control flow."""

    @abstractmethod
    def join(self, a: Lattice, b: Lattice) -> Lattice:
        """The strongest lattice value that follows from either."""

    @abstractmethod
    def unknown(self, value: SSAValue) -> Lattice:
        """What holds of `value` if nothing is known."""

    @abstractmethod
    def loop_variable(self, lower: Lattice, step: Lattice) -> Lattice:
        """What holds of `lower + i * step` for every i >= 0."""

    @abstractmethod
    def constant_of(self, fact: Lattice) -> int | None:
        """The number that a value with this lattice value always is, if there is one."""

    def fact(self, value: SSAValue) -> Lattice:
        """What is known of `value`."""
        found = self.facts.get(value)
        return self.unknown(value) if found is None else found

    def run(self, region: Region) -> None:
        """Find the lattice values of everything in `region`; those of its arguments are in `facts` or not known."""
        first = region._first_block
        if first is not region._last_block:
            self._graph(region)
        elif first is not None:
            self.run_block(first)

    def run_block(self, block: Block) -> None:
        """Find the lattice values of what `block` defines, from the lattice values of what flows into it."""
        transfer = self.transfer
        op = block._first_op
        while op is not None:
            if not op.regions:
                transfer(op)
            elif (flow := RegionFlow.of(op)) is not None:
                self.visit(op, flow)
            else:
                transfer(op)
                for region in op.regions:
                    self.run(region)
            op = op._next_op

    def _flow(self, target: SSAValue, source: SSAValue) -> bool:
        """Let `source` flow into `target`; whether that weakened the lattice value of `target`."""
        new = self.fact(source)
        old = self.facts.get(target)
        if old is not None:
            new = self.join(old, new)
            if new == old:
                return False
            if self._weakened(target):
                new = self.unknown(target)
        self.facts[target] = new
        return True

    def _weakened(self, target: SSAValue) -> bool:
        """Counts how often the lattice value of `target` got weaker; whether that is enough."""
        times = self._times[target] = self._times.get(target, 0) + 1
        if times == MOST_TIMES:
            owner = target.owner if isinstance(target.owner, Operation) else target.owner.parent_op()
            if owner is not None:
                remark(
                    owner, f"nothing is supposed of a value that still changes after {MOST_TIMES} rounds of analysis"
                )
        return times >= MOST_TIMES

    def _flow_all(self, targets: Sequence[SSAValue], sources: Sequence[SSAValue]) -> bool:
        changed = False
        for target, source in zip(targets, sources, strict=False):
            changed = self._flow(target, source) or changed
        return changed

    def visit(self, op: Operation, flow: RegionFlow) -> None:
        """Find the lattice values of an op with control flow inside: run its regions until nothing changes, then join its results."""
        counter = flow.counter(op)
        if counter is not None:
            variable, lower, step = counter
            self.facts[variable] = self.loop_variable(self.fact(lower), self.fact(step))
            self.sources[variable] = (lower, step)
        reached: dict[Region | None, list[Branch]] = {None: []}
        """Where control can come from, and where it goes then, as it was found when the region last ran: nothing changes what is in it since."""
        pending: list[Region | None] = [None]
        self._note_sources(flow.branches(op))
        while pending:
            origin = pending.pop(0)
            if origin is not None:
                self.run(origin)
            reached[origin] = flow.goes(op, origin, self._number)
            for branch in reached[origin]:
                target = branch.target
                if target is None:
                    continue
                changed = self._flow_all(branch.received, branch.passed)
                if (changed or target not in reached) and target not in pending:
                    reached.setdefault(target, [])
                    pending.append(target)
        for result in op.results:
            self.facts.pop(result, None)
        for branches in reached.values():
            for branch in branches:
                if branch.target is None:
                    self._flow_all(branch.received, branch.passed)

    def _number(self, value: SSAValue) -> int | None:
        return self.constant_of(self.fact(value))

    def _note_sources(self, branches: Sequence[Branch]) -> None:
        found: dict[SSAValue, dict[SSAValue, None]] = {}
        for branch in branches:
            for target, source in zip(branch.received, branch.passed, strict=False):
                found.setdefault(target, {})[source] = None
        self.sources.update((target, tuple(sources)) for target, sources in found.items())

    def _graph(self, region: Region) -> None:
        """Blocks joined by branches: visited in order, again and again until nothing that comes earlier in the order changes."""
        order = reverse_postorder(region.blocks[0])
        position = {block: index for index, block in enumerate(order)}
        reached = {order[0]}
        found: dict[SSAValue, dict[SSAValue, None]] = {}
        changed = True
        while changed:
            changed = False
            for block in order:
                if block not in reached:
                    continue
                self.run_block(block)
                for successor, values in self._branches(block):
                    is_new = successor not in reached
                    reached.add(successor)
                    for argument, value in zip(successor.args, values, strict=False):
                        found.setdefault(argument, {})[value] = None
                    is_weaker = self._flow_all(successor.args, values)
                    if (is_new or is_weaker) and position[successor] <= position[block]:
                        changed = True
        self._add_sources(found)

    def _branches(self, block: Block) -> list[tuple[Block, tuple[SSAValue, ...]]]:
        """Where control may go from `block`, and the values it takes along."""
        last = block.last_op
        if last is None or not last.successors:
            return []
        operands = tuple(last.operands)
        if isinstance(last, cf.BranchOp):
            return [(last.successors[0], operands)]
        if isinstance(last, cf.ConditionalBranchOp):
            then_block, else_block = last.successors
            then_count = len(then_block.args)
            edges = [(then_block, operands[1 : 1 + then_count]), (else_block, operands[1 + then_count :])]
            condition = self.constant_of(self.fact(operands[0]))
            return edges if condition is None else [edges[0 if condition else 1]]
        unknown: list[tuple[Block, tuple[SSAValue, ...]]] = []
        for successor in last.successors:
            for argument in successor.args:
                self.facts[argument] = self.unknown(argument)
            unknown.append((successor, ()))
        return unknown

    def _add_sources(self, found: dict[SSAValue, dict[SSAValue, None]]) -> None:
        """Block arguments get what flows into them, after what was known to."""
        for argument, values in found.items():
            self.sources[argument] = tuple({**dict.fromkeys(self.sources.get(argument, ())), **values})


class PointDataflow(ABC, Generic[Lattice]):
    """Forward dataflow over the points of a program: what holds before and after each op, whichever way control came there.

    A subclass says how an op changes the lattice value and what follows from either of two lattice values. They only get weaker, and there must be finitely
    many below each.
    """

    def __init__(self) -> None:
        self.before: dict[Operation, Lattice] = {}
        self.after: dict[Operation, Lattice] = {}

    @abstractmethod
    def transfer(self, op: Operation, fact: Lattice) -> Lattice:
        """What holds after `op`, an op without control flow, if `fact` holds before it."""

    @abstractmethod
    def join(self, a: Lattice, b: Lattice) -> Lattice:
        """The strongest lattice value that follows from either."""

    def run(self, region: Region, fact: Lattice) -> Lattice:
        """Find the lattice values in `region`, which begins with `fact`; what holds at its end."""
        order = reverse_postorder(region.blocks[0]) if region.blocks else []
        begin: dict[Block, Lattice] = dict.fromkeys(order[:1], fact)
        changed = True
        while changed:
            changed = False
            for block in order:
                if block not in begin:
                    continue
                fact = self._run_block(block, begin[block])
                for successor in successors_of(block):
                    changed = self._reach(begin, successor, fact) or changed
        return fact

    def _reach(self, begin: dict[Where, Lattice], where: Where, fact: Lattice) -> bool:
        """Let `fact` reach the beginning of a block or region; whether that weakened what holds there."""
        old = begin.get(where)
        begin[where] = fact if old is None else self.join(old, fact)
        return begin[where] != old

    def _run_block(self, block: Block, fact: Lattice) -> Lattice:
        for op in block.ops:
            self.before[op] = fact
            flow = RegionFlow.of(op)
            fact = self.transfer(op, fact) if flow is None else self._visit(op, flow, fact)
            if flow is None:
                for region in op.regions:
                    self.run(region, fact)
            self.after[op] = fact
        return fact

    def _visit(self, op: Operation, flow: RegionFlow, fact: Lattice) -> Lattice:
        """Run the regions of `op` until nothing changes; what holds after it."""
        begin: dict[Region | None, Lattice] = {}
        pending: list[tuple[Region | None, Lattice]] = [(None, fact)]
        while pending:
            origin, fact = pending.pop(0)
            for branch in flow.branches(op):
                if branch.origin is origin and self._reach(begin, branch.target, fact) and branch.target is not None:
                    pending.append((branch.target, self.run(branch.target, begin[branch.target])))
        return begin.get(None, fact)
