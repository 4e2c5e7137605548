"""What is in flight at each point of a program: the driver is `PointDataflow`, the rules are facts on the classes of ops.

    %d = ttng.warp_group_dot ...         after it: dots ({%d},)
    %e = ttng.warp_group_dot ...         after it: dots ({%e}, {%d}), the youngest first
    ttng.warp_group_dot_wait 1           after it: dots ({%e},)

In a loop a group may be one of several: `({%d}, {%d, %first})` says that the oldest may have been started before the loop.
"""

import math
from itertools import zip_longest
from typing import NamedTuple

from xdsl.dialects import scf
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from minitriton.analysis.dataflow import PointDataflow
from minitriton.analysis.in_flight.rings import iterations_ago, ring_slot
from minitriton.dialects import ttg, ttng
from minitriton.dialects.facts.synchronization import Commits, Kind, Starts, Waits
from minitriton.dialects.fast_paths.op_access import last_op_of, operand_at, operand_values
from minitriton.host.frozen import frozen

MOST_GROUPS = 16
"""Of one queue: older groups count as one."""

Group = frozenset[Operation]


class Queue(NamedTuple):
    """What ends in order: all of a kind, or the copies that end at one ring of mbarriers."""

    kind: Kind
    barrier: SSAValue | None = None


@frozen
class Outstanding:
    """What may be in flight at a point."""

    queues: dict[Queue, tuple[Group, ...]]
    """The groups of each queue, the youngest first; each the ops that may have started it. A queue has at least one."""
    open_group: Group = frozenset()
    """Copies that no group holds yet."""

    def ops(self, *kinds: Kind) -> list[Operation]:
        """The ops that may have started something of these `kinds` (all, if none is named), each once."""
        groups = [g for queue, found in self.queues.items() if not kinds or queue.kind in kinds for g in found]
        if not kinds or Kind.COPY in kinds:
            groups.append(self.open_group)
        return list(dict.fromkeys(op for group in groups for op in group))

    def number(self, kind: Kind) -> int:
        """How many groups of a kind may be in flight."""
        return sum(len(groups) for queue, groups in self.queues.items() if queue.kind is kind)

    def iterations(self, queue: Queue, at: Operation, *, is_before: bool = False) -> list[list[tuple[Operation, int]]]:
        """The groups of a queue where this holds after `at`, or before it: each op, and how many iterations of the loop around `at` ago it was
        issued."""
        seen = dict(self.iterations_of_open_group(at, is_before=is_before))
        found: list[list[tuple[Operation, int]]] = []
        for group in self.queues.get(queue, ()):
            for op in group:
                seen[op] = seen[op] + 1 if op in seen else _since(op, at, is_before=is_before)
            found.append([(op, seen[op]) for op in group])
        return found

    def iterations_of_open_group(self, at: Operation, *, is_before: bool = False) -> list[tuple[Operation, int]]:
        """The same of copies that no group holds yet: they are younger than those of any group."""
        return [(op, _since(op, at, is_before=is_before)) for op in self.open_group]

    def reads(self, written: SSAValue, at: Operation) -> bool:
        """Whether a dot in flight before `at`, or `at` itself, may read the buffer that the iteration of `at` calls `written`."""
        groups = self.iterations(Queue(Kind.DOT), at, is_before=True)
        itself = [(at, 0)] if isinstance(at, ttng.WarpGroupDotOp) else []
        for dot, ago in (*itself, *(each for group in groups for each in group)):
            for buffer in buffers_read(dot):
                since = iterations_ago(written, buffer, at.parent_op())
                if since is None or 0 < since <= ago:
                    return True
        return False

    def accumulates(self, value: SSAValue) -> bool:
        """Whether a dot in flight writes the registers of `value`: what it gives, before or after a wait, or what a loop carries of that."""
        if isinstance(value, BlockArgument):
            loop, index = value.block.parent_op(), value.index - 1
        else:
            loop, index = value.owner, value.index if isinstance(value, OpResult) else 0
        if isinstance(loop, scf.ForOp) and index >= 0:
            value = operand_values(last_op_of(loop.body.block))[index]
        return dot_of(value) in self.ops(Kind.DOT)


def _since(op: Operation, at: Operation, *, is_before: bool) -> int:
    """How many iterations of the loop around `at` ago `op` was last issued, after `at` or before it."""
    return int(op.parent is at.parent and (is_before or op is not at) and not op.is_before_in_block(at))


class InFlight(PointDataflow[Outstanding]):
    """What is in flight before and after each op of `root`'s regions."""

    def __init__(self, root: Operation) -> None:
        super().__init__()
        for region in root.regions:
            self.run(region, Outstanding({}))

    def ended_by(self, wait: Operation) -> list[tuple[Operation, int]]:
        """What `wait` ends: the ops that started it, and how many iterations of the loop around `wait` ago."""
        before, after = self.before[wait], self.after[wait].queues
        ended = (before.iterations(queue, wait)[len(after.get(queue, ())) :] for queue in before.queues)
        return [each for groups in ended for group in groups for each in group]

    def end_of(self, op: Operation) -> Operation | None:
        """The first op after `op` in its block, or in the block's next run, after which nothing that `op` started is in flight; None if
        some always may be."""
        assert op.parent is not None
        ops = list(op.parent.ops)
        at = ops.index(op)
        return next((each for each in (*ops[at:], *ops[:at]) if op not in self.after[each].ops()), None)

    def transfer(self, op: Operation, fact: Outstanding) -> Outstanding:
        starts, commits, waits = Starts.of(op), Commits.of(op), Waits.of(op)
        if starts is not None:
            return _started(op, starts, fact)
        if commits is not None:
            return _with(
                fact, Queue(commits.kind), (fact.open_group, *fact.queues.get(Queue(commits.kind), ())), frozenset()
            )
        return fact if waits is None else _waited(op, waits, fact)

    def join(self, a: Outstanding, b: Outstanding) -> Outstanding:
        queues = {
            queue: tuple(
                one | other
                for one, other in zip_longest(
                    a.queues.get(queue, ()), b.queues.get(queue, ()), fillvalue=frozenset[Operation]()
                )
            )
            for queue in (*a.queues, *(queue for queue in b.queues if queue not in a.queues))
        }
        return Outstanding(queues, a.open_group | b.open_group)


