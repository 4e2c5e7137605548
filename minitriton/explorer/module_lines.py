"""The lines of a module, state after state: an op that is what it was in the state before is not printed again.

    printed = ModuleLines(identities)
    printed.lines(module, names, rows_of(module))       list[Line], the definitions of aliases first

Of 73 passes over an attention each leaves most ops alone, and printing is what recording a compile costs. What an op's text is made
from is its row (`rows_of`), the names of its values, which last, and the aliases of its attributes, which are numbered in the order in
which a whole module meets them. So each op's text is kept with the attributes that it met, and these are met again.

`Identities` are what stays the same from state to state: numbers of ops and names of values. An op that a pass leaves in place or moves is the same Python
object, so its number stays; a value keeps the name it was first printed by. What a pass makes anew gets new ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue

from minitriton.dialects.fast_paths.op_access import ops_in
from minitriton.dialects.locations import user_location
from minitriton.dialects.printing.aliases import AliasTable, Met
from minitriton.dialects.printing.names import ValueNames
from minitriton.dialects.printing.printer import TritonPrinter
from minitriton.host.llvm_locations import FileLine


class Identities:
    """Numbers of ops and names of values, the same for as long as the object lives; keeps what it has numbered alive."""

    def __init__(self) -> None:
        self._ops: dict[int, tuple[int, Operation]] = {}
        self._by_number: dict[int, Operation] = {}
        self._last = 0
        self._last_name = -1
        self.callers: dict[FileLine, list[FileLine]] = {}
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


class StableNames(ValueNames):
    """MLIR's names for values met for the first time, and the names they had before for the others."""

    def __init__(self, root: Operation, identities: Identities) -> None:
        super().__init__(root)
        values = {id(value): value for op in ops_in(root) for value in defined_by(op)}
        for key, name in list(self.values.items()):
            self.values[key] = _numbered(identities, values[key], name)
        for op in self.groups:
            self.groups[op] = [f"{self.name_of(op.results[0]).partition('#')[0]}:{len(op.results)}"]


def _numbered(identities: Identities, value: SSAValue, name: str) -> str:
    """The lasting name of `value`; results that share a name stay together (`12#0`, `12#1`)."""
    base, mark, index = name.partition("#")
    if not mark:
        return identities.name(value, name)
    first = value.owner.results[0] if isinstance(value.owner, Operation) else value
    return f"{identities.name(first, base)}#{index}"


Row = tuple[Any, ...]

_MARK = "\x01"
"""Stands before each op, around its index in `marked`: a character that printed IR escapes."""


def ops_of(op: Operation) -> Iterator[Operation]:
    """`op` and all within it, in the order of `Operation.walk`, which takes a generator an op."""
    yield op
    for region in op.regions:
        for block in region.blocks:
            for inner in block.ops:
                if inner.regions:
                    yield from ops_of(inner)
                else:
                    yield inner


def rows_of(module: ModuleOp) -> list[Row]:
    """What the text of `module` is made from, op by op: equal for a module that a pass left alone, and cheaper than its text."""
    return [
        (
            op, op.parent, tuple(op.operands), tuple(op.attributes.items()), tuple(op.properties.items()),
            tuple(value.type for value in (defined_by(op) if op.regions else op.results)), tuple(op.successors),
        )
        for op in ops_of(module)
    ]  # fmt: skip


@dataclass(slots=True)
class _Printed:
    """The text of an op without regions. `around`: the indent, the dialect and the types of operands that it was printed with.
    `met`: its attributes that have aliases or mention some, in the order in which they are met, each with its index in `parts`
    (None: it is not printed there)."""

    row: Row
    around: Row
    parts: list[str] = field(default_factory=list[str])
    met: list[tuple[int | None, Attribute]] = field(default_factory=list[tuple[int | None, Attribute]])


