"""`cp.async`: copies from global to shared memory that stay in flight while the thread computes.

    ttg.async_copy_global_to_local %p, %b mask %m    ->   nvvm.cp.async.shared.global, 16 bytes at a time; where the mask is
                                                          false the source has 0 bytes and the buffer is filled with zeros

Copies of less than 4 bytes, which the hardware does not have, are loads and stores, with a remark: here layouts are final.
"""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, TensorType
from xdsl.ir import SSAValue

from minitriton.analysis.access_width import access_width
from minitriton.analysis.copy_remarks import remark_narrow_load
from minitriton.codegen import registers
from minitriton.codegen.lowering.function import FunctionLowering
from minitriton.codegen.lowering.shared import (
    addresses,
    buffer_shape,
    memdesc,
    memory_bits,
    shared_encoding,
    slice_offset,
    store_shared,
)
from minitriton.codegen.nvidia import lowers
from minitriton.codegen.registers import SharedView
from minitriton.codegen.types import I1, INTEGERS, vector_type
from minitriton.dialects import nvvm, ttg
from minitriton.dialects.attribute_values import i32_array, string_attr
from minitriton.dialects.narrowing import instance_of
from minitriton.dialects.ttg import layout_of
from minitriton.layouts.encodings import DistributedEncoding
from minitriton.layouts.memory import plan_access, registers_to_offsets
from minitriton.layouts.plans import PlannedMemoryAccess
from minitriton.layouts.to_linear import to_linear_layout

MIN_COPY_BITS = 32


@lowers(ttg.AsyncCopyGlobalToLocalOp)
def async_copy(f: FunctionLowering, op: ttg.AsyncCopyGlobalToLocalOp) -> None:
    source, target, mask = op.src, op.destination, op.mask
    view = f.values[target]
    assert isinstance(view, SharedView)
    plan, offset = _plan(f, op, source, target, view)
    representative = _representative(f, source)
    if plan.vector * plan.bitwidth < MIN_COPY_BITS:
        remark_narrow_load(op, source, mask, plan.bitwidth, f.module.axis)
        _copy_by_registers(f, plan, source, mask, view, offset, representative)
    else:
        _copy(f, plan, source, mask, view, offset, representative)
    f.values[op.results[0]] = None


def _plan(
    f: FunctionLowering, op: ttg.AsyncCopyGlobalToLocalOp, source: SSAValue, target: SSAValue, view: SharedView
) -> tuple[PlannedMemoryAccess, int]:
    """The accesses, as wide as the addresses, the mask and both layouts allow, and the view's offset in bytes."""
    assert instance_of(source.type, TensorType)
    type_ = memdesc(target)
    bits = memory_bits(type_)
    encoding = layout_of(source.type)
    assert isinstance(encoding, DistributedEncoding)
    registers_of = to_linear_layout(encoding, source.type.get_shape())
    offsets = registers_to_offsets(registers_of, to_linear_layout(shared_encoding(type_), buffer_shape(type_)))
    offset = slice_offset(type_, view.offsets)
    return plan_access(offsets, bits, access_width(f.module.axis, op).width, offset), offset * bits // 8


def _representative(f: FunctionLowering, source: SSAValue) -> SSAValue | None:
    """True in one of the threads of a block that hold the same elements; each block fills its own memory."""
    return f.zero_in(f.free_thread_mask(f.facts(source.type).layout))


def _copy(
    f: FunctionLowering,
    plan: PlannedMemoryAccess,
    source: SSAValue,
    mask: SSAValue | None,
    view: SharedView,
    offset: int,
    representative: SSAValue | None,
) -> None:
    b = f.b
    size = plan.vector_bytes
    predicate = [] if representative is None else [representative]
    properties = {
        "size": IntegerAttr(size, 32),
        "modifier": string_attr("cg" if size == 16 else "ca"),
        "operandSegmentSizes": i32_array((1, 1, int(mask is not None), len(predicate))),
    }
    for pointer, access in zip(addresses(f, plan, view.base, slice_offset=offset), plan.accesses, strict=True):
        first = access.registers[0]
        operands = [pointer, registers.element(b, f.values[source], first)]
        if mask is not None:
            operands.append(b.select(registers.element(b, f.values[mask], first), b.i32(size), b.i32(0)))
        b.operation(nvvm.CpAsyncOp, (*operands, *predicate), (), properties)


def _copy_by_registers(
    f: FunctionLowering,
    plan: PlannedMemoryAccess,
    source: SSAValue,
    mask: SSAValue | None,
    view: SharedView,
    offset: int,
    representative: SSAValue | None,
) -> None:
    """Loads element by element, then stores what was loaded."""
    b = f.b
    element = INTEGERS[plan.bitwidth]
    count = f.count(source)
    pointers = f.elements(source)
    masks = [b.constant(I1, 1)] * count if mask is None else f.elements(mask)
    properties = {
        "vector_width": IntegerAttr(1, 32),
        "operandSegmentSizes": i32_array((count, count, 0, 0)),
    }
    loaded = b.value(nvvm.LoadGlobalOp, (*pointers, *masks), vector_type(element, count), properties)
    store_shared(f, plan, loaded, view.base, mask=representative, slice_offset=offset)


@lowers(ttg.AsyncCommitGroupOp)
def async_commit_group(f: FunctionLowering, op: ttg.AsyncCommitGroupOp) -> None:
    f.b.operation(nvvm.CpAsyncCommitGroupOp, (), ())
    f.values[op.results[0]] = None


@lowers(ttg.AsyncWaitOp)
def async_wait(f: FunctionLowering, op: ttg.AsyncWaitOp) -> None:
    f.b.operation(nvvm.CpAsyncWaitGroupOp, (), (), {"n": op.num})
    f.values[op.results[0]] = None
