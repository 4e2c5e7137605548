"""Fourth step: the producer loads in the order in which the consumers can go on.

    load a0 (for 1), load a1 (for 2), load b (for 1 and 2)     =>     load a0, load b, load a1

With a0 and b the first consumer can begin. What a load needs moves right before it. Answers to reorderProducerOps in WSCodePartition.cpp.
"""

from __future__ import annotations

from xdsl.ir import Block, Operation

from minitriton.analysis.slices.def_use import backward_ops
from minitriton.passes.warp_specialization.channels import Channel


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
            _move_behind(block, source, last)
        last = source
    for source in reversed(sources):
        needed = dict.fromkeys(
            op for operand in source.operands for op in backward_ops(operand, through_arguments=False)
        )
        for op in needed:
            if op.parent is block:
                block.detach_op(op)
                block.insert_op_before(op, source)


def _move_behind(block: Block, op: Operation, anchor: Operation) -> None:
    block.detach_op(op)
    block.insert_op_after(op, anchor)
