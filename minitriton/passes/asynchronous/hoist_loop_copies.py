"""`minitriton-hoist-loop-copies`: the tensor copies of a loop start where the buffers that they fill are free, before what threads compute.

    scf.for ...                                            scf.for ...
      wait_barrier %bar_k                                    wait_barrier %bar_k
      %s = warp_group_dot %q, %k                             wait_barrier %bar_v
      %s1 = warp_group_dot_wait %s                           %s = warp_group_dot %q, %k
      %p = softmax %s1                               =>      %s1 = warp_group_dot_wait %s
      wait_barrier %bar_v                                    async_tma_copy_global_to_local %next_k
      %o = warp_group_dot %p, %v                             async_tma_copy_global_to_local %next_v
      async_tma_copy_global_to_local %next_k                 %p = softmax %s1
      async_tma_copy_global_to_local %next_v                 %o = warp_group_dot %p, %v

In: TTGIR loops with tensor copies. Out: the same.

Copies move up to the last dot that reads what one of them fills, so that one barrier serves them all; only those that the next iteration waits for, as
others have an iteration's time anyway (and with two warp groups the first warp would wait for the other group: attention of 128x128 by 8 warps in three
stages ran at 0.83 of its speed). At the end of the body, where the pipeliner puts them (as Triton does), each iteration began by waiting for them.
Where the dots alone take all registers of a thread, `ptxas` runs them one by one with the computation between, and copies stay.

A wait for a copy moves up past dots and the exponentials between them, to the wait before: `ptxas` schedules within a basic block, which such a wait ends,
and would keep both all scores and all of the result in registers there.

Attention drawn at random (26 launches by pointers, two H200, 2026-11-28) ran at 1.06 of Triton's speed before, at 1.23 with this pass and waits for dots at
the end of a turn (`minitriton-alternate-warp-groups`).
"""

from typing import ClassVar, cast

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Block, Operation

from minitriton.analysis.in_flight.outstanding import InFlight
from minitriton.analysis.in_flight.rings import VIEWS, iterations_ago, ring_length, ring_slot, views_of
from minitriton.dialects import math, ttg, ttng
from minitriton.dialects.facts.launch import num_threads
from minitriton.dialects.fast_paths.op_access import ops_of
from minitriton.passes.pipelining.overlap_dots import REGISTERS, words_of
from minitriton.passes.pipelining.schedule import producers
from minitriton.passes.tensor_layouts import computes_floats
from minitriton.pipeline.pass_registry import KEPT_IN_PLACE, Pass, Property, register_pass
from minitriton.rewriting.effects import is_memory_effect_free

_DOTS = (ttng.WarpGroupDotOp, ttng.WarpGroupDotWaitOp)


