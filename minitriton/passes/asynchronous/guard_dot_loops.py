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
"""

from __future__ import annotations

from typing import ClassVar, cast

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, OpResult, SSAValue

from minitriton.analysis.in_flight.outstanding import InFlight
from minitriton.dialects import ttng
from minitriton.dialects.attribute_values import integer
from minitriton.dialects.fast_paths.op_access import last_op_of, ops_of
from minitriton.passes.loop_rewriting import put_under_condition
from minitriton.pipeline.pass_registry import KEPT_IN_PLACE, Pass, Property, register_pass
from minitriton.rewriting.constants import int_constant


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
