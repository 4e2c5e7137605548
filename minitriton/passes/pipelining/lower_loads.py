"""Loads that a schedule moves ahead of their use become asynchronous copies to rings of buffers.

    %x = tt.load %p  {stage 0}                       copy %p to %ring[%fill]                       {stage 0}
    use %x           {stage 2}            =>         wait; %x = ttg.local_load %ring[%read]        {stage 2}
                                                     use %x                                        {stage 2}

A ring has a buffer for each stage between, one more where an asynchronous dot still reads when the next copy begins. A load too
narrow for `cp.async` stays; its value is carried in registers. In a loop of overlapped dots (`overlap_dots`) the early ones
are over when copies begin: by one warp group, next to which no other runs, their rings are one shorter.

Counterpart of lowerLoads in lib/Dialect/TritonGPU/Transforms/Pipeliner/LowerLoops.cpp.

With `cp.async`:

    %x = tt.load %p  {stage 0}                       %view = ttg.memdesc_index %ring[%fill]        {stage 0}
    use %x           {stage 2}            =>         ttg.async_copy_global_to_local %p, %view      {stage 0}
                                                     ttg.async_commit_group                        {stage 0}
                                                     ttg.async_wait                                {stage 2}
                                                     %x = ttg.local_load %ring[%read]              {stage 2}
                                                     use %x                                        {stage 2}

Counterpart of createAsyncCopy and convertScalarToTensorLoad in lib/Dialect/TritonGPU/Transforms/Pipeliner/LowerLoops.cpp.
"""

from __future__ import annotations

from typing import cast

from xdsl.dialects import scf
from xdsl.dialects.builtin import FixedBitwidthType, TensorType
from xdsl.ir import Operation, SSAValue

from minitriton.analysis.axis_info.analysis import AxisInfoAnalysis
from minitriton.analysis.in_flight.rings import VIEWS
from minitriton.dialects import arith, tt, ttg, ttng
from minitriton.dialects.facts.launch import num_ctas, num_warps, threads_per_warp
from minitriton.dialects.facts.pass_attributes import ENDS_AFTER_LOOP
from minitriton.dialects.fast_paths.op_access import operand_values, set_type
from minitriton.dialects.narrowing import instance_of
from minitriton.host.frozen import record
from minitriton.layouts.builders import default_blocked
from minitriton.layouts.cta_split import shape_of_cta
from minitriton.layouts.encodings import SharedEncoding, SwizzledShared
from minitriton.passes.pipelining.buffers import (
    LOADS,
    SMALLEST_COPY,
    Load,
    allocated_buffers,
    buffer_of_load,
    contiguity,
    copied_bytes,
    is_wide_enough,
    is_zero,
)
from minitriton.passes.pipelining.rings import (
    Counters,
    Placer,
    add_counters,
    buffer_in,
    first_user,
    read_from,
    ring_for,
)
from minitriton.passes.pipelining.schedule import Schedule, body_ops, schedule_dependencies, users_in_body
from minitriton.passes.pipelining.stored_arrays import loads_of_stored_arrays
from minitriton.passes.pipelining.tensor_copies import TensorCopy, add_barriers, copy_descriptor_load
from minitriton.passes.tensor_layouts import element_bits, swizzled_or_not
from minitriton.rewriting.rewriter import Inserter


def load_as_tensor(load: tt.LoadOp, loop: scf.ForOp, schedule: Schedule) -> None:
    """A load of a number becomes one of a tensor of one element, which can be copied."""
    layout = ttg.encoding_attr(default_blocked((1,), num_warps(load), threads_per_warp(load), num_ctas(load)))
    first = first_user([load], loop, schedule)
    placer = Placer(schedule, Inserter.before(load), schedule.positions[load])
    for index, operand in enumerate(operand_values(load)):
        load.operands[index] = placer.value(tt.SplatOp(operand, TensorType(operand.type, [1], layout)))
    result = load.results[0]
    scalar = result.type
    set_type(result, TensorType(scalar, [1], layout))
    placer = Placer(schedule, Inserter.after(load), schedule.positions[first])
    number = tt.UnsplatOp(result)
    assert number.results[0].type == scalar
    uses = [use for use in result.uses if use.operation is not number]
    placer.value(number)
    for use in uses:
        use.operation.operands[use.index] = number.results[0]


