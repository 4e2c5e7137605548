"""One state of a program as lines that can be compared with those of the state before.

In: a module, or the text of LLVM IR or PTX. Out: `Line`s, each with the op it belongs to, its place in the user's source, and the
values that it defines and uses.

    %12 = tt.load %9 : tensor<1024x!tt.ptr<f32>, #blocked>      op 31, line 9 of the kernel, defines %12, uses %9

An op that a pass leaves in place or moves is the same Python object, so its number stays; a value keeps the name it was first printed
by. What a pass makes anew gets new ones: the differences of two texts are the differences of the programs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from minitriton.analysis.locations import user_location
from minitriton.dialects.printing.aliases import AliasTable
from minitriton.dialects.printing.names import ValueNames
from minitriton.dialects.printing.printer import TritonPrinter
from minitriton.explorer.llvm_places import Callers, LLVMPlaces, Place


@dataclass(frozen=True)
class Line:
    """One line of text. `op`: the number of the op that begins on it, 0 for none. `source`: the user's file and line."""

    text: str
    op: int = 0
    source: tuple[str, int] | None = None
    defines: tuple[str, ...] = ()
    uses: tuple[str, ...] = ()
    number: int = 0
    """Of LLVM IR and PTX, the line's number from 1 in the whole text, some lines of which are not shown."""


class Identities:
    """Numbers of ops and names of values, the same for as long as the object lives; keeps what it has numbered alive."""

    def __init__(self) -> None:
        self._ops: dict[int, tuple[int, Operation]] = {}
        self._by_number: dict[int, Operation] = {}
        self._last = 0
        self._last_name = -1
        self.callers: dict[Place, list[Place]] = {}
        """Of lines of the language's library, the user's lines that they were inlined at, as the last LLVM IR says."""
        self._values: dict[int, tuple[str, SSAValue]] = {}
        self._taken: set[str] = set()

    def number(self, op: Operation) -> int:
        """The number of `op`, from 1."""
        found = self._ops.get(id(op))
        if found is None:
            self._last += 1
            found = self._ops[id(op)] = (self._last, op)
            self._by_number[self._last] = op
        return found[0]

    def op(self, number: int) -> Operation:
        """The op that has `number`."""
        return self._by_number[number]

    def adopt(self, op: Operation, number: int, names: tuple[str, ...]) -> None:
        """Makes `op` the one that has `number` (0: a new one), and gives what it defines these names."""
        if number:
            self._ops[id(op)] = (number, op)
            self._by_number[number] = op
        for value, name in zip(defined_by(op), names, strict=False):
            self._values[id(value)] = (name.partition("#")[0], value)

    def name(self, value: SSAValue, wanted: str) -> str:
        """The name of `value`: `wanted` when it is first met; where that is taken the next free number, or `wanted` with a suffix."""
        known = self._values.get(id(value))
        if known is not None:
            return known[0]
        name, count = wanted, 0
        while name in self._taken:
            count += 1
            name = str(self._last_name + count) if wanted.isdigit() else f"{wanted}_{count}"
        if name.isdigit():
            self._last_name = max(self._last_name, int(name))
        self._taken.add(name)
        self._values[id(value)] = (name, value)
        return name


def defined_by(op: Operation) -> tuple[SSAValue, ...]:
    """The results of an op, and the arguments of its blocks."""
    return (*op.results, *(argument for region in op.regions for block in region.blocks for argument in block.args))


class _StableNames(ValueNames):
    """MLIR's names for values met for the first time, and the names they had before for the others."""

    def __init__(self, root: Operation, identities: Identities) -> None:
        super().__init__(root)
        for value, name in list(self.values.items()):
            self.values[value] = _numbered(identities, value, name)
        for op in self.groups:
            self.groups[op] = [f"{self.values[op.results[0]].partition('#')[0]}:{len(op.results)}"]


def _numbered(identities: Identities, value: SSAValue, name: str) -> str:
    """The lasting name of `value`; results that share a name stay together (`12#0`, `12#1`)."""
    base, mark, index = name.partition("#")
    if not mark:
        return identities.name(value, name)
    first = value.owner.results[0] if isinstance(value.owner, Operation) else value
    return f"{identities.name(first, base)}#{index}"


_MARK = re.compile("\x01(\\d+)\x01")
"""Stands before each op in marked text: a character that printed IR escapes, around the op's place in `marked`."""


class _MarkingPrinter(TritonPrinter):
    """Marks where each op begins."""

    def __init__(self, names: ValueNames, aliases: AliasTable) -> None:
        super().__init__(names, aliases, locations=False)
        self.marked: list[Operation] = []

    def print_op(self, op: Operation) -> None:
        self.parts.append(f"\x01{len(self.marked)}\x01")
        self.marked.append(op)
        super().print_op(op)


def _lines_of_module(module: ModuleOp, names: ValueNames, identities: Identities) -> list[Line]:
    """`module` as lines, the definitions of its aliases first."""
    aliases = AliasTable()
    printer = _MarkingPrinter(names, aliases)
    printer.print_op(module)
    lines: list[Line] = []
    for text in aliases.finish(printer.text).rstrip("\n").split("\n"):
        mark = _MARK.search(text)
        bare = _MARK.sub("", text)
        lines.append(Line(bare) if mark is None else _line_of_op(bare, printer.marked[int(mark[1])], names, identities))
    return lines