@register_pass
class HoistLoopCopies(Pass, stage="llir"):
    """Starts the tensor copies of a loop before what threads compute."""

    name: ClassVar[str] = "minitriton-hoist-loop-copies"
    acts_on = frozenset({ttng.AsyncTMACopyGlobalToLocalOp})
    requires: ClassVar[frozenset[Property]] = frozenset({Property.ENCODINGS, Property.STRUCTURED})
    keeps: ClassVar[frozenset[Property]] = KEPT_IN_PLACE

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Move the waits of every loop, then its copies."""
        threads = num_threads(op)
        loops = [loop for loop in ops_of(op, scf.ForOp) if ops_of(loop, ttng.AsyncTMACopyGlobalToLocalOp)]
        if not loops:
            return
        for loop in loops:
            for wait in [each for each in loop.body.block.ops if isinstance(each, ttng.WaitBarrierOp)]:
                _hoist_wait(wait, loop)
        in_flight = InFlight(op)
        for loop in loops:
            dots = [each for each in loop.body.block.ops if isinstance(each, ttng.WarpGroupDotOp)]
            if sum(words_of(dot.results[0]) for dot in dots) // threads <= REGISTERS:
                _Copies(loop, in_flight).hoist()


def _is_for_copies(wait: ttng.WaitBarrierOp) -> bool:
    """Whether only copies that the program starts end what `wait` waits for: no other threads, which may wait for this one."""
    views = views_of(ring_slot(wait.alloc)[0])
    users = [use.operation for view in views for use in view.uses]
    return all(isinstance(user, (*VIEWS, *_FOR_COPIES)) for user in users) and any(
        isinstance(user, ttng.AsyncTMACopyGlobalToLocalOp) for user in users
    )


_FOR_COPIES = (
    ttng.InitBarrierOp, ttng.BarrierExpectOp, ttng.AsyncTMACopyGlobalToLocalOp, ttng.WaitBarrierOp,
    ttng.InvalBarrierOp, ttg.LocalDeallocOp,
)  # fmt: skip


def _hoist_wait(wait: ttng.WaitBarrierOp, loop: scf.ForOp) -> None:
    if not _is_for_copies(wait):
        return
    first = wait
    passed: list[Operation] = []
    while (before := first.prev_op) is not None and _may_pass(before, wait, loop):
        first = before
        passed.append(first)
    has_dot = any(isinstance(op, ttng.WarpGroupDotOp) for op in passed)
    computes = any(isinstance(op, math.Exp2Op) and isinstance(op.results[0].type, TensorType) for op in passed)
    if isinstance(before, ttng.WaitBarrierOp) and has_dot and computes:
        needed = _producers([wait])
        _move([op for op in (*reversed(passed), wait) if op in needed or op is wait], first)


def _may_pass(op: Operation, wait: ttng.WaitBarrierOp, loop: scf.ForOp) -> bool:
    """Whether `wait` may stand before `op`, which does not start what it waits for."""
    if isinstance(op, ttng.AsyncTMACopyGlobalToLocalOp):
        return iterations_ago(op.barrier, wait.alloc, loop) is not None
    if isinstance(op, ttng.BarrierExpectOp):
        return iterations_ago(op.alloc, wait.alloc, loop) is not None
    return is_memory_effect_free(op) or isinstance(op, (*VIEWS, *_DOTS))


class _Copies:
    """The tensor copies of a loop's body."""

    def __init__(self, loop: scf.ForOp, in_flight: InFlight) -> None:
        self.loop, self.in_flight = loop, in_flight
        self.ops = list(loop.body.block.ops)
        self.copies = [op for op in self.ops if isinstance(op, ttng.AsyncTMACopyGlobalToLocalOp)]

    def hoist(self) -> None:
        """Move all of them to where each of them may start."""
        if not any(map(self._is_needed_next, self.copies)):
            return
        barriers = {copy.barrier for copy in self.copies}
        expected = [op for op in self.ops if isinstance(op, ttng.BarrierExpectOp) and op.alloc in barriers]
        started: set[Operation] = {*self.copies, *expected}
        needed = _producers(started)
        last = first = min(map(self.ops.index, started))
        while first > 0 and self._may_start_before(self.ops[first - 1], needed):
            first -= 1
        if any(map(computes_floats, self.ops[first:last])):
            _move([op for op in self.ops[first:] if op in started or op in needed], self.ops[first])

    def _is_needed_next(self, copy: ttng.AsyncTMACopyGlobalToLocalOp) -> bool:
        """Whether the next iteration waits for `copy`."""
        ring = ring_slot(copy.barrier)[0]
        for wait in self.ops:
            if isinstance(wait, ttng.WaitBarrierOp) and ring_slot(wait.alloc)[0] is ring:
                length, since = ring_length(ring), iterations_ago(copy.barrier, wait.alloc, self.loop)
                if length == 1 or (length is not None and since == length - 1):
                    return True
        return False

    def _may_start_before(self, op: Operation, needed: set[Operation]) -> bool:
        """Whether the copies may start before `op`: no dot that reads what they fill runs there, and nothing waits for what their mbarriers ended before."""
        if op in needed:
            return is_memory_effect_free(op) or isinstance(op, VIEWS)
        if isinstance(op, ttng.WaitBarrierOp):
            return _is_for_copies(op) and all(
                iterations_ago(copy.barrier, op.alloc, self.loop) is not None for copy in self.copies
            )
        if any(self.in_flight.before[op].reads(copy.destination, op) for copy in self.copies):
            return False
        return is_memory_effect_free(op) or isinstance(op, (*VIEWS, *_DOTS))


def _producers(ops: list[Operation] | set[Operation]) -> set[Operation]:
    """What computes the operands of `ops` in their block."""
    found: set[Operation] = set()
    pending = list(ops)
    while pending:
        for producer in producers(pending.pop(), through_arguments=False):
            if producer not in found and producer not in ops:
                found.add(producer)
                pending.append(producer)
    return found


def _move(ops: list[Operation], before: Operation) -> None:
    """Move `ops` in their order to before `before`, which may be one of them."""
    block = cast(Block, before.parent)
    anchor = before
    while anchor in ops:
        anchor = cast(Operation, anchor.next_op)  # the terminator is none of them
    for op in ops:
        op.detach()
        block.insert_op_before(op, anchor)
