"""One state of a program as lines that can be compared with those of the state before.

In: a module, or the text of LLVM IR or PTX. Out: `Line`s, each with the op it belongs to, its location in the user's source, and the
values that it defines and uses.

    %12 = tt.load %9 : tensor<1024x!tt.ptr<f32>, #blocked>      op 31, line 9 of the kernel, defines %12, uses %9

An op that a pass leaves in place or moves is the same Python object, so its number stays; a value keeps the name it was first printed
by. What a pass makes anew gets new ones: the differences of two texts are the differences of the programs.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from minitriton.dialects.printing.names import ValueNames
from minitriton.explorer.module_lines import Identities, Line, ModuleLines, Row, StableNames, ops_of, rows_of
from minitriton.host.llvm_locations import Callers, FileLine, LLVMLocations


@dataclass(frozen=True)
class KeptModule:
    """A copy of the module of a state, to be asked about later: its values by name, its ops by number."""

    module: ModuleOp
    values: dict[str, SSAValue]
    ops: dict[int, Operation]


def _kept(module: ModuleOp, names: ValueNames, identities: Identities) -> KeptModule:
    mapped: dict[SSAValue, SSAValue] = {}
    copy = module.clone(mapped)
    ops = {identities.number(old): new for old, new in zip(ops_of(module), ops_of(copy), strict=True)}
    return KeptModule(copy, {names.name_of(old): new for old, new in mapped.items()}, ops)


_LOC = re.compile(r"^\s*\.loc\s+(\d+)\s+(\d+)")
_FILE = re.compile(r'^[^\S\n]*\.file\s+(\d+)\s+"([^"]*)"(?:[^\S\n]+"([^"]*)")?(?:\s*,.*)?$', re.MULTILINE)
_DBG = re.compile(r"!dbg !(\d+)")
SYNTAX = {
    "ptx": ("//", "inline asm", "begin", re.compile(r"%[a-z]+\d+")),
    "amdgcn": (";", ";;#ASM", "START", re.compile(r"\b[sva](?:\d+|\[\d+:\d+\])|\b(?:vcc|exec|m0)\b")),
}
"""Of each kind of assembly: how a comment begins, what marks inline assembly and its begin, and a register."""


def lines_of_assembly(text: str, level: str, callers: dict[FileLine, list[FileLine]]) -> list[Line]:
    """PTX or AMDGCN without its debugging sections; each instruction has the location of the `.loc` before it, of inlined ones the user's own.

    Instructions begin with a tab, but for those of inline assembly after the first line of its text.
    """
    users = Callers(callers)
    comment, inline, begin, register = SYNTAX[level]
    named: list[tuple[str, str, str]] = _FILE.findall(text)
    files = {int(number): os.path.join(path, name) if name else path for number, path, name in named}
    location: tuple[str, int] | None = None
    lines: list[Line] = []
    is_inline = False
    for number, line in enumerate(text.rstrip("\n").split("\n"), 1):
        if (found := _LOC.match(line)) is not None:
            # Line 0: of no line, as what was moved or merged.
            location = users.user_line((files.get(int(found[1]), ""), int(found[2]))) if int(found[2]) else None
        elif line.lstrip().startswith(".section"):
            break
        elif not line.lstrip().startswith(comment) or inline in line:
            registers = register.findall(line)
            if inline in line:
                is_inline = begin in line
            shown = location if is_inline or line.startswith("\t") else None
            lines.append(Line(line, source=shown, uses=tuple(registers), number=number))
    return lines


def lines_of_llvm_ir(text: str, locations: LLVMLocations) -> list[Line]:
    """LLVM IR without its metadata; each instruction has the location of its `!dbg`, of inlined ones the user's own."""
    lines: list[Line] = []
    for number, one in enumerate(text.split("\n"), 1):
        if one.startswith("!"):
            continue
        found = _DBG.search(one)
        shown = one.replace(f", {found[0]}", "") if found else one
        lines.append(
            Line(shown, source=locations.of(found[1]) if found and one.startswith(" ") else None, number=number)
        )
    return lines


@dataclass(frozen=True)
class Snapshot:
    """One state: its level (`ttir`, `ttgir`, `llvm dialect`, `llir`, `ptx`, `amdgcn`, `sass`), lines, and number of ops (None for text).

    `kept` is the module of TTIR and TTGIR where it was asked for, `raw` the whole text of LLVM IR and PTX.
    """

    level: str
    lines: tuple[Line, ...]
    ops: int | None
    kept: KeptModule | None = field(default=None, compare=False, repr=False)
    raw: str | None = field(default=None, compare=False, repr=False)
    printed: bool = True
    """Whether the lines are there: of a state that nobody looks at yet they are not."""

    @property
    def text(self) -> str:
        """The whole text."""
        return "\n".join(line.text for line in self.lines)


class StateRecorder:
    """Takes the states of one compile, one after the other. `keep`: with a copy of each module of TTIR or TTGIR."""

    def __init__(self, identities: Identities, *, keep: bool = False) -> None:
        self.identities = identities
        self._keep = keep
        self._lines = ModuleLines(identities)
        self._last: tuple[Snapshot, list[Row]] | None = None

    def take(self, value: object, level: str, *, printed: bool = True, named: bool = True) -> Snapshot:
        """The state `value`: a module, or what prints as LLVM IR or PTX; the state before, as it is, where a pass has left the
        module alone. Without `printed` no lines, but names and numbers as if they were there; without `named` not these either:
        no state that follows can be printed then."""
        if not isinstance(value, ModuleOp):
            self._last = None
            if not printed:
                return Snapshot(level, (), None, printed=False)
            text = str(value)
            if level == "llir":
                self.note_callers(text)
            return snapshot_of_text(text, level, self.identities.callers)
        rows = rows_of(value)
        last = self._last
        if last is not None and last[0].level == level and last[1] == rows and (last[0].printed or not printed):
            return last[0]
        if not named:
            taken = Snapshot(level, (), len(rows), printed=False)
            self._last = taken, rows
            return taken
        names = StableNames(value, self.identities)
        for row in rows:
            # All of them, and first, whether or not they are printed or kept: another process numbers the same.
            self.identities.number(row[0])
        lines = self._lines.lines(value, names, rows) if printed else []
        kept = _kept(value, names, self.identities) if self._keep and level in ("ttir", "ttgir") else None
        taken = Snapshot(level, tuple(lines), len(rows), kept, printed=printed)
        self._last = taken, rows
        return taken

    def note_callers(self, text: str) -> None:
        """Learns from LLVM IR which lines of the user's the library's lines in the PTX come from."""
        self.identities.callers = LLVMLocations(text).callers


def snapshot(value: object, level: str, identities: Identities, *, keep: bool = False) -> Snapshot:
    """The state `value` by itself."""
    return StateRecorder(identities, keep=keep).take(value, level)


def snapshot_of_text(text: str, level: str, callers: dict[FileLine, list[FileLine]]) -> Snapshot:
    """The state that LLVM IR (`level` "llir"), PTX ("ptx") or AMDGCN ("amdgcn") is; `callers` as `Callers` takes them."""
    lines = lines_of_assembly(text, level, callers) if level in SYNTAX else lines_of_llvm_ir(text, LLVMLocations(text))
    return Snapshot(level, tuple(lines), None, raw=text)
