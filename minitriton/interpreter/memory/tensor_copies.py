"""Copies of blocks between tensors in memory and buffers, by TMA, and the descriptors that they take.

ttng.tensormap_create %p, %base, [box], [sizes], [strides], ...   a descriptor at address %p, fastest dimension first
%d = ttng.reinterpret_tensor_descriptor %p                        that descriptor
ttng.async_tma_copy_global_to_local %d[%i, %j] %buf, %bar, %true  in flight until a wait for %bar passes
ttng.async_tma_gather %d[%rows, %j] %buf, %bar, %true             likewise, a row of the tensor for each number in %rows
ttng.async_tma_copy_local_to_global %d[%i, %j] %buf               reads %buf until a store wait covers it
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from xdsl.ir import Operation

from minitriton.dialects import tt, ttng
from minitriton.dialects.attribute_values import integer
from minitriton.dialects.tt.types import TensorDescType, shape_of
from minitriton.dialects.ttng.tma import TensormapCreateOp
from minitriton.interpreter.arrays import scalar
from minitriton.interpreter.errors import InterpreterError
from minitriton.interpreter.machine import DescribedTensor, TileMachine
from minitriton.interpreter.memory.descriptors import DescriptorValue, loaded
from minitriton.interpreter.memory.mbarriers import ONE_WARP, barrier_at, publish_copy
from minitriton.interpreter.registry import STATEFUL_OPS
from minitriton.interpreter.values import Array, encoder


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
def _load(op: ttng.AsyncTMACopyGlobalToLocalOp | ttng.AsyncTMAGatherOp, machine: TileMachine) -> Callable[..., None]:
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
