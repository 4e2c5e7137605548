"""Fourth step as a whole: values that go from task to task go through shared memory, then each task gets a region of its own.

    %a = tt.descriptor_load ... {0}            ttg.warp_specialize(...)
    use %a                      {1}     =>     default { wait empty; copy }      partition0 { wait full; use; release }

Counterpart of doCodePartition in WSCodePartition.cpp.

Fourth step: the producer loads in the order in which the consumers can go on.

    load a0 (for 1), load a1 (for 2), load b (for 1 and 2)     =>     load a0, load b, load a1

With a0 and b the first consumer can begin. What a load needs moves right before it. Counterpart of reorderProducerOps in WSCodePartition.cpp.

Fourth step: producers wait for empty buffers and fill them, consumers wait for full ones and release them.

    producer, {0}                                             consumer, {1}
    nvws.producer_acquire %token, %i, %phase                  ttng.wait_barrier %full[%i], %phase
    ttng.barrier_expect %full[%i], 16384                      %a = ttg.local_load %ring[%i]
    ttng.async_tma_copy_global_to_local %d[%x, %k] ...        %d = ttng.warp_group_dot ...
                                                              nvws.consumer_release %token, %i

One group of channels has one ring of mbarriers for what the copy unit brings, and a token for each consumer. Counterpart of createToken, insertAsyncComm
and optimizeTMALoads.

Last step: tokens become two rings of mbarriers, one for full buffers and one for empty ones.

    %t = nvws.create_token                           %full, %empty = ttg.local_alloc; ttng.init_barrier ...; gpu.barrier
    nvws.producer_acquire %t, %i, %phase     =>      ttng.wait_barrier %empty[%i], %phase ^ 1
    nvws.producer_commit %t, %i                      ttng.arrive_barrier %full[%i]
    nvws.consumer_wait %t, %i, %phase                ttng.wait_barrier %full[%i], %phase
    nvws.consumer_release %t, %i                     ttng.arrive_barrier %empty[%i], 128

All buffers are empty at first: a wait for the parity opposite to that of the first phase returns at once (PTX ISA, "mbarrier"). `cp.async` arrives
at the full mbarrier by itself when it is done. Counterpart of WSLowerToken.cpp.
"""

from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import TensorType, i1, i32
from xdsl.ir import Operation, OpResult, SSAValue

from minitriton.analysis.slices.def_use import backward_ops
from minitriton.dialects import arith, gpu, nvws, tt, ttg, ttng
from minitriton.dialects.fast_paths.op_access import ops_in, ops_of
from minitriton.dialects.narrowing import instance_of
from minitriton.passes.loop_rewriting import loop_around
from minitriton.passes.pipelining.rings import barrier_ring, barrier_ring_type, buffer_in
from minitriton.passes.pipelining.schedule import VIEWS
from minitriton.passes.tensor_layouts import element_bits, set_type
from minitriton.passes.warp_specialization.buffers import (
    Counts,
    Transfer,
    buffer_and_phase,
    carry_counts,
    create_buffers,
    insert_copies,
    start_of,
)
from minitriton.passes.warp_specialization.channels import (
    Channel,
    Group,
    actual_consumers,
    collect_channels,
    group_channels,
    only_consumer,
    regions_with_channels,
)
from minitriton.passes.warp_specialization.partitions import make_partitions
from minitriton.passes.warp_specialization.task_propagation import THREADS, CannotSpecialize, TaskInserter, tasks_of
from minitriton.rewriting.rewriter import Inserter


@dataclass
class Signals:
    """How the tasks of a group of channels hear of each other."""

    tokens: dict[int, SSAValue]
    """For each consumer."""
    full: SSAValue | None
    """The mbarriers that the copy unit completes; None where threads say that a buffer is full."""


@dataclass
class _Ends:
    """The first and the last op of each side, and the blocks they stand in."""

    fills: list[Operation]
    reads: list[Operation]


def create_signals(
    function: tt.FuncOp, groups: list[Group], transfers: dict[Channel, Transfer]
) -> dict[Group, Signals]:
    """Tokens and mbarriers for each group, at the start of the function."""
    at = start_of(function)
    found: dict[Group, Signals] = {}
    for group in groups:
        channel = group.channels[0]
        transfer = transfers[channel]
        is_copied = transfer.kind is nvws.TokenLoadType.TMA_LOAD_OP
        full = barrier_ring(start_of(function), channel.buffers) if is_copied else None
        length = 1 if loop_around(transfer.fills) is None else channel.buffers
        tokens = {
            task: at.value(nvws.CreateTokenOp(num_buffers=length, load_type=transfer.kind)) for task in group.consumers
        }
        found[group] = Signals(tokens, full)
    return found


