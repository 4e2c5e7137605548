"""`minitriton-alternate-warp-groups`: two warp groups take turns at the tensor cores, so that one computes while the other's dots run.

    scf.for ...                                         ttng.end_turn from 14 only 1            group 0 begins
      %s = warp_group_dot %q, %k, %0 {isAsync}          scf.for ...
      %o = warp_group_dot %p, %v, %acc {isAsync}          ttng.wait_for_turn from 14
      softmax of %s                              =>       %s = warp_group_dot %q, %k, %0 {isAsync}
                                                          %o = warp_group_dot %p, %v, %acc {isAsync}
                                                          ttng.end_turn from 14
                                                          softmax of %s
                                                        ttng.wait_for_turn from 14 only 0       its last turn, not used

In: TTGIR of kernels with two warp groups, with loops that have dots and, between them, work on what these leave. Out: the same;
a group's dots of an iteration (from the last before the loop's end to the first, if the work stands between them) begin when
those of the other group have begun. Turns are named barriers of the hardware, one for the group whose turn it is (`named_barriers`). After the
loop all threads meet, so that turns of the next loop are not taken for those of this one.

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
from minitriton.dialects.facts.named_barriers import TURNS
from minitriton.dialects.fast_paths.operations import ops_of
from minitriton.pipeline.pass_registry import EVERYTHING, Pass, Property, register_pass

_WARPS_OF_TWO_GROUPS = 8


@register_pass
class AlternateWarpGroups(Pass, stage="llir"):
    """Makes two warp groups take turns at the tensor cores in loops that compute between dots."""

    name: ClassVar[str] = "minitriton-alternate-warp-groups"
    requires: ClassVar[frozenset[Property]] = frozenset({Property.ENCODINGS, Property.STRUCTURED})
    keeps: ClassVar[frozenset[Property]] = EVERYTHING - {Property.SCHEDULED}

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrite every such loop."""
        if num_warps(op) != _WARPS_OF_TWO_GROUPS or num_ctas(op) > 1:
            return
        if ops_of(op, ttg.WarpSpecializeOp):
            return
        for loop in ops_of(op, scf.ForOp):
            _alternate(loop)


def _alternate(loop: scf.ForOp) -> None:
    ops = list(loop.regions[0].block.ops)
    dots = [op for op in ops if isinstance(op, ttng.WarpGroupDotOp)]
    barriers = any(isinstance(op, ttg.LocalBarrierOp) or (op.regions and op.name.startswith("scf.")) for op in ops)
    if len(dots) < 2 or barriers or not all(is_true(dot.is_async) for dot in dots):
        return
    first, last = ops.index(dots[0]), ops.index(dots[-1])
    if not _computes(ops[first:last]) and _computes(ops[last:]):
        take_turns = _take_turns
    elif _computes(ops[first:last]) and len(dots) == 2:
        take_turns = _take_turns_over_the_end
    else:
        return
    if not isinstance(loop.next_op, ttg.LocalBarrierOp):
        _put(ttg.LocalBarrierOp(), behind=loop)
    take_turns(loop, dots[0], dots[-1])


def _computes(ops: list[Operation]) -> bool:
    """Whether tensors are worked on that keep threads busy: exponentials, the slowest that threads compute by themselves."""
    return any(isinstance(op, math.Exp2Op) and isinstance(op.results[0].type, TensorType) for op in ops)


def _take_turns(loop: scf.ForOp, first: Operation, last: Operation) -> None:
    """A turn from `first` to `last` of an iteration; group 0 begins, and at the end takes the turn that it is given."""
    _put(ttng.EndTurnOp(first=TURNS.start, group=1), before=loop)
    _put(ttng.WaitForTurnOp(first=TURNS.start), before=first)
    _put(ttng.EndTurnOp(first=TURNS.start), behind=last)
    _put(ttng.WaitForTurnOp(first=TURNS.start, group=0), behind=loop)


def _take_turns_over_the_end(loop: scf.ForOp, first: Operation, last: Operation) -> None:
    """A turn from `last` to `first` of the next iteration; group 1 begins after group 0, and at the end is let go by it."""
    _put(ttng.WaitForTurnOp(first=TURNS.start, group=1), before=loop)
    _put(ttng.EndTurnOp(first=TURNS.start), behind=first)
    _put(ttng.WaitForTurnOp(first=TURNS.start), before=last)
    _put(ttng.EndTurnOp(first=TURNS.start, group=0), behind=loop)


def _put(op: Operation, *, before: Operation | None = None, behind: Operation | None = None) -> None:
    place = before or behind
    assert place is not None
    op.location = place.location
    block = cast(Block, place.parent)
    if before is not None:
        block.insert_op_before(op, before)
    else:
        block.insert_op_after(op, place)
