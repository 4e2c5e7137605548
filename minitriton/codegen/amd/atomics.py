"""Atomics on global memory, as LLVM's own: its back end knows which of them an architecture has, and makes a loop of the others.

tt.atomic_rmw fadd, acq_rel, gpu, %p, %v, %m    ->    cond_br %m; fence agent release; s_waitcnt; llvm.atomicrmw fadd %p, %v syncscope("agent") acquire
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from xdsl.dialects import llvm as L
from xdsl.ir import Attribute, SSAValue

from minitriton.analysis.access_width import buffer_width
from minitriton.codegen import registers
from minitriton.codegen.amd import lowers, needs_scratch
from minitriton.codegen.amd.buffers import Buffer
from minitriton.codegen.amd.memory import where
from minitriton.codegen.amd.waits import wait_for_memory
from minitriton.codegen.builder import Builder
from minitriton.codegen.lowering.function import FunctionLowering
from minitriton.codegen.lowering.old_values import ATOMICS, Accesses, atomic_scratch, finish, predicates_of
from minitriton.codegen.types import F16, I1, I64, INTEGERS, bit_width, lane_type, struct_type
from minitriton.dialects import llvm as ours
from minitriton.dialects import rocdl, tt
from minitriton.dialects.amdg import BufferAtomicCASOp, BufferAtomicRMWOp
from minitriton.dialects.attribute_values import string_attr, word

needs_scratch(*ATOMICS, BufferAtomicRMWOp, BufferAtomicCASOp)(atomic_scratch)

_SCOPES = {"gpu": "agent", "cta": "workgroup", "sys": "", "system": ""}
"""LLVM's names (AMDGPUUsage, "Memory Scopes"); the whole system has none."""
_OPERATIONS = {"exch": "xchg"}


@lowers(tt.AtomicRMWOp)
def atomic_rmw(f: FunctionLowering, op: tt.AtomicRMWOp) -> None:
    """One element at a time, by one of the threads that hold it."""
    kind = word(op.atomic_rmw_op)
    operation = string_attr(_OPERATIONS.get(kind, kind))

    def make(order: _Order, address: SSAValue, value: SSAValue) -> SSAValue:
        return f.b.value(ours.AtomicRMWOp, (address, value), value.type, {"bin_op": operation, **order.properties()})

    _each_element(f, op, op.mask, (op.ptr, op.val), make)


@lowers(tt.AtomicCASOp)
def atomic_cas(f: FunctionLowering, op: tt.AtomicCASOp) -> None:
    """Compares integers: numbers of other types as their bits."""

    def make(order: _Order, address: SSAValue, compared: SSAValue, value: SSAValue) -> SSAValue:
        return _swapped(f.b, address, compared, value, order)

    _each_element(f, op, None, tuple(op.operands), make)


@lowers(BufferAtomicRMWOp)
def buffer_atomic_rmw(f: FunctionLowering, op: BufferAtomicRMWOp) -> None:
    """One instruction for each element, or for two neighbours of 16 bits that are added; other floats of 16 bits by their addresses."""
    kind = word(op.atomic_rmw_op)
    element = f.element_type(op.results[0])
    width = 1 if bit_width(element) >= _LEAST_BITS else _added_together(f, op, kind, element)
    if width:
        _each_of_buffer(f, op, op.mask, (op.value,), _BUFFER_OPERATIONS.get(kind, kind), width)
        return
    operation = string_attr(_OPERATIONS.get(kind, kind))

    def make(order: _Order, offset: SSAValue, value: SSAValue) -> SSAValue:
        address = f.b.gep(f.values[op.ptr], f.b.cast(L.ZExtOp, offset, I64), value.type)
        return f.b.value(ours.AtomicRMWOp, (address, value), value.type, {"bin_op": operation, **order.properties()})

    _each_element(f, op, op.mask, (op.offsets, op.value), make)


@lowers(BufferAtomicCASOp)
def buffer_atomic_cas(f: FunctionLowering, op: BufferAtomicCASOp) -> None:
    """One instruction for each element."""
    _each_of_buffer(f, op, None, (op.val, op.cmp), "cmpswap")


_LEAST_BITS = 32
_ADDS_BFLOATS = 4
"""The first version of matrix cores whose GPUs have `buffer_atomic_pk_add_bf16` (CDNA4 ISA); those of all versions have `_f16`."""


