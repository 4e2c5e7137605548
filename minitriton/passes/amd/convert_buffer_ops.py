"""`tritonamdgpu-convert-buffer-ops`: accesses at small offsets from one base become those of buffers, whose bounds the hardware checks.

    %t = tt.addptr (tt.splat %p), %i                             %v = amdg.buffer_load %p[%i], %m
    %v = tt.load %t, %m                                   =>

Offsets have 32 bits, are not negative and stay below 2 GiB: by the range analysis, or as the argument says (`tt.pointer_range`). What a mask leaves out is an
offset beyond the buffer. Where the offset is a row times a number, that is the `stride`, a hint for the cache. Counterpart of ConvertToBufferOps.cpp.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, NamedTuple, cast

from xdsl.context import Context
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    IntegerType,
    ModuleOp,
    TensorType,
    i32,
)
from xdsl.ir import Operation, SSAValue

from minitriton.analysis.access_width import neighbours
from minitriton.analysis.axis_info.analysis import AxisInfoAnalysis
from minitriton.analysis.axis_info.lattice import pointee_bits, pointee_bytes
from minitriton.analysis.integer_range.analysis import IntegerRangeAnalysis
from minitriton.dialects import arith, tt, ttg
from minitriton.dialects.amdg import (
    BufferAtomicCASOp,
    BufferAtomicRMWOp,
    BufferLoadOp,
    BufferLoadToLocalOp,
    BufferStoreOp,
)
from minitriton.dialects.attribute_values import is_true, word
from minitriton.dialects.fast_paths.op_access import ops_of
from minitriton.dialects.narrowing import instance_of
from minitriton.dialects.tt.types import element_type, with_element
from minitriton.passes.amd.canonicalize_pointers import is_small_argument, splat_number
from minitriton.pipeline.pass_registry import Pass, Property, register_pass
from minitriton.rewriting.greedy import apply_patterns_greedily
from minitriton.rewriting.rewriter import Inserter

MOST_BYTES = 2**31 - 1
_PROGRAMS = (2**31 - 1,) * 3
_ACCESSES = (tt.LoadOp, ttg.AsyncCopyGlobalToLocalOp, tt.StoreOp, tt.AtomicRMWOp, tt.AtomicCASOp)


class _Location(NamedTuple):
    """Where an access of a buffer goes."""

    base: SSAValue
    offset: SSAValue


@register_pass
class ConvertBufferOps(Pass, stage="ttgir", origin="triton"):
    """Loads, stores and atomics by buffer instructions where offsets are small."""

    name: ClassVar[str] = "tritonamdgpu-convert-buffer-ops"
    acts_on = None
    requires = frozenset({Property.TENSOR_IR})
    beyond_triton: ClassVar[Mapping[str, object]] = {"wide_offsets": False}
    arch_generation_name: str = ""
    """LLVM's name of the GPU."""
    allow_buffer_atomics: bool = True
    analyze_small_tensor_ofst: bool = False
    """Whether offsets of arguments of less than 2 GiB must be known to be small, too."""
    wide_offsets: bool = False
    """Whether offsets of 64 bits that are known to be small are narrowed."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrite every access whose offsets are known to be small."""
        ranges, facts = IntegerRangeAnalysis(op, _PROGRAMS), AxisInfoAnalysis(op)
        found = [(access, self._location(access, ranges)) for access in ops_of(op, *_ACCESSES)]
        new = [(access, self._converted(access, location, facts)) for access, location in found if location is not None]
        for access, made in new:
            if made is not None:
                _replace(access, made)
        apply_patterns_greedily(op)

    def _location(self, access: Operation, ranges: IntegerRangeAnalysis) -> _Location | None:
        add = access.operands[0].owner
        splat = add.ptr.owner if isinstance(add, tt.AddPtrOp) else None
        if not isinstance(add, tt.AddPtrOp) or not isinstance(splat, tt.SplatOp):
            return None
        base, is_narrow = splat.operands[0], element_type(add.offset.type) == i32
        if not is_narrow and not self.wide_offsets:
            return None
        if is_narrow and is_small_argument(base) and not self.analyze_small_tensor_ofst:
            return _Location(base, add.offset)
        known = ranges.get(add.offset)
        is_small = known.is_non_negative and (known.smax + 1) * pointee_bytes(base.type) <= MOST_BYTES
        if not known.width or not is_small:
            return None
        if is_narrow:
            return _Location(base, add.offset)
        narrow = arith.TruncIOp(add.offset, with_element(add.offset.type, i32))
        return _Location(base, Inserter.before(access).value(narrow))

    def _converted(self, access: Operation, location: _Location, facts: AxisInfoAnalysis) -> Operation | None:
        """The access of the buffer, where there is one; not in the IR yet."""
        base, offset = location
        if isinstance(access, tt.AtomicRMWOp | tt.AtomicCASOp):
            return self._atomic(access, location, facts)
        mask = access.mask if isinstance(access, tt.LoadOp | tt.StoreOp | ttg.AsyncCopyGlobalToLocalOp) else None
        masks = [] if mask is None or abs(splat_number(mask) or 0) == 1 else [mask]
        stride = _stride(offset)
        if isinstance(access, tt.StoreOp):
            operands = [access.value, base, offset, stride, masks]
            return BufferStoreOp.build(operands=operands, properties={"cache": access.cache})
        assert isinstance(access, tt.LoadOp | ttg.AsyncCopyGlobalToLocalOp)
        if is_true(access.is_volatile) or _has_dot_of_floats(access):
            return None
        others = [] if access.other is None or splat_number(access.other) == 0 else [access.other]
        if isinstance(access, tt.LoadOp):
            return BufferLoadOp.build(
                operands=[base, offset, stride, masks, others],
                result_types=[access.results[0].type],
                properties={"cache": access.cache},
            )
        return BufferLoadToLocalOp.build(
            operands=[access.destination, base, offset, masks, others, stride],
            result_types=[access.results[0].type],
            properties={"cache": access.cache, "contiguity": access.properties["contiguity"]},
        )

    def _atomic(
        self, access: tt.AtomicRMWOp | tt.AtomicCASOp, location: _Location, facts: AxisInfoAnalysis
    ) -> Operation | None:
        base, offset = location
        scope, stride = word(access.scope), _stride(offset)
        element, result = element_type(access.val.type), access.results[0].type
        properties = {"sem": access.sem, "scope": access.scope}
        bits, shape = pointee_bits(access.ptr.type), cast(TensorType, access.ptr.type).get_shape()
        width = neighbours(facts, access.ptr, None, most=max(shape)).width
        if scope not in ("gpu", "cta") or width * bits < i32.width.data:
            return None
        if isinstance(access, tt.AtomicCASOp):
            if not instance_of(element, IntegerType) or bits not in (32, 64):
                return None
            operands = [base, offset, access.cmp, access.val, stride]
            return BufferAtomicCASOp.build(operands=operands, result_types=[result], properties=properties)
        if not self.allow_buffer_atomics or self.arch_generation_name not in _WITH_ATOMICS:
            return None
        kind, is_integer = word(access.atomic_rmw_op), instance_of(element, IntegerType)
        if is_integer and bits not in (32, 64):
            return None
        if not is_integer and not isinstance(element, Float16Type | BFloat16Type | Float32Type | Float64Type):
            return None
        if isinstance(element, Float16Type | BFloat16Type) and width % 2:
            return None
        without = (self.arch_generation_name, kind, type(element))
        if without in _WITHOUT or kind not in (*_ANY, *(() if is_integer else ("max", "min"))):
            return None
        masks = [] if access.mask is None or abs(splat_number(access.mask) or 0) == 1 else [access.mask]
        return BufferAtomicRMWOp.build(
            operands=[base, offset, access.val, stride, masks],
            result_types=[result],
            properties={**properties, "atomic_rmw_op": access.atomic_rmw_op},
        )


