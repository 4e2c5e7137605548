"""Debug metadata of LLVM IR: line tables from op locations.

In: the locations of functions and ops. Out: `!dbg` suffixes, and the metadata nodes they name.

    loc("k.py":5:24)                       !DILocation(line: 5, column: 24, scope: !4)
    loc(callsite("std.py":9:1 at "k.py":5:24))   !DILocation(line: 9, ..., scope: !17, inlinedAt: !7)
"""

import os
from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    BFloat16Type,
    CallSiteLoc,
    FileLineColLoc,
    Float16Type,
    Float32Type,
    Float64Type,
    FusedLoc,
    IntegerType,
    LocationAttr,
    NameLoc,
    VectorType,
)
from xdsl.dialects.llvm import LLVMPointerType
from xdsl.ir import Attribute

from minitriton.codegen.text.values import escaped, type_text
from minitriton.dialects.locations import first_line_of
from minitriton.dialects.narrowing import instance_of
from minitriton.host.whole_file import shortened


class _Nodes:
    """The metadata nodes of one module, each written once."""

    def __init__(self) -> None:
        self._nodes: list[str] = []
        self._numbers: dict[str, int] = {}

    def node(self, text: str) -> int:
        """The number of the node with this text."""
        found = self._numbers.get(text)
        if found is None:
            found = self._numbers[text] = len(self._nodes)
            self._nodes.append(text)
        return found

    def loop(self, properties: Sequence[str]) -> str:
        """`, !llvm.loop !3` for a branch that repeats a loop with these properties (`llvm.licm.disable`)."""
        texts = [f'!{{!"{name}"}}' for name in properties]
        parts = "".join(f", !{self.node(text)}" for text in texts)
        number = len(self._nodes)
        self._nodes.append(f"distinct !{{!{number}{parts}}}")
        return f", !llvm.loop !{number}"

    def _lines(self) -> list[str]:
        return [f"!{number} = {text}" for number, text in enumerate(self._nodes)]


class DebugInfo(_Nodes):
    """Collects the metadata of one module."""

    emission_kind = "LineTablesOnly"

    def __init__(self, *, names_callees: bool = True) -> None:
        """`names_callees`: the line of an op of an inlined function is that function's, with where it was called; else the call's."""
        super().__init__()
        self._names_callees = names_callees
        self._suffixes: dict[int, tuple[Attribute, str]] = {}
        self._calls: dict[tuple[int, int | None], tuple[Attribute, int | None]] = {}
        self._unit: int | None = None
        self._subroutine_type = 0
        self._file = ""
        self.is_known = False
        """Whether the location of the current function is known."""
        self.subprogram = 0
        self.file = 0

    def _file_node(self, name: str) -> int:
        directory, base = os.path.split(shortened(name))
        return self.node(f'!DIFile(filename: "{escaped(base)}", directory: "{escaped(directory)}")')

    def enter(self, function: str, location: LocationAttr) -> str:
        """Starts a function; returns what its definition says of it."""
        self._suffixes = {}
        self._calls = {}
        line_col = first_line_of(location)
        self.is_known = line_col is not None
        if line_col is None:
            return ""
        name, line = line_col.filename.data, _line_number(line_col)
        self._file = name
        file = self.file = self._file_node(name)
        if self._unit is None:
            self._unit = self.node(
                f'distinct !DICompileUnit(language: DW_LANG_C, file: !{file}, producer: "minitriton", isOptimized: true, '
                f"runtimeVersion: 0, emissionKind: {self.emission_kind})"
            )
            types = self.node("!{}")
            self._subroutine_type = self.node(f"!DISubroutineType(cc: DW_CC_normal, types: !{types})")
        self.subprogram = self.node(
            f'distinct !DISubprogram(name: "{escaped(function)}", linkageName: "{escaped(function)}", scope: !{file}, file: !{file}, '
            f"line: {line}, type: !{self._subroutine_type}, scopeLine: {line}, "
            f"spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !{self._unit})"
        )
        return f" !dbg !{self.subprogram}"

    def suffix(self, location: Attribute) -> str:
        """`, !dbg !7`, or nothing if the location (or that of the function) is not known."""
        if not self.is_known:
            return ""
        found = self._suffixes.get(id(location))
        if found is None:
            node = self.location_node(location)
            found = self._suffixes[id(location)] = (location, "" if node is None else f", !dbg !{node}")
        return found[1]

    def some_suffix(self) -> str:
        """A suffix for an instruction that must have one although its location is not known."""
        if not self.is_known:
            return ""
        return f", !dbg !{self.node(f'!DILocation(line: 0, scope: !{self.subprogram})')}"

    def location_node(self, location: Attribute, inlined_at: int | None = None) -> int | None:
        """The number of the node of a location; None if it is not known."""
        if location.__class__ is FileLineColLoc:
            return self._line(cast(FileLineColLoc, location), inlined_at)
        match location:
            case NameLoc():
                return self.location_node(location.location, inlined_at)
            case FusedLoc(locations=ArrayAttr(data=parts)):
                nodes = (self.location_node(part, inlined_at) for part in parts)
                return next((node for node in nodes if node is not None), None)
            case CallSiteLoc():
                call = self._call_node(location.caller, inlined_at)
                if call is not None and not self._names_callees:
                    return call
                return self.location_node(location.callee, call)
            case FileLineColLoc():
                return self._line(location, inlined_at)
            case _:
                return None

    def _call_node(self, caller: Attribute, inlined_at: int | None) -> int | None:
        """The node of the location of a call, which all locations inside the call share: to go through it for each of them would take as long
        as calls are deep."""
        found = self._calls.get((id(caller), inlined_at))
        if found is None:
            found = self._calls[id(caller), inlined_at] = caller, self.location_node(caller, inlined_at)
        return found[1]

    def _line(self, line_col: FileLineColLoc, inlined_at: int | None) -> int:
        scope = self.subprogram
        name = line_col.filename.data
        if name != self._file:
            file = self._file_node(name)
            scope = self.node(f"!DILexicalBlockFile(scope: !{scope}, file: !{file}, discriminator: 0)")
        at = "" if inlined_at is None else f", inlinedAt: !{inlined_at}"
        kind = "distinct " if at else ""
        return self.node(
            f"{kind}!DILocation(line: {_line_number(line_col)}, column: {_column(line_col)}, scope: !{scope}{at})"
        )

    def metadata(self, flags: Sequence[str]) -> list[str]:
        """The lines that define all nodes, the module's flags among them."""
        lines = self._lines()
        if self._unit is not None:
            flags = ['!{i32 2, !"Debug Info Version", i32 3}', *flags]
            lines.insert(0, f"!llvm.dbg.cu = !{{!{self._unit}}}")
        return _flag_lines(flags, len(self._nodes)) + lines


