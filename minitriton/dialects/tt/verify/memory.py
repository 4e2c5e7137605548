"""What ops of `tt` on device memory demand: loads, stores, atomics, tensor descriptors.

'tt.atomic_cas' op failed to verify that ptr type matches cmp type
"""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation, SSAValue

from minitriton.dialects.narrowing import instance_of
from minitriton.dialects.tt.descriptor import (
    DescriptorGatherOp,
    DescriptorLoadOp,
    DescriptorReduceOp,
    DescriptorScatterOp,
    DescriptorStoreOp,
)
from minitriton.dialects.tt.memory import (
    AtomicCASOp,
    AtomicLoadOp,
    AtomicPollOp,
    AtomicRMWOp,
    AtomicStoreOp,
    LoadOp,
    StoreOp,
)
from minitriton.dialects.tt.types import TensorDescType, pointer_same_shape, shape_of
from minitriton.dialects.tt.verify.base import encoding_complaint, tensor, types_of, width_of
from minitriton.dialects.tt.verify.checks import VERIFIERS


def _access_complaint(op: Operation) -> str | None:
    """Of loads, stores and atomics: all operands have the pointer's shape and encoding."""
    shape = shape_of(op.operands[0].type)
    if any(shape_of(type_) != shape for type_ in types_of(op)):
        what = "operands and results" if op.results else "operands"
        return f"'{op.name}' op requires the same shape for all {what}"
    return encoding_complaint(op)


def _atomic_rmw_complaint(op: Operation) -> str | None:
    ptr, value = op.operands[0].type, op.operands[1].type
    if ptr != pointer_same_shape(value):
        return f"'{op.name}' op failed to verify that ptr type matches value type"
    return _access_complaint(op)


def _atomic_cas_complaint(op: Operation) -> str | None:
    ptr, compare, value = (operand.type for operand in op.operands)
    for type_, what in ((compare, "cmp"), (value, "value")):
        if ptr != pointer_same_shape(type_):
            return f"'{op.name}' op failed to verify that ptr type matches {what} type"
    return _access_complaint(op)


def _atomic_load_complaint(op: Operation) -> str | None:
    if op.operands[0].type != pointer_same_shape(op.results[0].type):
        return f"'{op.name}' op failed to verify that ptr type matches result type"
    return _access_complaint(op)


def _atomic_poll_complaint(op: AtomicPollOp) -> str | None:
    if op.ptr.type != pointer_same_shape(op.expected.type):
        return f"'{op.name}' op failed to verify that ptr type matches expected type"
    return encoding_complaint(op)


def _block_complaint(op: Operation, descriptor: Attribute, tensor: Attribute) -> str | None:
    """Of loads and stores of a descriptor's block, leading dimensions of 1 aside."""
    assert isinstance(descriptor, TensorDescType) and instance_of(tensor, TensorType)
    block = descriptor.signless_block_type
    extra = max(block.get_num_dims() - tensor.get_num_dims(), 0)
    if any(size != 1 for size in block.get_shape()[:extra]):
        return f"'{op.name}' op ranked reduce load only allowed for unit dimension leading dim."
    if block.get_shape()[extra:] != tensor.get_shape() or block.element_type != tensor.element_type:
        return (
            f"'{op.name}' op tensor descriptor block and tensor types must match: expected '{block}', found '{tensor}'"
        )
    return None


def gather_scatter_complaint(op: Operation, block: TensorType, tensor: TensorType, offsets: TensorType) -> str | None:
    """Of gathering rows into `tensor`, or scattering them from it: what TMA can do."""
    shape, wanted = tensor.get_shape(), block.get_shape()
    width = width_of(tensor)
    found = None
    if len(wanted) != 2:
        found = f"block must be a 2D tensor, but got '{block}'"
    elif wanted[0] != 1:
        found = f"block must have exactly 1 row, but got '{block}'"
    elif offsets.get_num_dims() != 1:
        found = f"x offsets must be a 1D tensor, but got '{offsets}'"
    elif len(shape) != 2:
        found = f"result must be a 2D tensor, but got '{tensor}'"
    elif shape[0] < 8:
        found = f"gather must have at least 8 rows, but got {shape[0]}"
    elif width > 32:
        found = "TMA dtype cannot be greater than 32 bits"
    elif shape[1] < 32 // width * 8:
        found = f"gather of '{tensor.element_type}' must have at least {32 // width * 8} columns, but got {shape[1]}"
    elif shape[0] != offsets.get_shape()[0]:
        found = f"result tensor must have as many rows as indices ({offsets.get_shape()[0]}), but got '{tensor}'"
    elif shape[1] != wanted[1]:
        found = f"result tensor number of columns must match block ({wanted[1]}), but got '{tensor}'"
    elif tensor.element_type != block.element_type:
        found = f"result tensor element type must match block ('{block.element_type}'), but got '{tensor}'"
    return None if found is None else f"'{op.name}' op {found}"


def _block_of(descriptor: SSAValue) -> TensorType:
    assert isinstance(descriptor.type, TensorDescType)
    return descriptor.type.signless_block_type


def _descriptor_gather_complaint(op: DescriptorGatherOp) -> str | None:
    return gather_scatter_complaint(op, _block_of(op.desc), tensor(op.result), tensor(op.x_offsets))


def _descriptor_load_complaint(op: DescriptorLoadOp) -> str | None:
    return _block_complaint(op, op.desc.type, op.result.type)


def _descriptor_store_complaint(op: DescriptorStoreOp | DescriptorReduceOp) -> str | None:
    return _block_complaint(op, op.desc.type, op.src.type)


def _descriptor_scatter_complaint(op: DescriptorScatterOp) -> str | None:
    return gather_scatter_complaint(op, _block_of(op.desc), tensor(op.src), tensor(op.x_offsets))


VERIFIERS.update(
    {
        AtomicCASOp: _atomic_cas_complaint,
        AtomicLoadOp: _atomic_load_complaint,
        AtomicPollOp: _atomic_poll_complaint,
        AtomicRMWOp: _atomic_rmw_complaint,
        AtomicStoreOp: _access_complaint,
        DescriptorGatherOp: _descriptor_gather_complaint,
        DescriptorLoadOp: _descriptor_load_complaint,
        DescriptorReduceOp: _descriptor_store_complaint,
        DescriptorScatterOp: _descriptor_scatter_complaint,
        DescriptorStoreOp: _descriptor_store_complaint,
        LoadOp: _access_complaint,
        StoreOp: _access_complaint,
    }
)