def insert_signals(
    group: Group,
    signals: Signals,
    rings: dict[Channel, SSAValue],
    transfers: dict[Channel, Transfer],
    counts: Counts,
) -> None:
    """Lets the tasks of one group wait for each other."""
    first = group.channels[0]
    ends = _ends(group, transfers)
    producer, head = ends.fills[0], ends.reads[0]
    at = TaskInserter.before_op(producer, (first.producer, *group.consumers))
    if loop_around(producer) is None:
        index, phase = at.integer(i32, 0), at.integer(i1, 0)
    else:
        index, phase = buffer_and_phase(at, counts.of(producer), first.buffers)
    by_producer = (first.producer,)
    for token in signals.tokens.values():
        anchor = _next_to(head, producer)
        TaskInserter.before_op(anchor, by_producer).insert(nvws.ProducerAcquireOp(token, index, phase))
        if signals.full is None:
            after = TaskInserter.after_op(_next_to(head, ends.fills[-1]), by_producer)
            after.insert(nvws.ProducerCommitOp(token, index))
    for task, token in signals.tokens.items():
        if signals.full is None:
            TaskInserter.before_op(_next_to(producer, head), (task,)).insert(nvws.ConsumerWaitOp(token, index, phase))
        after = TaskInserter.after_op(_last_reader(group, ends), (task,))
        after.insert(nvws.ConsumerReleaseOp(token, index))
    if signals.full is not None:
        _copy_by_descriptor(group, signals.full, rings, ends, index, phase)


def _ends(group: Group, transfers: dict[Channel, Transfer]) -> _Ends:
    fills = {transfers[channel].fills for channel in group.channels}
    reads: set[Operation] = set()
    for channel in group.channels:
        reads |= {transfers[channel].reads, channel.user, only_consumer(channel.user)}
    first = transfers[group.channels[0]]
    filling, reading = first.fills.parent, group.channels[0].user.parent
    assert filling is not None and reading is not None
    return _Ends([op for op in filling.ops if op in fills], [op for op in reading.ops if op in reads])


def _next_to(other: Operation, op: Operation) -> Operation:
    """`op`, or the op around it that stands where `other` does, or around `other`."""
    current: Operation | None = op
    while current is not None and not isinstance(current, tt.FuncOp):
        if current.parent is other.parent:
            return current
        current = current.parent_op()
    around: Operation | None = other
    while around is not None and not isinstance(around, tt.FuncOp):
        if op.parent is around.parent:
            return op
        around = around.parent_op()
    raise CannotSpecialize(op, "a value is loaded in one branch and used in another")


def _last_reader(group: Group, ends: _Ends) -> Operation:
    """After which op the buffers of `group` may be filled again."""
    producer, last = ends.fills[-1], ends.reads[-1]
    if last.parent is not producer.parent:
        return _next_to(producer, last)
    for op in [op for channel in group.channels for op in actual_consumers(channel.user)]:
        around: Operation | None = op
        while around is not None and around.parent is not last.parent:
            around = around.parent_op()
        if around is None:
            raise CannotSpecialize(op, "a loaded tile is used after the loop that loads it")
        if last.is_before_in_block(around):
            last = around
    return last


def _copy_by_descriptor(
    group: Group,
    full: SSAValue,
    rings: dict[Channel, SSAValue],
    ends: _Ends,
    index: SSAValue,
    phase: SSAValue,
) -> None:
    """The copy unit fills the buffers in place of the loads; it completes `full` when all have come."""
    at = TaskInserter.before_op(ends.fills[0], tasks_of(ends.fills[0]))
    barrier = at.value(buffer_in(full, index))
    always = at.integer(i1, 1)
    loads = {channel.source: rings[channel] for channel in group.channels}
    size = 0
    for load in loads:
        type_ = load.results[0].type
        assert instance_of(type_, TensorType)
        size += prod(type_.get_shape()) * element_bits(type_) // 8
    at.insert(ttng.BarrierExpectOp(barrier, always, size=size))
    for load, ring in loads.items():
        assert isinstance(load, tt.DescriptorLoadOp)
        here = TaskInserter.before_op(load, at.tasks)
        view = here.value(buffer_in(ring, index))
        here.insert(ttng.AsyncTMACopyGlobalToLocalOp(load.desc, list(load.indices), barrier, view, always))
    reader = ends.reads[0]
    there = TaskInserter.before_op(reader, group.consumers)
    there.insert(ttng.WaitBarrierOp(there.value(buffer_in(full, index)), there.value(arith.ExtSIOp(phase, i32))))
    for load, ring in loads.items():
        view = there.value(buffer_in(ring, index, mutable=False))
        loaded = there.value(ttg.LocalLoadOp(view, None, load.results[0].type))
        load.results[0].replace_all_uses_with(loaded)
        assert load.parent is not None
        load.parent.erase_op(load)


