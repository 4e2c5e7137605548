"""Loads and stores through pointers, tensors of pointers and block pointers.

tt.load %p, %mask, %other         other (0, if there is none) where the mask is off; those addresses are not touched
tt.make_tensor_ptr / tt.advance   a block pointer: base, shape, strides and offsets; an access checks the dimensions in
                                  `boundaryCheck` and pads what is outside with 0 or NaN
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from xdsl.dialects.builtin import DenseArrayBase
from xdsl.ir import Attribute, Operation

from minitriton.dialects import amdg, tt
from minitriton.dialects.tt.enums import PaddingOption
from minitriton.dialects.tt.types import PointerType, is_tensor_pointer, shape_of
from minitriton.interpreter.machine import TileMachine
from minitriton.interpreter.memory.device import Memory
from minitriton.interpreter.registry import STATEFUL_OPS, Array, scalar
from minitriton.interpreter.values import dtype_of, encoder


@dataclass(frozen=True)
class BlockPointer:
    """A block of `block` elements of a tensor in memory, beginning at `offsets`. Strides are in elements, `base` in bytes."""

    base: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offsets: tuple[int, ...]
    block: tuple[int, ...]
    dtype: np.dtype

    def addresses(self) -> np.ndarray:
        """The address of each element of the block."""
        total = np.full(self.block, self.base, np.int64)
        for dim, positions in enumerate(self._positions()):
            total = total + positions * (self.strides[dim] * self.dtype.itemsize)
        return total

    def inside(self, dims: Iterable[int]) -> np.ndarray:
        """Which elements lie within the tensor along `dims`."""
        mask = np.ones(self.block, np.bool_)
        positions = self._positions()
        for dim in dims:
            mask = mask & (positions[dim] >= 0) & (positions[dim] < self.shape[dim])
        return mask

    def _positions(self) -> list[np.ndarray]:
        rank = len(self.block)
        return [
            (np.arange(self.block[d], dtype=np.int64) + self.offsets[d]).reshape(
                [-1 if axis == d else 1 for axis in range(rank)]
            )
            for d in range(rank)
        ]


def load_where(
    memory: Memory, addresses: np.ndarray, mask: Array | None, other: Array | None, dtype: np.dtype
) -> np.ndarray:
    """The elements at `addresses` where `mask` is on, `other` (or 0) elsewhere."""
    if mask is None or np.all(mask):
        return memory.load(addresses, dtype)
    mask = np.broadcast_to(mask, addresses.shape)
    result = np.zeros(addresses.shape, dtype)
    if other is not None:
        result[...] = other
    if mask.any():
        result[mask] = memory.load(addresses[mask], dtype)
    if other is None and memory.trace is not None:
        result[~mask] = memory.trace.masked_off(result[mask], int(np.count_nonzero(~mask)))
    return result


def store_where(memory: Memory, addresses: np.ndarray, values: Array, mask: Array | None, dtype: np.dtype) -> None:
    """Store `values` at `addresses` where `mask` is on."""
    if mask is None or np.all(mask):
        memory.store(addresses, values, dtype)
    else:
        mask = np.broadcast_to(mask, addresses.shape)
        if mask.any():
            memory.store(addresses[mask], np.broadcast_to(values, addresses.shape)[mask], dtype)


def _checked_dims(op: Operation) -> tuple[int, ...]:
    dims = op.properties.get("boundaryCheck")
    return tuple(int(dim) for dim in dims.get_values()) if isinstance(dims, DenseArrayBase) else ()


def padding_value(option: Attribute | None, element: Attribute) -> Array | None:
    """What a padded access gives outside; None where it does not say."""
    if getattr(option, "data", None) == PaddingOption.PAD_NAN:
        return not_a_number(element)
    return None if option is None else dtype_of(element).type(0)


def not_a_number(element: Attribute) -> Array:
    """NaN as an element of the type is held."""
    return encoder(element)(scalar(np.float64(np.nan)))


@STATEFUL_OPS.add(tt.LoadOp, tt.AtomicLoadOp)
def _load(op: tt.LoadOp | tt.AtomicLoadOp, machine: TileMachine) -> Callable[..., Array]:
    memory, type_ = machine.memory, op.results[0].type
    dtype = dtype_of(type_)
    if is_tensor_pointer(op.operands[0].type):
        dims, padding = _checked_dims(op), padding_value(op.properties.get("padding"), type_)

        def run_of_block(block: BlockPointer) -> Array:
            return load_where(memory, block.addresses(), block.inside(dims), padding, dtype)

        return run_of_block

    def run(pointer: Array, mask: Array | None = None, other: Array | None = None) -> Array:
        return load_where(memory, np.asarray(pointer), mask, other, dtype)[()]

    return run


@STATEFUL_OPS.add(tt.StoreOp, tt.AtomicStoreOp)
def _store(op: tt.StoreOp | tt.AtomicStoreOp, machine: TileMachine) -> Callable[..., None]:
    memory, dtype = machine.memory, dtype_of(op.operands[1].type)
    if is_tensor_pointer(op.operands[0].type):
        dims = _checked_dims(op)

        def run_of_block(block: BlockPointer, values: Array) -> None:
            store_where(memory, block.addresses(), values, block.inside(dims), dtype)

        return run_of_block

    def run(pointer: Array, values: Array, mask: Array | None = None) -> None:
        store_where(memory, np.asarray(pointer), values, mask, dtype)

    return run


@STATEFUL_OPS.add(amdg.BufferLoadOp)
def _buffer_load(op: amdg.BufferLoadOp, machine: TileMachine) -> Callable[..., Array]:
    memory, dtype, size = machine.memory, dtype_of(op.results[0].type), pointee_size(op.ptr.type)

    def run(pointer: Array, offsets: Array, *rest: Array) -> Array:
        rest = rest[op.stride is not None :]
        mask, other = (*rest, None, None)[:2] if op.mask is not None else (None, None)
        return load_where(memory, buffered(pointer, offsets, size), mask, other, dtype)

    return run


@STATEFUL_OPS.add(amdg.BufferStoreOp)
def _buffer_store(op: amdg.BufferStoreOp, machine: TileMachine) -> Callable[..., None]:
    memory, dtype, size = machine.memory, dtype_of(op.value.type), pointee_size(op.ptr.type)

    def run(values: Array, pointer: Array, offsets: Array, *rest: Array) -> None:
        mask = rest[-1] if op.mask is not None else None
        store_where(memory, buffered(pointer, offsets, size), values, mask, dtype)

    return run


def buffered(pointer: Array, offsets: Array, size: int) -> np.ndarray:
    """Addresses of elements of `size` bytes at offsets without a sign."""
    return np.asarray(pointer) + offsets.astype(np.uint32).astype(np.int64) * size


@STATEFUL_OPS.add(tt.AddPtrOp)
def _add_pointer(op: tt.AddPtrOp, machine: TileMachine) -> Callable[[Array, Array], Array]:
    size = np.int64(pointee_size(op.operands[0].type))
    return lambda pointer, offset: pointer + offset.astype(np.int64) * size


def pointee_size(type_: Attribute) -> int:
    """Bytes of what a pointer or a tensor of pointers points to."""
    element = getattr(type_, "element_type", type_)
    assert isinstance(element, PointerType)
    return dtype_of(element.pointee_type).itemsize


@STATEFUL_OPS.add(tt.MakeTensorPtrOp)
def _make_block_pointer(op: tt.MakeTensorPtrOp, machine: TileMachine) -> Callable[..., BlockPointer]:
    type_ = op.results[0].type
    assert isinstance(type_, PointerType)
    block, dtype = shape_of(type_.pointee_type), dtype_of(type_.pointee_type)
    rank = len(block)

    def run(base: Array, *numbers: Array) -> BlockPointer:
        shape, strides, offsets = (
            tuple(int(n) for n in numbers[start : start + rank]) for start in (0, rank, 2 * rank)
        )
        return BlockPointer(int(base), shape, strides, offsets, block, dtype)

    return run


@STATEFUL_OPS.add(tt.AdvanceOp)
def _advance(op: tt.AdvanceOp, machine: TileMachine) -> Callable[..., BlockPointer]:
    def run(pointer: BlockPointer, *steps: Array) -> BlockPointer:
        return replace(pointer, offsets=moved(pointer.offsets, steps))

    return run


def moved(offsets: tuple[int, ...], steps: Sequence[Array]) -> tuple[int, ...]:
    """`offsets` plus `steps`."""
    return tuple(offset + int(step) for offset, step in zip(offsets, steps, strict=True))
