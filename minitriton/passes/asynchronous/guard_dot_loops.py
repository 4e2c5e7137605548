"""`minitriton-guard-dot-loops`: the wait for the dots of a loop stands where the loop has run, not where it was skipped.

In: TTGIR in which a wait takes the accumulator of a loop of asynchronous dots. Out: loop and wait under the condition that the loop
runs at all.

    %r = scf.for %i = %lo to %hi ... (%c = %0)           %w = scf.if (%lo < %hi) {
    %w = ttng.warp_group_dot_wait %r {pendings = 0}        %r = scf.for %i = %lo to %hi ... (%c = %0)
                                                    =>     ttng.warp_group_dot_wait %r {pendings = 0}
                                                         } else {
                                                           %0
                                                         }

Where both ways meet before the wait, the accumulator is what a dot in flight writes on one and zeros that were moved there on the
other. ptxas takes the move for a write to registers of a dot that runs, and then runs all dots of the loop one by one (its
message C7515).

`minitriton-sink-dot-waits`: a wait for a dot on tensor cores stands where its result is first needed.

    %s = warp_group_dot %q, %k, %0 {isAsync}              %s = warp_group_dot %q, %k, %0 {isAsync}
    %s1 = warp_group_dot_wait %s {pendings = 0}           %o = warp_group_dot %p, %v, %acc {isAsync}
    %o = warp_group_dot %p, %v, %acc {isAsync}      =>    %s1 = warp_group_dot_wait %s {pendings = 1}
    %o1, %p1 = warp_group_dot_wait %o {pendings = 0}      %x = softmax %s1
    %x = softmax %s1                                      %o1 = warp_group_dot_wait %o, %p {pendings = 0}
    %y = arith.mulf %o1, %f                               %y = arith.mulf %o1, %f

In: TTGIR with asynchronous dots. Out: the same; each wait moved after ops that neither use what it forwards nor write memory or meet
other threads, and one more dot left running for each that begins before it. Operands in registers go through the wait: nothing may be
written there while the dot reads them (PTX ISA, "Asynchronous wgmma instructions").

A buffer that a dot reads may be written again by an op that writes memory, so no wait passes such an op. The exception is a copy to
another slot of the rings that its dots read, as the counters of the loop show (`analysis.in_flight.rings`).
"""

from typing import ClassVar, cast

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Block, Operation, OpResult, SSAValue
from xdsl.traits import IsTerminator

from minitriton.analysis.in_flight.outstanding import InFlight, buffers_read
from minitriton.analysis.in_flight.rings import VIEWS, iterations_ago
from minitriton.dialects import ttng
from minitriton.dialects.attribute_values import integer, is_true
from minitriton.dialects.fast_paths.op_access import last_op_of, ops_of
from minitriton.dialects.narrowing import instance_of
from minitriton.passes.loop_rewriting import put_under_condition
from minitriton.passes.pipelining.schedule import nested_operands
from minitriton.passes.tensor_layouts import computes_floats
from minitriton.pipeline.pass_registry import KEPT_BY_DEFAULT, KEPT_IN_PLACE, Pass, Property, register_pass
from minitriton.rewriting.constants import int_constant
from minitriton.rewriting.effects import is_memory_effect_free