class NoDebugInfo(_Nodes):
    """Writes no debug metadata."""

    def enter(self, function: str, location: LocationAttr) -> str:
        """Nothing."""
        return ""

    def suffix(self, location: Attribute) -> str:
        """Nothing."""
        return ""

    def some_suffix(self) -> str:
        """Nothing."""
        return ""

    def metadata(self, flags: Sequence[str]) -> list[str]:
        """The lines that define the module's flags and what loops are annotated with."""
        return _flag_lines(flags, len(self._nodes)) + self._lines()


def _flag_lines(flags: Sequence[str], first: int) -> list[str]:
    if not flags:
        return []
    numbers = ", ".join(f"!{first + i}" for i in range(len(flags)))
    return [f"!llvm.module.flags = !{{{numbers}}}", *(f"!{first + i} = {text}" for i, text in enumerate(flags))]


def _line_number(line_col: FileLineColLoc) -> int:
    """0, "no line", for one beyond what LLVM counts to."""
    return line_col.line.data if 0 <= line_col.line.data < 1 << 32 else 0


def _column(line_col: FileLineColLoc) -> int:
    """0, "no column", for one beyond the 16 bits of LLVM's."""
    return line_col.column.data if 0 <= line_col.column.data < 1 << 16 else 0


# Places in the source, from op locations.


# Debug metadata of local variables: which value each variable of the source holds, and from where on.
#
# In: values whose ops have a name among their locations (the frontend names what an assignment computes). Out: debug records, as
# `LLVM_EXTRACT_DI_LOCAL_VARIABLES=1` asks for (Triton's pass `extract-variable-info`):
#
#     %v3 = llvm.mul ... loc("block_start"("k.py":7:24))
#         ->  %v3 = mul i32 %v1, 1024, !dbg !9
#               #dbg_value(i32 %v3, !10, !DIExpression(), !9)
#             !10 = !DILocalVariable(name: "block_start", scope: !4, file: !1, type: !11)
#             !11 = !DIBasicType(name: "int", size: 32, encoding: DW_ATE_signed)
#
# What a thread holds of a tensor is an array in the LLVM IR. NVPTX takes such arrays apart and says in PTX where scalars are only.

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
