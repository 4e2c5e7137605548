"""`tritonamdgpu-schedule-loops`: stage and cluster of the loads and dots of a loop; `tritonamdgpu-pipeline` schedules the rest.

    %a = tt.load %p                                  %a = tt.load %p {loop.cluster = 0 : i32, loop.stage = 0 : i32}
    %d = tt.dot %a, ...                     =>       %d = tt.dot %a, ... {loop.cluster = 1 : i32, loop.stage = 1 : i32}

Where one dot of a loop takes what the other gives, with four stages the two are one stage apart, so that matrix cores work while
the vector unit does what is between them.

Counterpart of ScheduleLoops.cpp of AMD, without loads of shuffled operands that need no shared memory. Loads of what the loop stores stay in their iteration.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, OpResult

from minitriton.analysis.axis_info.analysis import AxisInfoAnalysis
from minitriton.analysis.slices.def_use import forward_ops
from minitriton.dialects import tt
from minitriton.dialects.facts.launch import features_of, target_text, threads_per_warp
from minitriton.dialects.fast_paths.op_access import operand_values
from minitriton.passes.pipelining.assign_latencies import LoadLevels
from minitriton.passes.pipelining.predication import can_be_held_back
from minitriton.passes.pipelining.schedule import (
    NUM_STAGES,
    Schedule,
    body_ops,
    is_outer_loop,
    loops_in,
    num_stages,
    terminator_of,
    uses_values_of_older_iterations,
)
from minitriton.passes.pipelining.schedule_loops import has_barriers
from minitriton.passes.pipelining.stored_arrays import loads_of_stored_arrays
from minitriton.pipeline.pass_registry import Pass, Property, register_pass
from minitriton.target.architectures import WARP_SIZE


@dataclass(frozen=True)
class ScheduledLoad:
    """A load that starts ahead: `level` other loads need it before `user`, a dot or another load, does."""

    load: Operation
    level: int
    user: Operation


def loads_ahead(loop: scf.ForOp, facts: AxisInfoAnalysis, stages: int) -> list[ScheduledLoad]:
    """The loads of `loop` to start ahead. Narrow ones do on GPUs whose copies to shared memory or matrix cores take them."""
    is_amd = (target_text(loop) or "").startswith("hip:")
    any_width = is_amd and (features_of(loop).mfma_version == 4 or threads_per_warp(loop) == WARP_SIZE)
    found = LoadLevels(loop, facts, any_width)
    levels = found.find("all" if NUM_STAGES in loop.attributes else "dots")
    stored = loads_of_stored_arrays(loop, list(levels)) if levels else ()
    return [
        ScheduledLoad(load, level, found.users[load])
        for load, level in levels.items()
        if level < stages - 1 and load not in stored and isinstance(load, tt.LoadOp)
    ]


# Loops of one dot -----------------------------------------------------------------------------------------------------

GLOBAL_LOAD, LOCAL_STORE, LOCAL_LOAD, COMPUTE, ASYNC_WAIT = range(5)
"""What is scheduled, and the symbolic clusters of the first and the fourth (0 and 1)."""


def _single(loads: list[ScheduledLoad], stages: int) -> Schedule:
    deepest = max(load.level for load in loads)
    schedule = Schedule(stages)
    clusters = [schedule.new_cluster() for _ in range(5)]
    last = stages - 1
    stage_of = (0, deepest, last, last, last)
    between = -(-(stages - 2) // (deepest + 1))
    for each in loads:
        if not isinstance(each.user, tt.LoadOp):
            schedule.insert(each.user, last, clusters[1])
    for each in loads:
        ahead = min((deepest - each.level) * between, len(stage_of) - 1)
        schedule.insert(each.load, stage_of[ahead], clusters[0])
    return schedule


# Loops of two dots ----------------------------------------------------------------------------------------------------

(
    DOT_1, AFTER_DOT_1, ASYNC_WAIT_2, LOCAL_WRITE_1, LOCAL_LOAD_2, GLOBAL_LOAD_1,
    DOT_2, AFTER_DOT_2, ASYNC_WAIT_1, LOCAL_WRITE_2, LOCAL_LOAD_1, GLOBAL_LOAD_2,
) = range(12)  # fmt: skip
"""Clusters in their order; the numbers are those of the dot that the memory access is for."""

STAGE_OF = {
    DOT_1: 2, DOT_2: 3, GLOBAL_LOAD_1: 0, LOCAL_WRITE_1: 1, LOCAL_LOAD_1: 1, ASYNC_WAIT_1: 1,
    GLOBAL_LOAD_2: 1, LOCAL_WRITE_2: 2, LOCAL_LOAD_2: 3, ASYNC_WAIT_2: 3, AFTER_DOT_1: 3, AFTER_DOT_2: 2,
}  # fmt: skip
_STAGES_OF_CHAIN = 4


def chained_dots(loop: scf.ForOp, loads: list[ScheduledLoad], stages: int) -> tuple[tt.DotOp, tt.DotOp] | None:
    """The two dots of a loop that is scheduled as a chain."""
    dots = [op for op in body_ops(loop) if isinstance(op, tt.DotOp)]
    if stages != _STAGES_OF_CHAIN or len(dots) != 2 or any(load.level for load in loads):
        return None
    return (dots[0], dots[1]) if dots[1] in forward_ops(dots[0].result) else None


def _chained(loop: scf.ForOp, dots: tuple[tt.DotOp, tt.DotOp], loads: list[ScheduledLoad]) -> Schedule:
    schedule = Schedule(_STAGES_OF_CHAIN)
    clusters = [schedule.new_cluster() for _ in range(12)]

    def insert(op: Operation, where: int) -> None:
        schedule.insert_if_absent(op, STAGE_OF[where], clusters[where])

    insert(dots[0], DOT_1)
    insert(dots[1], DOT_2)
    for each in loads:
        if each.user in dots:
            insert(each.load, GLOBAL_LOAD_1 if each.user is dots[0] else GLOBAL_LOAD_2)
    after_first = set(forward_ops(dots[0].result))
    for operand in operand_values(dots[1]):
        if not isinstance(operand, OpResult) or operand.op not in after_first:
            continue
        for op in _first_with_several_users(operand.op, after_first, schedule):
            schedule.insert(op, STAGE_OF[AFTER_DOT_2], clusters[AFTER_DOT_2])
            insert(operand.op, AFTER_DOT_1)
    for value in operand_values(terminator_of(loop)):
        if isinstance(value, OpResult) and value.op in after_first:
            insert(value.op, AFTER_DOT_1)
    return schedule


def _first_with_several_users(root: Operation, among: set[Operation], schedule: Schedule) -> Iterator[Operation]:
    """Going back from `root`, the first op on each path that is used more than once: the part before it can run a stage earlier."""
    pending = [root]
    while pending:
        op = pending.pop()
        if op not in among or op in schedule:
            continue
        if sum(1 for result in op.results for _ in result.uses) > 1:
            yield op
            continue
        pending.extend(value.op for value in operand_values(op) if isinstance(value, OpResult))


@register_pass
class ScheduleLoopsOnAMD(Pass, stage="ttgir", origin="triton"):
    """Gives loads that start ahead, and the dots that use them, a stage and a cluster."""

    name: ClassVar[str] = "tritonamdgpu-schedule-loops"
    acts_on = frozenset({scf.ForOp})
    establishes: ClassVar[frozenset[Property]] = frozenset({Property.SCHEDULED})
    requires: ClassVar[frozenset[Property]] = frozenset({Property.STRUCTURED, Property.ENCODINGS})
    num_stages: int = 2
    """The number of stages of loops that name none."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Schedule all loops that can be pipelined."""
        facts: AxisInfoAnalysis | None = None
        for loop in loops_in(op):
            stages = num_stages(loop, self.num_stages)
            if stages <= 1 or uses_values_of_older_iterations(loop) or is_outer_loop(loop) or has_barriers(loop):
                continue
            facts = facts or AxisInfoAnalysis(op)
            loads = loads_ahead(loop, facts, stages)
            if loads and all(can_be_held_back(each) for each in body_ops(loop)):
                dots = chained_dots(loop, loads, stages)
                schedule = _single(loads, stages) if dots is None else _chained(loop, dots, loads)
                schedule.write(loop)
