"""`tritonamdgpu-pipeline`: loops with a schedule are pipelined, with buffers in LDS between loads and dots.

    %a = tt.load %p            {stage 0}         %a = tt.load %p                           {stage 0}
    tt.dot %a, ...             {stage 1}   =>    %view = ttg.memdesc_index %buffers[%i]    {stage 0, later cluster}
                                                 ttg.local_store %a, %view                 {stage 0, later cluster}
                                                 tt.dot (ttg.local_load %view), ...        {stage 1}

A load waits in registers while the dot of the iteration before runs, then goes to LDS: with two stages one buffer is enough. Loads whose users want
no common buffer stay in registers. With `use-async-copy` loads go to LDS by themselves, and one more buffer is needed. The last iterations follow the
loop, whose body thus has no conditions (`expander`). On gfx950 large buffers of 16-bit operands are padded, not swizzled, where they are copied to.

Counterparts of LowerLoops.cpp and Pipeline.cpp of AMD, and of composePaddedLayout in Utility.cpp.
"""

from __future__ import annotations

from typing import ClassVar, cast

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp, StringAttr, TensorType, i32
from xdsl.ir import Block, Operation, Region, SSAValue

from minitriton.analysis.axis_info.analysis import AxisInfoAnalysis
from minitriton.dialects import arith, tt, ttg
from minitriton.dialects.facts import Contraction
from minitriton.dialects.facts.launch import features_of
from minitriton.dialects.fast_paths.op_access import operand_values, ops_in, ops_of
from minitriton.layouts.builders import padded_for_copies, swizzled_shared_for_dot
from minitriton.layouts.encodings import (
    AmdMfma,
    DotOperand,
    Linear,
    PaddedShared,
    SharedEncoding,
    SwizzledShared,
)
from minitriton.layouts.properties import order_for_memory
from minitriton.layouts.to_linear import to_linear_layout
from minitriton.layouts.wave_copy import SIZES
from minitriton.passes.amd.reorder_instructions import PART
from minitriton.passes.amd.schedule_loops import (
    ASYNC_WAIT,
    ASYNC_WAIT_1,
    ASYNC_WAIT_2,
    COMPUTE,
    GLOBAL_LOAD,
    LOCAL_LOAD,
    LOCAL_LOAD_1,
    LOCAL_LOAD_2,
    LOCAL_STORE,
    LOCAL_WRITE_1,
    LOCAL_WRITE_2,
    STAGE_OF,
    ScheduledLoad,
    chained_dots,
    loads_ahead,
)
from minitriton.passes.pipelining.buffers import contiguity, copied_bytes, is_wide_enough
from minitriton.passes.pipelining.expander import expand
from minitriton.passes.pipelining.lower_loads import async_copy_of
from minitriton.passes.pipelining.pipeline import join_following
from minitriton.passes.pipelining.predication import predicate
from minitriton.passes.pipelining.rings import Placer, buffer_in, carry, forward, read_from, ring_for
from minitriton.passes.pipelining.schedule import (
    CLUSTER,
    MAX_STAGE,
    STAGE,
    Cluster,
    Schedule,
    loops_in,
    schedule_dependencies,
)
from minitriton.passes.pipelining.schedule_loops import schedule_for_next_iteration, schedule_rest
from minitriton.passes.tensor_layouts import element_bits, layout_of_value, shape_of
from minitriton.pipeline.pass_registry import KEPT_BY_DEFAULT, Pass, Property, register_pass
from minitriton.rewriting.constants import int_constant
from minitriton.rewriting.greedy import apply_patterns_greedily
from minitriton.rewriting.rewriter import Inserter

Position = tuple[int, Cluster]


# Which buffer ---------------------------------------------------------------------------------------------------------


def _buffer(load: Operation, facts: AxisInfoAnalysis | None) -> SharedEncoding | None:
    """The buffer in LDS that all users of a load agree on; None if they do not. The widest of their accesses is taken.

    `facts`: where loads are copied without registers.
    """
    is_padded = facts is not None and features_of(load).sm == "gfx950" and is_wide_enough(cast(tt.LoadOp, load), facts)
    found: list[SharedEncoding] = []
    for use in load.results[0].uses:
        wanted = _wanted_by(use.operation, load.results[0], is_padded)
        if wanted is None:
            return None
        found.append(wanted)
    first = found[0] if found else None
    for each in found[1:]:
        if not isinstance(each, SwizzledShared) or not isinstance(first, SwizzledShared):
            return None
        if each != SwizzledShared(each.vec, first.per_phase, first.max_phase, first.order, first.cga):
            return None
        first = each if each.vec > first.vec else first
    return first


