"""Loads and stores of buffers: base and size in a descriptor of scalar registers, an offset in bytes for each lane, no branch for a mask.

    amdg.buffer_load %p[%i], %m    ->    raw.ptr.buffer.load(make.buffer.rsrc(%p), select(%m, 4 * %i, 2^31))

An offset outside of the size reads as zero and is not written (MI300 ISA, "Buffer Addressing"). Counterpart of Triton's BufferOpsEmitter.cpp.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

from xdsl.dialects import llvm as L
from xdsl.dialects.builtin import IntAttr, IntegerAttr, TensorType, i32
from xdsl.ir import Attribute, SSAValue

from minitriton.analysis.access_width import most_elements
from minitriton.analysis.axis_info.types import access_shape, pointee_bits
from minitriton.codegen import registers
from minitriton.codegen.amd import lowers
from minitriton.codegen.lowering.function import FunctionLowering
from minitriton.codegen.lowering.old_values import Accesses, store_masks
from minitriton.codegen.lowering.shared import from_memory, memory_type, to_memory
from minitriton.codegen.types import F16, F32, I8, I16, I32, bit_width, lane_type, vector_type
from minitriton.dialects import rocdl
from minitriton.dialects.amdg import BufferAtomicCASOp, BufferAtomicRMWOp, BufferLoadOp, BufferStoreOp
from minitriton.dialects.narrowing import instance_of

OUTSIDE = 1 << 31
"""An offset beyond every buffer."""
CDNA_LANE_BITS = 6
_CDNA, _RDNA = IntegerAttr(0x27000, i32), IntegerAttr(0x31027000, i32)
"""Words of 32 bits; on RDNA also a bit that is reserved, and bounds of raw buffers (RDNA3 ISA, "Buffer Resource Descriptor", OOB_SELECT)."""
_RESOURCE = L.LLVMPointerType(IntAttr(8))


def buffer_width(f: FunctionLowering, op: BufferLoadOp | BufferStoreOp) -> int:
    """How many neighbours one instruction takes."""
    type_, axis = op.offsets.type, f.module.axis
    assert instance_of(type_, TensorType)
    bits = pointee_bits(op.ptr.type)
    size, shape = max(1, bits // 8), access_shape(type_)
    offsets, base = axis.get(op.offsets), axis.get(op.ptr)
    aligned = gcd(base.divisibility[0], offsets.divisibility[shape.fastest_dim] * size) // size
    mask = most_elements(bits) if op.mask is None else axis.mask_alignment(op.mask)
    return max(
        1, min(offsets.contiguity[shape.fastest_dim], aligned, mask, shape.contiguous_per_thread, most_elements(bits))
    )


def _moved(element: Attribute, count: int) -> Attribute:
    """The type that an instruction moves: floats as they are where it can, else integers of at most 32 bits."""
    bits = bit_width(element) * count
    if element in (F16, F32) and bits <= (64 if element is F16 else 128):
        return vector_type(element, count)
    return {8: I8, 16: I16}.get(bits) or vector_type(I32, bits // 32)


class Buffer:
    """The descriptor of an access, and the offset in bytes of each of its vectors."""

    def __init__(
        self,
        f: FunctionLowering,
        op: BufferLoadOp | BufferStoreOp | BufferAtomicRMWOp | BufferAtomicCASOp,
        masks: Sequence[SSAValue | None],
        accesses: Accesses,
    ) -> None:
        self.f, b = f, f.b
        flags = _CDNA if f.module.lane_bits == CDNA_LANE_BITS else _RDNA
        self.resource = b.value(rocdl.MakeBufferRsrcOp, (f.values[op.ptr],), _RESOURCE, {"flags": flags})
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
    """One instruction for each vector of neighbours; `other` is chosen afterwards."""
    b, result = f.b, op.results[0]
    kept = memory_type(f.element_type(result))
    accesses = Accesses(f, op.offsets, buffer_width(f, op))
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
    f.values[result] = from_memory(f, vector if indices is None else b.permute(vector, indices), f.element_type(result))


@lowers(BufferStoreOp)
def store(f: FunctionLowering, op: BufferStoreOp) -> None:
    """One instruction for each vector of neighbours, by one of the threads that hold the same element."""
    b, data = f.b, to_memory(f, f.vector(op.value))
    accesses = Accesses(f, op.offsets, buffer_width(f, op))
    own = f.representative(f.facts(op.offsets.type).layout)
    masks = store_masks(f, accesses, op.mask, own)
    buffer = Buffer(f, op, masks, accesses)
    words = _moved(lane_type(data.type), accesses.width)
    for number, start in enumerate(accesses.starts):
        value = b.bitcast(b.permute(data, range(start, start + accesses.width)), words)
        b.operation(rocdl.RawPtrBufferStoreOp, (value, buffer.resource, buffer.offsets[number]), ())
