"""Loads and stores of buffers: base and size in a descriptor of scalar registers, an offset in bytes for each lane, no branch for a mask.

    amdg.buffer_load %p[%i], %m    ->    raw.ptr.buffer.load(make.buffer.rsrc(%p), select(%m, 4 * %i, 2^31))

An offset outside of the size reads as zero and is not written (MI300 ISA, "Buffer Addressing"). Counterpart of Triton's BufferOpsEmitter.cpp.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import llvm as L
from xdsl.dialects.builtin import IntAttr, IntegerAttr, i32
from xdsl.ir import Attribute, SSAValue

from minitriton.analysis.access_width import buffer_width
from minitriton.analysis.axis_info.lattice import pointee_bits
from minitriton.codegen import registers
from minitriton.codegen.amd import lowers
from minitriton.codegen.lowering.function import FunctionLowering
from minitriton.codegen.lowering.old_values import Accesses, store_masks
from minitriton.codegen.lowering.shared import from_memory, memory_type, to_memory
from minitriton.codegen.types import F16, F32, I8, I16, I32, bit_width, lane_type, vector_type
from minitriton.dialects import rocdl
from minitriton.dialects.amdg import (
    BufferAtomicCASOp,
    BufferAtomicRMWOp,
    BufferLoadOp,
    BufferLoadToLocalOp,
    BufferStoreOp,
)

OUTSIDE = 1 << 31
"""An offset beyond every buffer."""
CDNA_LANE_BITS = 6
_CDNA, _RDNA = IntegerAttr(0x27000, i32), IntegerAttr(0x31027000, i32)
"""Words of 32 bits; on RDNA also a bit that is reserved, and bounds of raw buffers (RDNA3 ISA, "Buffer Resource Descriptor", OOB_SELECT)."""
_RESOURCE = L.LLVMPointerType(IntAttr(8))


def _moved(element: Attribute, count: int) -> Attribute:
    """The type that an instruction moves: floats as they are where it can, else integers of at most 32 bits."""
    bits = bit_width(element) * count
    if element in (F16, F32) and bits <= (64 if element is F16 else 128):
        return vector_type(element, count)
    return {8: I8, 16: I16}.get(bits) or vector_type(I32, bits // 32)


def descriptor(f: FunctionLowering, pointer: SSAValue) -> SSAValue:
    """Of the buffer that begins at a scalar pointer."""
    flags = _CDNA if f.module.lane_bits == CDNA_LANE_BITS else _RDNA
    return f.b.value(rocdl.MakeBufferRsrcOp, (f.values[pointer],), _RESOURCE, {"flags": flags})


class Buffer:
    """The descriptor of an access, and the offset in bytes of each of its vectors."""

    def __init__(
        self,
        f: FunctionLowering,
        op: BufferLoadOp | BufferLoadToLocalOp | BufferStoreOp | BufferAtomicRMWOp | BufferAtomicCASOp,
        masks: Sequence[SSAValue | None],
        accesses: Accesses,
    ) -> None:
        self.f, b = f, f.b
        self.resource = descriptor(f, op.ptr)
        size = max(1, pointee_bits(op.ptr.type) // 8)
        self.offsets: list[SSAValue] = []
        for number, start in enumerate(accesses.starts):
            offset = b.mul(registers.element(b, f.values[op.offsets], start), b.i32(size))
            mask = masks[number] if masks else None
            if mask is not None:
                offset = b.select(mask, offset, b.i32(-OUTSIDE))
            self.offsets.append(offset)


@lowers(BufferLoadOp)
def load(f: FunctionLowering, op: BufferLoadOp) -> None:
    """Loads into registers."""
    element = f.element_type(op.result)
    f.values[op.result] = from_memory(f, loaded(f, op, memory_type(element)), element)


def loaded(f: FunctionLowering, op: BufferLoadOp | BufferLoadToLocalOp, kept: Attribute) -> SSAValue:
    """Elements of type `kept`: one instruction for each vector of neighbours; `other` is chosen afterwards."""
    b = f.b
    accesses = Accesses(f, op.offsets, buffer_width(f.module.axis, op.ptr, op.offsets, op.mask))
    masks = [] if op.mask is None else [registers.element(b, f.values[op.mask], start) for start in accesses.starts]
    buffer = Buffer(f, op, masks, accesses)
    words, type_ = _moved(kept, accesses.width), vector_type(kept, accesses.width)
    others = None if op.other is None else to_memory(f, registers.vector(b, f.values[op.other], accesses.count))
    parts: list[SSAValue] = []
    for number, start in enumerate(accesses.starts):
        part = b.bitcast(b.value(rocdl.RawPtrBufferLoadOp, (buffer.resource, buffer.offsets[number]), words), type_)
        if others is not None and masks:
            part = b.select(masks[number], part, b.permute(others, range(start, start + accesses.width)))
        parts.append(part)
    vector, indices = b.concat(parts), accesses.expanded()
    return vector if indices is None else b.permute(vector, indices)


@lowers(BufferStoreOp)
def store(f: FunctionLowering, op: BufferStoreOp) -> None:
    """One instruction for each vector of neighbours, by one of the threads that hold the same element."""
    b, data = f.b, to_memory(f, f.vector(op.value))
    accesses = Accesses(f, op.offsets, buffer_width(f.module.axis, op.ptr, op.offsets, op.mask))
    own = f.representative(f.facts(op.offsets.type).layout)
    masks = store_masks(f, accesses, None if op.mask is None else f.values[op.mask], own)
    buffer = Buffer(f, op, masks, accesses)
    words = _moved(lane_type(data.type), accesses.width)
    for number, start in enumerate(accesses.starts):
        value = b.bitcast(b.permute(data, range(start, start + accesses.width)), words)
        b.operation(rocdl.RawPtrBufferStoreOp, (value, buffer.resource, buffer.offsets[number]), ())