def _wanted_by(user: Operation, value: SSAValue, is_padded: bool) -> SharedEncoding | None:
    if len(user.results) != 1:
        return None
    result = user.results[0]
    if isinstance(user, ttg.LocalAllocOp):
        layout = ttg.layout_of(result.type)
        return layout if isinstance(layout, SharedEncoding) else None
    operand, source = layout_of_value(result), layout_of_value(value)
    if not isinstance(user, ttg.ConvertLayoutOp) or source is None:
        return None
    shape = shape_of(value)
    further_on = _operand_further_on(result) if isinstance(operand, Linear) else None
    if further_on is not None:
        index, parent, run = further_on
        if index >= 2:
            return SwizzledShared(1, 1, 1, order_for_memory(source, shape), source.cga)
        operand = DotOperand(index, parent, run)
    if not isinstance(operand, DotOperand):
        return None
    order = order_for_memory(source, shape)
    if len(shape) == 3:
        order = (*(dim for dim in order if dim != 0), 0)
    padded = None
    if is_padded and further_on is None:
        padded = padded_for_copies(operand, shape, order, source.cga, element_bits(cast(TensorType, value.type)))
    if padded is not None:
        return padded
    return swizzled_shared_for_dot(operand, shape, order, source.cga, element_bits(cast(TensorType, value.type)))


def _operand_further_on(value: SSAValue) -> tuple[int, AmdMfma, int] | None:
    """Which operand of matrix cores ops of one result each, and one use each, make of `value`, the layout of what they compute, and the runs that a
    lane reads. Scales are operands 3 and 4."""
    block = value.owner.parent if isinstance(value.owner, Operation) else None
    while True:
        use = value.get_unique_use()
        user = None if use is None else use.operation
        if use is None or user is None or user.parent is not block or len(user.results) != 1:
            return None
        if Contraction.of(user) is not None:
            layout, parent = layout_of_value(value), layout_of_value(user.results[0])
            if layout is None or not isinstance(parent, AmdMfma):
                return None
            run = to_linear_layout(layout, shape_of(value)).get_num_consecutive_in_out()
            return use.index, parent, run
        value = user.results[0]


# The ops of a load ----------------------------------------------------------------------------------------------------


