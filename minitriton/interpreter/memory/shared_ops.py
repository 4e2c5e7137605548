"""The ops of `ttg` on shared memory: buffers, views of them, loads, stores, barriers, asynchronous copies.

%b = ttg.local_alloc %t              a `BufferView` of a new buffer, at `allocation.offset` if the op has one
%v = ttg.memdesc_index %b[%i]        the view of a part: addresses only
%r = ttg.local_load %v               an `InterpreterError` if it could see something else on a GPU (`shared_memory`)
"""

from collections.abc import Callable

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr
from xdsl.ir import Attribute, Operation

from minitriton.analysis.shared_memory.membar import meets_by_warp
from minitriton.analysis.shared_memory.scratch_size import triton_scratch_bytes
from minitriton.dialects import amdg, gpu, tt, ttg, ttng
from minitriton.dialects.attribute_values import integer
from minitriton.dialects.facts.launch import ALLOCATION_OFFSET, ALLOCATION_SIZE
from minitriton.dialects.narrowing import instance_of
from minitriton.dialects.ttg.memory_ops import AsyncCopyGlobalToLocalOp
from minitriton.dialects.ttg.types import MemDescType
from minitriton.interpreter.errors import InterpreterError
from minitriton.interpreter.machine import TileMachine
from minitriton.interpreter.memory.ops import buffered, load_where, pointee_size
from minitriton.interpreter.memory.shared_views import BufferView, element_dtype, element_offsets, holders
from minitriton.interpreter.numbers.formats import unpack_e2m1
from minitriton.interpreter.registry import PURE_OPS, STATEFUL_OPS, Array, Meaning, scalar
from minitriton.interpreter.values import encoder

TOKEN = scalar(np.bool_(True))
"""The value of a token: order is kept by running in order."""


def placed_at(op: Operation) -> int | None:
    """Where the module says that the memory of `op` begins; None if it does not."""
    offset = op.attributes.get(ALLOCATION_OFFSET)
    return offset.value.data if instance_of(offset, IntegerAttr) else None


def with_scratch(op: Operation, machine: TileMachine, meaning: Meaning) -> Meaning:
    """`meaning` of an op that also needs shared memory, of its own while it runs or for the function that it calls."""
    offset, shared = placed_at(op), machine.shared
    if isinstance(op, tt.CallOp | func.CallOp):
        return meaning if offset is None else _call_at(offset, machine, meaning)
    given = op.attributes.get(ALLOCATION_SIZE)
    size = given.value.data if instance_of(given, IntegerAttr) else triton_scratch_bytes(op)
    if not size:
        return meaning
    meets, warps = not meets_by_warp(op), machine.warps_of(op)

    def run(*operands: Array) -> Array | tuple[Array, ...]:
        if offset is not None:
            shared.use_scratch(op, shared.base + offset, size, warps, meets=meets)
        elif meets:
            shared.barrier()
        return meaning(*operands)

    return run


def _call_at(offset: int, machine: TileMachine, meaning: Meaning) -> Meaning:
    shared = machine.shared

    def run(*operands: Array) -> Array | tuple[Array, ...]:
        shared.base += offset
        results = meaning(*operands)
        shared.base -= offset
        return results

    return run


@STATEFUL_OPS.add(ttg.LocalAllocOp)
def _local_alloc(op: ttg.LocalAllocOp, machine: TileMachine) -> Callable[..., BufferView]:
    shared, type_, offset = machine.shared, op.results[0].type, placed_at(op)
    offsets, dtype = element_offsets(type_), element_dtype(type_)
    size = int(offsets.max()) + dtype.itemsize
    own = shared.place(op, size) if offset is None else 0
    warps = holders(op.operands[0].type) if op.operands else None

    def run(source: Array | None = None) -> BufferView:
        start = own if offset is None else shared.base + offset
        view = BufferView(shared.claim(op, start, size), start + offsets, dtype)
        if warps is not None:
            assert source is not None
            shared.store(op, view, source, warps)
        return view

    return run


@STATEFUL_OPS.add(ttg.LocalDeallocOp)
def _local_dealloc(op: ttg.LocalDeallocOp, machine: TileMachine) -> Callable[[BufferView], None]:
    return lambda view: machine.shared.release(op, view.buffer)


