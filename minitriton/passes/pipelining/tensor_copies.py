"""Loads through descriptors that are prefetched: tensor copies to a ring of buffers, each with an mbarrier.

    %x = tt.descriptor_load %d[%i]  {stage 0}            ttng.barrier_expect %bars[%fill], BYTES                    {stage 0}
    use %x                          {stage 2}     =>     ttng.async_tma_copy_global_to_local %d[%i] %ring[%fill], %bars[%fill]
                                                         ttng.wait_barrier %bars[%read], %phase                     {stage 2}
                                                         %x = ttg.local_load %ring[%read]; use %x                   {stage 2}

Loads of the same stage with no use between them share a barrier. Counterpart of createTMABarrierAndWait and createTMAAsyncCopy in
lib/Dialect/TritonGPU/Transforms/Pipeliner/LowerLoops.cpp, createBarrierAlloc in PipeliningUtility.cpp.
"""

from __future__ import annotations

from math import prod

from xdsl.dialects import scf
from xdsl.dialects.builtin import TensorType, i1, i32, i64
from xdsl.ir import Operation, SSAValue

from minitriton.analysis.tensor_descriptors import is_fp4_padded
from minitriton.dialects import arith, tt, ttg, ttng
from minitriton.dialects.narrowing import instance_of
from minitriton.dialects.tt.types import TensorDescType
from minitriton.host.frozen import record
from minitriton.layouts.cta_split import shape_per_cta
from minitriton.layouts.encodings import SwizzledShared
from minitriton.passes.pipelining.buffers import buffer_of_descriptor, stays_in_shared_memory
from minitriton.passes.pipelining.rings import SHARED_MEMORY, Counters, Placer, buffer_in, first_user, read_from
from minitriton.passes.pipelining.schedule import Schedule, ancestor_in_body
from minitriton.passes.tensor_layouts import element_bits
from minitriton.rewriting.rewriter import Inserter

DescriptorLoad = tt.DescriptorLoadOp | tt.DescriptorGatherOp

_BARRIER = ttg.encoding_attr(SwizzledShared(1, 1, 1, (0,)))


@record
class TensorCopy:
    """A load through a descriptor that becomes a copy."""

    load: DescriptorLoad
    length: int
    """Buffers in its ring."""
    ring: SSAValue
    barrier: SSAValue | None = None
    wait: Operation | None = None


def barrier_ring(loop: scf.ForOp, length: int) -> SSAValue:
    """`length` mbarriers of one arrival each, made before the loop and gone after it."""
    at = Inserter.before(loop)
    ring = at.value(ttg.LocalAllocOp(None, ttg.MemDescType((length, 1), i64, _BARRIER, SHARED_MEMORY, mutable=True)))
    for number in range(length):
        at.insert(ttng.InitBarrierOp(at.value(buffer_in(ring, at.integer(i32, number))), count=1))
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
        ring = barrier_ring(loop, first.length)
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
