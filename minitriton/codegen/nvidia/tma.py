"""Hopper's asynchronous copies: tensor copies by descriptor, barriers in memory, descriptors made on the device.

ttng.async_tma_copy_global_to_local %d[%m, %k] %buf, %bar, %p
    ->  one nvvm.cp.async.bulk.tensor.load for each column of the buffer that is as wide as its swizzle, by one thread
ttng.async_tma_copy_local_to_global %d[%m, %n] %buf
    ->  the same with .store, by one thread of each of as many warps
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import product

from xdsl.dialects import llvm as L
from xdsl.dialects.builtin import IntegerAttr, UnitAttr
from xdsl.ir import Attribute, Operation, SSAValue

from minitriton.analysis.tensor_descriptors import element_bytes
from minitriton.codegen.lowering.function import FunctionLowering
from minitriton.codegen.lowering.shared import buffer_shape, memdesc, memory_bits, shared_encoding, slice_offset
from minitriton.codegen.nvidia import lowers, lowers_where, needs_scratch
from minitriton.codegen.registers import SharedView
from minitriton.codegen.types import I1, I8, I32, PTR
from minitriton.dialects import llvm as ours
from minitriton.dialects import nvvm, ttng
from minitriton.dialects.attribute_values import integer, is_true, string_attr
from minitriton.dialects.facts.pass_attributes import ISSUED_BY_WARPS
from minitriton.dialects.locations import source_location
from minitriton.dialects.narrowing import instance_of
from minitriton.dialects.nvvm import tma
from minitriton.dialects.tt.types import TensorDescType
from minitriton.dialects.ttg import MemDescType
from minitriton.errors import LoweringError
from minitriton.layouts.cta_split import shape_per_cta, split_among_ctas
from minitriton.layouts.encodings import NVMMAShared
from minitriton.layouts.to_linear import tma_block_shape, to_linear_layout
from minitriton.rewriting.constants import constant_attr, number_of
from minitriton.target.architectures import WARP_SIZE
from minitriton.target.tensor_map import GRAIN, SHARED_ALIGNMENT, illegal_corner

TENSOR_MAP_BYTES = 128
_UNIT = UnitAttr()


def _address(f: FunctionLowering, value: SSAValue) -> SSAValue:
    """Where a view begins in shared memory."""
    view = f.values[value]
    assert isinstance(view, SharedView)
    type_ = memdesc(value)
    return f.b.gep(view.base, slice_offset(type_, view.offsets) * memory_bits(type_) // 8, I8)


def _first_warp(f: FunctionLowering) -> SSAValue:
    if f.num_warps == 1:
        return f.b.constant(I1, 1)
    return f.b.icmp("ult", f.thread_id(), f.b.i32(WARP_SIZE))


# Barriers in memory ---------------------------------------------------------------------------------------------------


def _mbarrier(f: FunctionLowering, kind: str, barrier: SSAValue, pred: SSAValue, amount: IntegerAttr | None) -> None:
    properties: dict[str, Attribute] = {"kind": string_attr(kind)}
    if amount is not None:
        properties["amount"] = amount
    f.b.operation(tma.MBarrierOp, (_address(f, barrier), pred), (), properties)


@lowers(ttng.InitBarrierOp)
def init_barrier(f: FunctionLowering, op: ttng.InitBarrierOp) -> None:
    _mbarrier(f, "init", op.operands[0], f.is_first_thread(), op.count)


@lowers(ttng.InvalBarrierOp)
def inval_barrier(f: FunctionLowering, op: ttng.InvalBarrierOp) -> None:
    _mbarrier(f, "inval", op.operands[0], f.is_first_thread(), None)


@lowers_where("has_tma", ttng.BarrierExpectOp)
def barrier_expect(f: FunctionLowering, op: ttng.BarrierExpectOp) -> None:
    pred = f.b.and_(f.is_first_thread(), f.scalar(op.operands[1]))
    _mbarrier(f, "arrive.expect_tx", op.operands[0], pred, op.size)


@lowers(ttng.ArriveBarrierOp)
def arrive_barrier(f: FunctionLowering, op: ttng.ArriveBarrierOp) -> None:
    pred = f.is_first_thread()
    if len(op.operands) > 1:
        pred = f.b.and_(pred, f.scalar(op.operands[1]))
    _mbarrier(f, "arrive", op.operands[0], pred, op.count)


@lowers(ttng.WaitBarrierOp)
def wait_barrier(f: FunctionLowering, op: ttng.WaitBarrierOp) -> None:
    pred: SSAValue | None = op.pred
    operands = [_address(f, op.operands[0]), f.scalar(op.operands[1])]
    if pred is not None and not _is_true_constant(f.scalar(pred)):
        operands.append(f.scalar(pred))
    f.b.operation(tma.MBarrierWaitOp, operands, ())


@lowers(ttng.ArriveForFirstWarpOp, ttng.FirstWarpWaitsOp)
def first_warp_barrier(f: FunctionLowering, op: ttng.ArriveForFirstWarpOp | ttng.FirstWarpWaitsOp) -> None:
    """One half of a barrier at which only the first warp waits."""
    waits = isinstance(op, ttng.FirstWarpWaitsOp)
    mine = _first_warp(f) if waits else f.b.icmp("uge", f.thread_id(), f.b.i32(WARP_SIZE))
    number = f.b.add(f.scalar(op.operands[0]), f.b.i32(integer(op.first)))
    properties: dict[str, Attribute] = {"number_of_threads": IntegerAttr(f.num_warps << f.module.lane_bits, 32)}
    f.b.operation(nvvm.NamedBarrierOp, (number, mine), (), properties if waits else properties | {"arrives": _UNIT})


@lowers(ttng.WaitForTurnOp, ttng.EndTurnOp)
def turn_of_warp_group(f: FunctionLowering, op: ttng.WaitForTurnOp | ttng.EndTurnOp) -> None:
    """A warp group waits at the named barrier of its number, or arrives at the other group's."""
    b = f.b
    own = b.lshr(f.thread_id(), 7)
    predicate = b.constant(I1, 1)
    if op.group is not None:
        predicate = b.icmp("eq", own, b.i32(integer(op.group)))
    waits = isinstance(op, ttng.WaitForTurnOp)
    group = own if waits else b.sub(b.i32(1), own)
    number = b.add(group, b.i32(integer(op.first)))
    properties: dict[str, Attribute] = {"number_of_threads": IntegerAttr(256, 32)}
    b.operation(nvvm.NamedBarrierOp, (number, predicate), (), properties if waits else properties | {"arrives": _UNIT})


