"""Fourth step: the memory of a channel, a ring of buffers for the values and one of mbarriers, at the start of the function.

    %ring = ttg.local_alloc : !ttg.memdesc<3x64x64xf16, #shared, #smem, mutable>
    %full = ttg.local_alloc : !ttg.memdesc<3x1xi64, ...>; ttng.init_barrier %full[0], 1; ...

Counterpart of createBuffer and createBarrierAlloc in WSCodePartition.cpp.

Fourth step: what fills a channel's buffer and what reads it, for values that the copy unit does not bring.

    %a = tt.load %p  {0}                %v = ttg.memdesc_index %ring[%i]; ttg.async_copy_global_to_local %p, %v   {0}
    use %a           {1}        =>      %w = ttg.memdesc_index %ring[%i]; %a = ttg.local_load %w; use %a         {1}

What a dot computes is stored by `ttg.local_store`. Counterpart of WSLowerMem.cpp.

Fourth step: how often each channel has been used, as a number that loops and branches carry.

    scf.for %i = ... {                  scf.for %i = ... iter_args(%count = 0) {
      load; use                 =>        load; use                    buffer %count % buffers, phase (%count / buffers) & 1
    }                                     scf.yield %count + 1
                                        }

Each loop or branch in which values of channels are used has a count of its own. All loops and branches around it carry the count, in the order of the text,
after what they carried before. Counterpart of WSBuffer.cpp and CodePartitionUtility.cpp.
"""

from dataclasses import dataclass

from xdsl.dialects import scf
from xdsl.dialects.builtin import TensorType, i1, i32, i64
from xdsl.ir import Block, Operation, SSAValue

from minitriton.analysis.tensor_descriptors import buffer_encoding
from minitriton.dialects import arith, tt, ttg, ttng
from minitriton.dialects.fast_paths.op_access import last_op_of, ops_in
from minitriton.dialects.narrowing import instance_of
from minitriton.dialects.nvws import TokenLoadType
from minitriton.dialects.tt.types import TensorDescType
from minitriton.layouts.builders import nvmma_shared
from minitriton.layouts.encodings import Encoding, SwizzledShared
from minitriton.layouts.properties import order_for_memory
from minitriton.passes.loop_rewriting import append_result, loop_around
from minitriton.passes.pipelining.rings import SHARED_MEMORY, buffer_in
from minitriton.passes.tensor_layouts import element_bits, layout_of_value
from minitriton.passes.warp_specialization.channels import Channel, actual_consumers, by_source
from minitriton.passes.warp_specialization.task_propagation import (
    CannotSpecialize,
    TaskInserter,
    Tasks,
    set_tasks,
    tasks_inside,
    tasks_of,
)
from minitriton.rewriting.rewriter import Inserter


@dataclass
class Counts:
    """The counts of a function: which value is the count of a region inside a loop."""

    regions: list[Operation]

    def inside(self, op: Operation) -> list[Operation]:
        """The regions with a count that `op` is or holds, in the order of the text."""
        return [region for region in self.regions if op is region or op.is_ancestor(region)]

    def argument(self, loop: scf.ForOp, region: Operation) -> SSAValue:
        """The count of `region` as an argument of `loop`, which is or holds it."""
        counted = self.inside(loop)
        arguments = loop.body.block.args
        return arguments[len(arguments) - len(counted) + counted.index(region)]

    def of(self, op: Operation) -> SSAValue:
        """The count of the loop or branch that `op` stands in. Raises `CannotSpecialize` if that has none."""
        loop, region = loop_around(op), op.parent_op()
        if loop is None or region is None or region not in self.regions:
            raise CannotSpecialize(op, "a value is loaded in one loop or branch and used in another")
        return self.argument(loop, region)


def carry_counts(function: Operation, regions: list[Operation]) -> Counts:
    """Lets the loops and branches of `function` carry the counts of `regions`."""
    counts = Counts(regions)
    for op in [op for op in ops_in(function) if isinstance(op.parent_op(), tt.FuncOp)]:
        _carry(op, counts)
    return counts


def _carry(op: Operation, counts: Counts) -> None:
    if not counts.inside(op):
        return
    if isinstance(op, scf.ForOp):
        _carry_in_loop(op, counts)
    elif isinstance(op, scf.IfOp):
        _carry_in_branch(op, counts)
    else:
        raise CannotSpecialize(op, f"values go from one warp group to another in `{op.name}`")


