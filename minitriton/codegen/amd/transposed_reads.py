"""Reads of LDS on gfx950 by `ds_read_b64_tr_*`, which transposes: operands of dots whose k is not contiguous in memory.

In: `ttg.local_load` of 8 or 16 bits into a layout whose lanes walk where memory is contiguous; `amdg.local_load_packed_tranposed` of pairs of fp4. Out:
`rocdl.ds.read.tr`, 64 bits a lane. Counterpart of TransLocalLoadOpConversion and LocalLoadPackedTransposedOpConversion of Triton's MemoryOpToLLVM.cpp.
"""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, i32
from xdsl.ir import Attribute, SSAValue

from minitriton.codegen.amd import lowers
from minitriton.codegen.lowering import shared
from minitriton.codegen.lowering.function import FunctionLowering
from minitriton.codegen.registers import SharedView
from minitriton.codegen.types import I8, I16, I32, vector_type
from minitriton.dialects import amdg, rocdl, ttg
from minitriton.dialects.encodings import layout_of
from minitriton.layouts.encodings import DistributedEncoding
from minitriton.layouts.memory import packed_transposed_access, transposed_access
from minitriton.layouts.plans import PlannedMemoryAccess

_VERSION = 4
"""Of the matrix cores of gfx950, which has these instructions."""


def transposed_load(f: FunctionLowering, op: ttg.LocalLoadOp) -> bool:
    """Loads by instructions that transpose, where there are some."""
    memory, view = shared.memdesc(op.src), f.values[op.src]
    bits = shared.memory_bits(memory)
    if f.module.target.mfma_version != _VERSION or bits not in (8, 16):
        return False
    registers = layout_of(op.result.type)
    assert isinstance(view, SharedView) and isinstance(registers, DistributedEncoding)
    offset = shared.slice_offset(memory, view.offsets)
    plan = transposed_access(
        registers, shared.shared_encoding(memory), memory.get_shape(), bits, shared.buffer_shape(memory), offset
    )
    if plan is None:
        return False
    element = f.element_type(op.result)
    kept = shared.memory_type(element)
    loaded = _loaded(f, plan, view, kept, bits, offset * bits // 8)
    f.values[op.result] = shared.from_memory(f, loaded, element)
    return True


@lowers(amdg.LocalLoadPackedTransposedOp)
def packed_load(f: FunctionLowering, op: amdg.LocalLoadPackedTransposedOp) -> None:
    """Pairs of fp4 along M or N become pairs along k."""
    memory, view, registers = shared.memdesc(op.src), f.values[op.src], layout_of(op.result.type)
    assert isinstance(view, SharedView) and isinstance(registers, DistributedEncoding)
    plan = packed_transposed_access(registers, shared.shared_encoding(memory), f.facts(op.result.type).shape)
    if plan is None or any(view.offsets) or f.module.target.mfma_version != _VERSION:
        raise f.unsupported(op, "this load of fp4", help="let tritonamdgpu-accelerate-matmul choose the layouts")
    f.values[op.result] = _loaded(f, plan, view, I8, 4, 0)


def _loaded(
    f: FunctionLowering, plan: PlannedMemoryAccess, view: SharedView, element: Attribute, bits: int, offset: int
) -> SSAValue:
    """The registers that a plan loads, of elements of `bits` bits that instructions transpose."""
    b = f.b
    taken = vector_type(I16, 4) if bits == 16 else vector_type(I32, 2)
    properties = {"bits": IntegerAttr(bits, i32)}
    parts = [
        b.bitcast(b.value(rocdl.DsReadTrOp, (pointer,), taken, properties), vector_type(element, plan.vector))
        for pointer in shared.addresses(f, plan, view.base, slice_offset=offset)
    ]
    return b.permute(b.concat(parts), plan.result)
