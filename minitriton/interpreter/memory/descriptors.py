"""Tensor descriptors: blocks of a tensor in memory, always checked against its shape.

tt.descriptor_load %desc[%i, %j]      elements outside the tensor are 0 (or NaN, if the descriptor says so)
tt.descriptor_store                   stores nothing outside; `reduce` combines instead of storing
tt.descriptor_gather %desc[%rows, %j] one row of the block for each number in %rows

Where the GPU has tensor copies, blocks begin where these can begin, and stores write chunks of 16 bytes whole: past a row's end (`target/tensor_map.py`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects.builtin import IntegerType, Signedness
from xdsl.ir import Attribute, Operation

from minitriton.dialects import tt, ttng
from minitriton.dialects.attribute_values import integer
from minitriton.dialects.narrowing import instance_of
from minitriton.dialects.tt.enums import DescriptorReduceKind, RMWOp
from minitriton.dialects.tt.types import TensorDescType, shape_of
from minitriton.dialects.ttng.tma import TensormapCreateOp
from minitriton.interpreter.errors import InterpreterError, UnsupportedOpError
from minitriton.interpreter.machine import DescribedTensor, TileMachine
from minitriton.interpreter.memory.atomics import combination, update
from minitriton.interpreter.memory.device import Memory
from minitriton.interpreter.memory.mbarriers import ONE_WARP, barrier_at, publish_copy
from minitriton.interpreter.memory.ops import load_where, not_a_number, padding_value, store_where
from minitriton.interpreter.registry import STATEFUL_OPS, Array, scalar
from minitriton.interpreter.values import dtype_of, encoder, is_float
from minitriton.target.tensor_map import end_of_row, illegal_corner


@dataclass(frozen=True)
class DescriptorValue:
    """A tensor in memory: `base` in bytes, `strides` in elements, accessed in blocks of `block`."""

    base: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    block: tuple[int, ...]
    element: Attribute
    padding: Array | None = None
    rounds_to_tf32: bool = False

    @property
    def dtype(self) -> np.dtype:
        """How its elements are held."""
        return dtype_of(self.element)

    def locate(self, positions: list[np.ndarray], columns: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """The addresses of the elements at `positions` (one broadcastable array per dimension), and which are inside; rows have `columns` if not
        as many as the tensor's."""
        shape = self.shape if columns is None else (*self.shape[:-1], columns)
        addresses, inside = scalar(np.int64(self.base)), scalar(np.bool_(True))
        for position, size, stride in zip(positions, shape, self.strides, strict=True):
            addresses = addresses + position * (stride * self.dtype.itemsize)
            inside = inside & (position >= 0) & (position < size)
        return np.asarray(addresses), np.asarray(inside)

    def loaded(self, memory: Memory, positions: list[np.ndarray]) -> np.ndarray:
        """The elements at `positions`; as the copies of sm_90 do, float32 is rounded to the nearest (even) tf32, if at all."""
        addresses, inside = self.locate(positions)
        values = load_where(memory, addresses, inside, self.padding, self.dtype)
        if not self.rounds_to_tf32:
            return values
        bits = values.view(np.uint32)
        rounded = (bits + np.uint32(0xFFF) + (bits >> np.uint32(13) & np.uint32(1))) & np.uint32(0xFFFFE000)
        return np.where(np.isfinite(values), rounded, bits).view(np.float32)

    def block_at(self, indices: tuple[Array, ...]) -> list[np.ndarray]:
        """The positions of the block that begins at `indices`."""
        rank = len(self.block)
        return [
            (np.arange(size, dtype=np.int64) + int(start)).reshape([-1 if axis == d else 1 for axis in range(rank)])
            for d, (size, start) in enumerate(zip(self.block, indices, strict=True))
        ]

    def rows_at(self, rows: Array, column: Array) -> list[np.ndarray]:
        """The positions of the given rows of a 2-d tensor, from `column` on."""
        columns = np.arange(self.block[-1], dtype=np.int64) + int(column)
        return [rows.astype(np.int64)[:, None], columns[None, :]]


