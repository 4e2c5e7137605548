"""`minitriton-first-warp-barriers`: where a barrier only keeps copies from overwriting what other warps still read, nobody waits but
the warp that starts the copies.

    scf.for ... iter_args(%fill = 2, ...)                   scf.for ... iter_args(%fill = 2, ...)
                                                              ttng.arrive_for_first_warp %fill from 1
      dots that read %ring[%read]; wait for them              dots that read %ring[%read]; wait for them
      ttg.local_barrier                              =>       ttng.first_warp_waits %fill from 1
      async_tma_copy %d[..] %ring[%next]                      async_tma_copy %d[..] %ring[%next]

In: TTGIR with barriers. Out: the same, with other barriers in loops that touch shared memory by tensor copies and wgmma alone: the
barrier becomes a named one of the hardware, at which other warps arrive and go on. Warp groups drift apart then: one computes while the
other keeps the tensor cores busy.

Why this is enough, with `analysis.in_flight` for slots in rings of n buffers:

- a copy in iteration i writes what was read d iterations before, 0 < d < n; other warps have finished that iteration's dots, or
  the wait for them stands before the arrival. The same holds for the mbarriers that the copy's completion turns.
- a warp is ahead of the first at most until it needs a buffer that is not filled yet: n iterations have n named barriers, so that no
  warp arrives at one twice before the first warp has met it.
- after the loop all threads meet.

Without it (Triton's way) warps of different groups meet in every iteration, and tensor cores rest while all of them compute.

`minitriton-alternate-warp-groups`: two warp groups take turns at the tensor cores, so that one computes while the other's dots run.

    scf.for ...                                         ttng.end_turn from 14 only 1            group 0 begins
      %s = warp_group_dot %q, %k, %0 {isAsync}          scf.for ...
      %o = warp_group_dot %p, %v, %acc {isAsync}          ttng.wait_for_turn from 14
      softmax of %s                              =>       %s = warp_group_dot %q, %k, %0 {isAsync}
                                                          %o = warp_group_dot %p, %v, %acc {isAsync}
                                                          ttng.end_turn from 14
                                                          softmax of %s
                                                        ttng.wait_for_turn from 14 only 0       its last turn, not used

In: TTGIR of kernels with two warp groups, with loops that have dots and, between them, work on what these leave. Out: the same, with
turns. The dots of one turn follow each other without such work: those of an iteration, or the last of one and the first of the next. A
group begins them when those of the other group have begun, and waits for them before it computes: tensor cores have the other group's then.
Turns are named barriers of the hardware, one for the group whose turn it is (`named_barriers`). After the loop all threads meet, so that turns of the next loop are not taken for those of this one.

A loop in which all threads meet stays as it is: one group would wait at that barrier in its turn, and the other for its turn.

In step, both groups would wait for the same dots and then compute while tensor cores rest. (Shah et al., "FlashAttention-3",
section 3.1: ping-pong scheduling.)
"""

from collections.abc import Iterator
from typing import ClassVar, cast

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Block, Operation, OpResult, SSAValue

from minitriton.analysis.in_flight.outstanding import InFlight
from minitriton.analysis.in_flight.rings import VIEWS, iterations_ago, ring_length, ring_position, ring_slot
from minitriton.dialects import math, tt, ttg, ttng
from minitriton.dialects.attribute_values import is_true
from minitriton.dialects.facts.launch import ALLOCATION_OFFSET, ALLOCATION_SIZE, num_ctas, num_warps
from minitriton.dialects.facts.region_flow import RegionFlow
from minitriton.dialects.facts.synchronization import FIRST_WARP_FILLS, TURNS, meets_threads, taken_barriers
from minitriton.dialects.fast_paths.op_access import operand_values, ops_of
from minitriton.pipeline.pass_registry import EVERYTHING, Pass, Property, register_pass
from minitriton.rewriting.constants import int_constant
from minitriton.rewriting.effects import is_memory_effect_free


