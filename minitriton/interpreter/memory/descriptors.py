"""Tensor descriptors: blocks of a tensor in memory, always checked against its shape.

tt.descriptor_load %desc[%i, %j]      elements outside the tensor are 0 (or NaN, if the descriptor says so)
tt.descriptor_store                   stores nothing outside; `reduce` combines instead of storing
tt.descriptor_gather %desc[%rows, %j] one row of the block for each number in %rows
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.ir import Attribute

from minitriton.dialects import tt
from minitriton.dialects.narrowing import instance_of
from minitriton.dialects.tt.enums import DescriptorReduceKind, RMWOp
from minitriton.dialects.tt.types import TensorDescType
from minitriton.interpreter.arrays import scalar
from minitriton.interpreter.errors import InterpreterError, NoMeaning
from minitriton.interpreter.machine import TileMachine
from minitriton.interpreter.memory.atomics import combination, update
from minitriton.interpreter.memory.ops import load_where, not_a_number, padding_value, store_where
from minitriton.interpreter.registry import WITH_MACHINE
from minitriton.interpreter.values import Array, dtype_of, is_float, shape_of


@dataclass(frozen=True)
class DescriptorValue:
    """A tensor in memory: `base` in bytes, `strides` in elements, accessed in blocks of `block`."""

    base: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    block: tuple[int, ...]
    element: Attribute
    padding: Array | None = None

    @property
    def dtype(self) -> np.dtype:
        """How its elements are held."""
        return dtype_of(self.element)

    def locate(self, positions: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """The addresses of the elements at `positions` (one broadcastable array per dimension), and which lie inside."""
        addresses, inside = scalar(np.int64(self.base)), scalar(np.bool_(True))
        for position, size, stride in zip(positions, self.shape, self.strides, strict=True):
            addresses = addresses + position * (stride * self.dtype.itemsize)
            inside = inside & (position >= 0) & (position < size)
        return np.asarray(addresses), np.asarray(inside)

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


@WITH_MACHINE.add(tt.MakeTensorDescOp)
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
    return DescriptorValue(address, tuple(arg.shape), tuple(arg.strides), shape_of(type_.block_type), element, padding)


def flattened(arg: Any) -> tuple[object, ...]:
    """A host descriptor followed by its sizes and strides, as a kernel takes them; any other argument by itself."""
    if all(hasattr(arg, name) for name in ("base", "shape", "strides", "block_shape")):
        return (arg, *arg.shape, *arg.strides)
    return (arg,)


@WITH_MACHINE.add(tt.DescriptorLoadOp)
def _load(op: tt.DescriptorLoadOp, machine: TileMachine) -> Callable[..., Array]:
    memory, shape = machine.memory, shape_of(op.results[0].type)

    def run(descriptor: DescriptorValue, *indices: Array) -> Array:
        addresses, inside = descriptor.locate(descriptor.block_at(indices))
        return load_where(memory, addresses, inside, descriptor.padding, descriptor.dtype).reshape(shape)

    return run


@WITH_MACHINE.add(tt.DescriptorStoreOp)
def _store(op: tt.DescriptorStoreOp, machine: TileMachine) -> Callable[..., None]:
    memory = machine.memory

    def run(descriptor: DescriptorValue, values: Array, *indices: Array) -> None:
        addresses, inside = descriptor.locate(descriptor.block_at(indices))
        store_where(memory, addresses, values.reshape(addresses.shape), inside, descriptor.dtype)

    return run


@WITH_MACHINE.add(tt.DescriptorReduceOp)
def _reduce(op: tt.DescriptorReduceOp, machine: TileMachine) -> Callable[..., None]:
    memory, kind = machine.memory, getattr(op.kind, "data")  # noqa: B009

    def run(descriptor: DescriptorValue, values: Array, *indices: Array) -> None:
        addresses, inside = descriptor.locate(descriptor.block_at(indices))
        inside = np.broadcast_to(inside, addresses.shape)
        combine = combination(_atomic_kind(kind, descriptor.element), descriptor.element)
        update(memory, addresses[inside], values.reshape(addresses.shape)[inside], descriptor.dtype, combine)

    return run


def _atomic_kind(kind: DescriptorReduceKind, element: Attribute) -> RMWOp:
    if kind in (DescriptorReduceKind.INC, DescriptorReduceKind.DEC):
        raise NoMeaning(f"the interpreter has no meaning for a descriptor reduction of kind {kind}")
    if kind == DescriptorReduceKind.ADD:
        return RMWOp.FADD if is_float(element) else RMWOp.ADD
    return RMWOp(str(kind))


@WITH_MACHINE.add(tt.DescriptorGatherOp)
def _gather(op: tt.DescriptorGatherOp, machine: TileMachine) -> Callable[[DescriptorValue, Array, Array], Array]:
    memory = machine.memory

    def run(descriptor: DescriptorValue, rows: Array, column: Array) -> Array:
        addresses, inside = descriptor.locate(descriptor.rows_at(rows, column))
        return load_where(memory, addresses, inside, descriptor.padding, descriptor.dtype)

    return run


@WITH_MACHINE.add(tt.DescriptorScatterOp)
def _scatter(
    op: tt.DescriptorScatterOp, machine: TileMachine
) -> Callable[[DescriptorValue, Array, Array, Array], None]:
    memory = machine.memory

    def run(descriptor: DescriptorValue, rows: Array, column: Array, values: Array) -> None:
        addresses, inside = descriptor.locate(descriptor.rows_at(rows, column))
        store_where(memory, addresses, values, inside, descriptor.dtype)

    return run