def _is_true_constant(value: SSAValue) -> bool:
    owner = value.owner
    return isinstance(owner, L.ConstantOp) and instance_of(owner.value, IntegerAttr) and owner.value.value.data != 0


@lowers(ttng.AsyncCopyMbarrierArriveOp)
def async_copy_mbarrier_arrive(f: FunctionLowering, op: ttng.AsyncCopyMbarrierArriveOp) -> None:
    properties = {"noinc": _UNIT} if "noIncrement" in op.properties else {}
    f.b.operation(tma.CpAsyncMBarrierArriveOp, (_address(f, op.operands[0]),), (), properties)


# Tensor copies --------------------------------------------------------------------------------------------------------


Box = tuple[tuple[int, ...], int]
"""First coordinates, and bytes from the start of the buffer."""


def _boxes(f: FunctionLowering, op: Operation, buffer: SSAValue) -> list[Box]:
    """The boxes that make up a CTA's part of a buffer. Raises `LoweringError` where one is not as aligned as copies need."""
    type_, encoding = memdesc(buffer), shared_encoding(memdesc(buffer))
    if not isinstance(encoding, NVMMAShared):
        raise _misaligned(op, f"a buffer of layout {encoding.mnemonic}")
    own = shape_per_cta(encoding, type_.get_shape())
    box = tma_block_shape(encoding, own, packed=True)
    offset_of = to_linear_layout(encoding, buffer_shape(type_)).pseudoinvert()
    padded = encoding.fp4_padded
    result: list[Box] = []
    for reversed_coordinates in product(
        *(range(0, size, step) for size, step in zip(own[::-1], box[::-1], strict=True))
    ):
        coordinates = reversed_coordinates[::-1]
        offset = offset_of.apply({f"dim{d}": c for d, c in enumerate(coordinates)})["offset"]
        unpacked = (*coordinates[:-1], coordinates[-1] * 2) if padded else coordinates
        result.append((unpacked, offset * memory_bits(type_) // 8))
    view = f.values[buffer]
    assert isinstance(view, SharedView)
    first = slice_offset(type_, view.offsets) * memory_bits(type_) // 8
    for _, begin in result:
        if (first + begin) % SHARED_ALIGNMENT:
            raise _misaligned(op, f"a part of a buffer that begins {first + begin} bytes from its start")
    return result


def _misaligned(op: Operation, what: str) -> LoweringError:
    return LoweringError(
        f"a tensor copy of {what}: in shared memory copies begin at multiples of {SHARED_ALIGNMENT} bytes",
        source_location(op.location),
        help=f"give the buffer an nvmma_shared layout, and copy parts of whole multiples of {SHARED_ALIGNMENT} bytes",
    )


def _of_this_cta(f: FunctionLowering, given: list[SSAValue], type_: MemDescType) -> list[SSAValue]:
    """The coordinates `given` moved to where this CTA's part of the buffer begins. A descriptor may have more dimensions."""
    parts, _ = split_among_ctas(shared_encoding(type_).cga, type_.get_shape())
    if not parts:
        return given
    leading = len(given) - len(parts[0])
    moved = list(given)
    for dim in range(len(parts[0])):
        offset, _ = f.linear_index((), [part[dim] for part in parts])
        if offset is not None:
            moved[leading + dim] = f.b.add(given[leading + dim], offset)
    return moved


def _coordinates(f: FunctionLowering, given: list[SSAValue], offsets: tuple[int, ...]) -> list[SSAValue]:
    """The coordinates of a box, fastest first. A descriptor may have more dimensions than the buffer."""
    leading = len(given) - len(offsets)
    moved = [
        f.b.add(value, f.b.i32(offsets[i - leading])) if i >= leading and offsets[i - leading] else value
        for i, value in enumerate(given)
    ]
    return moved[::-1]


def _check_corner(op: Operation, descriptor: SSAValue, given: Sequence[SSAValue], *, stores: bool) -> None:
    """Raises `LoweringError` where what is known of the first coordinates lets no copy begin there."""
    assert isinstance(descriptor.type, TensorDescType)
    known = [number_of(constant_attr(each)) for each in reversed(given)]
    corner = [each if isinstance(each, int) else 0 for each in known]
    why = illegal_corner(corner, element_bytes(descriptor.type), stores=stores)
    if why is not None:
        raise LoweringError(
            f"a tensor copy {why}, which the hardware ends with an illegal instruction",
            source_location(op.location),
            help="begin the block elsewhere, or access it through pointers and a mask",
        )


def _issuing_thread(f: FunctionLowering, pred: SSAValue | None = None, warps: int = 1) -> SSAValue:
    """True in one thread of each of the first `warps`."""
    elected = f.b.value(nvvm.ElectSyncOp, (), I1)
    one = elected
    if warps < f.num_warps:
        one = f.b.and_(f.b.icmp("ult", f.thread_id(), f.b.i32(warps << f.module.lane_bits)), elected)
    return one if pred is None else f.b.and_(one, pred)


@lowers_where("has_tma", ttng.AsyncTMACopyGlobalToLocalOp)
def copy_to_local(f: FunctionLowering, op: ttng.AsyncTMACopyGlobalToLocalOp) -> None:
    """Every CTA gets its part, those that hold copies too."""
    descriptor, *given, barrier, target, pred = op.operands
    _check_corner(op, descriptor, given, stores=False)
    boxes = _boxes(f, op, target)
    warps = _warps_with_boxes(boxes, f.num_warps) if ISSUED_BY_WARPS in op.attributes else 1
    thread = _issuing_thread(f, f.scalar(pred), warps)
    base, bar = _address(f, target), _address(f, barrier)
    coordinates = _of_this_cta(f, [f.scalar(value) for value in given], memdesc(target))
    if warps > 1:
        base, coordinates = _of_this_warp(f, base, coordinates, boxes, warps)
    for offsets, start in boxes[::warps]:
        where = _coordinates(f, coordinates, offsets)
        operands = (f.b.gep(base, start, I8), f.scalar(descriptor), *where, bar, thread)
        f.b.operation(tma.TensorLoadOp, operands, ())


def _copy_to_global(f: FunctionLowering, op: Operation, properties: dict[str, Attribute]) -> None:
    """Of CTAs that hold the same part the first one stores it, each of its first warps a box: copies are started next to each other."""
    descriptor, *given, source = op.operands
    _check_corner(op, descriptor, given, stores=True)
    type_ = memdesc(source)
    parts, _ = split_among_ctas(shared_encoding(type_).cga, type_.get_shape())
    copies = sum(1 << bit for bit, part in enumerate(parts) if not any(part))
    boxes = _boxes(f, op, source)
    warps = _warps_with_boxes(boxes, f.num_warps)
    thread = _issuing_thread(f, f.zero_in(0, copies), warps)
    base = _address(f, source)
    coordinates = _of_this_cta(f, [f.scalar(value) for value in given], type_)
    if warps > 1:
        base, coordinates = _of_this_warp(f, base, coordinates, boxes, warps)
    for offsets, start in boxes[::warps]:
        where = _coordinates(f, coordinates, offsets)
        operands = (f.b.gep(base, start, I8), f.scalar(descriptor), *where, thread)
        f.b.operation(tma.TensorStoreOp, operands, (), properties)
    f.b.operation(tma.BulkCommitGroupOp, (), ())


def _steps(boxes: list[Box], warps: int) -> list[tuple[int, ...]]:
    """For each bit of a warp's number, how far its box is after the first warp's: along each dimension, and in bytes."""
    first = (*boxes[0][0], boxes[0][1])
    bits = range(warps.bit_length() - 1)
    return [tuple(b - a for a, b in zip(first, (*boxes[1 << k][0], boxes[1 << k][1]), strict=True)) for k in bits]


def _warps_with_boxes(boxes: list[Box], num_warps: int) -> int:
    """How many warps take turns with `boxes`: 1 where the bits of a warp's number do not say where its box is."""
    warps = min(num_warps, len(boxes) & -len(boxes))
    steps = _steps(boxes, warps)
    for number, (offsets, start) in enumerate(boxes):
        offset_of_first, start_of_first = boxes[number - number % warps]
        taken = [step for k, step in enumerate(steps) if number >> k & 1]
        for dim, (at, begin) in enumerate(zip((*offsets, start), (*offset_of_first, start_of_first), strict=True)):
            if at != begin + reduce(int.__xor__, (step[dim] for step in taken), 0):
                return 1
    return warps


def _of_this_warp(
    f: FunctionLowering, base: SSAValue, given: list[SSAValue], boxes: list[Box], warps: int
) -> tuple[SSAValue, list[SSAValue]]:
    """The address and the coordinates `given` moved to where this warp's first box begins."""
    moved, leading = list(given), len(given) - len(boxes[0][0])
    *by_dim, bytes_by_bit = zip(*_steps(boxes, warps), strict=True)
    for dim, steps in enumerate(by_dim):
        if any(steps):
            moved[leading + dim] = f.b.add(given[leading + dim], f.shared_index([0] * f.module.lane_bits + list(steps)))
    return f.b.gep(base, f.shared_index([0] * f.module.lane_bits + list(bytes_by_bit)), I8), moved


@lowers_where("has_tma", ttng.AsyncTMACopyLocalToGlobalOp)
def copy_to_global(f: FunctionLowering, op: ttng.AsyncTMACopyLocalToGlobalOp) -> None:
    _copy_to_global(f, op, {})


@lowers_where("has_tma", ttng.AsyncTMAReduceOp)
def reduce_to_global(f: FunctionLowering, op: ttng.AsyncTMAReduceOp) -> None:
    kind = str(op.kind.data)
    _copy_to_global(f, op, {"reduce": string_attr(kind)})


@lowers(ttng.AsyncTMAGatherOp, ttng.AsyncTMAScatterOp)
def copy_rows(f: FunctionLowering, op: ttng.AsyncTMAGatherOp | ttng.AsyncTMAScatterOp) -> None:
    """Not on the targets that there are."""
    raise f.unsupported(
        op,
        "tensor copies gather rows by number from sm_100 on",
        help="load or store through a block of pointers: `tl.load(base + rows[:, None] * stride + columns)`",
    )


@lowers_where("has_tma", ttng.TMAStoreWaitOp)
def store_wait(f: FunctionLowering, op: ttng.TMAStoreWaitOp) -> None:
    f.b.operation(tma.BulkWaitGroupOp, (), (), {"n": op.pendings})


# Descriptors made on the device ---------------------------------------------------------------------------------------


@lowers_where("has_tma", ttng.ReinterpretTensorDescOp)
def reinterpret_tensor_descriptor(f: FunctionLowering, op: ttng.ReinterpretTensorDescOp) -> None:
    f.values[op.results[0]] = f.b.value(ours.AddrSpaceCastOp, (f.scalar(op.operands[0]),), PTR)


@needs_scratch(ttng.TensormapCreateOp)
def tensor_map_scratch(op: ttng.TensormapCreateOp) -> int:
    return TENSOR_MAP_BYTES


@lowers_where("has_tma", ttng.TensormapCreateOp)
def tensormap_create(f: FunctionLowering, op: ttng.TensormapCreateOp) -> None:
    """Zeros, then field by field in shared memory; the first warp publishes it. Raises `LoweringError` for a stride that is known and that no
    copy can step by."""
    _check_strides(op)
    b = f.b
    scratch = f.scratch(op)
    warp, thread = _first_warp(f), f.is_first_thread()
    b.operation(nvvm.StoreSharedOp, (b.i32(0), b.gep(scratch, f.thread_id(), I32), warp), ())
    b.operation(nvvm.BarWarpSyncOp, (), ())

    def replace(field: str, value: SSAValue, ordinal: int | None = None) -> None:
        properties: dict[str, Attribute] = {"field": string_attr(field)}
        if ordinal is not None:
            properties["ordinal"] = IntegerAttr(ordinal, 32)
        b.operation(tma.TensormapReplaceOp, (scratch, value, thread), (), properties)

    boxes, sizes, strides, steps = (
        [f.scalar(value) for value in getattr(op, name)]
        for name in ("box_dim", "global_dim", "global_stride", "element_stride")
    )
    replace("global_address", f.scalar(op.operands[1]))
    replace("rank", b.i32(len(boxes) - 1))
    for field, values in (
        ("box_dim", boxes),
        ("global_dim", sizes),
        ("global_stride", strides),
        ("element_stride", steps),
    ):
        for ordinal, value in enumerate(values):
            replace(field, value, ordinal)
    for field, name in (
        ("elemtype", "elem_type"),
        ("interleave_layout", "interleave_layout"),
        ("swizzle_mode", "swizzle_mode"),
        ("fill_mode", "fill_mode"),
    ):
        replace(field, b.i32(getattr(op, name).value.data))
    b.operation(tma.TensormapPublishOp, (f.scalar(op.operands[0]), scratch, warp), ())


def _check_strides(op: ttng.TensormapCreateOp) -> None:
    for index, stride in enumerate(op.global_stride):
        number = number_of(constant_attr(stride))
        if isinstance(number, int) and number % GRAIN:
            raise LoweringError(
                f"a tensor descriptor with a stride of {number} bytes along dimension {len(op.global_stride) - 1 - index}: tensor copies step"
                f" by multiples of {GRAIN}",
                source_location(op.location),
                help="pad the tensor, or load it by pointers",
            )


@lowers_where("has_tma", ttng.TensormapFenceproxyAcquireOp)
def tensormap_fenceproxy_acquire(f: FunctionLowering, op: ttng.TensormapFenceproxyAcquireOp) -> None:
    """By one warp; the others wait for it."""
    f.b.operation(tma.TensormapAcquireOp, (f.scalar(op.operands[0]), _first_warp(f)), ())
    f.barrier()


@lowers_where("has_clusters", ttng.ClusterArriveOp)
def cluster_arrive(f: FunctionLowering, op: ttng.ClusterArriveOp) -> None:
    relaxed = is_true(op.relaxed)
    f.b.operation(tma.ClusterArriveOp, (), (), {"relaxed": _UNIT} if relaxed else {})


@lowers_where("has_clusters", ttng.ClusterWaitOp)
def cluster_wait(f: FunctionLowering, op: ttng.ClusterWaitOp) -> None:
    f.b.operation(tma.ClusterWaitOp, (), ())
