"""Fourth step: the memory of a channel, a ring of buffers for the values and one of mbarriers, at the start of the function.

    %ring = ttg.local_alloc : !ttg.memdesc<3x64x64xf16, #shared, #smem, mutable>
    %full = ttg.local_alloc : !ttg.memdesc<3x1xi64, ...>; ttng.init_barrier %full[0], 1; ...

Answers to createBuffer and createBarrierAlloc in WSCodePartition.cpp.
"""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType, i32, i64
from xdsl.ir import SSAValue

from minitriton.analysis.tensor_descriptors import buffer_encoding
from minitriton.dialects import tt, ttg, ttng
from minitriton.dialects.narrowing import instance_of
from minitriton.dialects.tt.types import TensorDescType
from minitriton.layouts.builders import nvmma_shared
from minitriton.layouts.encodings import Encoding, SwizzledShared
from minitriton.layouts.properties import order_for_memory
from minitriton.passes.pipelining.rings import SHARED_MEMORY
from minitriton.passes.tensor_layouts import element_bits, layout_of_value
from minitriton.passes.warp_specialization.channels import Channel, actual_consumers, by_source, loop_around
from minitriton.passes.warp_specialization.task_ids import CannotSpecialize
from minitriton.rewriting.insertion import Inserter

_BARRIER_LAYOUT = ttg.encoding_attr(SwizzledShared(1, 1, 1, (0,)))


def start_of(function: tt.FuncOp) -> Inserter:
    """At the start of `function`, with its location."""
    block = function.body.block
    return Inserter(block, block.first_op, function.location)


def barrier_ring_type(length: int) -> ttg.MemDescType:
    """A ring of `length` mbarriers."""
    return ttg.MemDescType((length, 1), i64, _BARRIER_LAYOUT, SHARED_MEMORY, mutable=True)


def view_in(ring: SSAValue, index: SSAValue, *, mutable: bool = True) -> ttg.MemDescIndexOp:
    """Number `index` of a ring."""
    type_ = ring.type
    assert isinstance(type_, ttg.MemDescType)
    single = ttg.MemDescType(
        type_.get_shape()[1:], type_.element_type, type_.encoding, type_.memory_space, mutable=mutable
    )
    return ttg.MemDescIndexOp(ring, index, single)


def create_barriers(function: tt.FuncOp, length: int) -> SSAValue:
    """A ring of mbarriers that one arrival completes."""
    at = start_of(function)
    ring = at.value(ttg.LocalAllocOp(None, barrier_ring_type(length)))
    for number in range(length):
        view = at.value(view_in(ring, at.integer(i32, number)))
        at.insert(ttng.InitBarrierOp(view, count=1))
    return ring


def create_buffers(function: tt.FuncOp, channels: list[Channel]) -> dict[Channel, SSAValue]:
    """A ring for each value of `channels`; of one buffer where it is no loop that computes the value."""
    at = start_of(function)
    found: dict[Channel, SSAValue] = {}
    for of_value in by_source(channels):
        channel = of_value[0]
        type_ = channel.value.type
        if not instance_of(type_, TensorType):
            raise CannotSpecialize(channel.source, "a number goes from one warp group to another")
        length = 1 if loop_around(channel.source) is None else channel.buffers
        layout = ttg.encoding_attr(_layout(channel, type_))
        shape = (length, *type_.get_shape())
        ring = at.value(
            ttg.LocalAllocOp(None, ttg.MemDescType(shape, type_.element_type, layout, SHARED_MEMORY, mutable=True))
        )
        for each in of_value:
            found[each] = ring
    return found


def _layout(channel: Channel, type_: TensorType) -> Encoding:
    """The layout of the buffers: the one of the descriptor that fills them, else as products read it, else plain."""
    source = channel.source
    descriptor = source.desc.type if isinstance(source, tt.DescriptorLoadOp) else None
    if isinstance(descriptor, TensorDescType) and ttg.layout_of(descriptor.block_type) is not None:
        return buffer_encoding(descriptor, tuple(type_.get_shape()))
    layout = layout_of_value(channel.value)
    assert layout is not None
    order = order_for_memory(layout, tuple(type_.get_shape()))
    is_operand = any(isinstance(op, ttng.WarpGroupDotOp | tt.DotOp) for op in actual_consumers(channel.user))
    if is_operand:
        return nvmma_shared(tuple(type_.get_shape()), order, layout.cga, element_bits(type_))
    return SwizzledShared(1, 1, 1, order, layout.cga)
