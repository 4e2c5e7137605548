"""Fourth step as a whole: values that go from task to task go through shared memory, then each task gets a region of its own.

    %a = tt.descriptor_load ... {0}            ttg.warp_specialize(...)
    use %a                      {1}     =>     default { wait empty; copy }      partition0 { wait full; use; release }

Counterpart of doCodePartition in WSCodePartition.cpp.

Fourth step: the producer loads in the order in which the consumers can go on.

    load a0 (for 1), load a1 (for 2), load b (for 1 and 2)     =>     load a0, load b, load a1

With a0 and b the first consumer can begin. What a load needs moves right before it. Counterpart of reorderProducerOps in WSCodePartition.cpp.
"""

from __future__ import annotations

from xdsl.ir import Block, Operation, OpResult, SSAValue

from minitriton.analysis.slices.def_use import backward_ops
from minitriton.dialects import tt, ttg
from minitriton.dialects.fast_paths.op_access import ops_of
from minitriton.passes.pipelining.schedule import VIEWS
from minitriton.passes.tensor_layouts import set_type
from minitriton.passes.warp_specialization.buffers import carry_counts, create_buffers, insert_copies
from minitriton.passes.warp_specialization.channels import (
    Channel,
    collect_channels,
    group_channels,
    regions_with_channels,
)
from minitriton.passes.warp_specialization.communication import create_signals, insert_signals
from minitriton.passes.warp_specialization.partitions import make_partitions
from minitriton.passes.warp_specialization.task_propagation import tasks_of


def partition_code(function: tt.FuncOp, default_buffers: int) -> bool:
    """Makes regions of the tasks of `function`. False if no value goes from one to another."""
    channels = collect_channels(function, default_buffers)
    if not channels:
        return False
    groups = group_channels(channels)
    order_producer(channels)
    counts = carry_counts(function, regions_with_channels(channels))
    rings = create_buffers(function, channels)
    transfers = insert_copies(channels, rings, counts)
    signals = create_signals(function, groups, transfers)
    for group in groups:
        insert_signals(group, signals[group], rings, transfers, counts)
    _read_in_place(function)
    make_partitions(function)
    return True


def _read_in_place(function: tt.FuncOp) -> None:
    """What is loaded from a buffer only to be put into another like it is read where it is."""
    for alloc in ops_of(function, ttg.LocalAllocOp):
        source = alloc.src
        if not isinstance(source, OpResult) or not isinstance(source.op, ttg.LocalLoadOp):
            continue
        load = source.op
        same = ttg.layout_of(load.src.type) == ttg.layout_of(alloc.result.type)
        if same and set(tasks_of(alloc)) <= set(tasks_of(load)):
            _replace_buffer(alloc.result, load.src)
            assert alloc.parent is not None
            alloc.parent.erase_op(alloc)
            if load.result.first_use is None and load.parent is not None:
                load.parent.erase_op(load)


def _replace_buffer(old: SSAValue, new: SSAValue) -> None:
    """Users of `old` use `new`; views of it are as mutable as it is."""
    assert isinstance(new.type, ttg.MemDescType)
    users = [use.operation for use in old.uses]
    old.replace_all_uses_with(new)
    for user in users:
        if isinstance(user, VIEWS):
            type_ = user.results[0].type
            assert isinstance(type_, ttg.MemDescType)
            set_type(
                user.results[0],
                ttg.MemDescType(
                    type_.get_shape(), type_.element_type, type_.encoding, type_.memory_space, mutable=new.type.mutable
                ),
            )


def order_producer(channels: list[Channel]) -> None:
    """Moves the sources of `channels`, if they all stand in one block."""
    block = channels[0].source.parent
    if block is None or any(channel.source.parent is not block for channel in channels):
        return
    by_consumer: dict[int, list[Channel]] = {}
    for channel in channels:
        by_consumer.setdefault(channel.consumers[0], []).append(channel)
    if len(by_consumer) <= 1:
        return
    ordered = [
        channel
        for _, group in sorted(by_consumer.items())
        for channel in sorted(group, key=lambda channel: len(channel.consumers))
    ]
    sources = list(dict.fromkeys(channel.source for channel in ordered))
    last = channels[0].source
    for source in sources:
        if source is not last:
            _move_after(block, source, last)
        last = source
    for source in reversed(sources):
        needed = dict.fromkeys(
            op for operand in source.operands for op in backward_ops(operand, through_arguments=False)
        )
        for op in needed:
            if op.parent is block:
                block.detach_op(op)
                block.insert_op_before(op, source)


def _move_after(block: Block, op: Operation, anchor: Operation) -> None:
    block.detach_op(op)
    block.insert_op_after(op, anchor)
