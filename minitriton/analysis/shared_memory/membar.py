"""Barriers where threads would otherwise read or overwrite shared memory too early.

In: a module and the offsets of its buffers. Out: the same module with `ttg.local_barrier` before each op whose accesses conflict
with earlier ones that no barrier separates from it.

    ttg.local_store %t, %buf                     ttg.local_store %t, %buf
    %r = ttg.local_load %buf            =>       ttg.local_barrier
                                                 %r = ttg.local_load %buf

A conflict is a read after a write, a write after a read or a write after a write of bytes that overlap. The state at a point is
the accesses that may have happened since the last barrier (`Pending`); it flows through straight-line parts of code
(segments), through loops and branches until nothing changes. A function's callers see the accesses that are
pending at its return.

A segment begins at a `Point` and ends at the next op with control flow or at the block's terminator. `successors_of` that last op
gives the points where control continues:

    a; scf.if { b } ; c        segments: [a], [b], [c]    successors of the scf.if: [b] and [c]; of b's scf.yield: [c]
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import cast

from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.traits import IsTerminator, MemoryEffectKind, get_effects

from minitriton.analysis.in_flight.outstanding import InFlight, buffers_read
from minitriton.analysis.shared_memory.allocation import Allocation, FunctionAllocation
from minitriton.analysis.shared_memory.liveness import Interval, intersects
from minitriton.dialects.encodings import layout_of
from minitriton.dialects.facts.pass_attributes import APART_UNTIL_WAIT
from minitriton.dialects.facts.region_flow import RegionFlow
from minitriton.dialects.facts.synchronization import (
    ArrivesForAll,
    Barrier,
    EndsBeforeItsWait,
    SetsUpMbarrier,
    UsesMbarrier,
    WaitsForCopies,
)
from minitriton.dialects.fast_paths.op_access import ops_in
from minitriton.dialects.tt.func import ReturnOp
from minitriton.dialects.ttg.memory_ops import AsyncCopyGlobalToLocalOp, LocalAllocOp, LocalLoadOp
from minitriton.dialects.ttg.ops import ConvertLayoutOp, LocalBarrierOp
from minitriton.dialects.ttng.barriers import InvalBarrierOp, WaitBarrierOp
from minitriton.dialects.ttng.dot import WarpGroupDotWaitOp
from minitriton.layouts.conversion import is_cvt_warp_sync
from minitriton.layouts.to_linear import to_linear_layout

Point = tuple[Block, Operation | None]
"""A block, and the op after which the segment starts (None: at the block's start)."""


def is_segment_end(op: Operation) -> bool:
    """Whether control may leave the straight line at `op`."""
    return RegionFlow.of(op) is not None or (
        op.next_op is None and op.has_trait(IsTerminator, value_if_unregistered=False)
    )


def entry_blocks(root: Operation) -> Iterator[Block]:
    """Blocks that control enters from nowhere else in `root`: the body of a function, of each partition, of a reduction."""
    for op in ops_in(root):
        if op.regions and RegionFlow.of(op) is None:
            for region in op.regions:
                if region.first_block is not None:
                    yield region.first_block


def successors_of(end: Operation | None) -> list[Point]:
    """Where control may go after the last op of a segment."""
    if end is None:
        return []
    if end.successors:
        return [(block, None) for block in end.successors]
    flow = RegionFlow.of(end)
    if flow is not None:
        return _points(end, flow, None)
    parent = end.parent_op()
    flow = None if parent is None else RegionFlow.of(parent)
    if parent is not None and flow is not None and end.parent is not None:
        return _points(parent, flow, end.parent.parent)
    return []


def _points(op: Operation, flow: RegionFlow, origin: Region | None) -> list[Point]:
    """Where control may go from the end of region `origin` of `op`, or as `op` begins; not into other groups of warps."""
    targets = [branch.target for branch in flow.branches(op) if branch.origin is origin and not branch.concurrent]
    found: list[Point] = []
    for target in dict.fromkeys(targets):
        if target is None:
            found.extend([] if op.parent is None else [(op.parent, op)])
        elif target.first_block is not None:
            found.append((target.first_block, None))
    return found


Accesses = dict[Interval, dict[Operation, None]]
"""Bytes of shared memory and the ops that access them (a dict as an ordered set)."""

Filter = Callable[[Operation, Operation], bool]
"""Whether two ops that access the same bytes need no barrier between them."""

_EVERYTHING: Interval = (0, 1 << 62)


@dataclass
class Pending:
    """Accesses that no barrier has followed yet."""

    reads: Accesses = field(default_factory=Accesses)
    writes: Accesses = field(default_factory=Accesses)

    def join(self, other: Pending) -> None:
        """Add the accesses of `other`."""
        for mine, theirs in ((self.reads, other.reads), (self.writes, other.writes)):
            for interval, ops in theirs.items():
                mine.setdefault(interval, {}).update(ops)

    def copy(self) -> Pending:
        """The same accesses, to be changed apart from these."""
        return Pending(
            {interval: dict(ops) for interval, ops in self.reads.items()},
            {interval: dict(ops) for interval, ops in self.writes.items()},
        )

    def moved_by(self, offset: int) -> Pending:
        """The accesses of a callee whose shared memory begins at `offset` of the caller's."""
        return Pending(
            {(start + offset, end + offset): dict(ops) for (start, end), ops in self.reads.items()},
            {(start + offset, end + offset): dict(ops) for (start, end), ops in self.writes.items()},
        )

    def clear(self) -> None:
        """A barrier: nothing is pending."""
        self.reads.clear()
        self.writes.clear()

    def conflicts_with(self, later: Pending, skip: Filter) -> bool:
        """Whether an access of `later` must wait for one of these."""
        return (
            _overlap(self.writes, later.reads, skip)
            or _overlap(self.reads, later.writes, skip)
            or _overlap(self.writes, later.writes, skip)
        )


def _overlap(earlier: Accesses, later: Accesses, skip: Filter) -> bool:
    return any(
        not skip(before, after)
        for a, before_ops in earlier.items()
        for b, after_ops in later.items()
        if intersects(a, b)
        for before in before_ops
        for after in after_ops
    )


def can_skip_barrier(before: Operation, after: Operation) -> bool:
    """Pairs that mbarriers order by themselves on NVIDIA, and copies and loads of different buffers of a ring.

    Initialising (or invalidating) several barriers of an array; expecting, copying and waiting, which threads may do in any order;
    and whatever follows a copy's wait, for the wait ends only when the copy has ended. Two waits do need a barrier between them,
    or a warp could run a whole phase ahead.
    """
    same = before.__class__ is after.__class__
    if same and SetsUpMbarrier.of(before):
        return True
    if same and isinstance(before, WaitBarrierOp):
        return False
    if UsesMbarrier.of(before) and UsesMbarrier.of(after):
        return True
    if before.parent is after.parent and APART_UNTIL_WAIT in before.attributes:
        if isinstance(before, AsyncCopyGlobalToLocalOp) and isinstance(after, LocalLoadOp):
            return True
        if isinstance(after, AsyncCopyGlobalToLocalOp) and APART_UNTIL_WAIT in after.attributes:
            return True
    return EndsBeforeItsWait.of(before) is not None and not isinstance(after, InvalBarrierOp)


def insert_barriers(module: ModuleOp, allocation: Allocation, skip: Filter = can_skip_barrier) -> None:
    """Insert the barriers that `module` needs, function by function, callees first; `allocation` is that of `module`."""
    at_return: dict[Operation, Pending] = {}
    for function, placed in allocation.functions.items():
        if placed.of_value or placed.of_op or any(WaitsForCopies.of(op) for op in ops_in(function)):
            at_return[function] = FunctionWalk(placed, at_return, skip).run()
        else:
            at_return[function] = Pending()


@dataclass
class BufferAccess:
    """What one op does to shared memory.

    `pending` is what no barrier has followed when the op is done, `scratch` where its own scratch is, `claims` what it may
    access before its first barrier where that is not `pending`.
    """

    op: Operation
    pending: Pending
    scratch: Interval | None = None
    claims: Pending | None = None
    is_barrier: bool = False
    is_wait: bool = False


class FunctionWalk:
    """The fixed point over one function. `_access` says what an op does, `_walk` what that asks for."""

    def __init__(
        self,
        placed: FunctionAllocation,
        at_return: dict[Operation, Pending],
        skip: Filter,
    ) -> None:
        self.placed = placed
        self.callee_pending = at_return
        self.skip = skip
        self.segments: dict[Point, tuple[list[BufferAccess], Operation | None]] = {}
        has_waits = any(isinstance(op, WarpGroupDotWaitOp) for op in ops_in(placed.function))
        self.in_flight = InFlight(placed.function) if has_waits else None

    def run(self) -> Pending:
        """Insert the barriers; what is pending when the function returns."""
        before: dict[Point, Pending] = {}
        after: dict[Point, Pending] = {}
        queue: deque[Point] = deque((block, None) for block in entry_blocks(self.placed.function))
        at_return = Pending()
        while queue:
            point = queue.popleft()
            accesses, end = self._segment(point)
            state = before.setdefault(point, Pending()).copy()
            self._walk(accesses, state)
            if point in after and after[point] == state:
                continue
            after[point] = state
            for successor in successors_of(end):
                before.setdefault(successor, Pending()).join(state)
                queue.append(successor)
        for point, state in after.items():
            end = self._segment(point)[1]
            if end is not None and isinstance(end, ReturnOp):
                at_return.join(state)
        return at_return

    def _segment(self, point: Point) -> tuple[list[BufferAccess], Operation | None]:
        """The accesses from `point` to the next branch or op with control flow, and that op."""
        found = self.segments.get(point)
        if found is None:
            accesses: list[BufferAccess] = []
            block, start = point
            op = block.first_op if start is None else start.next_op
            while op is not None and not is_segment_end(op):
                access = self._access(op)
                if access is not None:
                    accesses.append(access)
                op = op.next_op
            found = self.segments[point] = accesses, op
        return found

    def _access(self, op: Operation) -> BufferAccess | None:
        if Barrier.of(op):
            return BufferAccess(op, Pending(), is_barrier=True)
        if WaitsForCopies.of(op):
            return BufferAccess(op, Pending(), is_wait=True)
        pending = Pending()
        callee = self.placed.callees.get(op)
        if callee is not None:
            return self._call(op, callee)
        self._add_effects(op, pending)
        if isinstance(op, WarpGroupDotWaitOp) and self.in_flight is not None:
            self._add_reads_of_dots(op, self.in_flight, pending)
            return BufferAccess(op, pending, claims=Pending()) if pending.reads else None  # it reads nothing anew
        if ArrivesForAll.of(op):
            pending.reads[_EVERYTHING] = {op: None}
            pending.writes[_EVERYTHING] = {op: None}
        scratch = self.placed.of_op.get(op)
        if scratch is None and not pending.reads and not pending.writes:
            return None
        return BufferAccess(op, pending, None if scratch is None else scratch.bytes)

    def _call(self, op: Operation, callee: Operation) -> BufferAccess | None:
        """A callee may write all its memory at once; what is pending at its return is where the call's memory does."""
        memory = self.placed.of_op.get(op)
        if memory is None:
            return None
        pending = self.callee_pending[callee].moved_by(memory.offset)
        return BufferAccess(op, pending, claims=Pending(writes={memory.bytes: {op: None}}))

    def _add_effects(self, op: Operation, pending: Pending) -> None:
        aliases = self.placed.aliases
        if not any(value in aliases for value in (*op.operands, *op.results)):
            return
        if isinstance(op, LocalAllocOp):
            if op.operands:
                pending.writes[self.placed.of_value[op.results[0]].bytes] = {op: None}
            return
        for effect in get_effects(op) or ():
            target = {MemoryEffectKind.READ: pending.reads, MemoryEffectKind.WRITE: pending.writes}.get(effect.kind)
            value = effect.value
            if target is None or not isinstance(value, SSAValue) or value not in aliases:
                continue
            for buffer in self.placed.buffers_of(value):
                target.setdefault(buffer.bytes, {})[op] = None

    def _add_reads_of_dots(self, wait: Operation, in_flight: InFlight, pending: Pending) -> None:
        """Dots read their buffers until they have been waited for: a barrier before that ends no read."""
        for dot, _ in in_flight.ended_by(wait):
            for value in buffers_read(dot):
                if value in self.placed.aliases:
                    for buffer in self.placed.buffers_of(value):
                        pending.reads.setdefault(buffer.bytes, {})[wait] = None

    def _walk(self, accesses: list[BufferAccess], state: Pending) -> None:
        """Let `state` pass the accesses, inserting barriers where they conflict with it."""
        position = 0
        while position < len(accesses):
            access = accesses[position]
            if access.is_barrier:
                state.clear()
            elif access.is_wait:
                following = access.op.next_op
                if following is None or not Barrier.of(following):
                    position += 1
                    self._insert(accesses, position, access.op, after=True)
                    state.clear()
            elif access.scratch is not None:
                position += self._pass_scratch(accesses, position, state)
            else:
                if state.conflicts_with(access.claims or access.pending, self.skip):
                    self._insert(accesses, position, access.op)
                    position += 1
                    state.clear()
                state.join(access.pending)
            position += 1

    def _pass_scratch(self, accesses: list[BufferAccess], position: int, state: Pending) -> int:
        """An op with scratch writes it, meets its threads, and reads it. The number of barriers put before it."""
        access = accesses[position]
        assert access.scratch is not None
        writes = Pending(writes={access.scratch: {access.op: None}})
        conflict = state.conflicts_with(writes, self.skip)
        if conflict:
            self._insert(accesses, position, access.op)
        if conflict or not meets_by_warp(access.op):
            state.clear()
        writes.reads[access.scratch] = {access.op: None}
        state.join(writes)
        return int(conflict)

    def _barrier(self) -> Operation:
        """What is put between accesses that conflict."""
        return LocalBarrierOp()

    def _insert(self, accesses: list[BufferAccess], position: int, op: Operation, *, after: bool = False) -> None:
        """Puts a barrier before or after `op`."""
        barrier = self._barrier()
        barrier.location = op.location
        block = cast(Block, op.parent)
        if after:
            block.insert_ops_after([barrier], op)
        else:
            block.insert_ops_before([barrier], op)
        accesses.insert(position, BufferAccess(barrier, Pending(), is_barrier=True))


def meets_by_warp(op: Operation) -> bool:
    """Whether `op` is a layout conversion within warps: its threads meet at a warp's barrier only."""
    if not isinstance(op, ConvertLayoutOp):
        return False
    src, dst = cast(TensorType, op.operands[0].type), cast(TensorType, op.results[0].type)
    src_layout, dst_layout = layout_of(src), layout_of(dst)
    if src_layout is None or dst_layout is None:
        return False
    shape = src.get_shape()
    return is_cvt_warp_sync(to_linear_layout(src_layout, shape), to_linear_layout(dst_layout, shape))
