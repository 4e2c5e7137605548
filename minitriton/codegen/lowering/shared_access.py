"""Follows a `PlannedMemoryAccess`: registers to and from shared memory, one vector at a time.

base = the plan's `lane` and `warp` bits of the thread's number, xor-ed; address = (base ^ xor) + add
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import llvm as L
from xdsl.ir import Attribute, SSAValue

from minitriton.codegen.lowering.function import FunctionLowering
from minitriton.codegen.types import I1, I8, I16, I32, I64, bit_width, lane_type, vector_type
from minitriton.dialects import llvm as ours
from minitriton.layouts.plans import PlannedMemoryAccess


def addresses(
    f: FunctionLowering, plan: PlannedMemoryAccess, base: SSAValue, constant: int = 0, slice_offset: int = 0
) -> list[SSAValue]:
    """The address of each access; `constant` bytes are added, `slice_offset` is xor-ed into the offset."""
    b = f.b
    own = f.shared_index((*plan.lane, *plan.warp))
    pointers: dict[int, SSAValue] = {}
    result: list[SSAValue] = []
    for access in plan.accesses:
        xor = access.xor ^ slice_offset
        if plan.padding:
            offset = b.xor(own, b.i32(xor)) if xor else own
            if access.add:
                offset = b.add(offset, b.i32(access.add))
            padded = offset
            for interval, pad in plan.padding:
                padded = b.add(padded, b.shl(b.lshr(offset, interval), pad))
            result.append(b.gep(b.gep(base, padded, I8), constant, I8))
            continue
        pointer = pointers.get(xor)
        if pointer is None:
            offset = b.xor(own, b.i32(xor)) if xor else own
            pointer = pointers[xor] = b.gep(base, offset, I8, inbounds=True)
        result.append(b.gep(pointer, access.add + constant, I8, inbounds=True))
    return result


def store_shared(
    f: FunctionLowering,
    plan: PlannedMemoryAccess,
    value: SSAValue,
    base: SSAValue,
    constant: int = 0,
    mask: SSAValue | None = None,
    slice_offset: int = 0,
) -> None:
    """Stores the registers of `value` (bytes or wider), where `mask` is true if there is one."""
    b = f.b
    size = plan.vector_bytes
    for pointer, access in zip(addresses(f, plan, base, constant, slice_offset), plan.accesses, strict=True):
        part = b.permute(value, access.registers)
        if plan.matrices:
            words = b.bitcast(part, vector_type(I32, plan.matrices))
            f.module.info.store_matrices(b, words, pointer, transposed=plan.transposed)
        elif mask is None:
            b.store(part, pointer, size)
        else:
            f.module.info.store_shared(b, part, pointer, mask)


def load_accesses(
    f: FunctionLowering,
    plan: PlannedMemoryAccess,
    element: Attribute,
    base: SSAValue,
    constant: int = 0,
    slice_offset: int = 0,
) -> SSAValue:
    """What all accesses of a plan load, in their order."""
    type_ = vector_type(element, plan.vector)
    pointers = addresses(f, plan, base, constant, slice_offset)
    if plan.matrices:
        load = f.module.info.load_matrices
        matrices = [load(f.b, pointer, plan.matrices, transposed=plan.transposed) for pointer in pointers]
        return f.b.concat([f.b.bitcast(matrix, type_) for matrix in matrices])
    return f.b.concat([f.b.load(pointer, type_, plan.vector_bytes) for pointer in pointers])


def load_shared(
    f: FunctionLowering,
    plan: PlannedMemoryAccess,
    element: Attribute,
    base: SSAValue,
    constant: int = 0,
    slice_offset: int = 0,
) -> SSAValue:
    """The registers that a plan loads. Bytes that are loaded in pairs stay together as words of 16 bits: taken apart, the pairs of a conversion
    would be put together again byte by byte."""
    b = f.b
    pairs = _pairs(plan.result) if plan.vector == 2 and bit_width(element) == 8 and not plan.matrices else None
    if pairs is None:
        return b.permute(load_accesses(f, plan, element, base, constant, slice_offset), plan.result)
    words = [b.load(pointer, I16, 2) for pointer in addresses(f, plan, base, constant, slice_offset)]
    return b.bitcast(b.permute(b.concat(words), pairs), vector_type(element, len(plan.result)))


def _pairs(registers: Sequence[int]) -> list[int] | None:
    """The pairs that registers are, each beginning at an even number; None if they are not."""
    halves = [first // 2 for first in registers[::2]]
    return halves if [2 * half + i for half in halves for i in range(2)] == list(registers) else None


# Values as memory and as registers have them.


def memory_type(element: Attribute) -> Attribute:
    """How an element is in memory: booleans as bytes, pointers as integers."""
    if element is I1:
        return I8
    return I64 if isinstance(element, L.LLVMPointerType) else element


def from_memory(f: FunctionLowering, vector: SSAValue, element: Attribute) -> SSAValue:
    """A value as it is in registers, from how it is in memory."""
    if element is I1:
        return f.b.cast(L.TruncOp, vector, I1)
    return f.b.cast(ours.IntToPtrOp, vector, element) if isinstance(element, L.LLVMPointerType) else vector


def to_memory(f: FunctionLowering, value: SSAValue) -> SSAValue:
    """A value as it is in memory."""
    element = lane_type(value.type)
    if element is I1:
        return f.b.cast(L.ZExtOp, value, I8)
    return f.b.cast(ours.PtrToIntOp, value, I64) if isinstance(element, L.LLVMPointerType) else value