def loaded(machine: TileMachine, descriptor: DescriptorValue, corner: tuple[Array, ...]) -> np.ndarray:
    """The elements of the block at `corner`. Raises `InterpreterError` where no copy begins."""
    _check_corner(machine, descriptor, corner, stores=False)
    return descriptor.loaded(machine.memory, descriptor.block_at(corner))


def written(
    machine: TileMachine, descriptor: DescriptorValue, corner: tuple[Array, ...]
) -> tuple[np.ndarray, np.ndarray]:
    """The addresses of the block at `corner`, and which of them are written. Raises `InterpreterError` where no copy begins."""
    positions, item = descriptor.block_at(corner), descriptor.dtype.itemsize
    addresses, inside = descriptor.locate(positions)
    if not machine.architecture.has_tma:
        return addresses, inside
    _check_corner(machine, descriptor, corner, stores=True)
    end = end_of_row(descriptor.shape[-1], item)
    if end == descriptor.shape[-1]:
        return addresses, inside
    _, padded = descriptor.locate(positions, end)
    return addresses, inside | padded & machine.memory.holds(addresses, descriptor.dtype)


def _check_corner(
    machine: TileMachine, descriptor: DescriptorValue, corner: tuple[Array, ...], *, stores: bool
) -> None:
    if not machine.architecture.has_tma:
        return
    why = illegal_corner([int(each) for each in reversed(corner)], descriptor.dtype.itemsize, stores=stores)
    if why is not None:
        raise InterpreterError(
            f"a tensor copy {why} (on a GPU an illegal instruction)",
            help="access such blocks through pointers and masks, or begin them elsewhere",
        )


@STATEFUL_OPS.add(tt.MakeTensorDescOp)
def _make(op: tt.MakeTensorDescOp, machine: TileMachine) -> Callable[..., DescriptorValue]:
    type_ = op.results[0].type
    assert isinstance(type_, TensorDescType)
    block, element = shape_of(type_.block_type), type_.signless_block_type.element_type
    padding = padding_value(op.properties.get("padding"), element) if is_float(element) else None
    rank = len(block)

    def run(base: Array, *numbers: Array) -> DescriptorValue:
        sizes = tuple(int(n) for n in numbers)
        return DescriptorValue(int(base), sizes[:rank], sizes[rank:], block, element, padding)

    return run


def from_host(machine: TileMachine, type_: TensorDescType, arg: Any) -> DescriptorValue:
    """The descriptor that a launch was given: an object with `base` (an array), `shape`, `strides` and perhaps `padding`."""
    base = getattr(arg, "base", None)
    if not instance_of(base, np.ndarray):
        raise InterpreterError(
            f"a tensor descriptor over a NumPy array is expected, got {type(arg).__name__}",
            help="pass TensorDescriptor(array, shape, strides, block_shape)",
        )
    address = machine.memory.add(base, "the array of a tensor descriptor")
    element = type_.signless_block_type.element_type
    padding = not_a_number(element) if getattr(arg, "padding", None) == "nan" else None
    rounds = bool(getattr(arg, "round_f32_to_tf32", False))
    sizes = (tuple(arg.shape), tuple(arg.strides), shape_of(type_.block_type))
    return DescriptorValue(address, *sizes, element, padding, rounds)


def flattened(arg: Any) -> tuple[object, ...]:
    """A host descriptor followed by its sizes and strides, as a kernel takes them; any other argument by itself."""
    if all(hasattr(arg, name) for name in ("base", "shape", "strides", "block_shape")):
        return (arg, *arg.shape, *arg.strides)
    return (arg,)


@STATEFUL_OPS.add(tt.DescriptorLoadOp)
def _load(op: tt.DescriptorLoadOp, machine: TileMachine) -> Callable[..., Array]:
    shape = shape_of(op.results[0].type)

    def run(descriptor: DescriptorValue, *indices: Array) -> Array:
        return loaded(machine, descriptor, indices).reshape(shape)

    return run