_TokenUser = nvws.ProducerAcquireOp | nvws.ProducerCommitOp | nvws.ConsumerWaitOp | nvws.ConsumerReleaseOp


@dataclass(frozen=True)
class _Rings:
    full: SSAValue
    empty: SSAValue
    load_type: nvws.TokenLoadType


def lower_tokens(root: Operation) -> None:
    """Replaces all tokens in `root` and what waits for them."""
    for op in ops_in(root):
        if isinstance(op, nvws.CreateTokenOp):
            _lower(op)


def _lower(token: nvws.CreateTokenOp) -> None:
    rings = _create_rings(token)
    for use in tuple(token.result.uses):
        user = use.operation
        if isinstance(user, ttg.WarpSpecializeOp):
            _capture(user, use.index, rings)
        else:
            _lower_user(user, rings)
    assert token.parent is not None
    token.parent.erase_op(token)


def _create_rings(token: nvws.CreateTokenOp) -> _Rings:
    at = Inserter.before(token)
    length = token.num_buffers.value.data
    load_type = token.LOAD_TYPES[token.load_type.value.data]
    full, empty = (at.value(ttg.LocalAllocOp(None, barrier_ring_type(length))) for _ in range(2))
    arrivals = 1 if load_type is nvws.TokenLoadType.TMA_LOAD_OP else THREADS
    for number in range(length):
        index = at.integer(i32, number)
        for ring, count in ((full, arrivals), (empty, THREADS)):
            at.insert(ttng.InitBarrierOp(at.value(buffer_in(ring, index)), count=count))
    at.insert(gpu.BarrierOp.create())
    return _Rings(full, empty, load_type)


def _capture(op: ttg.WarpSpecializeOp, position: int, rings: _Rings) -> None:
    """The partitions get both rings in place of the token."""
    op.operands = [*(value for index, value in enumerate(op.operands) if index != position), rings.full, rings.empty]
    for region in op.partition_regions:
        block = region.block
        argument = block.args[position]
        full, empty = (block.insert_arg(ring.type, len(block.args)) for ring in (rings.full, rings.empty))
        for use in tuple(argument.uses):
            _lower_user(use.operation, _Rings(full, empty, rings.load_type))
        block.erase_arg(argument)


def _lower_user(op: Operation, rings: _Rings) -> None:
    assert isinstance(op, _TokenUser)
    at = TaskInserter.before_op(op, tasks_of(op))
    waits_for_empty = isinstance(op, nvws.ProducerAcquireOp | nvws.ConsumerReleaseOp)
    barrier = at.value(buffer_in(rings.empty if waits_for_empty else rings.full, op.idx))
    if isinstance(op, nvws.ProducerAcquireOp | nvws.ConsumerWaitOp):
        phase: SSAValue = op.phase
        plain = Inserter.before(op)
        if isinstance(op, nvws.ProducerAcquireOp):
            phase = plain.value(arith.XOrIOp(phase, plain.integer(i1, 1)))
        at.insert(ttng.WaitBarrierOp(barrier, plain.value(arith.ExtUIOp(phase, i32))))
    elif isinstance(op, nvws.ConsumerReleaseOp):
        at.insert(ttng.ArriveBarrierOp(barrier, count=THREADS))
    elif rings.load_type is nvws.TokenLoadType.ASYNC_LOAD_OP:
        at.insert(ttng.AsyncCopyMbarrierArriveOp(barrier, no_increment=True))
    else:
        at.insert(ttng.ArriveBarrierOp(barrier, count=THREADS))
    assert op.parent is not None
    op.parent.erase_op(op)


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
            block.detach_op(source)
            block.insert_op_after(source, last)
        last = source
    for source in reversed(sources):
        needed = dict.fromkeys(
            op for operand in source.operands for op in backward_ops(operand, through_arguments=False)
        )
        for op in needed:
            if op.parent is block:
                block.detach_op(op)
                block.insert_op_before(op, source)