@register_pass
class FirstWarpBarriers(Pass, stage="llir"):
    """Lets warps that start no copies go on where only copies have to wait."""

    name: ClassVar[str] = "minitriton-first-warp-barriers"
    requires: ClassVar[frozenset[Property]] = frozenset({Property.ENCODINGS, Property.STRUCTURED, Property.BARRIERS})
    keeps: ClassVar[frozenset[Property]] = EVERYTHING - {Property.SCHEDULED}

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrite every loop for which it is enough."""
        if num_ctas(op) > 1 or num_warps(op) <= 4 or not taken_barriers(op).isdisjoint(FIRST_WARP_FILLS):
            return
        loops = [loop for loop in ops_of(op, scf.ForOp) if ops_of(loop, ttng.AsyncTMACopyGlobalToLocalOp)]
        if loops:
            in_flight = InFlight(op)
            for loop in loops:
                _Loop(loop, in_flight).rewrite()


_KNOWN = (
    tt.LoadOp,
    tt.StoreOp,
    ttg.LocalBarrierOp,
    ttng.AsyncTMACopyGlobalToLocalOp,
    ttng.BarrierExpectOp,
    ttng.WaitBarrierOp,
    ttng.WarpGroupDotWaitOp,
    *VIEWS,
)


class _Loop:
    """A loop and what it does to shared memory."""

    def __init__(self, loop: scf.ForOp, in_flight: InFlight) -> None:
        self.loop = loop
        self.in_flight = in_flight
        self.body = loop.regions[0].block
        self.ops = list(self.body.ops)
        self.index = {op: number for number, op in enumerate(self.ops)}

    def _of(self, *kinds: type[Operation]) -> list[Operation]:
        return [op for op in self.ops if isinstance(op, kinds)]

    def rewrite(self) -> None:
        """Split the loop's barrier, if it has a single one and all that it orders is known."""
        barriers = self._of(ttg.LocalBarrierOp)
        copies = cast(list[ttng.AsyncTMACopyGlobalToLocalOp], self._of(ttng.AsyncTMACopyGlobalToLocalOp))
        if len(barriers) != 1 or not copies or not all(map(self._is_known, self.ops[:-1])):
            return
        barrier = barriers[0]
        arrival = max(self._arrival_for(copy, self.index[barrier]) for copy in copies)
        turn = self._turn(copies)
        if turn is None or not arrival <= self.index[barrier] < min(map(self.index.__getitem__, copies)):
            return
        arrive, wait = (
            kind(turn, first=FIRST_WARP_FILLS.start) for kind in (ttng.ArriveForFirstWarpOp, ttng.FirstWarpWaitsOp)
        )
        arrive.location = wait.location = barrier.location
        self.body.insert_op_before(arrive, self.ops[arrival])
        self.body.insert_op_before(wait, barrier)
        self.body.erase_op(barrier)
        outer = cast(Block, self.loop.parent)
        if not isinstance(self.loop.next_op, ttg.LocalBarrierOp):
            meet = ttg.LocalBarrierOp()
            meet.location = self.loop.location
            outer.insert_op_after(meet, self.loop)

    def _is_known(self, op: Operation) -> bool:
        """Whether what `op` does to shared memory, if anything, is one of the things that the argument above is about."""
        if ALLOCATION_SIZE in op.attributes or ALLOCATION_OFFSET in op.attributes or RegionFlow.of(op) is not None:
            return False
        if isinstance(op, ttng.WarpGroupDotOp):
            return self.in_flight.end_of(op) is not None
        return isinstance(op, _KNOWN) or is_memory_effect_free(op)

    def _arrival_for(self, copy: ttng.AsyncTMACopyGlobalToLocalOp, barrier: int) -> int:
        """Before which op other warps may arrive: no dot up to the barrier reads what `copy` writes from there on; beyond all ops for never."""
        for wait in self._of(ttng.WaitBarrierOp):
            if iterations_ago(copy.barrier, cast(ttng.WaitBarrierOp, wait).alloc, self.loop) is None:
                return len(self.ops) + 1
        read = (self.in_flight.before[op].reads(copy.destination, op) for op in self.ops[: barrier + 1])
        return max((number + 1 for number, is_read in enumerate(read) if is_read), default=0)

    def _turn(self, copies: list[ttng.AsyncTMACopyGlobalToLocalOp]) -> SSAValue | None:
        """An argument of the loop that counts round one of the rings, from 0 on, and rings not shorter than the others'."""
        lengths = {ring_length(ring_slot(copy.destination)[0]) for copy in copies}
        if len(lengths) != 1 or None in lengths:
            return None
        length = cast(int, lengths.pop())
        for number, argument in enumerate(self.body.args[1:]):
            start = int_constant(operand_values(self.loop)[3 + number])
            if start is None or not 0 <= start < length or length > len(FIRST_WARP_FILLS):
                continue
            if argument.type == copies[0].coord[0].type and ring_position(argument, length, self.loop) is not None:
                return argument
        return None


_WARPS_OF_TWO_GROUPS = 8