@STATEFUL_OPS.add(ttg.LocalLoadOp)
def _local_load(op: ttg.LocalLoadOp, machine: TileMachine) -> Callable[..., Array]:
    warps = holders(op.results[0].type)

    def run(view: BufferView, token: object = None) -> Array:
        return machine.shared.load(op, view, warps)

    return run


@STATEFUL_OPS.add(amdg.LocalLoadPackedTransposedOp)
def _load_packed_transposed(op: amdg.LocalLoadPackedTransposedOp, machine: TileMachine) -> Callable[..., Array]:
    """Bytes of two fp4 numbers along one dimension become bytes of two along the other, k."""
    assert isinstance(op.src.type, MemDescType)
    shape, held = op.src.type.get_shape(), holders(op.result.type)
    across = -1 if shape[-1] < held.shape[-1] else -2
    k = -3 - across

    def every_other(values: Array, axis: int, first: int) -> Array:
        return values[(..., slice(first, None, 2), *([slice(None)] if axis == -2 else []))]

    readers = np.repeat(every_other(held, across, 0) | every_other(held, across, 1), 2, axis=k)

    def run(view: BufferView, token: object = None) -> Array:
        packed = machine.shared.load(op, view, readers).view(np.uint8)
        numbers = np.stack([packed & 15, packed >> 4], axis=len(shape) + across + 1).reshape(
            [size * 2 if dim == len(shape) + across else size for dim, size in enumerate(shape)]
        )
        return (every_other(numbers, k, 0) | every_other(numbers, k, 1) << 4).view(view.dtype)

    return run


@STATEFUL_OPS.add(ttg.LocalStoreOp)
def _local_store(op: ttg.LocalStoreOp, machine: TileMachine) -> Callable[[Array, BufferView], None]:
    warps = holders(op.operands[0].type)
    return lambda values, view: machine.shared.store(op, view, values, warps)


@STATEFUL_OPS.add(AsyncCopyGlobalToLocalOp)
def _async_copy(op: AsyncCopyGlobalToLocalOp, machine: TileMachine) -> Callable[..., Array]:
    assert isinstance(op, AsyncCopyGlobalToLocalOp)
    shared, memory = machine.shared, machine.memory
    destination = op.destination.type
    dtype, warps = element_dtype(destination), holders(op.src.type)
    has_mask = op.mask is not None

    def run(addresses: Array, view: BufferView, *rest: Array) -> Array:
        mask = rest[0] if has_mask else None
        other = rest[-1] if len(rest) > has_mask else None
        shared.copy_async(op, view, load_where(memory, np.asarray(addresses), mask, other, dtype), warps)
        return TOKEN

    return run


@STATEFUL_OPS.add(amdg.BufferLoadToLocalOp)
def _buffer_load_to_local(op: amdg.BufferLoadToLocalOp, machine: TileMachine) -> Callable[..., Array]:
    shared, memory, size = machine.shared, machine.memory, pointee_size(op.ptr.type)
    dtype, warps = element_dtype(op.dest.type), holders(op.offsets.type)

    def run(view: BufferView, pointer: Array, offsets: Array, *rest: Array) -> Array:
        given = iter(rest)
        mask = next(given) if op.mask is not None else None
        other = next(given) if op.other is not None else None
        shared.copy_async(op, view, load_where(memory, buffered(pointer, offsets, size), mask, other, dtype), warps)
        return TOKEN

    return run


@STATEFUL_OPS.add(ttg.AsyncCommitGroupOp)
def _commit(op: ttg.AsyncCommitGroupOp, machine: TileMachine) -> Callable[..., Array]:
    def run(*tokens: Array) -> Array:
        machine.shared.commit()
        return TOKEN

    return run


@STATEFUL_OPS.add(ttg.AsyncWaitOp)
def _wait(op: ttg.AsyncWaitOp, machine: TileMachine) -> Callable[..., Array]:
    pending = integer(op.num)

    def run(*tokens: Array) -> Array:
        machine.shared.wait(pending)
        return TOKEN

    return run


