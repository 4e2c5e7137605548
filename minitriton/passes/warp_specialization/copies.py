"""Fourth step: what fills a channel's buffer and what reads it, for values that the copy unit does not bring.

    %a = tt.load %p  {0}                %v = ttg.memdesc_index %ring[%i]; ttg.async_copy_global_to_local %p, %v   {0}
    use %a           {1}        =>      %w = ttg.memdesc_index %ring[%i]; %a = ttg.local_load %w; use %a         {1}

What a product computes is stored by `ttg.local_store`. Answers to WSLowerMem.cpp.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import TensorType, i32
from xdsl.ir import Operation, SSAValue

from minitriton.dialects import tt, ttg
from minitriton.dialects.narrowing import instance_of
from minitriton.dialects.nvws import TokenLoadType
from minitriton.passes.warp_specialization.buffers import view_in
from minitriton.passes.warp_specialization.channels import Channel, by_source, loop_around
from minitriton.passes.warp_specialization.counts import Counts, buffer_and_phase
from minitriton.passes.warp_specialization.task_ids import CannotSpecialize, TaskInserter, Tasks, tasks_of


@dataclass
class Transfer:
    """How the value of a channel gets into its buffer and out again."""

    fills: Operation
    reads: Operation
    kind: TokenLoadType


def insert_copies(channels: list[Channel], rings: dict[Channel, SSAValue], counts: Counts) -> dict[Channel, Transfer]:
    """Puts the values of `channels` into their rings. Loads through descriptors stay, for `communication`."""
    found: dict[Channel, Transfer] = {}
    for of_value in by_source(channels):
        channel = _first_used(of_value)
        source = channel.source
        if isinstance(source, tt.DescriptorLoadOp):
            transfer = Transfer(source, channel.user, TokenLoadType.TMA_LOAD_OP)
        else:
            tasks = tuple(sorted({*tasks_of(source), *tasks_of(channel.user)}))
            at = TaskInserter.before_op(source, tasks)
            if loop_around(source) is None:
                index = at.integer(i32, 0)
            else:
                index, _ = buffer_and_phase(at, counts.of(source), channel.buffers)
            transfer = _copy(channel, rings[channel], index)
        for each in of_value:
            found[each] = transfer
    return found


def _first_used(channels: list[Channel]) -> Channel:
    """The channel whose user runs before those of the others. Raises `CannotSpecialize` if there is none."""
    block = channels[0].user.parent
    if any(channel.user.parent is not block for channel in channels):
        raise CannotSpecialize(channels[0].source, "what uses a value stands in several loops or branches")
    first = channels[0]
    for channel in channels[1:]:
        if channel.user.is_before_in_block(first.user):
            first = channel
    return first


def _copy(channel: Channel, ring: SSAValue, index: SSAValue) -> Transfer:
    value, source = channel.value, channel.source
    users: set[int] = {task for use in value.uses for task in tasks_of(use.operation)}
    reading: Tasks = tuple(users) if isinstance(source, tt.LoadOp) else tasks_of(channel.user)
    at = TaskInserter.before_op(channel.user, reading)
    at.location = source.location
    assert instance_of(value.type, TensorType)
    loaded = at.insert(ttg.LocalLoadOp(at.value(view_in(ring, index)), None, value.type))
    value.replace_all_uses_with(loaded.result)
    behind = TaskInserter.after_op(source, tasks_of(source) if isinstance(source, tt.LoadOp) else (channel.producer,))
    view = behind.value(view_in(ring, index))
    if not isinstance(source, tt.LoadOp):
        fills: Operation = behind.insert(ttg.LocalStoreOp(value, view))
        return Transfer(fills, loaded, TokenLoadType.LOCAL_STORE_OP)
    fills = behind.insert(
        ttg.AsyncCopyGlobalToLocalOp(
            source.ptr,
            view,
            source.mask,
            source.other,
            cache=source.cache.data,
            evict=source.evict.data,
            is_volatile=bool(source.is_volatile.value.data),
        )
    )
    assert source.parent is not None
    source.parent.erase_op(source)
    return Transfer(fills, loaded, TokenLoadType.ASYNC_LOAD_OP)
