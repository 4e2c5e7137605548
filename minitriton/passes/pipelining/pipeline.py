"""`tritongpu-pipeline`: loops with a schedule are pipelined.

In: loops whose ops carry stages and clusters (`schedule`). Out: asynchronous copies (`lower_loads`), a prologue and a loop in
which the stages overlap (`expander`), and no schedule any more; then in all loops dots on tensor cores that stay in flight
(`warp_group_dots`), waits that leave later copies in flight and stores in the background (`tensor_maps`).

`tritongpu-test-pipeline-lower-loop` stops after the first step.

A wait leaves in flight all copies that began after those that it waits for (`analysis.in_flight`).

Counterpart of updateWaits in lib/Dialect/TritonGPU/Transforms/Pipeliner/WGMMAPipeline.cpp.
"""

from collections.abc import Mapping
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i32
from xdsl.ir import Operation

from minitriton.analysis.axis_info.analysis import AxisInfoAnalysis
from minitriton.analysis.in_flight.outstanding import groups_since
from minitriton.dialects import ttg
from minitriton.dialects.facts.region_flow import RegionFlow
from minitriton.dialects.fast_paths.op_access import operand_values, ops_in, ops_of
from minitriton.passes.pipelining.schedule import CLUSTER, MAX_STAGE, STAGE, Schedule, loops_in, num_stages
from minitriton.pipeline.pass_registry import Pass, Property, register_pass
from minitriton.rewriting.greedy import apply_patterns_greedily
from minitriton.rewriting.rewriter import Inserter


def update_waits(module: ModuleOp) -> None:
    """Sets the numbers of all `ttg.async_wait` and joins those that follow each other."""
    waits = ops_of(module, ttg.AsyncWaitOp)
    for wait in waits:
        wait.properties["num"] = IntegerAttr(groups_since(wait), i32)
    joined: set[Operation] = set()
    for wait in waits:
        if wait not in joined:
            joined.update(join_following(wait))


def join_following(wait: ttg.AsyncWaitOp) -> list[Operation]:
    """Makes one wait of `wait` and those after it that no commit or branch separates from it; those that are gone."""
    group: list[ttg.AsyncWaitOp] = [wait]
    following = wait.next_op
    while (
        following is not None and not isinstance(following, ttg.AsyncCommitGroupOp) and RegionFlow.of(following) is None
    ):
        if isinstance(following, ttg.AsyncWaitOp):
            group.append(following)
        following = following.next_op
    if len(group) == 1:
        return []
    tokens = [token for each in group for token in operand_values(each)]
    least = min(each.num.value.data for each in group)
    joined = Inserter.before(wait).insert(ttg.AsyncWaitOp(tokens, num=least))
    for each in group:
        each.results[0].replace_all_uses_with(joined.results[0])
        assert each.parent is not None
        each.parent.erase_op(each)
    return list(group)


def lower_loops(module: ModuleOp, swizzle: bool = True) -> bool:
    """Makes loads asynchronous in all loops that have a schedule; whether there is one."""
    from minitriton.passes.pipelining.lower_loads import lower_loads
    from minitriton.passes.pipelining.tensor_maps import rotate_tensor_maps

    facts: AxisInfoAnalysis | None = None
    for loop in loops_in(module):
        schedule = Schedule.read(loop)
        if schedule is not None:
            facts = facts or AxisInfoAnalysis(module)
            lower_loads(loop, schedule, facts, swizzle)
            rotate_tensor_maps(loop, schedule)
            schedule.write(loop)
    return facts is not None


@register_pass
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
        "async_integer_dots": False,
        "exact_bounds": False,
    }
    num_stages: int = 3
    """The number of stages of loops that name none."""
    swizzle: bool = True
    """Whether buffers from which `mma.sync` and `ldmatrix` read are swizzled."""
    slice_from: int = 0
    """Elements of a dot's accumulator from which an operand of `wgmma` in registers is sliced along K; 0: none is (Triton's way)."""
    async_integer_dots: bool = False
    """Whether `wgmma` of integers may run into the next iteration as those of floats may (in Triton each is waited for at once)."""
    exact_bounds: bool = False
    """Whether a counter may be so close to an end of its type that one some steps ahead wraps (Triton assumes that none is)."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Pipeline all loops."""
        # Imported here, as in the functions above and below: most kernels have no loop.
        from minitriton.passes.pipelining.tensor_maps import pipeline_stores
        from minitriton.passes.pipelining.warp_group_dots import run_dots_asynchronously

        changed = lower_loops(op, self.swizzle)
        if changed:
            _expand_loops(op, self.exact_bounds)
        changed |= _has_loops_in_partitions(op)
        for loop in list(loops_in(op)):
            if num_stages(loop, self.num_stages) >= 1:
                changed |= run_dots_asynchronously(loop, self.slice_from, self.async_integer_dots)
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
    from minitriton.passes.pipelining.expander import expand

    for loop in list(loops_in(module)):
        schedule = Schedule.read(loop)
        if schedule is not None:
            stages = {each: stage for each, (stage, _) in schedule.positions.items()}
            expand(loop, schedule.in_order(loop), stages, exact_bounds=exact_bounds)
    for inner in ops_in(module):
        for name in (STAGE, CLUSTER, MAX_STAGE):
            inner.attributes.pop(name, None)


@register_pass
class TestPipelineLowerLoop(Pass, stage="ttgir", origin="triton"):
    """Makes the loads of scheduled loops asynchronous, and leaves the loops as they are."""

    name: ClassVar[str] = "tritongpu-test-pipeline-lower-loop"
    requires = frozenset({Property.ENCODINGS, Property.STRUCTURED, Property.SCHEDULED, Property.DESCRIPTOR_LAYOUTS})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Lower the loops, without overlapping their stages."""
        lower_loops(op)
