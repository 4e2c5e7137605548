"""`triton-nvidia-tma-lowering`: accesses through descriptors become asynchronous tensor copies, and descriptors made in the kernel
become tensor maps in the program's global scratch memory.

    %x = tt.descriptor_load %d[%i, %j]     %b = ttg.local_alloc : () -> memdesc           a buffer and a barrier
                                           ttng.init_barrier, ttng.barrier_expect BYTES
                                       =>  ttng.async_tma_copy_global_to_local %d[%i, %j] %b, %bar
                                           ttng.wait_barrier, ttng.inval_barrier
                                           %x = ttg.local_load %b                         or %b itself, for a user that wants it so

    tt.descriptor_store %d[%i, %j], %x =>  ttg.local_alloc %x, ttng.fence_async_shared, ttng.async_tma_copy_local_to_global,
                                           ttng.async_tma_store_wait

    tt.make_tensor_descriptor %p, [%m, %n], [%s, %1] : 64x128xf16     =>     ttng.tensormap_create %location, %p, [64, 64], [%n, %m],
                                                                             [%s * 2], [1, 1] {elem_type = 6, swizzle_mode = 3, ...}

Sizes in a tensor map run from the fastest dimension, strides count bytes. Where a tensor is in a buffer already, its users take the buffer; views are made again of
it, for a view is as mutable as what it views. Counterpart of lib/Dialect/TritonNvidiaGPU/Transforms/{TMALowering,TMAUtilities}.cpp.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any, ClassVar, Protocol

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerType, ModuleOp, TensorType, i1, i8, i32, i64
from xdsl.ir import Operation, SSAValue

from minitriton.analysis.copy_remarks import remark_stores_past_rows
from minitriton.analysis.tensor_descriptors import (
    box_shape,
    buffer_encoding,
    element_bytes,
    element_code,
    is_fp4_padded,
    swizzle_mode,
)
from minitriton.dialects import arith, tt, ttg, ttng
from minitriton.dialects.encodings import SharedMemorySpaceAttr
from minitriton.dialects.facts.gpu_traits import MemDescView
from minitriton.dialects.fast_paths.op_access import classes_in
from minitriton.dialects.locations import source_location
from minitriton.dialects.narrowing import instance_of
from minitriton.dialects.tt.enums import PaddingOption
from minitriton.dialects.tt.types import TensorDescType, pointer_type
from minitriton.errors import PassError
from minitriton.layouts.cta_split import shape_per_cta
from minitriton.layouts.encodings import SwizzledShared
from minitriton.passes.tensor_layouts import element_bits
from minitriton.pipeline.pass_registry import KEPT_IN_PLACE, Pass, Property, register_pass
from minitriton.rewriting.constants import constant_op, int_attr
from minitriton.rewriting.greedy import apply_patterns_greedily
from minitriton.rewriting.patterns import PatternSet
from minitriton.rewriting.rewriter import Rewriter
from minitriton.target.tensor_map import SIZE as TENSOR_MAP_BYTES

TENSOR_MAP_ALIGNMENT = 128


class Inserts(Protocol):
    """What puts ops somewhere: `Rewriter`, `Inserter`."""

    def insert(self, op: Any) -> Operation:
        """Puts a new op there."""
        ...


def write_tensor_map(at: Inserts, memory: SSAValue, op: tt.MakeTensorDescOp) -> None:
    """Writes the tensor map of `op` at `memory`. Raises `PassError` for fp4 pairs whose rows are too short to be spread out."""

    def value(op: Operation) -> SSAValue:
        return at.insert(op).results[0]

    def integer(number: int, type_: IntegerType = i32) -> SSAValue:
        return value(constant_op(int_attr(type_, number)))

    type_ = op.result.type
    assert isinstance(type_, TensorDescType)
    box = box_shape(type_)[::-1]
    padded = is_fp4_padded(type_)
    if padded and box[0] != TENSOR_MAP_BYTES:
        raise PassError("FP4 padded loads require 128 elements or more in the last dim", source_location(op.location))
    boxes = [integer(size) for size in box]
    width = integer(element_bytes(type_), i64)
    sizes = list(op.shape)[::-1]
    if padded:
        sizes[0] = value(arith.MuliOp(sizes[0], integer(2)))
    one = integer(1)
    strides = [value(arith.MuliOp(s, width)) for s in list(op.strides)[-2::-1]]
    at.insert(
        ttng.TensormapCreateOp(
            memory,
            op.base,
            boxes,
            sizes,
            strides,
            [one] * len(sizes),
            elem_type=element_code(type_),
            interleave_layout=0,
            swizzle_mode=swizzle_mode(type_),
            fill_mode=int(op.padding.data == PaddingOption.PAD_NAN),
        )
    )


_SHARED = SharedMemorySpaceAttr()
_BARRIER = ttg.MemDescType((1,), i64, ttg.encoding_attr(SwizzledShared(1, 1, 1, (0,))), _SHARED, mutable=True)

patterns = PatternSet()


def _buffer_type(desc: SSAValue, tensor: TensorType, *, mutable: bool) -> ttg.MemDescType:
    assert isinstance(desc.type, TensorDescType)
    shape = tensor.get_shape()
    encoding = ttg.encoding_attr(buffer_encoding(desc.type, shape))
    return ttg.MemDescType(shape, tensor.element_type, encoding, _SHARED, mutable)


def _int(rewriter: Rewriter, value: int, type_: object = i32) -> SSAValue:
    return rewriter.constant(int_attr(type_, value))


def _coordinates(
    rewriter: Rewriter, op: tt.DescriptorLoadOp | tt.DescriptorStoreOp | tt.DescriptorReduceOp
) -> list[SSAValue]:
    """Where the copy begins; pairs of fp4 count as two along the last dimension."""
    indices = list(op.indices)
    assert isinstance(op.desc.type, TensorDescType)
    if is_fp4_padded(op.desc.type):
        indices[-1] = rewriter.insert(arith.MuliOp(indices[-1], _int(rewriter, 2))).results[0]
    return indices


def _load(
    rewriter: Rewriter,
    op: tt.DescriptorLoadOp | tt.DescriptorGatherOp,
    copy: Callable[[SSAValue, SSAValue, SSAValue], Operation],
) -> bool:
    """A buffer filled by `copy(barrier, buffer, predicate)`, waited for at once."""
    tensor = op.result.type
    assert instance_of(tensor, TensorType)
    type_ = _buffer_type(op.desc, tensor, mutable=True)
    buffer = rewriter.insert(ttg.LocalAllocOp(None, type_)).result
    barrier = rewriter.insert(ttg.LocalAllocOp(None, _BARRIER)).result
    rewriter.insert(ttng.InitBarrierOp(barrier, count=1))
    layout = ttg.layout_of(type_)
    assert layout is not None
    size = prod(shape_per_cta(layout, tensor.get_shape())) * element_bits(tensor) // 8
    always = _int(rewriter, 1, i1)
    rewriter.insert(ttng.BarrierExpectOp(barrier, always, size=size))
    rewriter.insert(copy(barrier, buffer, always))
    rewriter.insert(ttng.WaitBarrierOp(barrier, _int(rewriter, 0)))
    rewriter.insert(ttng.InvalBarrierOp(barrier))
    replace_by_buffer(rewriter, op.result, buffer)
    rewriter.erase_op(op)
    return True


@patterns.pattern(tt.DescriptorLoadOp)
def lower_load(op: tt.DescriptorLoadOp, rewriter: Rewriter) -> bool:
    """A block."""

    def copy(barrier: SSAValue, buffer: SSAValue, pred: SSAValue) -> Operation:
        return ttng.AsyncTMACopyGlobalToLocalOp(op.desc, _coordinates(rewriter, op), barrier, buffer, pred)

    return _load(rewriter, op, copy)


@patterns.pattern(tt.DescriptorGatherOp)
def lower_gather(op: tt.DescriptorGatherOp, rewriter: Rewriter) -> bool:
    """Rows."""

    def copy(barrier: SSAValue, buffer: SSAValue, pred: SSAValue) -> Operation:
        return ttng.AsyncTMAGatherOp(op.desc, op.x_offsets, op.y_offset, barrier, buffer, pred)

    return _load(rewriter, op, copy)


def _store(
    rewriter: Rewriter,
    op: tt.DescriptorStoreOp | tt.DescriptorReduceOp | tt.DescriptorScatterOp,
    copy: Callable[[SSAValue], Operation],
) -> bool:
    """The tensor in a buffer, which `copy(buffer)` sends off; waited for until it has been read."""
    tensor = op.src.type
    assert instance_of(tensor, TensorType)
    buffer = rewriter.insert(ttg.LocalAllocOp(op.src, _buffer_type(op.desc, tensor, mutable=False))).result
    rewriter.insert(ttng.FenceAsyncSharedOp(b_cluster=False))
    rewriter.insert(copy(buffer))
    rewriter.insert(ttng.TMAStoreWaitOp(pendings=0))
    rewriter.erase_op(op)
    return True


@patterns.pattern(tt.DescriptorStoreOp)
def lower_store(op: tt.DescriptorStoreOp, rewriter: Rewriter) -> bool:
    """A block."""
    return _store(
        rewriter, op, lambda buffer: ttng.AsyncTMACopyLocalToGlobalOp(op.desc, _coordinates(rewriter, op), buffer)
    )


@patterns.pattern(tt.DescriptorReduceOp)
def lower_reduce(op: tt.DescriptorReduceOp, rewriter: Rewriter) -> bool:
    """A block that is combined with memory."""
    return _store(
        rewriter,
        op,
        lambda buffer: ttng.AsyncTMAReduceOp(op.desc, _coordinates(rewriter, op), buffer, kind=op.kind.data),
    )


@patterns.pattern(tt.DescriptorScatterOp)
def lower_scatter(op: tt.DescriptorScatterOp, rewriter: Rewriter) -> bool:
    """Rows."""
    return _store(rewriter, op, lambda buffer: ttng.AsyncTMAScatterOp(op.desc, op.x_offsets, op.y_offset, buffer))


@patterns.pattern(tt.MakeTensorDescOp)
def make_tensor_map(op: tt.MakeTensorDescOp, rewriter: Rewriter) -> bool:
    """A tensor map, written by the kernel and made visible to the copy unit."""
    type_ = op.result.type
    assert isinstance(type_, TensorDescType)
    memory = rewriter.insert(
        ttg.GlobalScratchAllocOp(pointer_type(i8), nbytes=TENSOR_MAP_BYTES, alignment=TENSOR_MAP_ALIGNMENT)
    ).result
    write_tensor_map(rewriter, memory, op)
    rewriter.insert(ttng.TensormapFenceproxyAcquireOp(memory))
    rewriter.replace_with(op, ttng.ReinterpretTensorDescOp(memory, type_))
    return True


@register_pass
class TMALowering(Pass, stage="ttgir", origin="triton"):
    """Turns accesses through descriptors into asynchronous tensor copies."""

    name: ClassVar[str] = "triton-nvidia-tma-lowering"
    acts_on = patterns.classes
    establishes: ClassVar[frozenset[Property]] = frozenset({Property.DESCRIPTORS_LOWERED})
    requires = frozenset({Property.ENCODINGS, Property.DESCRIPTOR_LAYOUTS})

    def after(self, holds: frozenset[Property]) -> frozenset[Property]:
        """Without accesses through descriptors (a Gluon kernel) only the making of descriptors is lowered: no dot's operand is written."""
        kept = holds & KEPT_IN_PLACE if Property.NO_DESCRIPTORS in holds else frozenset[Property]()
        return super().after(holds) | kept

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not classes_in(op).isdisjoint(patterns.classes):
            remark_stores_past_rows(op)
            apply_patterns_greedily(op, patterns)