@STATEFUL_OPS.add(tt.DescriptorStoreOp)
def _store(op: tt.DescriptorStoreOp, machine: TileMachine) -> Callable[..., None]:
    memory = machine.memory

    def run(descriptor: DescriptorValue, values: Array, *indices: Array) -> None:
        addresses, inside = written(machine, descriptor, indices)
        store_where(memory, addresses, values.reshape(addresses.shape), inside, descriptor.dtype)

    return run


@STATEFUL_OPS.add(tt.DescriptorReduceOp)
def _reduce(op: tt.DescriptorReduceOp, machine: TileMachine) -> Callable[..., None]:
    memory, type_ = machine.memory, op.desc.type
    assert isinstance(type_, TensorDescType)
    combine = combination(
        _atomic_kind(getattr(op.kind, "data"), type_.block_type.element_type),  # noqa: B009
        type_.signless_block_type.element_type,
    )

    def run(descriptor: DescriptorValue, values: Array, *indices: Array) -> None:
        addresses, inside = written(machine, descriptor, indices)
        inside = np.broadcast_to(inside, addresses.shape)
        update(memory, addresses[inside], values.reshape(addresses.shape)[inside], descriptor.dtype, combine)

    return run


def _atomic_kind(kind: DescriptorReduceKind, element: Attribute) -> RMWOp:
    if kind in (DescriptorReduceKind.INC, DescriptorReduceKind.DEC):
        raise UnsupportedOpError(f"the interpreter does not support a descriptor reduction of kind {kind}")
    if kind == DescriptorReduceKind.ADD:
        return RMWOp.FADD if is_float(element) else RMWOp.ADD
    is_unsigned = instance_of(element, IntegerType) and element.signedness.data is Signedness.UNSIGNED
    is_ordered = kind in (DescriptorReduceKind.MIN, DescriptorReduceKind.MAX)
    return RMWOp(f"u{kind}" if is_unsigned and is_ordered else str(kind))


@STATEFUL_OPS.add(tt.DescriptorGatherOp)
def _gather(op: tt.DescriptorGatherOp, machine: TileMachine) -> Callable[[DescriptorValue, Array, Array], Array]:
    memory = machine.memory

    def run(descriptor: DescriptorValue, rows: Array, column: Array) -> Array:
        return descriptor.loaded(memory, descriptor.rows_at(rows, column))

    return run


@STATEFUL_OPS.add(tt.DescriptorScatterOp)
def _scatter(
    op: tt.DescriptorScatterOp, machine: TileMachine
) -> Callable[[DescriptorValue, Array, Array, Array], None]:
    memory = machine.memory

    def run(descriptor: DescriptorValue, rows: Array, column: Array, values: Array) -> None:
        addresses, inside = descriptor.locate(descriptor.rows_at(rows, column))
        store_where(memory, addresses, values, inside, descriptor.dtype)

    return run


# Copies of blocks between tensors in memory and buffers, by TMA, and the descriptors that they take.
#
# ttng.tensormap_create %p, %base, [box], [sizes], [strides], ...   a descriptor at address %p, fastest dimension first
# %d = ttng.reinterpret_tensor_descriptor %p                        that descriptor
# ttng.async_tma_copy_global_to_local %d[%i, %j] %buf, %bar, %true  in flight until a wait for %bar passes
# ttng.async_tma_gather %d[%rows, %j] %buf, %bar, %true             likewise, a row of the tensor for each number in %rows
# ttng.async_tma_copy_local_to_global %d[%i, %j] %buf               reads %buf until a store wait covers it


@STATEFUL_OPS.add(TensormapCreateOp)
def _create(op: TensormapCreateOp, machine: TileMachine) -> Callable[..., None]:
    assert isinstance(op, TensormapCreateOp)
    rank, fills_with_nan = len(op.box_dim), bool(integer(op.fill_mode))

    def run(address: Array, base: Array, *numbers: Array) -> None:
        sizes, strides = numbers[rank : 2 * rank], numbers[2 * rank : 3 * rank - 1]
        machine.tensor_copies.maps[int(address)] = DescribedTensor(
            int(base), tuple(int(n) for n in sizes[::-1]), tuple(int(n) for n in strides[::-1]), fills_with_nan
        )

    return run