class ModuleLines:
    """Prints the states of one module, with what is remembered of those before."""

    def __init__(self, identities: Identities) -> None:
        self._identities = identities
        # By the op's `id`: a row keeps its op alive, and hashing an op is a call of Python's.
        self._printed: dict[int, _Printed] = {}
        self._lines: dict[int, tuple[Row, Attribute, Line]] = {}

    def lines(self, module: ModuleOp, names: ValueNames, rows: list[Row]) -> list[Line]:
        """`module` as lines; `rows` are those of `rows_of`."""
        aliases = AliasTable()
        by_op = {id(row[0]): row for row in rows}
        printer = _Printer(names, aliases, by_op, self._printed)
        printer.print_op(module)
        lines: list[Line] = []
        for text in aliases.finish(printer.text).rstrip("\n").split("\n"):
            if _MARK not in text:
                lines.append(Line(text))
                continue
            # Of several ops on a line, as a constant within the op that takes it, the first is the line's.
            before, number, *after = text.split(_MARK)
            op = printer.marked[int(number)]
            lines.append(self._line(before + "".join(after[::2]), op, by_op[id(op)], names))
        return lines

    def _line(self, text: str, op: Operation, row: Row, names: ValueNames) -> Line:
        known = self._lines.get(id(op))
        if known is not None and known[0] == row and known[1] is op.location and known[2].text == text:
            return known[2]
        location = user_location(op.location)
        made = Line(
            text,
            self._identities.number(op),
            (location.file, location.line) if location is not None else None,
            tuple(names.name_of(value) for value in defined_by(op)),
            tuple(names.name_of(value) for value in op.operands),
        )
        if not op.regions:
            self._lines[id(op)] = row, op.location, made
        return made


class _Printer(TritonPrinter):
    """Marks where each op begins, and takes what is known of those that are what they were."""

    def __init__(
        self, names: ValueNames, aliases: AliasTable, rows: dict[int, Row], printed: dict[int, _Printed]
    ) -> None:
        super().__init__(names, aliases, locations=False)
        self.marked: list[Operation] = []
        self._rows = rows
        self._printed = printed
        self._making: _Printed | None = None

    def print_op(self, op: Operation) -> None:
        self.parts.append(f"{_MARK}{len(self.marked)}{_MARK}")
        self.marked.append(op)
        row = self._rows[id(op)]
        if op.regions or row[-1]:
            super().print_op(op)
            return
        around = (self._indent, self._default_dialects[-1], *[value.type for value in row[2]])
        known = self._printed.get(id(op))
        if known is None or known.row != row or known.around != around:
            known = self._printed[id(op)] = self._print_leaf(op, _Printed(row, around))
        else:
            for index, attribute in known.met:
                met = self.meet(attribute)
                if index is not None:
                    known.parts[index] = met.text
        self.parts += known.parts

    def _print_leaf(self, op: Operation, made: _Printed) -> _Printed:
        outer, self.parts = self.parts, made.parts
        self._making = made
        super().print_op(op)
        self._making = None
        self.parts = outer
        return made

    def meet(self, attribute: Attribute, deferrable: bool = False) -> Met:
        met = super().meet(attribute, deferrable)
        made = self._making
        if made is not None and self.parts is made.parts and met.depth:
            made.met.append((None, attribute))
        return met

    def print_attribute(self, attribute: Attribute) -> None:
        index = len(self.parts)
        super().print_attribute(attribute)
        made = self._making
        # What was appended as one part is the attribute by its alias, or what mentions one: another state may number it anew.
        if made is None or self.parts is not made.parts or len(self.parts) != index + 1 or not made.met:
            return
        if made.met[-1] == (None, attribute):
            made.met[-1] = index, attribute


# A line of a state's text, with what is known of it.


@dataclass(frozen=True)
class Line:
    """One line of text. `op`: the number of the op that begins on it, 0 for none. `source`: the user's file and line."""

    text: str
    op: int = 0
    source: tuple[str, int] | None = None
    defines: tuple[str, ...] = ()
    uses: tuple[str, ...] = ()
    number: int = 0
    """Of LLVM IR and PTX, the line's number from 1 in the whole text, where some lines are not shown."""
