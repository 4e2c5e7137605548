"""Stores through descriptors in a loop run in the background of what follows.

    scf.for ...                                    %buffer = ttg.local_alloc
      tt.descriptor_store %d[%i], %x     =>        scf.for ...
                                                     ttng.async_tma_store_wait {pendings = 0}      the store before has read it
                                                     ttg.local_store %x, %buffer
                                                     ttng.fence_async_shared
                                                     ttng.async_tma_copy_local_to_global %d[%i] %buffer
                                                   ttng.async_tma_store_wait {pendings = 0}

Stores of one shape and type share a buffer. Answers to lib/Dialect/TritonGPU/Transforms/Pipeliner/TMAStoresPipeline.cpp.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects import scf
from xdsl.dialects.builtin import TensorType, i32
from xdsl.ir import Attribute, Block, BlockArgument, SSAValue

from minitriton.analysis.tensor_descriptors import buffer_encoding, is_fp4_padded
from minitriton.dialects import arith, tt, ttg, ttng
from minitriton.dialects.narrowing import instance_of
from minitriton.dialects.tt.types import TensorDescType
from minitriton.passes.pipelining.rings import SHARED_MEMORY
from minitriton.passes.pipelining.schedule import Schedule
from minitriton.passes.pipelining.tensor_maps import rotate_tensor_maps
from minitriton.rewriting.insertion import Inserter

Store = tt.DescriptorStoreOp | tt.DescriptorReduceOp | tt.DescriptorScatterOp
STORES = (tt.DescriptorStoreOp, tt.DescriptorReduceOp, tt.DescriptorScatterOp)

_MAPS_IN_TURN = 2
"""Places for the map of a descriptor made in such a loop: one is read while the other is written."""


def pipeline_stores(loop: scf.ForOp) -> None:
    """Lets the stores of `loop` run on, those of loops in it left out."""
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
    behind = Inserter.after(loop)
    behind.insert(ttng.TMAStoreWaitOp(pendings=0))
    for buffer in of_store:
        behind.insert(ttg.LocalDeallocOp(buffer))
    if made_in_kernel:
        rotate_tensor_maps(loop, Schedule(_MAPS_IN_TURN + 1))


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
