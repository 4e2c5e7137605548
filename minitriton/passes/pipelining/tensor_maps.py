"""Descriptors that a pipelined loop makes: each iteration writes its tensor map to another of several slots in global memory.

    scf.for ...                                          %maps = ttg.global_scratch_alloc : 3 * 128 bytes
      %d = tt.make_tensor_descriptor ...        =>       scf.for ... iter_args(%n = 0)
                                                           ttng.tensormap_create %maps + 128 * %n, ...
                                                           %d = ttng.reinterpret_tensor_descriptor %maps + 128 * %n
                                                           yield (%n + 1) % 3

A copy that is under way may still read the map of the iteration before. Counterpart of lowerTMADescriptors in
lib/Dialect/TritonGPU/Transforms/Pipeliner/PipeliningUtility.cpp.

Stores through descriptors in a loop run in the background of what follows.

    scf.for ...                                    %buffer = ttg.local_alloc
      tt.descriptor_store %d[%i], %x     =>        scf.for ...
                                                     ttng.async_tma_store_wait {pendings = 0}      the store before has read it
                                                     ttg.local_store %x, %buffer
                                                     ttng.fence_async_shared
                                                     ttng.async_tma_copy_local_to_global %d[%i] %buffer
                                                   ttng.async_tma_store_wait {pendings = 0}

Stores of one shape and type share a buffer. Counterpart of lib/Dialect/TritonGPU/Transforms/Pipeliner/TMAStoresPipeline.cpp.
"""

from collections.abc import Iterator

from xdsl.dialects import scf
from xdsl.dialects.builtin import TensorType, i8, i32
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, SSAValue

from minitriton.analysis.tensor_descriptors import buffer_encoding, is_fp4_padded
from minitriton.dialects import arith, tt, ttg, ttng
from minitriton.dialects.fast_paths.op_access import last_op_of, operand_values, ops_of
from minitriton.dialects.narrowing import instance_of
from minitriton.dialects.tt.types import TensorDescType, pointer_type
from minitriton.passes.loop_rewriting import append_result
from minitriton.passes.pipelining.rings import SHARED_MEMORY, Placer, carry, forward, next_of_ring
from minitriton.passes.pipelining.schedule import Schedule, body_ops
from minitriton.passes.tma_lowering import TENSOR_MAP_ALIGNMENT, TENSOR_MAP_BYTES, write_tensor_map
from minitriton.rewriting.constants import constant_op, int_attr
from minitriton.rewriting.rewriter import Inserter


def rotate_tensor_maps(loop: scf.ForOp, schedule: Schedule) -> None:
    """Gives every descriptor made in `loop` as many slots as its last copy needs to end; not one that a `while` makes, whose copies end in it."""
    made = [op for op in ops_of(loop, tt.MakeTensorDescOp) if not _is_in_while(op, loop)]
    if not made:
        return
    count = schedule.stages - 1 + any(isinstance(op, ttng.WarpGroupDotOp) for op in body_ops(loop))
    at = Inserter.before(loop)
    slots: list[SSAValue] = []
    for op in made:
        at.location = op.location
        scratch = ttg.GlobalScratchAllocOp(
            pointer_type(i8), nbytes=count * TENSOR_MAP_BYTES, alignment=TENSOR_MAP_ALIGNMENT
        )
        slots.append(at.value(scratch))
    at.location = loop.location
    zero, one = at.integer(i32, 0), at.integer(i32, 1)
    numbers = carry(loop, [zero] * len(made))
    size = at.integer(i32, count)
    following = [
        _write(op, slot, number, (size, zero, one), loop, schedule)
        for op, slot, number in zip(made, slots, numbers, strict=True)
    ]
    forward(loop, following)


def _is_in_while(op: Operation, loop: scf.ForOp) -> bool:
    around = op.parent_op()
    while around is not None and around is not loop:
        if isinstance(around, scf.WhileOp):
            return True
        around = around.parent_op()
    return False


def _write(
    op: tt.MakeTensorDescOp,
    slot: SSAValue,
    number: SSAValue,
    ring: tuple[SSAValue, SSAValue, SSAValue],
    loop: scf.ForOp,
    schedule: Schedule,
) -> SSAValue:
    """The map that replaces `op`, which nothing uses any more; the number of the next iteration's slot."""
    at = Inserter.before(op)
    target: Inserter | Placer = at
    if op in schedule:
        target = Placer(schedule, at, schedule.positions[op])
    width = target.value(constant_op(int_attr(i32, TENSOR_MAP_BYTES)))
    map_ = target.value(tt.AddPtrOp(slot, target.value(arith.MuliOp(width, number))))
    write_tensor_map(target, map_, op)
    target.insert(ttng.TensormapFenceproxyAcquireOp(map_))
    descriptor = target.value(ttng.ReinterpretTensorDescOp(map_, op.result.type))
    op.results[0].replace_all_uses_with(descriptor)
    size, zero, one = ring
    following, _ = next_of_ring(target, number, size, zero, one)
    return _forwarded_out(op, loop, number, following)


