"""Loads that a schedule moves ahead of their use become asynchronous copies to a ring of buffers.

                                                     %ring = ttg.local_alloc : 2x128xf32
    %x = tt.load %p  {stage 0}                       %view = ttg.memdesc_index %ring[%insert]      {stage 0}
    use %x           {stage 2}            =>         ttg.async_copy_global_to_local %p, %view      {stage 0}
                                                     ttg.async_commit_group                        {stage 0}
                                                     ttg.async_wait                                {stage 2}
                                                     %x = ttg.local_load %ring[%extract]           {stage 2}
                                                     use %x                                        {stage 2}

The ring has a buffer for each stage between. Two counters go round it, one for filling and one for reading, so that neither has
to be carried from stage to stage. A load in the next stage only, or too narrow for `cp.async`, stays; its value is carried in
registers.

Answers to lowerLoads in lib/Dialect/TritonGPU/Transforms/Pipeliner/LowerLoops.cpp; loads through descriptors stay.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from xdsl.dialects import scf
from xdsl.dialects.builtin import FixedBitwidthType, TensorType, i32
from xdsl.ir import Operation, SSAValue

from minitriton.analysis.axis_info import AxisInfoAnalysis
from minitriton.dialects import arith, tt, ttg, ttng
from minitriton.dialects.ttg_module import num_ctas, num_warps, threads_per_warp
from minitriton.layouts.builders import default_blocked
from minitriton.layouts.encodings import SharedEncoding, SwizzledShared
from minitriton.passes.loop_signature import append_result
from minitriton.passes.pipelining.buffers import (
    SMALLEST_COPY,
    buffer_of_load,
    contiguity,
    copied_bytes,
    is_wide_enough,
    is_zero,
)
from minitriton.passes.pipelining.loops import VIEWS, body_ops, terminator_of, users_in_body
from minitriton.passes.pipelining.schedule import Cluster, Schedule, schedule_dependencies
from minitriton.rewriting.insertion import Inserter

SHARED_MEMORY = ttg.SharedMemorySpaceAttr()


@dataclass
class _Copy:
    """A load that becomes a copy."""

    load: tt.LoadOp
    buffers: int
    layout: SharedEncoding
    contiguity: int
    ring: SSAValue | None = None


class _Placer:
    """Inserts ops before one op, each with a place in the schedule."""

    def __init__(self, schedule: Schedule, at: Inserter) -> None:
        self.schedule = schedule
        self.at = at
        self.place: tuple[int, Cluster] = (0, schedule.clusters[0])

    def value(self, op: Operation) -> SSAValue:
        self.at.insert(op)
        self.schedule.insert(op, *self.place)
        return op.results[0]


def lower_loads(loop: scf.ForOp, schedule: Schedule, facts: AxisInfoAnalysis) -> None:
    """Makes the loads of `loop` that run ahead asynchronous; new ops get places in `schedule`."""
    copies = _copies(loop, schedule, facts)
    for copy in copies:
        if not isinstance(copy.load.results[0].type, TensorType):
            _load_as_tensor(copy.load, loop, schedule)
    if not copies:
        return
    _allocate(loop, copies)
    counters = _add_counters(loop, list(dict.fromkeys(copy.buffers for copy in copies)))
    for copy in copies:
        _lower(copy, loop, schedule, *counters[copy.buffers])
    schedule_dependencies(loop, schedule)
    Inserter.after(loop).insert(ttg.AsyncWaitOp((), num=0))


def _copies(loop: scf.ForOp, schedule: Schedule, facts: AxisInfoAnalysis) -> list[_Copy]:
    found: list[_Copy] = []
    for op in body_ops(loop):
        if isinstance(op, tt.LoadOp):
            buffers = _stages_ahead(op, loop, schedule)
            copy = _copy(op, buffers, facts) if buffers else None
            if copy is not None:
                found.append(copy)
    return found


def _copy(load: tt.LoadOp, buffers: int, facts: AxisInfoAnalysis) -> _Copy | None:
    """How `load` can be copied; None if it cannot."""
    type_ = load.results[0].type
    if not isinstance(type_, TensorType):
        bits = cast(FixedBitwidthType, type_).bitwidth if isinstance(type_, FixedBitwidthType) else 0
        return _Copy(load, buffers, SwizzledShared(1, 1, 1, (0,)), 1) if bits >= 8 * SMALLEST_COPY else None
    layout = buffer_of_load(load)
    if not is_wide_enough(load, facts) or copied_bytes(load, layout) < SMALLEST_COPY:
        return None
    return _Copy(load, buffers + _feeds_warp_group_dot(load), layout, contiguity(load, facts))


def _feeds_warp_group_dot(load: tt.LoadOp) -> bool:
    """Whether the buffer is read by an asynchronous dot, which may still run when the next copy begins."""
    if not _only_stored(load):
        return False
    pending = [use.operation for use in load.results[0].uses]
    while pending:
        op = pending.pop()
        if isinstance(op, ttng.WarpGroupDotOp):
            return True
        if isinstance(op, (ttg.LocalAllocOp, *VIEWS)):
            pending.extend(use.operation for use in op.results[0].uses)
    return False


def _only_stored(load: tt.LoadOp) -> bool:
    """Whether all that happens to the value is that it is put into one buffer."""
    if load.other is not None and not is_zero(load.other):
        return False
    uses = list(load.results[0].uses)
    return len(uses) == 1 and isinstance(uses[0].operation, ttg.LocalAllocOp)


def _stages_ahead(load: tt.LoadOp, loop: scf.ForOp, schedule: Schedule) -> int:
    """How many copies may be under way before the value is used: the stages between, one more if it is used late."""
    users = users_in_body(loop, load)
    for user in tuple(users):
        if isinstance(user, ttg.LocalAllocOp):
            users += users_in_body(loop, user)
    stage, cluster = schedule.places[load]
    late = schedule.position(cluster)
    stages = [schedule.stage(user) + (schedule.position(schedule.cluster(user)) > late) for user in users]
    waits = [schedule.stage(user) for user in users if isinstance(user, ttng.WaitBarrierOp)]
    return max([min(stages), *waits]) - stage if stages else 0


def _first_user(op: Operation, loop: scf.ForOp, schedule: Schedule) -> Operation:
    first: Operation | None = None
    for user in users_in_body(loop, op):
        if first is None or schedule.runs_before(user, first):
            first = user
    assert first is not None
    return first


def _load_as_tensor(load: tt.LoadOp, loop: scf.ForOp, schedule: Schedule) -> None:
    """A load of a number becomes one of a tensor of one element, which can be copied."""
    layout = ttg.encoding_attr(default_blocked((1,), num_warps(load), threads_per_warp(load), num_ctas(load)))
    first = _first_user(load, loop, schedule)
    placer = _Placer(schedule, Inserter.before(load))
    placer.place = schedule.places[load]
    for index, operand in enumerate(load._operands):
        load.operands[index] = placer.value(tt.SplatOp(operand, TensorType(operand.type, [1], layout)))
    result = load.results[0]
    scalar, result._type = result.type, TensorType(result.type, [1], layout)
    placer = _Placer(schedule, Inserter.after(load))
    placer.place = schedule.places[first]
    number = tt.UnsplatOp(result)
    assert number.results[0].type == scalar
    uses = [use for use in result.uses if use.operation is not number]
    placer.value(number)
    for use in uses:
        use.operation.operands[use.index] = number.results[0]


def _allocate(loop: scf.ForOp, copies: list[_Copy]) -> None:
    """A ring of buffers for each copy, freed behind the loop."""
    for copy in copies:
        type_ = copy.load.results[0].type
        assert isinstance(type_, TensorType)
        ring = ttg.MemDescType(
            (copy.buffers, *type_.get_shape()),
            type_.element_type,
            ttg.encoding_attr(copy.layout),
            SHARED_MEMORY,
            mutable=True,
        )
        at = Inserter.before(loop)
        at.location = copy.load.location
        copy.ring = at.value(ttg.LocalAllocOp(None, ring))
        Inserter.after(loop).insert(ttg.LocalDeallocOp(copy.ring))


def _add_counters(loop: scf.ForOp, sizes: list[int]) -> dict[int, tuple[SSAValue, SSAValue]]:
    """For each size of a ring: the number of the buffer to fill, and of that to read."""
    at = Inserter.before(loop)
    minus_one, zero, one = (at.integer(i32, number) for number in (-1, 0, 1))
    found: dict[int, tuple[SSAValue, SSAValue]] = {}
    last = terminator_of(loop)
    body = loop.regions[0].block
    for size in sizes:
        inside = Inserter(body, body.first_op, loop.location)
        modulus = inside.integer(i32, size)
        pair: list[SSAValue] = []
        for _ in range(2):
            argument = body.insert_arg(i32, len(body.args))
            loop.operands = [*loop._operands, minus_one]
            append_result(loop, i32)
            pair.append(_next_of_ring(inside, argument, modulus, zero, one))
            last.operands = [*last._operands, pair[-1]]
        found[size] = (pair[0], pair[1])
    return found


def _next_of_ring(at: Inserter, number: SSAValue, size: SSAValue, zero: SSAValue, one: SSAValue) -> SSAValue:
    """(number + 1) % size"""
    following = at.value(arith.AddiOp(number, one))
    is_over = at.value(arith.CmpiOp(following, size, "sge"))
    return at.value(arith.SelectOp(is_over, zero, following))


def _lower(copy: _Copy, loop: scf.ForOp, schedule: Schedule, insert: SSAValue, extract: SSAValue) -> None:
    load, ring = copy.load, copy.ring
    assert ring is not None
    first = _first_user(load, loop, schedule)
    placer = _Placer(schedule, Inserter.before(load))
    placer.place = schedule.places[load]
    view = placer.value(_single_buffer(ring, insert))
    token = placer.value(
        ttg.AsyncCopyGlobalToLocalOp(
            load.ptr,
            view,
            load.mask,
            load.other,
            cache=load.cache.data,
            evict=load.evict.data,
            is_volatile=bool(load.is_volatile.value.data),
            contiguity=copy.contiguity,
        )
    )
    token = placer.value(ttg.AsyncCommitGroupOp([token]))
    placer.place = schedule.places[first]
    waited = placer.value(ttg.AsyncWaitOp([token], num=0))
    filled = placer.value(_single_buffer(ring, extract))
    result = load.results[0]
    if load.other is None or is_zero(load.other):
        _take_over_buffers(load, filled, schedule)
        if result.first_use is not None:
            result.replace_all_uses_with(placer.value(ttg.LocalLoadOp(filled, waited, result.type)))
    elif result.first_use is not None:
        assert load.mask is not None
        loaded = placer.value(ttg.LocalLoadOp(filled, waited, result.type))
        result.replace_all_uses_with(placer.value(arith.SelectOp(load.mask, loaded, load.other)))
    del schedule.places[load]
    assert load.parent is not None
    load.parent.erase_op(load)


def _single_buffer(ring: SSAValue, index: SSAValue) -> Operation:
    """One buffer of a ring."""
    type_ = ring.type
    assert isinstance(type_, ttg.MemDescType)
    single = ttg.MemDescType(
        type_.get_shape()[1:], type_.element_type, type_.encoding, type_.memory_space, mutable=type_.mutable
    )
    return ttg.MemDescIndexOp(ring, index, single)


def _take_over_buffers(load: tt.LoadOp, filled: SSAValue, schedule: Schedule) -> None:
    """Buffers that the value is only stored to are the ring's own."""
    assert isinstance(filled.type, ttg.MemDescType)
    for use in tuple(load.results[0].uses):
        alloc = use.operation
        if isinstance(alloc, ttg.LocalAllocOp) and ttg.layout_of(alloc.results[0].type) == ttg.layout_of(filled.type):
            _make_views_mutable(alloc)
            alloc.results[0].replace_all_uses_with(filled)
            schedule.places.pop(alloc, None)
            assert alloc.parent is not None
            alloc.parent.erase_op(alloc)


def _make_views_mutable(op: Operation) -> None:
    for use in op.results[0].uses:
        user = use.operation
        if isinstance(user, VIEWS):
            view = user.results[0]
            type_ = view.type
            assert isinstance(type_, ttg.MemDescType)
            shape, parts = type_.get_shape(), (type_.element_type, type_.encoding, type_.memory_space)
            original = [dim.data for dim in type_.alloc_shape.data]
            view._type = ttg.MemDescType(shape, *parts, mutable=True, alloc_shape=original)
            _make_views_mutable(user)