def async_copy_of(load: tt.LoadOp, view: SSAValue, contiguity: int) -> ttg.AsyncCopyGlobalToLocalOp:
    """The copy to the buffer `view` of what `load` reads, `contiguity` neighbouring elements at once."""
    return ttg.AsyncCopyGlobalToLocalOp(
        load.ptr,
        view,
        load.mask,
        load.other,
        cache=load.cache.data,
        evict=load.evict.data,
        is_volatile=bool(load.is_volatile.value.data),
        contiguity=contiguity,
    )


def copy_load(
    load: tt.LoadOp, ring: SSAValue, contiguity: int, counters: Counters, loop: scf.ForOp, schedule: Schedule
) -> None:
    """The copy in place of `load`; whoever uses it waits for it first."""
    first = first_user([load], loop, schedule)
    placer = Placer(schedule, Inserter.before(load), schedule.positions[load])
    view = placer.value(buffer_in(ring, counters.fill))
    token = placer.value(async_copy_of(load, view, contiguity))
    token = placer.value(ttg.AsyncCommitGroupOp([token]))
    placer.position = schedule.positions[first]
    waited = placer.value(ttg.AsyncWaitOp([token], num=0))
    filled = placer.value(buffer_in(ring, counters.read))
    result = load.results[0]
    if load.other is None or is_zero(load.other):
        read_from(filled, waited, load, placer)
    elif result.first_use is not None:
        assert load.mask is not None
        loaded = placer.value(ttg.LocalLoadOp(filled, waited, result.type))
        result.replace_all_uses_with(placer.value(arith.SelectOp(load.mask, loaded, load.other)))
    del schedule.positions[load]
    assert load.parent is not None
    load.parent.erase_op(load)


_WARP_GROUP = 4


@record
class _CopiedLoad:
    """A load that becomes a copy."""

    load: Load
    length: int
    layout: SharedEncoding
    contiguity: int


def lower_loads(loop: scf.ForOp, schedule: Schedule, facts: AxisInfoAnalysis, swizzle: bool) -> None:
    """Makes the loads of `loop` that are prefetched asynchronous; new ops get locations in `schedule`."""
    copies = _copies(loop, schedule, facts, swizzle)
    for copy in copies:
        if not instance_of(copy.load.results[0].type, TensorType):
            load_as_tensor(cast(tt.LoadOp, copy.load), loop, schedule)
    if not copies:
        return
    rings: dict[Operation, SSAValue] = {}
    lengths: dict[int, bool] = {}
    for copy in copies:
        type_ = copy.load.results[0].type
        assert instance_of(type_, TensorType)
        rings[copy.load] = ring_for(type_, copy.layout, copy.length, loop, copy.load)
        lengths[copy.length] = lengths.get(copy.length, False) or not isinstance(copy.load, tt.LoadOp)
    counters = add_counters(loop, lengths)
    through_descriptors = {
        copy.load: TensorCopy(copy.load, copy.length, rings[copy.load])
        for copy in copies
        if not isinstance(copy.load, tt.LoadOp)
    }
    add_barriers(list(through_descriptors.values()), counters, loop, schedule)
    for copy in copies:
        if isinstance(copy.load, tt.LoadOp):
            copy_load(copy.load, rings[copy.load], copy.contiguity, counters[copy.length], loop, schedule)
        else:
            copy_descriptor_load(through_descriptors[copy.load], counters[copy.length], loop, schedule)
    schedule_dependencies(loop, schedule)
    if len(through_descriptors) < len(copies):
        Inserter.after(loop).insert(ttg.AsyncWaitOp((), num=0))