@STATEFUL_OPS.add(ttg.LocalBarrierOp, gpu.BarrierOp)
def _barrier(op: ttg.LocalBarrierOp | gpu.BarrierOp, machine: TileMachine) -> Callable[[], None]:
    return machine.shared.barrier


@STATEFUL_OPS.add(ttng.ArriveForFirstWarpOp, ttng.WaitForTurnOp, ttng.EndTurnOp)
def _orders_nothing(op: Operation, machine: TileMachine) -> Callable[..., None]:
    """One half of a barrier, or a turn of warp groups, which orders nothing that they access."""
    return lambda *turn: None


@STATEFUL_OPS.add(ttng.FirstWarpWaitsOp)
def _first_warp_waits(op: ttng.FirstWarpWaitsOp, machine: TileMachine) -> Callable[[Array], None]:
    """A barrier: what copies of the first warp may not meet is ordered by it; which warps wait is for the emulator to check."""
    return lambda turn: machine.shared.barrier()


@PURE_OPS.add(ttg.MemDescIndexOp)
def _index(op: ttg.MemDescIndexOp) -> Callable[[BufferView, Array], BufferView]:
    def run(view: BufferView, index: Array) -> BufferView:
        count = view.addresses.shape[0]
        if not 0 <= index < count:
            raise InterpreterError(f"{op.name} takes part {int(index)} of a buffer that has {count}")
        return view.of(view.addresses[int(index)])

    return run


@PURE_OPS.add(ttg.MemDescSubsliceOp)
def _subslice(op: ttg.MemDescSubsliceOp) -> Callable[[BufferView], BufferView]:
    offsets, type_ = op.offsets, op.results[0].type
    assert isinstance(offsets, DenseArrayBase) and isinstance(type_, MemDescType)
    starts = [int(offset) for offset in offsets.get_values()]
    part = tuple(slice(start, start + size) for start, size in zip(starts, type_.get_shape(), strict=True))
    return lambda view: view.of(view.addresses[part])


@PURE_OPS.add(ttg.MemDescTransOp)
def _transpose(op: ttg.MemDescTransOp) -> Callable[[BufferView], BufferView]:
    order = op.order
    assert isinstance(order, DenseArrayBase)
    axes = [int(axis) for axis in order.get_values()]
    return lambda view: view.of(view.addresses.transpose(axes))


@PURE_OPS.add(ttg.MemDescReshapeOp)
def _reshape(op: ttg.MemDescReshapeOp) -> Callable[[BufferView], BufferView]:
    type_ = op.results[0].type
    assert isinstance(type_, MemDescType)
    shape = type_.get_shape()
    return lambda view: view.of(view.addresses.reshape(shape))


@PURE_OPS.add(ttg.MemDescReinterpretOp)
def _reinterpret(op: ttg.MemDescReinterpretOp) -> Callable[[BufferView], BufferView]:
    type_ = op.results[0].type
    offsets, dtype = element_offsets(type_), element_dtype(type_)
    return lambda view: BufferView(view.buffer, int(view.addresses.min()) + offsets, dtype)


@STATEFUL_OPS.add(ttg.GlobalScratchAllocOp)
def _global_scratch(op: ttg.GlobalScratchAllocOp, machine: TileMachine) -> Callable[[], Array]:
    """Memory of its own for each program, which only this op names; programs run one after another in the same."""
    size, alignment = integer(op.nbytes), integer(op.alignment)
    room = np.zeros(size + alignment, np.uint8)
    start = -room.__array_interface__["data"][0] % alignment
    address = scalar(np.int64(machine.memory.add(room[start : start + size], "global scratch")))
    return lambda: address


@PURE_OPS.add(ttg.Fp4ToFpOp)
def _fp4_to_fp(op: ttg.Fp4ToFpOp) -> Callable[[Array], Array]:
    axis, encode = integer(op.axis), encoder(_element(op.results[0].type))
    return lambda packed: encode(unpack_e2m1(packed, axis))


def _element(type_: Attribute) -> Attribute:
    return getattr(type_, "element_type", type_)


def load_or_self(op: Operation, machine: TileMachine, operand: Array | BufferView) -> Array:
    """An operand that may be in shared memory, which all warps read then."""
    return machine.shared.load(op, operand, machine.warps_of(op)) if isinstance(operand, BufferView) else operand
