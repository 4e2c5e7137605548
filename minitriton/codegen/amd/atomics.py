"""Atomics on global memory, as LLVM's own: its back end knows which of them an architecture has, and makes a loop of the others.

tt.atomic_rmw fadd, acq_rel, gpu, %p, %v, %m    ->    cond_br %m; llvm.atomicrmw fadd %p, %v syncscope("agent") acq_rel
"""

from __future__ import annotations

from xdsl.ir import Attribute, SSAValue

from minitriton.codegen import registers
from minitriton.codegen.amd import lowers, needs_scratch
from minitriton.codegen.amd.memory import where
from minitriton.codegen.builder import Builder
from minitriton.codegen.lowering.accesses import Accesses
from minitriton.codegen.lowering.function import FunctionLowering
from minitriton.codegen.lowering.old_values import ATOMICS, atomic_scratch, finish, predicates_of
from minitriton.codegen.types import I1, INTEGERS, bit_width, lane_type, struct_type
from minitriton.dialects import llvm as ours
from minitriton.dialects import tt
from minitriton.dialects.attribute_values import string_attr, word

needs_scratch(*ATOMICS)(atomic_scratch)

_SCOPES = {"gpu": "agent", "cta": "workgroup", "sys": "", "system": ""}
"""LLVM's names (AMDGPUUsage, "Memory Scopes"); the whole system has none."""
_OPERATIONS = {"exch": "xchg"}
_ORDERINGS = {"relaxed": "monotonic"}


@lowers(tt.AtomicRMWOp)
def atomic_rmw(f: FunctionLowering, op: tt.AtomicRMWOp) -> None:
    """One element at a time, by one of the threads that hold it."""
    kind = word(op.atomic_rmw_op)
    properties: dict[str, Attribute] = {
        "bin_op": string_attr(_OPERATIONS.get(kind, kind)),
        "ordering": string_attr(_ordering(word(op.sem))),
        "syncscope": string_attr(_SCOPES[word(op.scope)]),
    }
    accesses = Accesses(f, op.ptr, 1)
    masks = predicates_of(f, op.ptr, op.mask, accesses)
    addresses, values = (
        [registers.element(f.b, f.values[value], start) for start in accesses.starts] for value in (op.ptr, op.val)
    )
    old: list[SSAValue] = []
    for address, value, mask in zip(addresses, values, masks, strict=True):

        def make(address: SSAValue = address, value: SSAValue = value) -> list[SSAValue]:
            return [f.b.value(ours.AtomicRMWOp, (address, value), value.type, properties)]

        old += make() if mask is None else where(f.b, mask, [f.b.poison(value.type)], make)
    finish(f, op, accesses, old)


def _ordering(sem: str) -> str:
    return _ORDERINGS.get(sem, sem)


@lowers(tt.AtomicCASOp)
def atomic_cas(f: FunctionLowering, op: tt.AtomicCASOp) -> None:
    """Compares integers: numbers of other types as their bits."""
    accesses = Accesses(f, op.ptr, 1)
    masks = predicates_of(f, op.ptr, None, accesses)
    operands = [[registers.element(f.b, f.values[value], start) for start in accesses.starts] for value in op.operands]
    sem, scope = _ordering(word(op.sem)), _SCOPES[word(op.scope)]
    old: list[SSAValue] = []
    for address, compared, value, mask in zip(*operands, masks, strict=True):

        def make(at: SSAValue = address, compared: SSAValue = compared, value: SSAValue = value) -> list[SSAValue]:
            return [_swapped(f.b, at, compared, value, sem, scope)]

        old += make() if mask is None else where(f.b, mask, [f.b.poison(value.type)], make)
    finish(f, op, accesses, old)


def _swapped(b: Builder, address: SSAValue, compared: SSAValue, value: SSAValue, sem: str, scope: str) -> SSAValue:
    """What was at `address`; `value` is there if that was `compared`."""
    type_ = value.type
    bits = INTEGERS[bit_width(lane_type(type_))]
    properties: dict[str, Attribute] = {"ordering": string_attr(sem), "syncscope": string_attr(scope)}
    operands = (address, b.bitcast(compared, bits), b.bitcast(value, bits))
    found = b.value(ours.CmpXchgOp, operands, struct_type(bits, I1), properties)
    return b.bitcast(b.field(found, 0), type_)