@dataclass(frozen=True)
class KeptModule:
    """A copy of the module of a state, to be asked about later: its values by name, its ops by number."""

    module: ModuleOp
    values: dict[str, SSAValue]
    ops: dict[int, Operation]


def _kept(module: ModuleOp, names: ValueNames, identities: Identities) -> KeptModule:
    mapped: dict[SSAValue, SSAValue] = {}
    copy = module.clone(mapped)
    ops = {identities.number(old): new for old, new in zip(module.walk(), copy.walk(), strict=True)}
    return KeptModule(copy, {names.name_of(old): new for old, new in mapped.items()}, ops)


def _line_of_op(text: str, op: Operation, names: ValueNames, identities: Identities) -> Line:
    place = user_location(op.location)
    return Line(
        text,
        identities.number(op),
        (place.file, place.line) if place is not None else None,
        tuple(names.name_of(value) for value in defined_by(op)),
        tuple(names.name_of(value) for value in op.operands),
    )


_LOC = re.compile(r"^\s*\.loc\s+(\d+)\s+(\d+)")
_FILE = re.compile(r'^\s*\.file\s+(\d+)\s+"([^"]*)"(?:\s*,.*)?$', re.MULTILINE)
_DBG = re.compile(r"!dbg !(\d+)")
_PTX_REGISTER = re.compile(r"%[a-z]+\d+")


def lines_of_ptx(text: str, callers: dict[Place, list[Place]]) -> list[Line]:
    """PTX without its debugging sections; each instruction has the place of the `.loc` before it, of inlined ones the user's own."""
    users = Callers(callers)
    files = {int(number): path for number, path in _FILE.findall(text)}
    place: tuple[str, int] | None = None
    lines: list[Line] = []
    for number, line in enumerate(text.rstrip("\n").split("\n"), 1):
        if (found := _LOC.match(line)) is not None:
            # Line 0: of no line, as what was moved or merged.
            place = users.user_place((files.get(int(found[1]), ""), int(found[2]))) if int(found[2]) else None
        elif line.lstrip().startswith(".section"):
            break
        elif not line.lstrip().startswith("//") or "inline asm" in line:
            registers = _PTX_REGISTER.findall(line)
            shown = place if line.startswith("\t") else None
            lines.append(Line(line, source=shown, uses=tuple(registers), number=number))
    return lines


def lines_of_llvm_ir(text: str, places: LLVMPlaces) -> list[Line]:
    """LLVM IR without its metadata; each instruction has the place of its `!dbg`, of inlined ones the user's own."""
    lines: list[Line] = []
    for number, one in enumerate(text.split("\n"), 1):
        if one.startswith("!"):
            continue
        found = _DBG.search(one)
        shown = one.replace(f", {found[0]}", "") if found else one
        lines.append(Line(shown, source=places.of(found[1]) if found and one.startswith(" ") else None, number=number))
    return lines


@dataclass(frozen=True)
class Snapshot:
    """One state: its level (`ttir`, `ttgir`, `llvm dialect`, `llir`, `ptx`, `sass`), lines, and number of ops (None for text).

    `kept` is the module of TTIR and TTGIR where it was asked for, `raw` the whole text of LLVM IR and PTX.
    """

    level: str
    lines: tuple[Line, ...]
    ops: int | None
    kept: KeptModule | None = field(default=None, compare=False, repr=False)
    raw: str | None = field(default=None, compare=False, repr=False)

    @property
    def text(self) -> str:
        """The whole text."""
        return "\n".join(line.text for line in self.lines)


def fingerprint(module: ModuleOp) -> list[tuple[Any, ...]]:
    """What the text of `module` is made from, op by op: equal for a module that a pass left alone, and cheaper than its text."""
    return [
        (
            op, op.parent, tuple(op.operands), tuple(op.attributes.items()), tuple(op.properties.items()),
            tuple(value.type for value in defined_by(op)), tuple(op.successors),
        )
        for op in module.walk()
    ]  # fmt: skip


def snapshot(value: Any, level: str, identities: Identities, *, keep: bool = False) -> Snapshot:
    """The state `value`: a module, or what prints as LLVM IR or PTX. `keep`: with a copy of a module of TTIR or TTGIR."""
    if isinstance(value, ModuleOp):
        names = _StableNames(value, identities)
        lines = _lines_of_module(value, names, identities)
        kept = _kept(value, names, identities) if keep and level in ("ttir", "ttgir") else None
        return Snapshot(level, tuple(lines), sum(1 for _ in value.walk()), kept)
    text = str(value)
    if level != "ptx":
        identities.callers = LLVMPlaces(text).callers
    return snapshot_of_text(text, level, identities.callers)


def snapshot_of_text(text: str, level: str, callers: dict[Place, list[Place]]) -> Snapshot:
    """The state that LLVM IR (`level` "llir") or PTX ("ptx") is; `callers` as `Callers` takes them."""
    lines = lines_of_ptx(text, callers) if level == "ptx" else lines_of_llvm_ir(text, LLVMPlaces(text))
    return Snapshot(level, tuple(lines), None, raw=text)