@STATEFUL_OPS.add(ttng.ReinterpretTensorDescOp)
def _reinterpret(op: ttng.ReinterpretTensorDescOp, machine: TileMachine) -> Callable[[Array], DescriptorValue]:
    type_ = op.results[0].type
    assert isinstance(type_, TensorDescType)
    block, element = shape_of(type_.block_type), type_.signless_block_type.element_type

    def run(address: Array) -> DescriptorValue:
        tensor = machine.tensor_copies.maps.get(int(address))
        if tensor is None:
            raise InterpreterError(f"{op.name} finds no descriptor at {int(address):#x}")
        padding = encoder(element)(scalar(np.float64(np.nan))) if tensor.fills_with_nan else None
        plain = DescriptorValue(tensor.base, tensor.sizes, (), block, element, padding)
        strides = tuple(stride // plain.dtype.itemsize for stride in tensor.strides)
        return DescriptorValue(tensor.base, tensor.sizes, (*strides, 1), block, element, padding)

    return run


@STATEFUL_OPS.add(ttng.AsyncTMACopyGlobalToLocalOp, ttng.AsyncTMAGatherOp)
def _tensor_copies_load(
    op: ttng.AsyncTMACopyGlobalToLocalOp | ttng.AsyncTMAGatherOp, machine: TileMachine
) -> Callable[..., None]:
    shared, memory = machine.shared, machine.memory
    gathers = isinstance(op, ttng.AsyncTMAGatherOp)

    def run(descriptor: DescriptorValue, *operands: Any) -> None:
        *indices, barrier_view, view, predicate = operands
        if not predicate:
            return
        barrier = barrier_at(op, machine, barrier_view)
        if gathers:
            values = descriptor.loaded(memory, descriptor.rows_at(*indices))
        else:
            values = loaded(machine, descriptor, tuple(indices))
        copy = shared.start_copy(op, view, values.reshape(view.addresses.shape), ONE_WARP, whose_result=0)
        publish_copy(machine, barrier, copy, view)
        barrier.receive(copy, values.nbytes)

    return run


def _store_by(like: type[Operation]) -> Callable[[Operation, TileMachine], Callable[..., None]]:
    """A store whose values come from a buffer, else like ops of the class `like` of the dialect `tt`."""
    values_last = like is tt.DescriptorScatterOp
    meaning = STATEFUL_OPS.of_class(like)
    assert meaning is not None

    def make(op: Operation, machine: TileMachine) -> Callable[..., None]:
        store = meaning(op, machine)

        def run(descriptor: DescriptorValue, *operands: Any) -> None:
            *indices, view = operands
            values = machine.shared.load(op, view, ONE_WARP)
            machine.shared.check_fenced(op, view)
            store(descriptor, *(indices if values_last else ()), values, *(() if values_last else indices))
            machine.shared.begin_async_read(op, view)
            machine.tensor_copies.stores.append(view)

        return run

    return make


@STATEFUL_OPS.add(ttng.TMAStoreWaitOp)
def _wait_for_stores(op: ttng.TMAStoreWaitOp, machine: TileMachine) -> Callable[[], None]:
    pending = integer(op.pendings)

    def run() -> None:
        stores = machine.tensor_copies.stores
        while len(stores) > pending:
            machine.shared.end_async_read(stores.pop(0))

    return run


@STATEFUL_OPS.add(ttng.TensormapFenceproxyAcquireOp)
def _acquire_map(op: ttng.TensormapFenceproxyAcquireOp, machine: TileMachine) -> Callable[[object], None]:
    return lambda address: None


STATEFUL_OPS.update(
    {
        ttng.AsyncTMACopyLocalToGlobalOp: _store_by(tt.DescriptorStoreOp),
        ttng.AsyncTMAReduceOp: _store_by(tt.DescriptorReduceOp),
        ttng.AsyncTMAScatterOp: _store_by(tt.DescriptorScatterOp),
    }
)
