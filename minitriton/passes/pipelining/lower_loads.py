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

Loads through descriptors that are prefetched: tensor copies to a ring of buffers, each with an mbarrier.

    %x = tt.descriptor_load %d[%i]  {stage 0}            ttng.barrier_expect %bars[%fill], BYTES                    {stage 0}
    use %x                          {stage 2}     =>     ttng.async_tma_copy_global_to_local %d[%i] %ring[%fill], %bars[%fill]
                                                         ttng.wait_barrier %bars[%read], %phase                     {stage 2}
                                                         %x = ttg.local_load %ring[%read]; use %x                   {stage 2}

Loads of the same stage with no use between them share a barrier. Counterpart of createTMABarrierAndWait and createTMAAsyncCopy in
lib/Dialect/TritonGPU/Transforms/Pipeliner/LowerLoops.cpp, createBarrierAlloc in PipeliningUtility.cpp.
"""

from math import prod
from typing import cast

from xdsl.dialects import scf
from xdsl.dialects.builtin import FixedBitwidthType, TensorType, i1, i32
from xdsl.ir import Operation, SSAValue

from minitriton.analysis.axis_info.analysis import AxisInfoAnalysis
from minitriton.analysis.in_flight.rings import VIEWS
from minitriton.analysis.tensor_descriptors import is_fp4_padded
from minitriton.dialects import arith, tt, ttg, ttng
from minitriton.dialects.facts.launch import num_ctas, num_warps, threads_per_warp
from minitriton.dialects.facts.pass_attributes import ENDS_AFTER_LOOP
from minitriton.dialects.fast_paths.op_access import operand_values, set_type
from minitriton.dialects.narrowing import instance_of
from minitriton.dialects.tt.types import TensorDescType
from minitriton.host.frozen import record
from minitriton.layouts.builders import default_blocked
from minitriton.layouts.cta_split import shape_of_cta, shape_per_cta
from minitriton.layouts.encodings import SharedEncoding, SwizzledShared
from minitriton.passes.pipelining.buffers import (
    LOADS,
    SMALLEST_COPY,
    Load,
    allocated_buffers,
    buffer_of_descriptor,
    buffer_of_load,
    contiguity,
    copied_bytes,
    is_wide_enough,
    is_zero,
    stays_in_shared_memory,
)
from minitriton.passes.pipelining.rings import (
    Counters,
    Placer,
    add_counters,
    barrier_ring,
    buffer_in,
    first_user,
    read_from,
    ring_for,
)
from minitriton.passes.pipelining.schedule import (
    Schedule,
    ancestor_in_body,
    body_ops,
    schedule_dependencies,
    users_in_body,
)
from minitriton.passes.pipelining.stored_arrays import loads_of_stored_arrays
from minitriton.passes.tensor_layouts import element_bits, swizzled_or_not
from minitriton.rewriting.rewriter import Inserter

DescriptorLoad = tt.DescriptorLoadOp | tt.DescriptorGatherOp


@record
class TensorCopy:
    """A load through a descriptor that becomes a copy."""

    load: DescriptorLoad
    length: int
    """Buffers in its ring."""
    ring: SSAValue
    barrier: SSAValue | None = None
    wait: Operation | None = None


def _barriers_of(loop: scf.ForOp, length: int) -> SSAValue:
    """`length` mbarriers of one arrival each, made before the loop and gone after it."""
    ring = barrier_ring(Inserter.before(loop), length)
    at = Inserter.after(loop)
    for number in range(length):
        at.insert(ttng.InvalBarrierOp(at.value(buffer_in(ring, at.integer(i32, number)))))
    at.insert(ttg.LocalDeallocOp(ring))
    return ring


def add_barriers(copies: list[TensorCopy], counters: dict[int, Counters], loop: scf.ForOp, schedule: Schedule) -> None:
    """Gives each copy the barrier that it arrives at and the wait of its users."""
    for group in _groups(copies, schedule):
        first = group[0]
        counter = counters[first.length]
        assert counter.phase is not None
        ring = _barriers_of(loop, first.length)
        placer = Placer(schedule, Inserter.before(first.load).at(first.load), schedule.positions[first.load])
        placer.at.location = loop.location
        barrier = placer.value(buffer_in(ring, counter.fill))
        always = placer.integer(i1, 1)
        placer.insert(ttng.BarrierExpectOp(barrier, always, size=sum(_bytes(copy.load) for copy in group)))
        user = first_user([copy.load for copy in group], loop, schedule)
        placer.at = Inserter.after(group[-1].load)
        placer.at.location = loop.location
        placer.position = schedule.positions[user]
        filled = placer.value(buffer_in(ring, counter.read))
        wait = placer.insert(ttng.WaitBarrierOp(filled, counter.phase))
        for copy in group:
            copy.barrier, copy.wait = barrier, wait


def _bytes(load: DescriptorLoad) -> int:
    """What each CTA copies, which may be more than its threads take of it."""
    tensor = load.result.type
    assert instance_of(tensor, TensorType)
    return prod(shape_per_cta(buffer_of_descriptor(load), tensor.get_shape())) * element_bits(tensor) // 8


def _groups(copies: list[TensorCopy], schedule: Schedule) -> list[list[TensorCopy]]:
    """Copies that one barrier can stand for: same slot and ring, and nothing between them uses an earlier one."""
    of_load: dict[Operation, TensorCopy] = {copy.load: copy for copy in copies}
    seen: set[Operation] = set()
    groups: list[list[TensorCopy]] = []
    for copy in copies:
        if copy.load in seen:
            continue
        seen.add(copy.load)
        group, users = [copy], _users(copy.load)
        following = copy.load.next_op
        while following is not None and following not in users and following not in seen:
            other = of_load.get(following)
            if other is not None:
                if other.length != copy.length:
                    break
                if schedule.positions[copy.load] == schedule.positions[following]:
                    group.append(other)
                    seen.add(following)
                    users |= _users(other.load)
            following = following.next_op
        groups.append(group)
    return groups


def _users(load: DescriptorLoad) -> set[Operation]:
    """The ops other than `load` that use it, or the buffer that it is only put into."""
    result: SSAValue = load.results[0]
    if stays_in_shared_memory(load):
        alloc = next(iter(result.uses)).operation
        if alloc.parent is load.parent:
            return {use.operation for use in alloc.results[0].uses}
    loop = load.parent_op()
    assert isinstance(loop, scf.ForOp)
    ancestors = (ancestor_in_body(loop, use.operation) for use in result.uses)
    return {user for user in ancestors if user is not None}


def copy_descriptor_load(copy: TensorCopy, counters: Counters, loop: scf.ForOp, schedule: Schedule) -> None:
    """The copy in place of the load; users read the buffer after the wait."""
    load = copy.load
    assert copy.barrier is not None and copy.wait is not None
    first = first_user([load], loop, schedule)
    placer = Placer(schedule, Inserter.before(load), schedule.positions[load])
    view = placer.value(buffer_in(copy.ring, counters.fill))
    always = placer.integer(i1, 1)
    if isinstance(load, tt.DescriptorLoadOp):
        coordinates = _coordinates(load, placer)
        placer.insert(ttng.AsyncTMACopyGlobalToLocalOp(load.desc, coordinates, copy.barrier, view, always))
    else:
        placer.insert(ttng.AsyncTMAGatherOp(load.desc, load.x_offsets, load.y_offset, copy.barrier, view, always))
    placer.at = Inserter.after(copy.wait)
    placer.at.location = load.location
    placer.position = schedule.positions[first]
    filled = placer.value(buffer_in(copy.ring, counters.read))
    read_from(filled, None, load, placer)
    del schedule.positions[load]
    assert load.parent is not None
    load.parent.erase_op(load)


def _coordinates(load: tt.DescriptorLoadOp, placer: Placer) -> list[SSAValue]:
    """Where the copy begins; pairs of fp4 count as two along the last dimension."""
    indices = list(load.indices)
    assert isinstance(load.desc.type, TensorDescType)
    if is_fp4_padded(load.desc.type):
        two = placer.integer(i32, 2)
        indices[-1] = placer.value(arith.MuliOp(indices[-1], two))
    return indices


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
