"""Debug metadata of LLVM IR: line tables from op locations.

In: the locations of functions and ops. Out: `!dbg` suffixes, and the metadata nodes they name.

    loc("k.py":5:24)                       !DILocation(line: 5, column: 24, scope: !4)
    loc(callsite("std.py":9:1 at "k.py":5:24))   !DILocation(line: 9, ..., scope: !17, inlinedAt: !7)
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, CallSiteLoc, FileLineColLoc, FusedLoc, LocationAttr, NameLoc
from xdsl.ir import Attribute

from minitriton.codegen.text.values import escaped
from minitriton.errors import SourceLocation
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

    def __init__(self) -> None:
        super().__init__()
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
        line_col = file_line_col(location)
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
                return self.location_node(location.callee, self._call_node(location.caller, inlined_at))
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


def file_line_col(location: Attribute) -> FileLineColLoc | None:
    """The innermost file and line of a location (through names, call sites and fused locations)."""
    match location:
        case FileLineColLoc():
            return location
        case NameLoc():
            return file_line_col(location.location)
        case CallSiteLoc():
            return file_line_col(location.callee)
        case FusedLoc(locations=ArrayAttr(data=parts)):
            return next((line_col for part in parts if (line_col := file_line_col(part)) is not None), None)
        case _:
            return None


def source_location(location: Attribute) -> SourceLocation | None:
    """The location that an error at `location` names; None if it is not known."""
    found = file_line_col(location)
    if found is None:
        return None
    return SourceLocation(found.filename.data, found.line.data, found.column.data)
