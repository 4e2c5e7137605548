"""Fourth step: which values go from one task to another, and which of them go together.

    %a = tt.descriptor_load ...  {0}         a channel from task 0 to tasks 1 and 2,
    %b = ttg.local_alloc %a      {1, 2}      of as many buffers as the loop has stages

Channels with the same consumer and tasks share their barriers: both operands of one dot arrive together. Counterpart of collectAsyncChannels and
groupChannels in WSCodePartition.cpp.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import scf
from xdsl.ir import Operation, OpResult, SSAValue

from minitriton.dialects import tt, ttg, ttng
from minitriton.dialects.fast_paths.op_access import ops_in, ops_in_inner_first
from minitriton.dialects.verification.dominance import Dominance
from minitriton.passes.loop_rewriting import loop_around
from minitriton.passes.pipelining.schedule import num_stages
from minitriton.passes.warp_specialization.task_propagation import CannotSpecialize, Tasks, tasks_of

_TRANSPOSES = (tt.TransOp, ttg.MemDescTransOp)


@dataclass(eq=False)
class Channel:
    """A value that task `producer` computes and `consumers` use: operand `index` of `user`."""

    producer: int
    consumers: Tasks
    user: Operation
    index: int
    buffers: int

    @property
    def value(self) -> SSAValue:
        """What goes through the channel."""
        return self.user.operands[self.index]

    @property
    def source(self) -> Operation:
        """The op that computes it, or the loop that hands it out."""
        value = self.value
        assert isinstance(value, OpResult)
        return value.op


@dataclass(eq=False)
class Group:
    """Channels that one set of barriers serves, in the order of their sources."""

    channels: list[Channel]

    @property
    def consumers(self) -> Tasks:
        """The tasks that use a value of the group."""
        return tuple(sorted({task for channel in self.channels for task in channel.consumers}))

    def sort(self) -> None:
        """Puts the channels in the order of their sources."""
        block = self.channels[0].source.parent
        assert block is not None
        positions = {op: number for number, op in enumerate(block.ops)}
        self.channels.sort(key=lambda channel: positions[channel.source])


def collect_channels(function: Operation, default_buffers: int) -> list[Channel]:
    """The channels of `function`: values of loads and dots of one task that other tasks use."""
    dominance = Dominance()
    found: list[Channel] = []
    for op in ops_in_inner_first(function):
        if not isinstance(op, tt.LoadOp | tt.DescriptorLoadOp | ttng.WarpGroupDotOp | tt.DotOp):
            continue
        tasks = tasks_of(op)
        if len(tasks) != 1:
            continue
        loop = loop_around(op)
        buffers = default_buffers if loop is None else num_stages(loop, default_buffers)
        for result in op.results:
            for user, index in _real_users(result):
                consumers = tuple(task for task in tasks_of(user) if task != tasks[0])
                if consumers and _is_after(op, user, dominance):
                    if user.operands[index] is not result and not isinstance(op, ttng.WarpGroupDotOp | tt.DotOp):
                        raise CannotSpecialize(
                            user, "a value that one warp group loads is used after the loop by another"
                        )
                    found.append(Channel(tasks[0], consumers, user, index, buffers))
    return found


def _real_users(value: SSAValue) -> list[tuple[Operation, int]]:
    """The ops that use `value`, also after the loops and branches that return it; each with the number of the operand."""
    found: dict[tuple[Operation, int], None] = {}
    seen: set[SSAValue] = set()

    def look(current: SSAValue) -> None:
        if current in seen:
            return
        seen.add(current)
        for use in current.uses:
            user = use.operation
            parent = user.parent_op()
            if isinstance(user, scf.YieldOp) and parent is not None:
                look(parent.results[use.index])
            else:
                found[user, next(i for i, operand in enumerate(user.operands) if operand is current)] = None

    look(value)
    return list(found)


def _is_after(op: Operation, user: Operation, dominance: Dominance) -> bool:
    if op.parent is user.parent:
        return dominance.op_properly_dominates(op, user)
    around = op.parent_op()
    return around is not None and (
        around.parent is None or dominance.op_properly_dominates(around, user) or around.is_ancestor(user)
    )


def actual_consumers(user: Operation) -> list[Operation]:
    """What reads the buffer that `user` makes of a value (dots, through transposing views); else `user` itself."""
    if not isinstance(user, ttg.LocalAllocOp):
        return [user]
    found: dict[Operation, None] = {}
    pending = [use.operation for use in user.result.uses]
    while pending:
        op = pending.pop(0)
        if isinstance(op, _TRANSPOSES):
            pending.extend(use.operation for use in op.results[0].uses)
        else:
            found[op] = None
    return list(found)


def only_consumer(user: Operation) -> Operation:
    """The one op that reads what `user` makes; `user` if there are several."""
    found = actual_consumers(user)
    return found[0] if len(found) == 1 else user


def group_channels(channels: list[Channel]) -> list[Group]:
    """The channels by what they can share barriers with, in the order in which they were found.

    All channels of one value are a group: it is filled once, and may be filled again when all its users are done.
    """
    groups: list[Group] = []
    for of_value in by_source(channels):
        group = next((each for each in groups if len(of_value) == 1 and _can_share(of_value[0], each)), None)
        if group is None:
            groups.append(Group(list(of_value)))
        else:
            group.channels.extend(of_value)
    for group in groups:
        group.sort()
    return groups


def _can_share(one: Channel, group: Group) -> bool:
    """Whether the values are made in one block and consumed by one op."""
    other = group.channels[0]
    if len(by_source(group.channels)) < len(group.channels):
        return False
    if one.source.parent is not other.source.parent or type(one.source) is not type(other.source):
        return False
    if one.user is other.user:
        return True
    if tasks_of(one.source) != tasks_of(other.source) or tasks_of(one.user) != tasks_of(other.user):
        return False
    consumer = only_consumer(one.user)
    return consumer is only_consumer(other.user) and consumer.parent is one.user.parent


def by_source(channels: list[Channel]) -> list[list[Channel]]:
    """The channels of each value, in the order in which they were found."""
    found: dict[SSAValue, list[Channel]] = {}
    for channel in channels:
        found.setdefault(channel.value, []).append(channel)
    return list(found.values())


def regions_with_channels(channels: list[Channel]) -> list[Operation]:
    """The loops and branches in which values of channels are used, in the order of the text."""
    around = {channel.user.parent_op() for channel in channels}
    function = channels[0].user
    while not isinstance(function, tt.FuncOp):
        parent = function.parent_op()
        assert parent is not None
        function = parent
    return [op for op in ops_in(function) if op in around and isinstance(op, scf.ForOp | scf.IfOp)]