_WITH_ATOMICS = ("gfx942", "gfx950", "gfx1200", "gfx1201")
_WITHOUT = {
    ("gfx942", "fadd", BFloat16Type),
    ("gfx1200", "fadd", Float64Type),
    ("gfx1201", "fadd", Float64Type),
}
_ANY = ("and", "or", "xor", "add", "fadd", "umax", "umin", "exch")


def _stride(offset: SSAValue) -> list[SSAValue]:
    """The n of an offset `(rows * splat n) broadcast + columns`."""
    for added in offset.owner.operands if isinstance(offset.owner, arith.AddiOp) else ():
        rows = added.owner.operands[0].owner if isinstance(added.owner, tt.BroadcastOp) else None
        for factor in rows.operands if isinstance(rows, arith.MuliOp) else ():
            if isinstance(factor.owner, tt.SplatOp):
                return [factor.owner.operands[0]]
    return []


def _has_dot_of_floats(access: Operation) -> bool:
    """Whether f32 is loaded in a function with dots: LLVM has miscompiled that (Triton's `toDodgeBug`)."""
    if not isinstance(element_type(access.results[0].type), Float32Type):
        return False
    function = access.parent_op()
    while function is not None and not isinstance(function, tt.FuncOp):
        function = function.parent_op()
    return function is None or any(ops_of(function, tt.DotOp))


def _replace(access: Operation, new: Operation) -> None:
    at = Inserter.before(access)
    at.insert(new)
    for old, result in zip(access.results, new.results, strict=True):
        old.replace_all_uses_with(result)
    access.detach()
    access.erase()
