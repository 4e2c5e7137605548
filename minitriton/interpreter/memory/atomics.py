"""Atomic read-modify-write, compare-and-swap, loads, stores and waiting: element by element, in the order of the tile, programs one after another.

tt.atomic_rmw add, %p, %v, %mask      gives what was there before; lanes that the mask turns off give 0 and do nothing
"""

from collections.abc import Callable

import numpy as np
from numpy import ma as ma  # np.unique would while a kernel runs, when the process may fork
from xdsl.ir import Attribute

from minitriton.dialects import amdg, tt
from minitriton.dialects.tt.enums import RMWOp
from minitriton.interpreter.errors import InterpreterError
from minitriton.interpreter.machine import TileMachine
from minitriton.interpreter.memory.device import Memory
from minitriton.interpreter.memory.ops import buffered, pointee_size
from minitriton.interpreter.registry import STATEFUL_OPS
from minitriton.interpreter.values import Array, decoder, dtype_of, encoder, is_float, is_native_float, unsigned_dtype

Combine = Callable[[Array, Array], Array]


def combination(kind: RMWOp, type_: Attribute) -> Combine:
    """The new value of a location, from its old one and an operand."""
    match kind:
        case RMWOp.ADD:
            return np.add
        case RMWOp.FADD:
            return _of_floats(np.add, type_)
        case RMWOp.AND:
            return _of_bits(np.bitwise_and, type_)
        case RMWOp.OR:
            return _of_bits(np.bitwise_or, type_)
        case RMWOp.XOR:
            return _of_bits(np.bitwise_xor, type_)
        case RMWOp.MAX:
            return _of_floats(np.fmax, type_) if is_float(type_) else np.maximum
        case RMWOp.MIN:
            return _of_floats(np.fmin, type_) if is_float(type_) else np.minimum
        case RMWOp.XCHG:
            return lambda old, value: value
        case RMWOp.UMAX | RMWOp.UMIN:
            pick = np.maximum if kind == RMWOp.UMAX else np.minimum
            signed, unsigned = dtype_of(type_), unsigned_dtype(type_)
            return lambda old, value: pick(old.view(unsigned), value.view(unsigned)).view(signed)


def _of_bits(operation: Combine, type_: Attribute) -> Combine:
    if not is_native_float(type_):
        return operation
    dtype = dtype_of(type_)
    bits = np.dtype(f"u{dtype.itemsize}")
    return lambda old, value: operation(old.view(bits), value.view(bits)).view(dtype)


def _of_floats(operation: Combine, type_: Attribute) -> Combine:
    if is_native_float(type_):
        return operation
    decode, encode = decoder(type_), encoder(type_)
    return lambda old, value: encode(operation(decode(old), decode(value)))


def update(memory: Memory, addresses: np.ndarray, values: np.ndarray, dtype: np.dtype, combine: Combine) -> np.ndarray:
    """Combine each location with its value, in order; the old values."""
    if not addresses.size:
        return np.empty(0, dtype)
    if np.unique(addresses).size == addresses.size:
        old = memory.load(addresses, dtype)
        memory.store(addresses, combine(old, values), dtype)
        return old
    if memory.trace is not None:
        memory.trace.stores(values)
    old = np.empty(addresses.shape, dtype)
    for index, address in enumerate(addresses.tolist()):
        elements, position = memory.element(address, dtype)
        old[index] = elements[position]
        elements[position] = combine(elements[position], values[index])
    return old


@STATEFUL_OPS.add(tt.AtomicRMWOp)
def _read_modify_write(op: tt.AtomicRMWOp, machine: TileMachine) -> Callable[..., Array]:
    memory, type_ = machine.memory, op.results[0].type
    dtype = dtype_of(type_)
    combine = combination(getattr(op.atomic_rmw_op, "data"), type_)  # noqa: B009

    def run(pointer: Array, values: Array, mask: Array | None = None) -> Array:
        addresses = np.asarray(pointer)
        values = np.broadcast_to(values, addresses.shape)
        active = np.ones(addresses.shape, np.bool_) if mask is None else np.broadcast_to(mask, addresses.shape)
        result = np.zeros(addresses.shape, dtype)
        result[active] = update(memory, addresses[active], values[active], dtype, combine)
        return result[()]

    return run


@STATEFUL_OPS.add(amdg.BufferAtomicRMWOp)
def _buffer_read_modify_write(op: amdg.BufferAtomicRMWOp, machine: TileMachine) -> Callable[..., Array]:
    size, type_ = pointee_size(op.ptr.type), op.results[0].type
    memory, dtype = machine.memory, dtype_of(type_)
    combine = combination(getattr(op.atomic_rmw_op, "data"), type_)  # noqa: B009

    def run(pointer: Array, offsets: Array, values: Array, *rest: Array) -> Array:
        addresses = buffered(pointer, offsets, size)
        mask = np.broadcast_to(rest[-1] if op.mask is not None else np.True_, addresses.shape)
        result = np.zeros(addresses.shape, dtype)
        values = np.broadcast_to(values, addresses.shape)
        result[mask] = update(memory, addresses[mask], values[mask], dtype, combine)
        return result[()]

    return run


@STATEFUL_OPS.add(amdg.BufferAtomicCASOp)
def _buffer_compare_and_swap(op: amdg.BufferAtomicCASOp, machine: TileMachine) -> Callable[..., Array]:
    size, swap = pointee_size(op.ptr.type), _compare_and_swap(op, machine)

    def run(pointer: Array, offsets: Array, expected: Array, values: Array, *_: Array) -> Array:
        return swap(buffered(pointer, offsets, size), expected, values)

    return run


@STATEFUL_OPS.add(tt.AtomicCASOp)
def _compare_and_swap(
    op: tt.AtomicCASOp | amdg.BufferAtomicCASOp, machine: TileMachine
) -> Callable[[Array, Array, Array], Array]:
    memory, dtype = machine.memory, dtype_of(op.results[0].type)

    def run(pointer: Array, expected: Array, values: Array) -> Array:
        addresses = np.asarray(pointer)
        old = np.empty(addresses.shape, dtype)
        expected = np.broadcast_to(expected, addresses.shape).reshape(-1)
        values = np.broadcast_to(values, addresses.shape).reshape(-1)
        flat = old.reshape(-1)
        if memory.trace is not None:
            memory.trace.stores(expected)
            memory.trace.stores(values)
        for index, address in enumerate(addresses.reshape(-1).tolist()):
            elements, position = memory.element(address, dtype)
            flat[index] = elements[position]
            if elements[position].tobytes() == expected[index].tobytes():
                elements[position] = values[index]
        return flat.reshape(addresses.shape)[()]

    return run


@STATEFUL_OPS.add(tt.AtomicPollOp)
def _atomic_poll(op: tt.AtomicPollOp, machine: TileMachine) -> Callable[..., Array]:
    """What is not there now never comes: no other program runs meanwhile."""
    memory, dtype, waits_for_ever = machine.memory, dtype_of(op.expected.type), op.timeout is None

    def run(pointer: Array, expected: Array, timeout: Array | None = None) -> Array:
        found = memory.load(np.asarray(pointer), dtype) == expected
        if waits_for_ever and not np.all(found):
            raise InterpreterError(
                "a poll that never ends: memory does not hold what is expected, and programs run one after another here",
                help="launch the program that writes it first, or run the kernel on the emulator, where programs run together",
            )
        return np.asarray(found)[()]

    return run
