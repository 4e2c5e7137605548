"""`minitriton-overlap-dots`: what stands between two dots of a loop runs under the dots of another iteration.

    s(i) = q k(i)                  s(0) = q k(0); p(0) = softmax s(0)
    p(i) = softmax s(i)            for i: s(i + 1) = q k(i + 1)       both run on tensor cores ...
    o += p(i) v(i)          =>            o += p(i) v(i)
                                          p(i + 1) = softmax s(i + 1)   ... the second one under this
                                   o += p(n - 1) v(n - 1)

In: loops with a schedule whose dots feed each other through registers: *late* dots take what *early* ones left as their operand
A, and only add to an accumulator of the loop. Out: late dots one stage later, between the early dots of the next iteration and
what these feed; loads that only late dots need start one stage later too. The loop carries A instead of computing it anew, and its
last stage stands after it (`expander`): no dot runs for an iteration that is not there.

Tensor cores rest during the softmax of attention otherwise, unless another warp group has dots for them. (Shah et al.,
"FlashAttention-3", section 3.2 and algorithm 2: pipelining within a warp group.) The carried operand costs registers: loops that would
need more than a thread has stay as they are.
"""

from math import prod
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import FixedBitwidthType, ModuleOp, TensorType, UnitAttr
from xdsl.ir import Operation, OpResult, SSAValue

from minitriton.analysis.in_flight.rings import VIEWS
from minitriton.analysis.slices.def_use import forward_ops
from minitriton.dialects import ttg, ttng
from minitriton.dialects.facts.launch import num_threads
from minitriton.dialects.facts.pass_attributes import ENDS_AFTER_LOOP
from minitriton.dialects.narrowing import instance_of
from minitriton.passes.pipelining.buffers import LOADS
from minitriton.passes.pipelining.schedule import (
    Schedule,
    body_ops,
    loops_in,
    nested_operands,
    producers,
    terminator_of,
)
from minitriton.pipeline.choice import Candidate, Choice, note
from minitriton.pipeline.pass_registry import KEPT_BY_DEFAULT, Pass, Property, register_pass
from minitriton.rewriting.effects import is_memory_effect_free
from minitriton.target.architectures import LIMITS

REGISTERS = LIMITS.registers_per_thread
"""Registers of 32 bits that a thread has."""

OTHER_REGISTERS = 36
"""What addresses, counters and row sums take next to the tiles: attention of 128x128 by 8 warps on sm_90 takes 187 with 160 in tiles.
No other family of kernels is on record."""


@register_pass
class OverlapDots(Pass, stage="ttgir"):
    """Delays dots that depend on others to the next iteration, so that what is between them runs next to dots."""

    name: ClassVar[str] = "minitriton-overlap-dots"
    acts_on = frozenset({scf.ForOp})
    requires: ClassVar[frozenset[Property]] = frozenset({Property.ENCODINGS, Property.STRUCTURED, Property.SCHEDULED})
    keeps: ClassVar[frozenset[Property]] = KEPT_BY_DEFAULT | {Property.SCHEDULED}
    registers: int = REGISTERS
    """Loops whose tiles would take more registers a thread stay as they are."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Change the schedules of all such loops."""
        threads = num_threads(op)
        for loop in list(loops_in(op)):
            schedule = Schedule.read(loop)
            if schedule is not None:
                _overlap(loop, schedule, self.registers - OTHER_REGISTERS, threads)


def _overlap(loop: scf.ForOp, schedule: Schedule, registers: int, threads: int) -> None:
    last = schedule.stages - 1
    ops = body_ops(loop)
    dots = [op for op in ops if isinstance(op, ttng.WarpGroupDotOp)]
    late = [dot for dot in dots if _only_accumulates(dot, loop)]
    early = [dot for dot in dots if dot not in late]
    if (
        not late
        or not early
        or any(op not in schedule for op in ops)
        or any(schedule.stage(dot) != last for dot in dots)
    ):
        return
    between = _results_of(early, ops)
    if any(not instance_of(dot.a.type, TensorType) or dot.a not in between for dot in late):
        return
    # A dot is waited for where its accumulators are used; else it would still read registers that the next iteration writes.
    if any(not _users_of_accumulators(loop, [dot]) for dot in late):
        return
    needed = _needed_registers(early, late, threads)
    note(loop, lambda: _order_choice(needed, registers))
    if needed > registers:
        return
    moved = _operands_in_memory(late, schedule)
    if moved is not None:
        _reschedule(loop, schedule, late, moved)


def _order_choice(needed: int, registers: int) -> Choice:
    found = (
        Candidate(str(REGISTERS), 0, f"dots of two iterations overlap; tiles take {needed} registers of {registers}"),
        Candidate("0", 1, "a dot, what is computed from it, then the next dot"),
    )
    option, taken = "minitriton-overlap-dots{registers=@}", REGISTERS if needed <= registers else 0
    return Choice.of("overlap of dots of scf.for", "dots that an iteration waits for", option, found, str(taken))


