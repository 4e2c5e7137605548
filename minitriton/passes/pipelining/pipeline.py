"""`tritongpu-pipeline`: loops with a schedule are pipelined.

In: loops whose ops carry stages and clusters (`schedule`). Out: asynchronous copies (`lower_loads`), a prologue and a loop in
which the stages overlap (`expander`), and no schedule any more; then in all loops products on tensor cores that run on
(`warp_group_dots`), waits that leave later copies under way (`waits`) and stores in the background (`tensor_stores`).

`tritongpu-test-pipeline-lower-loop` stops behind the first step.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp

from minitriton.analysis.axis_info.analysis import AxisInfoAnalysis
from minitriton.dialects import ttg
from minitriton.dialects.fast_paths.operations import ops_in, ops_of
from minitriton.pass_registry import Pass, Property, register_pass
from minitriton.passes.pipelining.expander import expand
from minitriton.passes.pipelining.loops import loops_in, num_stages
from minitriton.passes.pipelining.lower_loads import lower_loads
from minitriton.passes.pipelining.schedule import CLUSTER, MAX_STAGE, STAGE, Schedule
from minitriton.passes.pipelining.tensor_maps import rotate_tensor_maps
from minitriton.passes.pipelining.tensor_stores import pipeline_stores
from minitriton.passes.pipelining.waits import update_waits
from minitriton.passes.pipelining.warp_group_dots import run_dots_asynchronously
from minitriton.rewriting.greedy import apply_patterns_greedily


def lower_loops(module: ModuleOp) -> bool:
    """Makes loads asynchronous in all loops that have a schedule; whether there is one."""
    facts: AxisInfoAnalysis | None = None
    for loop in loops_in(module):
        schedule = Schedule.read(loop)
        if schedule is not None:
            facts = facts or AxisInfoAnalysis(module)
            lower_loads(loop, schedule, facts)
            rotate_tensor_maps(loop, schedule)
            schedule.write(loop)
    return facts is not None


@register_pass
@dataclass(frozen=True)
class PipelineLoops(Pass, stage="ttgir", origin="triton"):
    """Pipelines the loops that have a schedule."""

    name: ClassVar[str] = "tritongpu-pipeline"
    acts_on = frozenset({scf.ForOp})
    establishes: ClassVar[frozenset[Property]] = frozenset({Property.PIPELINED})
    requires: ClassVar[frozenset[Property]] = frozenset(
        {Property.ENCODINGS, Property.STRUCTURED, Property.SCHEDULED, Property.DESCRIPTOR_LAYOUTS}
    )
    beyond_triton: ClassVar[Mapping[str, object]] = {
        "slice_from": 0,
        "integers_run_on": False,
        "exact_bounds": False,
    }
    num_stages: int = 3
    """The number of stages of loops that name none."""
    slice_from: int = 0
    """Elements of a product's sum from which an operand of `wgmma` in registers is made part by part along K; 0: none is (Triton's way)."""
    integers_run_on: bool = False
    """Whether `wgmma` of integers may run into the next iteration as those of floats may (in Triton each is waited for at once)."""
    exact_bounds: bool = False
    """Whether a counter may be so close to an end of its type that one some steps ahead wraps (Triton assumes that none is)."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Pipeline all loops."""
        changed = lower_loops(op)
        if changed:
            _expand_loops(op, self.exact_bounds)
        changed |= _has_loops_in_partitions(op)
        for loop in list(loops_in(op)):
            if num_stages(loop, self.num_stages) >= 1:
                changed |= run_dots_asynchronously(loop, self.slice_from, self.integers_run_on)
        if changed:
            update_waits(op)
            apply_patterns_greedily(op)
        for loop in list(loops_in(op)):
            if num_stages(loop, self.num_stages) > 1:
                pipeline_stores(loop)


def _has_loops_in_partitions(module: ModuleOp) -> bool:
    """Whether there are loops in warp-specialized code, whose makers leave folding to this pass."""
    return any(ops_of(specialized, scf.ForOp) for specialized in ops_of(module, ttg.WarpSpecializeOp))


def _expand_loops(module: ModuleOp, exact_bounds: bool) -> None:
    """Overlaps the stages of all loops that have a schedule; no schedule is left."""
    for loop in list(loops_in(module)):
        schedule = Schedule.read(loop)
        if schedule is not None:
            stages = {each: stage for each, (stage, _) in schedule.places.items()}
            expand(loop, schedule.in_order(loop), stages, exact_bounds=exact_bounds)
    for inner in ops_in(module):
        for name in (STAGE, CLUSTER, MAX_STAGE):
            inner.attributes.pop(name, None)


@register_pass
class TestPipelineLowerLoop(Pass, stage="ttgir", origin="triton"):
    """Makes the loads of scheduled loops asynchronous, and leaves the loops as they are."""

    name: ClassVar[str] = "tritongpu-test-pipeline-lower-loop"
    requires = frozenset({Property.ENCODINGS, Property.STRUCTURED})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Lower the loops, without overlapping their stages."""
        lower_loops(op)
