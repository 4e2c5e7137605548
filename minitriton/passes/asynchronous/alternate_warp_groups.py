"""`minitriton-alternate-warp-groups`: two warp groups take turns at the tensor cores, so that one computes while the other's dots run.

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
group begins them when those of the other group have begun. Turns are named barriers of the hardware, one for the group whose turn it is
(`named_barriers`). After the loop all threads meet, so that turns of the next loop are not taken for those of this one.

A loop in which all threads meet stays as it is: one group would wait at that barrier in its turn, and the other for its turn.

In step, both groups would wait for the same dots and then compute while tensor cores rest. (Shah et al., "FlashAttention-3",
section 3.1: ping-pong scheduling.)
"""

from __future__ import annotations

from typing import ClassVar, cast

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Block, Operation

from minitriton.dialects import math, ttg, ttng
from minitriton.dialects.attribute_values import is_true
from minitriton.dialects.facts.launch import num_ctas, num_warps
from minitriton.dialects.facts.region_flow import RegionFlow
from minitriton.dialects.facts.synchronization import TURNS, meets_threads, taken_barriers
from minitriton.dialects.fast_paths.op_access import ops_of
from minitriton.pipeline.pass_registry import EVERYTHING, Pass, Property, register_pass

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
    if not _computes(ops[first:last]) and _computes(ops[last:]):
        take_turns = _take_turns
    elif _computes(ops[first:last]) and len(dots) == 2:
        take_turns = _take_turns_over_the_end
    else:
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
    _put(ttng.EndTurnOp(first=TURNS.start), after=last)
    _put(ttng.WaitForTurnOp(first=TURNS.start, group=0), after=loop)


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