def replace_by_buffer(rewriter: Rewriter, tensor: SSAValue, buffer: SSAValue) -> None:
    """Makes all users of `tensor` use `buffer`: those that put it into such a buffer directly, the others by a load where
    `rewriter` inserts."""
    assert isinstance(buffer.type, ttg.MemDescType)
    copies = [
        use.operation
        for use in tensor.uses
        if isinstance(use.operation, ttg.LocalAllocOp) and use.operation.result.type.encoding == buffer.type.encoding
    ]
    for copy in copies:
        replace_buffer(rewriter, copy.results[0], buffer)
        rewriter.erase_op(copy)
    if tensor.first_use is not None:
        loaded = rewriter.insert(ttg.LocalLoadOp(buffer, None, tensor.type)).results[0]
        rewriter.replace_all_uses(tensor, loaded)


def replace_buffer(rewriter: Rewriter, old: SSAValue, new: SSAValue) -> None:
    """Makes all users of the buffer `old` use `new`, whose type may differ in being mutable."""
    for use in list(old.uses):
        user = use.operation
        if MemDescView.of(user):
            view = _view_of(user, new)
            view.location = user.location
            rewriter.insert(view, user)
            replace_buffer(rewriter, user.results[0], view.results[0])
            rewriter.erase_op(user)
        elif isinstance(user, ttng.WarpGroupDotWaitOp):
            operands = [new if index == use.index else value for index, value in enumerate(user.operands)]
            wait = type(user).create(
                operands=operands,
                result_types=[value.type for value in operands],
                properties=user.properties,
                attributes=user.attributes,
                location=user.location,
            )
            rewriter.replace_with(user, wait)
        else:
            rewriter.set_operand(user, use.index, new)


def _view_of(view: Operation, buffer: SSAValue) -> Operation:
    old = view.results[0].type
    assert isinstance(old, ttg.MemDescType) and isinstance(buffer.type, ttg.MemDescType)
    return type(view).create(
        operands=[buffer, *view.operands[1:]],
        result_types=[old.with_(mutable=buffer.type.mutable)],
        properties=view.properties,
        attributes=view.attributes,
    )
