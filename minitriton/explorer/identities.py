"""What stays the same from state to state: numbers of ops and names of values.

An op that a pass leaves in place or moves is the same Python object, so its number stays; a value keeps the name it was first printed
by. What a pass makes anew gets new ones.
"""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from minitriton.dialects.fast_paths.operations import ops_in
from minitriton.dialects.printing.names import ValueNames
from minitriton.explorer.llvm_locations import FileLine


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