@register_pass
class AlternateWarpGroups(Pass, stage="llir"):
    """Makes two warp groups take turns at the tensor cores in loops that compute between dots."""

    name: ClassVar[str] = "minitriton-alternate-warp-groups"
    requires: ClassVar[frozenset[Property]] = frozenset({Property.ENCODINGS, Property.STRUCTURED, Property.BARRIERS})
    keeps: ClassVar[frozenset[Property]] = EVERYTHING - {Property.SCHEDULED}

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrite every such loop."""
        if num_warps(op) != _WARPS_OF_TWO_GROUPS or num_ctas(op) > 1:
            return
        if not taken_barriers(op).isdisjoint(TURNS):
            return
        for loop in ops_of(op, scf.ForOp):
            _alternate(loop)


def _alternate(loop: scf.ForOp) -> None:
    ops = list(loop.regions[0].block.ops)
    dots = [op for op in ops if isinstance(op, ttng.WarpGroupDotOp)]
    if len(dots) < 2 or any(map(_may_not_alternate, ops)) or not all(is_true(dot.is_async) for dot in dots):
        return
    first, last = ops.index(dots[0]), ops.index(dots[-1])
    arrivals, waits = (
        [number for number, op in enumerate(ops) if isinstance(op, kind)]
        for kind in (ttng.ArriveForFirstWarpOp, ttng.FirstWarpWaitsOp)
    )
    if not _computes(ops[first:last]) and _computes(ops[last:]):
        take_turns = _take_turns
        may_wait = all(at > last for at in waits) or all(at < first for at in arrivals)
    elif _computes(ops[first:last]) and len(dots) == 2:
        take_turns = _take_turns_over_the_end
        may_wait = all(at > first for at in waits) and all(at < last for at in arrivals)
    else:
        return
    if (
        not may_wait
    ):  # the first warp would wait, before it ends its turn, for an arrival that the other group's turn has to precede
        return
    if not isinstance(loop.next_op, ttg.LocalBarrierOp):
        _put(ttg.LocalBarrierOp(), after=loop)
    take_turns(loop, dots[0], dots[-1])


def _may_not_alternate(op: Operation) -> bool:
    """Whether all threads meet at `op`, or control flow hides what happens there: one group would wait in its turn for the other, for ever."""
    return RegionFlow.of(op) is not None or meets_threads(op)


def _computes(ops: list[Operation]) -> bool:
    """Whether tensors are worked on that keep threads busy: exponentials, the slowest that threads compute by themselves."""
    return any(isinstance(op, math.Exp2Op) and isinstance(op.results[0].type, TensorType) for op in ops)


def _take_turns(loop: scf.ForOp, first: Operation, last: Operation) -> None:
    """A turn from `first` to `last` of an iteration; group 0 begins, and at the end takes the turn that it is given."""
    _put(ttng.EndTurnOp(first=TURNS.start, group=1), before=loop)
    _put(ttng.WaitForTurnOp(first=TURNS.start), before=first)
    _wait_after_turn(last)
    _put(ttng.EndTurnOp(first=TURNS.start), after=last)
    _put(ttng.WaitForTurnOp(first=TURNS.start, group=0), after=loop)


def _wait_after_turn(last: Operation) -> None:
    """All waits for dots of the turn stand after it, with what they wait for: the other group's dots run under what is computed then."""
    block = cast(Block, last.parent)
    anchor = last
    while (op := anchor.next_op) is not None:
        if isinstance(op, ttng.WarpGroupDotWaitOp):
            anchor = op
            continue
        wait = next((w for w in _following(op) if isinstance(w, ttng.WarpGroupDotWaitOp)), None)
        if wait is None or any(_is_defined_from(value, op) for value in wait.operands):
            return
        wait.detach()
        block.insert_op_after(wait, anchor)


def _following(op: Operation | None) -> Iterator[Operation]:
    while op is not None:
        yield op
        op = op.next_op


def _is_defined_from(value: SSAValue, op: Operation) -> bool:
    """Whether `op` or what follows it in its block defines `value`."""
    return isinstance(value, OpResult) and value.op.parent is op.parent and not value.op.is_before_in_block(op)


def _take_turns_over_the_end(loop: scf.ForOp, first: Operation, last: Operation) -> None:
    """A turn from `last` to `first` of the next iteration; group 1 begins after group 0, and at the end is let go by it."""
    _put(ttng.WaitForTurnOp(first=TURNS.start, group=1), before=loop)
    _put(ttng.EndTurnOp(first=TURNS.start), after=first)
    _put(ttng.WaitForTurnOp(first=TURNS.start), before=last)
    _put(ttng.EndTurnOp(first=TURNS.start, group=0), after=loop)


def _put(op: Operation, *, before: Operation | None = None, after: Operation | None = None) -> None:
    anchor = before or after
    assert anchor is not None
    op.location = anchor.location
    block = cast(Block, anchor.parent)
    if before is not None:
        block.insert_op_before(op, before)
    else:
        block.insert_op_after(op, anchor)