def _added_together(f: FunctionLowering, op: BufferAtomicRMWOp, kind: str, element: Attribute) -> int:
    """2 if neighbours are added by one instruction, else 0."""
    version = f.module.target.mfma_version
    has_instruction = kind == "fadd" and version >= (1 if element is F16 else _ADDS_BFLOATS)
    return 2 if has_instruction and buffer_width(f.module.axis, op.ptr, op.offsets, op.mask) > 1 else 0


_BUFFER_OPERATIONS = {"exch": "swap", "max": "smax", "min": "smin", "fmax": "fmax", "fmin": "fmin"}


def _each_of_buffer(
    f: FunctionLowering,
    op: BufferAtomicRMWOp | BufferAtomicCASOp,
    mask: SSAValue | None,
    operands: Sequence[SSAValue],
    operation: str,
    width: int = 1,
) -> None:
    """Instructions that take part in no order by themselves, between fences of the scope."""
    b = f.b
    accesses = Accesses(f, op.offsets, width)
    buffer = Buffer(f, op, predicates_of(f, op.offsets, mask, accesses), accesses)
    sem, scope = word(op.sem), _SCOPES[word(op.scope)]
    if sem in ("release", "acq_rel"):
        _release(f, scope)
    old: list[SSAValue] = []
    for start, offset in zip(accesses.starts, buffer.offsets, strict=True):
        elements = [
            b.pack([registers.element(b, f.values[value], start + i) for i in range(width)]) for value in operands
        ]
        values = (*elements, buffer.resource, offset)
        properties = {"operation": string_attr(operation)}
        old.append(b.value(rocdl.RawPtrBufferAtomicOp, values, elements[0].type, properties))
    if sem in ("acquire", "acq_rel"):
        b.operation(ours.FenceOp, (), (), _Order("acquire", scope).properties())
    finish(f, op, accesses, old)


class _Order(NamedTuple):
    """How an instruction is ordered with other accesses, for the threads of a scope."""

    sem: str
    scope: str

    def properties(self) -> dict[str, Attribute]:
        return {"ordering": string_attr(self.sem), "syncscope": string_attr(self.scope)}


def _each_element(
    f: FunctionLowering,
    op: tt.AtomicRMWOp | tt.AtomicCASOp | BufferAtomicRMWOp,
    mask: SSAValue | None,
    operands: Sequence[SSAValue],
    make: Callable[..., SSAValue],
) -> None:
    """What `make` makes of the order and an element of each of `operands`, in a branch where there is a mask; then the old values."""
    b = f.b
    accesses = Accesses(f, operands[0], 1)
    masks = predicates_of(f, operands[0], mask, accesses)
    columns = [[registers.element(b, f.values[value], start) for start in accesses.starts] for value in operands]
    sem, scope = word(op.sem), _SCOPES[word(op.scope)]
    several = len(accesses.starts) > 1
    order = _Order("monotonic" if several or sem in ("relaxed", "release") else "acquire", scope)
    release = partial(_release, f, scope) if sem in ("release", "acq_rel") else None
    if several and release is not None:
        release()
        release = None
    old: list[SSAValue] = []
    for predicate, *elements in zip(masks, *columns, strict=True):
        made = partial(_alone, release, make, order, elements)
        if predicate is None:
            old += made()
        else:
            old += where(b, predicate, [b.poison(elements[-1].type)], made)
    if several and sem in ("acquire", "acq_rel"):
        b.operation(ours.FenceOp, (), (), _Order("acquire", scope).properties())
    finish(f, op, accesses, old)


def _release(f: FunctionLowering, scope: str) -> None:
    """What was accessed before is over before what follows, and written back to where the scope's threads see it."""
    f.b.operation(ours.FenceOp, (), (), _Order("release", scope).properties())
    wait_for_memory(f)


def _alone(
    release: Callable[[], None] | None, make: Callable[..., SSAValue], order: _Order, elements: Sequence[SSAValue]
) -> list[SSAValue]:
    if release is not None:
        release()
    return [make(order, *elements)]


def _swapped(b: Builder, address: SSAValue, compared: SSAValue, value: SSAValue, order: _Order) -> SSAValue:
    """What was at `address`; `value` is there if that was `compared`."""
    type_ = value.type
    bits = INTEGERS[bit_width(lane_type(type_))]
    operands = (address, b.bitcast(compared, bits), b.bitcast(value, bits))
    found = b.value(ours.CmpXchgOp, operands, struct_type(bits, I1), order.properties())
    return b.bitcast(b.field(found, 0), type_)