def _at_end(block: Block, owner: Operation) -> TaskInserter:
    last = last_op_of(block)
    return TaskInserter(block, last, owner.location, tasks_inside(owner))


def _carry_in_loop(loop: scf.ForOp, counts: Counts) -> None:
    counted = counts.inside(loop)
    outer = loop_around(loop)
    before = TaskInserter.before_op(loop, tasks_inside(loop))
    starts = [before.integer(i64, 0) if outer is None else counts.argument(outer, region) for region in counted]
    body = loop.body.block
    arguments = [body.insert_arg(i64, len(body.args)) for _ in counted]
    for argument in arguments:
        argument.location = loop.location
        append_result(loop, i64)
    loop.operands = [*loop.operands, *starts]
    ends = _ends(loop, body, counts)
    if loop in counted:
        at = _at_end(body, loop)
        ends.insert(0, at.value(arith.AddiOp(arguments[0], at.integer(i64, 1))))
    last = last_op_of(body)
    last.operands = [*last.operands, *ends]


def _ends(owner: Operation, block: Block, counts: Counts) -> list[SSAValue]:
    """The counts of what stands in `block`, after it."""
    ends: list[SSAValue] = []
    for inner in list(block.ops):
        inside = counts.inside(inner)
        if inside:
            _carry(inner, counts)
            ends.extend(inner.results[len(inner.results) - len(inside) :])
    return ends


def _carry_in_branch(branch: scf.IfOp, counts: Counts) -> None:
    """The count grows where the branch is taken. A branch without `else` gets one, which hands the counts on."""
    counted = counts.inside(branch)
    then, tasks = branch.true_region.block, tasks_inside(branch)
    if not branch.false_region.blocks:
        otherwise = Block([scf.YieldOp()])
        branch.false_region.add_block(otherwise)
    otherwise = branch.false_region.block
    if any(counts.inside(op) for op in otherwise.ops):
        raise CannotSpecialize(branch, "values go from one warp group to another in `else`")
    for _ in counted:
        append_result(branch, i64)
    ends = _ends(branch, then, counts)
    loop = loop_around(branch)
    in_then, in_else = _at_end(then, branch), _at_end(otherwise, branch)
    if branch in counted:
        if loop is None:
            ends.insert(0, in_then.integer(i64, 1))
        else:
            one = in_then.integer(i64, 1)
            ends.insert(0, in_then.value(arith.AddiOp(counts.argument(loop, branch), one)))
    for block, values in (
        (then, ends),
        (otherwise, [in_else.integer(i64, 0) if loop is None else counts.argument(loop, each) for each in counted]),
    ):
        last = last_op_of(block)
        last.operands = [*last.operands, *values]
        set_tasks(last, tasks)


def buffer_and_phase(at: TaskInserter, count: SSAValue, buffers: int) -> tuple[SSAValue, SSAValue]:
    """Which buffer is next after `count` uses (i32), and the parity of the round (i1)."""
    length = at.value(arith.ExtSIOp(at.integer(i32, buffers), i64))
    rounds = at.value(arith.DivUIOp(count, length))
    index = at.value(arith.SubiOp(count, at.value(arith.MuliOp(rounds, length))))
    index = at.value(arith.TruncIOp(index, i32))
    parity = at.value(arith.AndIOp(rounds, at.integer(i64, 1)))
    return index, at.value(arith.TruncIOp(parity, i1))


def start_of(function: tt.FuncOp) -> Inserter:
    """At the start of `function`, with its location."""
    block = function.body.block
    return Inserter(block, block.first_op, function.location)


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
    """The layout of the buffers: the one of the descriptor that fills them, else as dots read it, else plain."""
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
    loaded = at.insert(ttg.LocalLoadOp(at.value(buffer_in(ring, index)), None, value.type))
    value.replace_all_uses_with(loaded.result)
    after = TaskInserter.after_op(source, tasks_of(source) if isinstance(source, tt.LoadOp) else (channel.producer,))
    view = after.value(buffer_in(ring, index))
    if not isinstance(source, tt.LoadOp):
        fills: Operation = after.insert(ttg.LocalStoreOp(value, view))
        return Transfer(fills, loaded, TokenLoadType.LOCAL_STORE_OP)
    fills = after.insert(
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