def _only_accumulates(dot: ttng.WarpGroupDotOp, loop: scf.ForOp) -> bool:
    """Whether the loop forwards the result and uses it for nothing else, and c comes from what it forwarded by pure ops."""
    end = terminator_of(loop)
    uses = list(dot.results[0].uses)
    if len(uses) != 1 or uses[0].operation is not end:
        return False
    carried = loop.regions[0].block.args[1 + uses[0].index]
    between = forward_ops(carried, lambda op: op is not dot)
    return all(
        op.parent is dot.parent
        and op is not end
        and not op.regions
        and not isinstance(op, ttng.WarpGroupDotOp)
        and is_memory_effect_free(op)
        for op in between
    )


def _results_of(early: list[ttng.WarpGroupDotOp], ops: list[Operation]) -> set[SSAValue]:
    """What an iteration computes from the early dots."""
    found: set[SSAValue] = {dot.results[0] for dot in early}
    for op in ops:
        if any(value in found for value in nested_operands(op)):
            found.update(op.results)
    return found


def _needed_registers(early: list[ttng.WarpGroupDotOp], late: list[ttng.WarpGroupDotOp], threads: int) -> int:
    """Registers a thread for all accumulators, and for each late A twice: one is read while the next is made."""
    return (
        sum(words_of(dot.results[0]) for dot in (*early, *late)) + 2 * sum(words_of(dot.a) for dot in late)
    ) // threads


def words_of(tensor: SSAValue) -> int:
    """How many words of 4 bytes the elements of `tensor` take."""
    type_ = tensor.type
    assert instance_of(type_, TensorType) and isinstance(type_.element_type, FixedBitwidthType)
    return prod(type_.get_shape()) * type_.element_type.bitwidth // 32


def _operands_in_memory(late: list[ttng.WarpGroupDotOp], schedule: Schedule) -> dict[Operation, int] | None:
    """How many stages later what brings b of `late` into shared memory runs; None if others read it too."""
    moved: dict[Operation, int] = {}
    for dot in late:
        value = dot.b
        while isinstance(value, OpResult) and value.op in schedule:
            op = value.op
            if any(use.operation not in late and use.operation not in moved for use in op.results[0].uses):
                return None
            moved[op] = 1
            if isinstance(op, LOADS):
                break
            if not isinstance(op, (ttg.LocalAllocOp, *VIEWS)) or not op.operands:
                return None
            value = op.operands[0]
    return moved


def _reschedule(
    loop: scf.ForOp, schedule: Schedule, late: list[ttng.WarpGroupDotOp], moved: dict[Operation, int]
) -> None:
    """Early dots and what they need, then late ones, the rest of the last stage, copies, and what waits for late dots.

    The barrier before the copies keeps `ptxas` from moving the wait for late dots up into the rest, which does not
    depend on it. Without the barrier that was seen in the machine code of attention.
    """
    ops, last = body_ops(loop), schedule.stages - 1
    in_last = [op for op in ops if schedule.stage(op) == last]
    dots: list[Operation] = [op for op in in_last if isinstance(op, ttng.WarpGroupDotOp) and op not in late]
    needed = set(dots)
    while dots:
        for producer in producers(dots.pop(), through_arguments=False):
            if producer not in needed and schedule.stage(producer) == last:
                needed.add(producer)
                dots.append(producer)
    from minitriton.passes.pipelining.expander import is_possible  # only where something moves

    at = min(schedule.position(schedule.cluster(op)) for op in in_last)
    first, second, rest = (schedule.new_cluster(at + number) for number in range(3))
    end = schedule.new_cluster()
    waiting = _users_of_accumulators(loop, late)
    for op in in_last:
        if op in late or op in moved:
            schedule.insert(op, last + 1, second)
        else:
            schedule.insert(op, last, first if op in needed else end if op in waiting else rest)
    for op, (stage, cluster) in tuple(schedule.positions.items()):
        if op in moved and op not in in_last:
            schedule.insert(op, stage + 1, cluster)
    schedule.stages += 1
    if is_possible(loop, schedule.in_order(loop), {op: stage for op, (stage, _) in schedule.positions.items()}):
        schedule.write(loop)
        loop.attributes[ENDS_AFTER_LOOP] = UnitAttr()


def _users_of_accumulators(loop: scf.ForOp, late: list[ttng.WarpGroupDotOp]) -> set[Operation]:
    """What uses the accumulators that the iteration before left."""
    arguments = (loop.regions[0].block.args[1 + use.index] for dot in late for use in dot.results[0].uses)
    return {op for argument in arguments for op in forward_ops(argument, lambda op: op not in late)}
