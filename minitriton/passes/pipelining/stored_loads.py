"""A load that runs ahead is stored to a ring of buffers one stage later, where threads turn what they loaded on its way.

    %x = tt.load %p          {stage 0}               %x = tt.load %p                               {stage 0}
    %b = ttg.local_alloc %x  {stage 2}               %view = ttg.memdesc_index %ring[%fill]        {stage 1}
    use %b                   {stage 2}        =>     ttg.local_store %x, %view                     {stage 1}
                                                     ttng.fence_async_shared                       {stage 1}
                                                     %b = ttg.memdesc_index %ring[%read]           {stage 2}
                                                     use %b                                        {stage 2}

`cp.async` moves what lies together in global and in shared memory. Where a buffer has the other dimension contiguous that is one element.
A thread that holds a small square of the tensor loads its rows and stores its columns, both by 16 bytes.
"""

from __future__ import annotations

from xdsl.dialects import scf
from xdsl.ir import SSAValue

from minitriton.dialects import tt, ttg, ttng
from minitriton.layouts.encodings import DistributedEncoding, NVMMAShared, SharedEncoding
from minitriton.layouts.properties import contig_per_thread, get_order
from minitriton.passes.pipelining.buffers import element_bits
from minitriton.passes.pipelining.rings import Counters, Placer, buffer_in, first_user, read_from
from minitriton.passes.pipelining.schedule import Schedule
from minitriton.passes.tensor_layouts import layout_of_value, shape_of
from minitriton.rewriting.insertion import Inserter
from minitriton.target.architectures import WIDEST_ACCESS_BITS

"""Bits of the widest access of a thread."""


def is_transposed_by_threads(load: tt.LoadOp, buffer: SharedEncoding) -> bool:
    """Whether a thread holds as much along the buffer's contiguous dimension as an access may have, and loads along another."""
    value = load.results[0]
    layout = layout_of_value(value)
    if not isinstance(layout, DistributedEncoding) or not isinstance(buffer, NVMMAShared) or len(shape_of(value)) != 2:
        return False
    inner = 0 if buffer.transposed else 1
    shape = shape_of(value)
    held = contig_per_thread(layout, shape)[inner]
    return get_order(layout, shape)[0] != inner and held * element_bits(load) >= WIDEST_ACCESS_BITS


def store_load(load: tt.LoadOp, ring: SSAValue, counters: Counters, loop: scf.ForOp, schedule: Schedule) -> None:
    """The store behind `load`, which runs at least one stage before it is used; whoever uses it reads the buffer."""
    first = first_user([load], loop, schedule)
    stage, cluster = schedule.places[load]
    if schedule.stage(first) == stage + 1:
        cluster = schedule.cluster(first)
    before = schedule.new_cluster(schedule.position(cluster))
    placer = Placer(schedule, Inserter.after(load), schedule.places[first])
    read_from(placer.value(buffer_in(ring, counters.read)), None, load, placer)
    placer = Placer(schedule, Inserter.after(load), (stage + 1, before))
    placer.insert(ttg.LocalStoreOp(load.results[0], placer.value(buffer_in(ring, counters.fill))))
    placer.insert(ttng.FenceAsyncSharedOp(b_cluster=False))
