"""`tritonamdgpu-convert-buffer-ops`: accesses at small offsets from one base become those of buffers, whose bounds the hardware checks.

    %t = tt.addptr (tt.splat %p), %i                             %v = amdg.buffer_load %p[%i], %m
    %v = tt.load %t, %m                                   =>

Offsets have 32 bits, are not negative and stay below 2 GiB: by the range analysis, or as the argument says (`tt.pointer_range`). What a mask leaves out is an
offset beyond the buffer. Counterpart of ConvertToBufferOps.cpp, without its atomics and strides.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, i32
from xdsl.ir import Operation, SSAValue

from minitriton.analysis.axis_info.types import pointee_bytes
from minitriton.analysis.integer_range.analysis import IntegerRangeAnalysis
from minitriton.dialects import tt
from minitriton.dialects.amdg import BufferLoadOp, BufferStoreOp
from minitriton.dialects.attribute_values import is_true
from minitriton.dialects.fast_paths.op_access import ops_of
from minitriton.dialects.tt.types import element_type
from minitriton.passes.amd.canonicalize_pointers import is_small_argument, splat_number
from minitriton.pipeline.pass_registry import Pass, Property, register_pass

MOST_BYTES = 2**31 - 1


@register_pass
class ConvertBufferOps(Pass, stage="ttgir", origin="triton"):
    """Loads and stores by buffer instructions where offsets are small."""

    name: ClassVar[str] = "tritonamdgpu-convert-buffer-ops"
    acts_on = frozenset({tt.LoadOp, tt.StoreOp})
    requires = frozenset({Property.ENCODINGS})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrite every access whose offsets are known to be small."""
        ranges = IntegerRangeAnalysis(op)
        accesses: list[tuple[tt.LoadOp | tt.StoreOp, SSAValue, SSAValue]] = []
        for access in (*ops_of(op, tt.LoadOp), *ops_of(op, tt.StoreOp)):
            add = access.ptr.owner
            base = add.ptr.owner if isinstance(add, tt.AddPtrOp) else None
            if not isinstance(add, tt.AddPtrOp) or not isinstance(base, tt.SplatOp):
                continue
            if isinstance(access, tt.LoadOp) and is_true(access.is_volatile):
                continue
            if is_small(ranges, base.operands[0], add.offset):
                accesses.append((access, base.operands[0], add.offset))
        for access, base, offset in accesses:
            _convert(access, base, offset)


def is_small(ranges: IntegerRangeAnalysis, base: SSAValue, offset: SSAValue) -> bool:
    """Whether a buffer instruction takes these offsets."""
    if element_type(offset.type) != i32:
        return False
    if is_small_argument(base):
        return True
    found, size = ranges.get(offset), pointee_bytes(base.type)
    return found.width == 32 and found.is_non_negative and (found.smax + 1) * size <= MOST_BYTES


def _convert(access: tt.LoadOp | tt.StoreOp, base: SSAValue, offset: SSAValue) -> None:
    mask = None if access.mask is None or abs(splat_number(access.mask) or 0) == 1 else access.mask
    masks = [] if mask is None else [mask]
    properties = {"cache": access.cache}
    if isinstance(access, tt.LoadOp):
        other = None if access.other is None or splat_number(access.other) == 0 else access.other
        others = [] if other is None else [other]
        new: Operation = BufferLoadOp.build(
            operands=[base, offset, [], masks, others], result_types=[access.results[0].type], properties=properties
        )
    else:
        new = BufferStoreOp.build(operands=[access.value, base, offset, [], masks], properties=properties)
    new.location = access.location
    block = access.parent
    assert block is not None
    block.insert_op_before(new, access)
    if isinstance(access, tt.LoadOp):
        access.results[0].replace_all_uses_with(new.results[0])
    access.detach()
    access.erase()