def dot_of(value: SSAValue) -> ttng.WarpGroupDotOp | None:
    """The dot whose result `value` is, before or after a wait."""
    while isinstance(value, OpResult) and isinstance(value.op, ttng.WarpGroupDotWaitOp):
        value = value.op.operands[value.index]
    return value.op if isinstance(value, OpResult) and isinstance(value.op, ttng.WarpGroupDotOp) else None


def buffers_read(op: Operation) -> list[SSAValue]:
    """The buffers in shared memory that what `op` starts reads."""
    starts = Starts.of(op)
    values = () if starts is None else starts.values_read(op)
    return [value for value in values if isinstance(value.type, ttg.MemDescType)]


def _with(fact: Outstanding, queue: Queue, groups: tuple[Group, ...], open_group: Group | None = None) -> Outstanding:
    """`fact` with other groups in one queue."""
    if len(groups) > MOST_GROUPS:
        groups = (*groups[: MOST_GROUPS - 1], frozenset[Operation]().union(*groups[MOST_GROUPS - 1 :]))
    queues = {each: found for each, found in fact.queues.items() if each != queue}
    if groups:
        queues[queue] = groups
    return Outstanding(queues, fact.open_group if open_group is None else open_group)


def _queue_of(op: Operation, rule: Starts | Waits) -> Queue:
    return Queue(rule.kind, None if rule.barrier is None else ring_slot(getattr(op, rule.barrier))[0])


def _started(op: Operation, starts: Starts, fact: Outstanding) -> Outstanding:
    queue = _queue_of(op, starts)
    groups = fact.queues.get(queue, ())
    if not starts.stays(op):
        return _with(fact, queue, ())
    if not starts.is_committed:
        return Outstanding(fact.queues, fact.open_group | {op})
    if starts.barrier is not None and groups and all(_share_barrier(op, other, starts.barrier) for other in groups[0]):
        return _with(fact, queue, (groups[0] | {op}, *groups[1:]))
    return _with(fact, queue, (frozenset({op}), *groups))


def _share_barrier(op: Operation, other: Operation, field: str) -> bool:
    """Whether two copies of one block arrive at the same mbarrier."""
    return op.parent is other.parent and op is not other and getattr(op, field) is getattr(other, field)


def _waited(op: Operation, waits: Waits, fact: Outstanding) -> Outstanding:
    queue = _queue_of(op, waits)
    groups = fact.queues.get(queue, ())
    return _with(fact, queue, groups[: waits.number_left(op)] if waits.barrier is None else groups[:-1])


def groups_since(wait: Operation) -> int:
    """How many groups of copies may stay in flight after a `ttg.async_wait`, whatever its number says: the fewest commits between the one whose token
    it waits for and `wait`, on any way to it; 0 if that is not known.

        commit 0; commit 1; for: wait (0); ...; commit i + 2          1
    """
    if len(operand_values(wait)) != 1:
        return 0
    return int(_Search().fewest(operand_at(wait, 0), wait, 0))


class _Search:
    """Follows a token back through loops; stops on ways that are longer than the shortest found, or than one to the same token."""

    def __init__(self) -> None:
        self.least: float = math.inf
        self.counts: dict[SSAValue, int] = {}
        """Of what loops carry, the fewest commits with which it was come to."""

    def fewest(self, token: SSAValue, sink: Operation, count: int) -> float:
        if isinstance(token, OpResult):
            after = token.op.next_op
            self.least = min(self.least, 0 if after is None else count + _commits_between(after, sink))
            return self.least
        assert isinstance(token, BlockArgument)
        loop = token.block.parent_op()
        if not isinstance(loop, scf.ForOp) or token.index == 0:
            return 0
        if self.counts.get(token, math.inf) <= count:
            return self.least
        self.counts[token] = count
        assert token.block.first_op is not None
        count += _commits_between(token.block.first_op, sink)
        if count >= self.least:
            return self.least
        last = last_op_of(loop.body.block)
        outside = self.fewest(operand_values(loop)[2 + token.index], loop, count)
        before = self.fewest(operand_values(last)[token.index - 1], last, count)
        return min(outside, before, self.least)


def _commits_between(first: Operation, end: Operation) -> int:
    """The commits from `first` up to `end`, which may be nested deeper; those in other regions are not counted."""
    count = 0
    while end.parent is not first.parent:
        block, enclosing = end.parent, end.parent_op()
        if block is None or enclosing is None:
            return 0
        count += _commits_in(block.first_op, end)
        end = enclosing
    return count + _commits_in(first, end)


def _commits_in(first: Operation | None, end: Operation) -> int:
    count = 0
    while first is not None and first is not end:
        count += isinstance(first, ttg.AsyncCommitGroupOp)
        first = first.next_op
    return count