def _copies(loop: scf.ForOp, schedule: Schedule, facts: AxisInfoAnalysis, swizzle: bool) -> list[_CopiedLoad]:
    """The loads that become copies: a copy reads until it is waited for, so none of an array that the loop writes meanwhile."""
    found: list[_CopiedLoad] = []
    ahead = {op: _stages_ahead(op, loop, schedule) for op in body_ops(loop) if isinstance(op, LOADS)}
    written = loads_of_stored_arrays(loop, [op for op, buffers in ahead.items() if buffers])
    for op, buffers in ahead.items():
        if op not in written:
            extra = bool(_dots_reading(op)) and not _is_over_before_copies(op, loop, schedule)
            copy = _copy(op, buffers, extra, facts, swizzle) if buffers else None
            if copy is not None:
                found.append(copy)
    return found


def _copy(load: Load, buffers: int, extra: bool, facts: AxisInfoAnalysis, swizzle: bool) -> _CopiedLoad | None:
    """How `load` can be copied, with an `extra` buffer or not; None if it cannot."""
    if not isinstance(load, tt.LoadOp):
        return _CopiedLoad(load, buffers + extra, buffer_of_load(load), 1)
    type_ = load.results[0].type
    if not instance_of(type_, TensorType):
        bits = type_.bitwidth if isinstance(type_, FixedBitwidthType) else 0
        return _CopiedLoad(load, buffers, SwizzledShared(1, 1, 1, (0,)), 1) if bits >= 8 * SMALLEST_COPY else None
    layout = buffer_of_load(load)
    if isinstance(layout, SwizzledShared) and not allocated_buffers(load):
        row_bits = shape_of_cta(layout.cga, type_.get_shape())[layout.order[0]] * element_bits(type_)
        layout = swizzled_or_not(load, layout, row_bits, swizzle, "tritongpu-pipeline")
    if not is_wide_enough(load, facts) or copied_bytes(load, layout) < SMALLEST_COPY:
        return None
    return _CopiedLoad(load, buffers + extra, layout, contiguity(load, facts))


def _is_over_before_copies(load: Load, loop: scf.ForOp, schedule: Schedule) -> bool:
    """Whether all dots that read the buffer of `load` are waited for before the copies of their iteration begin."""
    if ENDS_AFTER_LOOP not in loop.attributes or num_warps(loop) > _WARP_GROUP:
        return False
    return all(dot in schedule and schedule.stage(dot) < schedule.stages - 1 for dot in _dots_reading(load))


def _dots_reading(op: Operation) -> list[ttng.WarpGroupDotOp]:
    """The dots that read a buffer which holds the result of `op`."""
    found: list[ttng.WarpGroupDotOp] = []
    pending = [use.operation for use in op.results[0].uses]
    while pending:
        user = pending.pop()
        if isinstance(user, ttng.WarpGroupDotOp):
            found.append(user)
        if isinstance(user, (ttg.LocalAllocOp, *VIEWS)):
            pending.extend(use.operation for use in user.results[0].uses)
    return found


def _stages_ahead(load: Load, loop: scf.ForOp, schedule: Schedule) -> int:
    """How many copies may be under way before the value is used: the stages between, one more if it is used late."""
    if load not in schedule:
        return 0
    users = users_in_body(loop, load)
    for user in tuple(users):
        if isinstance(user, ttg.LocalAllocOp):
            users += users_in_body(loop, user)
    stage, cluster = schedule.positions[load]
    late = schedule.position(cluster)
    stages = [schedule.stage(user) + (schedule.position(schedule.cluster(user)) > late) for user in users]
    waits = [schedule.stage(user) for user in users if isinstance(user, ttng.WaitBarrierOp)]
    return max([min(stages), *waits]) - stage if stages else 0
