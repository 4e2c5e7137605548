"""Debug metadata of local variables: which value each variable of the source holds, and from where on.

In: values whose ops have a name among their locations (the frontend names what an assignment computes). Out: debug records, as
`LLVM_EXTRACT_DI_LOCAL_VARIABLES=1` asks for (Triton's pass `extract-variable-info`):

    %v3 = llvm.mul ... loc("block_start"("k.py":7:24))
        ->  %v3 = mul i32 %v1, 1024, !dbg !9
              #dbg_value(i32 %v3, !10, !DIExpression(), !9)
            !10 = !DILocalVariable(name: "block_start", scope: !4, file: !1, type: !11)
            !11 = !DIBasicType(name: "int", size: 32, encoding: DW_ATE_signed)

What a thread holds of a tensor is an array in the LLVM IR. NVPTX takes such arrays apart and says in PTX where scalars are only.
"""

from __future__ import annotations

from xdsl.dialects.builtin import (
    BFloat16Type,
    CallSiteLoc,
    Float16Type,
    Float32Type,
    Float64Type,
    IntegerType,
    NameLoc,
    VectorType,
)
from xdsl.dialects.llvm import LLVMPointerType
from xdsl.ir import Attribute

from minitriton.codegen.debug_info import DebugInfo
from minitriton.codegen.text.values import escaped, type_text
from minitriton.dialects.narrowing import instance_of

_FLOATS: dict[type[Attribute], tuple[str, int]] = {
    Float16Type: ("half", 16),
    BFloat16Type: ("bfloat", 16),
    Float32Type: ("float", 32),
    Float64Type: ("double", 64),
}
"""Name and bits that a debugger sees."""

_POINTER_BITS = 64
_SHORT_POINTER_BITS = 32
SHARED_SPACE = 3
"""The address space whose pointers are short."""


class VariableInfo(DebugInfo):
    """Collects the metadata of one module, local variables included."""

    emission_kind = "FullDebug"

    def record(self, location: Attribute, value: str, type_: Attribute) -> str:
        """The record that a variable holds `value` from here on; nothing for values without a name."""
        name = _variable(location)
        node = self.location_node(location) if name and self.is_known else None
        if name is None or node is None:
            return ""
        variable = self.node(
            f'!DILocalVariable(name: "{escaped(name)}", scope: !{self.subprogram}, file: !{self.file}, type: !{self._type(type_)})'
        )
        return f"    #dbg_value({type_text(type_)} {value}, !{variable}, !DIExpression(), !{node})"

    def _type(self, type_: Attribute) -> int:
        """The node of what a debugger sees of a type."""
        if instance_of(type_, VectorType):
            count = type_.get_shape()[0]
            element = self._type(type_.element_type)
            ranges = self.node(f"!{{!{self.node(f'!DISubrange(count: {count})')}}}")
            bits = count * _bits(type_.element_type)
            return self.node(
                f"!DICompositeType(tag: DW_TAG_array_type, baseType: !{element}, size: {bits}, flags: DIFlagVector, "
                f"elements: !{ranges})"
            )
        if isinstance(type_, LLVMPointerType):
            return self.node(f"!DIDerivedType(tag: DW_TAG_pointer_type, baseType: null, size: {_bits(type_)})")
        if instance_of(type_, IntegerType):
            bits = type_.width.data
            return self._basic("bool", 1, "DW_ATE_boolean") if bits == 1 else self._basic("int", bits, "DW_ATE_signed")
        if type(type_) in _FLOATS:
            return self._basic(*_FLOATS[type(type_)], "DW_ATE_float")
        return self._basic("unknown_type", 0, "DW_ATE_signed")

    def _basic(self, name: str, bits: int, encoding: str) -> int:
        return self.node(f'!DIBasicType(name: "{name}", size: {bits}, encoding: {encoding})')


def _bits(type_: Attribute) -> int:
    """Bits of a lane."""
    if instance_of(type_, IntegerType):
        return type_.width.data
    if type(type_) in _FLOATS:
        return _FLOATS[type(type_)][1]
    return (
        _SHORT_POINTER_BITS if getattr(getattr(type_, "addr_space", None), "data", 0) == SHARED_SPACE else _POINTER_BITS
    )


def _variable(location: Attribute) -> str | None:
    """The variable that a value at `location` is assigned to: of the called function, where a call was inlined."""
    while isinstance(location, CallSiteLoc):
        location = location.callee
    return location.desc.data if isinstance(location, NameLoc) else None