class _Copies:
    """Puts what loads give into buffers of LDS; where the new ops run is said by a function of the load."""

    def __init__(self, loop: scf.ForOp, schedule: Schedule, buffers: int, facts: AxisInfoAnalysis | None) -> None:
        self.loop, self.schedule, self.buffers, self.facts = loop, schedule, buffers, facts
        at = Inserter.before(loop)
        minus_one, zero, one, size = (at.integer(i32, number) for number in (-1, 0, 1, buffers))
        (before,) = carry(loop, [minus_one])
        body = loop.regions[0].block
        inside = Inserter(body, body.first_op, loop.location)
        self.index = inside.value(arith.AddiOp(before, one))
        fits = inside.value(arith.CmpiOp(self.index, size, "slt"))
        self.index = inside.value(arith.SelectOp(fits, self.index, zero))
        forward(loop, [self.index])

    def add(
        self, load: tt.LoadOp, layout: SharedEncoding, store: Position, read: Position | None, wait: Position | None
    ) -> None:
        """The buffer of a load, and the ops around it; `read`, `wait`: None where the first user places them."""
        type_ = cast(TensorType, load.results[0].type)
        ring = ring_for(type_, layout, self.buffers, self.loop, load)
        at = Inserter.before(load)
        starts = self.schedule.positions[load]
        if self.facts is not None and self._can_copy(load, layout):
            view = at.value(buffer_in(ring, self.index))
            placer = Placer(self.schedule, at, starts)
            token = placer.value(async_copy_of(load, view, contiguity(load, self.facts)))
            committed = placer.value(ttg.AsyncCommitGroupOp([token]))
            waited = at.insert(ttg.AsyncWaitOp([committed], num=0))
            if wait is not None:
                self.schedule.insert(waited, *wait)
            self._replace(load, view, waited.results[0], read)
            return
        view = at.insert(buffer_in(ring, self.index))
        loaded = load.clone()
        loaded.location = load.location
        at.place(loaded)
        stored = at.insert(ttg.LocalStoreOp(loaded.results[0], view.results[0]))
        self.schedule.insert(loaded, *starts)
        self.schedule.insert(view, *store)
        self.schedule.insert(stored, *store)
        self._replace(load, view.results[0], None, read)

    def _can_copy(self, load: tt.LoadOp, layout: SharedEncoding) -> bool:
        """Whether the hardware writes what a lane reads as one of its words to LDS."""
        assert self.facts is not None
        bits = element_bits(cast(TensorType, load.results[0].type))
        elements = 8 * copied_bytes(load, layout) // bits
        if isinstance(layout, PaddedShared):
            elements = min(elements, *layout.intervals)
        fits = any(0 < 8 * size // bits <= elements for size in SIZES.get(features_of(load).sm, ()))
        return self.buffers > 1 and fits and is_wide_enough(load, self.facts)

    def _replace(self, load: tt.LoadOp, view: SSAValue, token: SSAValue | None, read: Position | None) -> None:
        placer = Placer(self.schedule, Inserter.before(load), self.schedule.positions[load])
        before = load.prev_op
        read_from(view, token, load, placer)
        local = load.prev_op
        if local is not before and isinstance(local, ttg.LocalLoadOp):
            del self.schedule.positions[local]
            if read is not None:
                self.schedule.insert(local, *read)
                user = local.results[0].get_user_of_unique_use()
                if isinstance(user, ttg.ConvertLayoutOp):
                    self.schedule.insert(user, *read)


# Schedules ------------------------------------------------------------------------------------------------------------


def _lower_single(
    loop: scf.ForOp,
    loads: list[ScheduledLoad],
    schedule: Schedule,
    facts: AxisInfoAnalysis,
    copies: bool,
    wait_last: bool,
) -> None:
    """A loop of one dot, or of none."""
    last = schedule.stages - 1
    deepest = max(load.level for load in loads)
    stages = {GLOBAL_LOAD: 0, LOCAL_STORE: deepest, LOCAL_LOAD: last, COMPUTE: last}
    stages[ASYNC_WAIT] = max(0, last - 1) if wait_last else last
    if deepest > last:
        return
    buffers = max(1, last - deepest) + copies
    load_cluster, store_cluster = (1, 3) if deepest == 0 else (3, 2)
    read_cluster = load_cluster
    if last == deepest:
        read_cluster = max(3, store_cluster + 1)
    elif buffers == 1 and read_cluster >= store_cluster:
        read_cluster = store_cluster - 1
    old = {cluster: number for number, cluster in enumerate(schedule.clusters)}
    schedule.clusters = []
    new = [schedule.new_cluster() for _ in range(5)]
    clusters = {
        GLOBAL_LOAD: new[load_cluster], LOCAL_STORE: new[store_cluster], LOCAL_LOAD: new[read_cluster],
        COMPUTE: new[read_cluster], ASYNC_WAIT: new[4 if wait_last else 0],
    }  # fmt: skip
    for op, (stage, cluster) in list(schedule.positions.items()):
        schedule.insert(op, stage, clusters[GLOBAL_LOAD if old[cluster] == 0 else COMPUTE])
    made = _Copies(loop, schedule, buffers, facts if copies else None)
    for each in loads:
        layout = _buffer(each.load, facts if copies else None)
        if layout is not None and isinstance(each.load, tt.LoadOp):
            waits = schedule.stage(each.load) != last
            wait = (stages[ASYNC_WAIT], clusters[ASYNC_WAIT]) if waits else None
            made.add(each.load, layout, (deepest, clusters[LOCAL_STORE]), None, wait)
    schedule_dependencies(loop, schedule)
    schedule_for_next_iteration(loop, schedule)
    schedule_rest(loop, schedule, clusters[COMPUTE])


def _lower_chained(
    loop: scf.ForOp,
    loads: list[ScheduledLoad],
    schedule: Schedule,
    first: tt.DotOp,
    facts: AxisInfoAnalysis,
    copies: bool,
) -> None:
    """A loop of two dots in a chain."""
    while len(schedule.clusters) < 12:
        schedule.new_cluster()
    clusters = list(schedule.clusters)
    made = _Copies(loop, schedule, 2 if copies else 1, facts if copies else None)
    for each in loads:
        layout = _buffer(each.load, facts if copies else None)
        if layout is None or not isinstance(each.load, tt.LoadOp):
            continue
        is_first = schedule.stage(each.load) == 0
        names = (LOCAL_WRITE_1, LOCAL_LOAD_1, ASYNC_WAIT_1) if is_first else (LOCAL_WRITE_2, LOCAL_LOAD_2, ASYNC_WAIT_2)
        made.add(each.load, layout, *((STAGE_OF[name], clusters[name]) for name in names))
        del schedule.positions[each.load]
        each.load.detach()
        each.load.erase()
    schedule_dependencies(loop, schedule)
    schedule_for_next_iteration(loop, schedule)
    schedule_rest(loop, schedule, clusters[-1])


def _lower(loop: scf.ForOp, facts: AxisInfoAnalysis, copies: bool, pingpong: bool) -> None:
    schedule = Schedule.read(loop)
    if schedule is None:
        return
    # As in the attributes: the stages may be more than the ops have.
    stages = schedule.stages
    loads = [each for each in loads_ahead(loop, facts, stages) if each.load in schedule]
    if not loads:
        return
    dots = chained_dots(loop, loads, stages)
    if dots is None:
        _lower_single(loop, loads, schedule, facts, copies, pingpong and copies and stages == 3)
    else:
        _lower_chained(loop, loads, schedule, dots[0], facts, copies)
    schedule.write(loop)


# Expansion ------------------------------------------------------------------------------------------------------------


class _Masks:
    """Ops held back by `ttg.mask` until arithmetic has been folded; a dot by a branch, whose other side keeps the accumulator."""

    def __init__(self) -> None:
        self.made: list[Operation] = []

    def hold_back(self, op: Operation, condition: SSAValue) -> Operation:
        """`op` in a branch or a mask."""
        at = Inserter.before(op)
        types = [result.type for result in op.results]
        inner = Block()
        region = Region(inner)
        if Contraction.of(op) is not None:
            kept = Block()
            Inserter(kept, None, op.location).insert(scf.YieldOp(operand_values(op)[2]))
            held: Operation = at.insert(scf.IfOp(condition, types, region, Region(kept)))
            end: Operation = scf.YieldOp.create(operands=list(op.results))
        else:
            held = at.insert(ttg.MaskOp(condition, types, region))
            end = ttg.MaskReturnOp.create(operands=list(op.results))
        op.detach()
        inner.add_op(op)
        Inserter(inner, None, op.location).insert(end)
        self.made.append(held)
        return held

    def mark_prologue(self, kernel: scf.ForOp) -> None:
        """Marks the loads before the loop."""
        for held in self.made:
            if held.is_before_in_block(kernel):
                for op in held.regions[0].block.ops:
                    if isinstance(op, tt.LoadOp):
                        op.attributes[PART] = StringAttr("prologue")


def _expand(module: ModuleOp) -> None:
    for loop in list(loops_in(module)):
        schedule = Schedule.read(loop)
        if schedule is not None:
            stages = {op: stage for op, (stage, _) in schedule.positions.items()}
            masks = _Masks()
            kernel = expand(loop, schedule.in_order(loop), stages, peel_with=masks.hold_back)
            if kernel is not None:
                masks.mark_prologue(kernel)
    apply_patterns_greedily(module)
    for mask in ops_of(module, ttg.MaskOp):
        _resolve(mask)


def _resolve(mask: ttg.MaskOp) -> None:
    """Ops of a mask run where it is, with the condition in what they offer for it."""
    block, parent = mask.region.block, mask.parent
    end = block.last_op
    assert end is not None and parent is not None
    for op in list(block.ops):
        if op is not end:
            op.detach()
            parent.insert_op_before(op, mask)
            if int_constant(mask.pred) is None or not int_constant(mask.pred):
                predicate(op, mask.pred)
    for result, value in zip(mask.results, operand_values(end), strict=True):
        result.replace_all_uses_with(value)
    parent.erase_op(mask)


@register_pass
class PipelineLoopsOnAMD(Pass, stage="ttgir", origin="triton"):
    """Pipelines the loops that have a schedule."""

    name: ClassVar[str] = "tritonamdgpu-pipeline"
    acts_on = frozenset({scf.ForOp})
    establishes: ClassVar[frozenset[Property]] = frozenset({Property.PIPELINED})
    requires: ClassVar[frozenset[Property]] = frozenset({Property.ENCODINGS, Property.STRUCTURED, Property.SCHEDULED})
    keeps: ClassVar[frozenset[Property]] = KEPT_BY_DEFAULT
    use_async_copy: bool = False
    """Whether loads go to LDS without registers in between (gfx950)."""
    use_pingpong: bool = False
    """Whether `tritonamdgpu-block-pingpong` follows: of asynchronous copies it wants the waits last."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Pipeline all loops."""
        loops = list(loops_in(op))
        if not any(MAX_STAGE in loop.attributes for loop in loops):
            return
        facts = AxisInfoAnalysis(op)
        for loop in loops:
            _lower(loop, facts, self.use_async_copy, self.use_pingpong)
        _expand(op)
        joined: set[Operation] = set()
        for wait in ops_of(op, ttg.AsyncWaitOp) if self.use_async_copy else ():
            if wait not in joined:
                joined.update(join_following(wait))
        for inner in ops_in(op):
            for name in (STAGE, CLUSTER, MAX_STAGE):
                inner.attributes.pop(name, None)