def _forwarded_out(op: Operation, loop: scf.ForOp, number: SSAValue, following: SSAValue) -> SSAValue:
    """What `number` is after the ops of the loop's body that `op` stands in, if it is `following` after `op`."""
    block = op.parent
    assert block is not None
    while block is not loop.regions[0].block:
        around = block.parent_op()
        assert around is not None
        if isinstance(around, scf.ForOp):
            (inner,) = carry(around, [number])
            number.replace_uses_with_if(inner, lambda use, loop=around: _is_in(use.operation, loop))
            forward(around, [following])
            following = around.results[-1]
        else:
            assert isinstance(around, scf.IfOp)
            following = _out_of_branch(around, block, following, number)
        block = around.parent
        assert block is not None
    return following


def _is_in(op: Operation, around: Operation) -> bool:
    return op is not around and around.is_ancestor(op)


def _out_of_branch(branch: scf.IfOp, taken: Block, following: SSAValue, number: SSAValue) -> OpResult:
    """A new result of `branch`: `following` from the block `taken`, `number` from the other."""
    for region in branch.regions:
        if not region.blocks:
            region.add_block(Block([scf.YieldOp()]))
        end = last_op_of(region.block)
        end.operands = [*operand_values(end), following if region.block is taken else number]
    return append_result(branch, number.type)


Store = tt.DescriptorStoreOp | tt.DescriptorReduceOp | tt.DescriptorScatterOp
STORES = (tt.DescriptorStoreOp, tt.DescriptorReduceOp, tt.DescriptorScatterOp)

_NUM_MAPS = 2
"""Slots for the map of a descriptor made in such a loop: one is read while the other is written."""


def pipeline_stores(loop: scf.ForOp) -> None:
    """Lets the stores of `loop` stay in flight, those of loops in it left out."""
    stores = list(_stores(loop.regions[0].block))
    if not stores:
        return
    buffers: dict[tuple[tuple[int, ...], Attribute], SSAValue] = {}
    of_store: list[SSAValue] = []
    for store in stores:
        tensor = store.src.type
        assert instance_of(tensor, TensorType)
        key = (tensor.get_shape(), tensor.element_type)
        if key not in buffers:
            buffers[key] = _buffer(loop, store, tensor)
        of_store.append(buffers[key])
    made_in_kernel = any(not _comes_from_host(store.desc) for store in stores)
    for store, buffer in zip(stores, of_store, strict=True):
        _store(store, buffer)
    after = Inserter.after(loop)
    after.insert(ttng.TMAStoreWaitOp(pendings=0))
    for buffer in of_store:
        after.insert(ttg.LocalDeallocOp(buffer))
    if made_in_kernel:
        rotate_tensor_maps(loop, Schedule(_NUM_MAPS + 1))


def _stores(block: Block) -> Iterator[Store]:
    for op in block.ops:
        if isinstance(op, STORES):
            yield op
        elif not isinstance(op, scf.ForOp):
            for region in op.regions:
                for inner in region.blocks:
                    yield from _stores(inner)


def _buffer(loop: scf.ForOp, store: Store, tensor: TensorType) -> SSAValue:
    type_ = store.desc.type
    assert isinstance(type_, TensorDescType)
    encoding = ttg.encoding_attr(buffer_encoding(type_, tensor.get_shape()))
    at = Inserter.before(loop)
    at.location = store.location
    return at.value(
        ttg.LocalAllocOp(
            None, ttg.MemDescType(tensor.get_shape(), tensor.element_type, encoding, SHARED_MEMORY, mutable=True)
        )
    )


def _store(store: Store, buffer: SSAValue) -> None:
    at = Inserter.before(store)
    at.insert(ttng.TMAStoreWaitOp(pendings=0))
    at.insert(ttg.LocalStoreOp(store.src, buffer))
    at.insert(ttng.FenceAsyncSharedOp(b_cluster=False))
    if isinstance(store, tt.DescriptorScatterOp):
        at.insert(ttng.AsyncTMAScatterOp(store.desc, store.x_offsets, store.y_offset, buffer))
    else:
        indices = list(store.indices)
        assert isinstance(store.desc.type, TensorDescType)
        if is_fp4_padded(store.desc.type):
            indices[-1] = at.value(arith.MuliOp(indices[-1], at.integer(i32, 2)))
        if isinstance(store, tt.DescriptorReduceOp):
            at.insert(ttng.AsyncTMAReduceOp(store.desc, indices, buffer, kind=store.kind.data))
        else:
            at.insert(ttng.AsyncTMACopyLocalToGlobalOp(store.desc, indices, buffer))
    assert store.parent is not None
    store.parent.erase_op(store)


def _comes_from_host(descriptor: SSAValue) -> bool:
    """Whether `descriptor` is an argument of the kernel."""
    owner = descriptor.block.parent_op() if isinstance(descriptor, BlockArgument) else None
    return isinstance(owner, tt.FuncOp) and owner.is_public
