"""A load that runs ahead becomes a `cp.async` to a ring of buffers.

    %x = tt.load %p  {stage 0}                       %view = ttg.memdesc_index %ring[%fill]        {stage 0}
    use %x           {stage 2}            =>         ttg.async_copy_global_to_local %p, %view      {stage 0}
                                                     ttg.async_commit_group                        {stage 0}
                                                     ttg.async_wait                                {stage 2}
                                                     %x = ttg.local_load %ring[%read]              {stage 2}
                                                     use %x                                        {stage 2}

Answers to createAsyncCopy and convertScalarToTensorLoad in lib/Dialect/TritonGPU/Transforms/Pipeliner/LowerLoops.cpp.
"""

from __future__ import annotations

from xdsl.dialects import scf
from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue

from minitriton.dialects import arith, tt, ttg
from minitriton.dialects.facts.launch import num_ctas, num_warps, threads_per_warp
from minitriton.dialects.fast_paths.op_access import operand_values, set_type
from minitriton.layouts.builders import default_blocked
from minitriton.passes.pipelining.buffers import is_zero
from minitriton.passes.pipelining.rings import Counters, Placer, buffer_in, first_user, read_from
from minitriton.passes.pipelining.schedule import Schedule
from minitriton.rewriting.insertion import Inserter


def load_as_tensor(load: tt.LoadOp, loop: scf.ForOp, schedule: Schedule) -> None:
    """A load of a number becomes one of a tensor of one element, which can be copied."""
    layout = ttg.encoding_attr(default_blocked((1,), num_warps(load), threads_per_warp(load), num_ctas(load)))
    first = first_user([load], loop, schedule)
    placer = Placer(schedule, Inserter.before(load), schedule.places[load])
    for index, operand in enumerate(operand_values(load)):
        load.operands[index] = placer.value(tt.SplatOp(operand, TensorType(operand.type, [1], layout)))
    result = load.results[0]
    scalar = result.type
    set_type(result, TensorType(scalar, [1], layout))
    placer = Placer(schedule, Inserter.after(load), schedule.places[first])
    number = tt.UnsplatOp(result)
    assert number.results[0].type == scalar
    uses = [use for use in result.uses if use.operation is not number]
    placer.value(number)
    for use in uses:
        use.operation.operands[use.index] = number.results[0]


def copy_load(
    load: tt.LoadOp, ring: SSAValue, contiguity: int, counters: Counters, loop: scf.ForOp, schedule: Schedule
) -> None:
    """The copy in place of `load`; whoever uses it waits for it first."""
    first = first_user([load], loop, schedule)
    placer = Placer(schedule, Inserter.before(load), schedule.places[load])
    view = placer.value(buffer_in(ring, counters.fill))
    token = placer.value(
        ttg.AsyncCopyGlobalToLocalOp(
            load.ptr,
            view,
            load.mask,
            load.other,
            cache=load.cache.data,
            evict=load.evict.data,
            is_volatile=bool(load.is_volatile.value.data),
            contiguity=contiguity,
        )
    )
    token = placer.value(ttg.AsyncCommitGroupOp([token]))
    placer.place = schedule.places[first]
    waited = placer.value(ttg.AsyncWaitOp([token], num=0))
    filled = placer.value(buffer_in(ring, counters.read))
    result = load.results[0]
    if load.other is None or is_zero(load.other):
        read_from(filled, waited, load, placer)
    elif result.first_use is not None:
        assert load.mask is not None
        loaded = placer.value(ttg.LocalLoadOp(filled, waited, result.type))
        result.replace_all_uses_with(placer.value(arith.SelectOp(load.mask, loaded, load.other)))
    del schedule.places[load]
    assert load.parent is not None
    load.parent.erase_op(load)