@register_pass
class GuardDotLoops(Pass, stage="llir"):
    """Waits for the dots of a loop only where the loop runs."""

    name: ClassVar[str] = "minitriton-guard-dot-loops"
    acts_on = frozenset({ttng.WarpGroupDotWaitOp})
    requires = frozenset({Property.ENCODINGS, Property.STRUCTURED})
    keeps: ClassVar[frozenset[Property]] = KEPT_IN_PLACE

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrite every wait that follows such a loop."""
        waits, in_flight = ops_of(op, ttng.WarpGroupDotWaitOp), InFlight(op)
        for wait in waits:
            loop = _loop_in_flight(wait, in_flight)
            if loop is not None:
                _guard(wait, loop)


def _loop_in_flight(wait: Operation, in_flight: InFlight) -> scf.ForOp | None:
    """The loop before `wait` whose dots are still running, if it may be skipped."""
    for value in wait.operands:
        if not isinstance(value, OpResult) or not isinstance(value.op, scf.ForOp) or value.op.parent is not wait.parent:
            continue
        loop = value.op
        if int_constant(loop.lb) is not None and int_constant(loop.ub) is not None:
            continue
        if any(not _is_known_before(other, loop) for other in wait.operands):
            continue
        if in_flight.before[wait].accumulates(value):
            return loop
    return None


def _is_known_before(value: SSAValue, loop: Operation) -> bool:
    """Whether `value` is a result of the loop or defined before it."""
    if not isinstance(value, OpResult) or value.op is loop:
        return True
    here = cast(Block, loop.parent).find_ancestor_op_in_block(value.op)
    return here is None or here.is_before_in_block(loop)


def _guard(wait: ttng.WarpGroupDotWaitOp, loop: scf.ForOp) -> None:
    put_under_condition(loop)
    block = cast(Block, loop.parent)
    choice, end = block.parent_op(), last_op_of(block)
    values = [
        end.operands[value.index] if isinstance(value, OpResult) and value.op is choice else value
        for value in wait.operands
    ]
    inside = ttng.WarpGroupDotWaitOp(values, pendings=integer(wait.pendings))
    inside.location = wait.location
    ended = dict(zip(values, inside.results, strict=True))
    end.operands = [ended.get(value, value) for value in end.operands]
    block.insert_op_before(inside, end)
    for result, value in zip(wait.results, wait.operands, strict=True):
        result.replace_all_uses_with(value)
    cast(Block, wait.parent).erase_op(wait)


@register_pass
class SinkDotWaits(Pass, stage="llir"):
    """Moves waits for dots on tensor cores to where their results are needed."""

    name: ClassVar[str] = "minitriton-sink-dot-waits"
    acts_on = frozenset({ttng.WarpGroupDotWaitOp})
    requires: ClassVar[frozenset[Property]] = frozenset({Property.ENCODINGS, Property.STRUCTURED})
    keeps: ClassVar[frozenset[Property]] = KEPT_BY_DEFAULT | {Property.DOT_OPERANDS_FENCED}

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Move every wait, the last of a block first: the ones before can pass the dots that it stood after."""
        waits, in_flight = ops_of(op, ttng.WarpGroupDotWaitOp), InFlight(op)
        for wait in reversed(waits):
            _delay(wait, in_flight.ended_by(wait))


def _delay(wait: ttng.WarpGroupDotWaitOp, ended: list[tuple[Operation, int]]) -> None:
    """Move `wait`, which ends these dots of so many iterations ago."""
    results: set[SSAValue] = set(wait.results)
    is_own = all(dot.parent is wait.parent and ago == 0 for dot, ago in ended)
    read = [buffer for dot, _ in ended for buffer in buffers_read(dot)] if is_own else None
    started = 0
    end = wait.next_op
    while end is not None and not _must_follow(end, results, read):
        started += isinstance(end, ttng.WarpGroupDotOp)
        end = end.next_op
    if end is None or (not started and not _is_followed_by_work(wait, end)):
        return
    _replace(wait, end, wait.pendings.value.data + started)


def _must_follow(op: Operation, results: set[SSAValue], read: list[SSAValue] | None) -> bool:
    """Whether `op` has to stay after the wait with these results, for dots that read these buffers."""
    if op.has_trait(IsTerminator) or any(operand in results for operand in nested_operands(op)):
        return True
    if isinstance(op, ttng.WarpGroupDotOp):
        return not is_true(op.is_async)
    if isinstance(op, ttng.AsyncTMACopyGlobalToLocalOp):
        return read is None or any(iterations_ago(op.destination, buffer, op.parent_op()) is None for buffer in read)
    return not (is_memory_effect_free(op) or isinstance(op, _HARMLESS))


_HARMLESS = (ttng.WaitBarrierOp, ttng.BarrierExpectOp, *VIEWS)
"""Ops with effects on nothing that a dot reads or writes."""


def _is_followed_by_work(wait: Operation, end: Operation) -> bool:
    """Whether tensors of floats are computed between: addresses and counters are not worth moving for."""
    op = wait.next_op
    while op is not None and op is not end:
        if computes_floats(op):
            return True
        op = op.next_op
    return False


def _replace(wait: ttng.WarpGroupDotWaitOp, before: Operation, pendings: int) -> None:
    """The same wait elsewhere, for registers that its dots read too."""
    values: dict[SSAValue, None] = dict.fromkeys(wait.operands)
    for value in wait.operands:
        dot = value.op if isinstance(value, OpResult) else None
        if isinstance(dot, ttng.WarpGroupDotOp) and dot.parent is wait.parent and instance_of(dot.a.type, TensorType):
            values[dot.a] = None
    new = ttng.WarpGroupDotWaitOp(list(values), pendings=pendings)
    new.location = wait.location
    block = cast(Block, wait.parent)
    block.insert_op_before(new, before)
    for old, result in zip(wait.results, new.results, strict=False):
        result.name_hint = old.name_hint
        old.replace_all_uses_with(result)
    block.erase_op(wait)
