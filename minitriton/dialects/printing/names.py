"""Names of values and blocks in printed IR, chosen as MLIR chooses them.

    %c0_i32 = arith.constant 0 : i32         constants are named after what they hold, `_0`, `_1`, ... where that name is taken
    %0 = tt.get_program_id x : i32           other values are numbered, region by region: first a whole region, then those inside it
    %outLHS, %outRHS = tt.split %1           ops that declare several results name them

With `name_locs`, a value whose location carries a name (`loc("offs"(...))`) is called by it.
"""

from __future__ import annotations

import functools
import itertools
from typing import cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    CallSiteLoc,
    FileLineColLoc,
    FusedLoc,
    IntegerAttr,
    IntegerType,
    NameLoc,
    UnknownLoc,
)
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.irdl import IRDLOperation

from minitriton.dialects.arith import ConstantOp
from minitriton.dialects.fast_paths.op_access import next_op
from minitriton.dialects.narrowing import instance_of

UNKNOWN = "<<UNKNOWN SSA VALUE>>"
"""Stands for a value that is not defined under the printed op."""

_PUNCTUATION = frozenset("$._-")


def name_of_location(location: Attribute) -> str | None:
    """The first name in a location, looking through call sites and fusions."""
    kind = type(location)
    if kind is FileLineColLoc or kind is UnknownLoc:
        return None
    if isinstance(location, NameLoc):
        return location.desc.data
    if isinstance(location, CallSiteLoc):
        return name_of_location(location.callee) or name_of_location(location.caller)
    if isinstance(location, FusedLoc):
        assert instance_of(location.locations, ArrayAttr)
        return next((name for part in location.locations if (name := name_of_location(part)) is not None), None)
    return None


@functools.lru_cache(maxsize=4096)
def _identifier(name: str) -> str:
    """`name` as an identifier that no number can clash with."""
    if all(char in _PUNCTUATION or (char.isascii() and char.isalnum()) for char in name):
        return f"_{name}" if name[:1].isdigit() else name
    spelled = "".join(
        char
        if char in _PUNCTUATION or (char.isascii() and char.isalnum())
        else "_"
        if char == " "
        else "".join(f"{byte:X}" for byte in char.encode())
        for char in name
    )
    return f"_{spelled}" if name[:1].isdigit() else spelled


def _constant_name(op: ConstantOp) -> str:
    value = op.value
    if not instance_of(value, IntegerAttr):
        return "cst"
    number = value.value.data
    if not instance_of(value.type, IntegerType):
        return f"c{number}"
    if value.type.width.data == 1:
        return "true" if number else "false"
    return f"c{number}_{_spelled(value.type)}"


_spelled = functools.cache(str)


@functools.cache
def _declared_names(kind: type[Operation]) -> tuple[tuple[str, str], ...]:
    """The fields of the results of ops of class `kind` and what they are called; none if it declares fewer than two."""
    if not issubclass(kind, IRDLOperation):
        return ()
    spelled: dict[str, str] = getattr(kind, "ASM_RESULT_NAMES", {})
    fields = [name for name, _ in kind.get_irdl_definition().results]
    return tuple((name, spelled.get(name, name)) for name in fields) if len(fields) > 1 else ()


def _declared_results(op: Operation) -> list[tuple[int, str]]:
    """Start and name of each group of results, for ops that declare more than one."""
    groups: list[tuple[int, str]] = []
    start = 0
    for field, name in _declared_names(type(op)):
        value = getattr(op, field)
        size = 0 if value is None else 1 if isinstance(value, SSAValue) else len(value)
        if size:
            groups.append((start, name))
        start += size
    return groups


class _Scope:
    """Counters and used names while one region is numbered; regions inside start from a copy of the counters, and add to the names."""

    def __init__(self, outer: _Scope | None = None) -> None:
        self.next_value: int = outer.next_value if outer else 0
        self.next_argument: int = outer.next_argument if outer else 0
        self.next_conflict: int = outer.next_conflict if outer else 0
        self.used: set[str] = outer.used if outer else set()
        self._added: list[str] = []

    def unique(self, name: str) -> str:
        name = _identifier(name)
        unique = name
        while unique in self.used:
            unique = f"{name}_{self.next_conflict}"
            self.next_conflict += 1
        self.used.add(unique)
        self._added.append(unique)
        return unique

    def leave(self) -> None:
        """The names of this region are free again."""
        self.used.difference_update(self._added)


class ValueNames:
    """The names of all values and blocks under an op."""

    def __init__(self, root: Operation, name_locs: bool = False) -> None:
        self.values: dict[int, str] = {}
        """By the value's `id`: hashing a value is a call of Python's. The op keeps them alive."""
        self.blocks: dict[Block, tuple[int, str]] = {}
        self.groups: dict[Operation, list[str]] = {}
        """The names of groups of results, for ops with several results."""
        self.name_locs = name_locs
        scope = _Scope()
        self._name_results(root, scope)
        for region in root.regions:
            self._name_region(region, scope)

    def name_of(self, value: SSAValue) -> str:
        """How an operand `value` is written, without the percent sign."""
        return self.values.get(id(value), UNKNOWN)

    def names_of_results(self, op: Operation) -> list[str]:
        """How the results of `op` are written where it is defined: `0:2` for two that share a name."""
        return (self.groups.get(op) if len(op.results) > 1 else None) or [self.name_of(op.results[0])]

    def _name_region(self, region: Region, outer: _Scope) -> None:
        scope = _Scope(outer)
        outside: list[Operation] = []
        block, index = region.first_block, 0
        while block is not None:
            self.blocks[block] = (index, f"bb{index}")
            for argument in block.args:
                self._name_argument(argument, scope, is_entry=index == 0)
            op = block.first_op
            while op is not None:
                if op.results:
                    self._name_results(op, scope)
                if op.regions:
                    outside.append(op)
                op = next_op(op)
            block, index = block.next_block, index + 1
        for op in outside:
            for inner in op.regions:
                self._name_region(inner, scope)
        scope.leave()

    def _from_location(self, location: Attribute) -> str | None:
        return name_of_location(location) if self.name_locs else None

    def _name_argument(self, argument: BlockArgument, scope: _Scope, is_entry: bool) -> None:
        name = ""
        if is_entry:
            name = f"arg{scope.next_argument}"
            scope.next_argument += 1
        self._set(argument, self._from_location(argument.location) or name, scope)

    def _name_results(self, op: Operation, scope: _Scope) -> None:
        results = op.results
        if not results:
            return
        named = self._from_location(op.location) if self.name_locs else None
        if op.__class__ is ConstantOp:
            self._set(results[0], named or _constant_name(cast(ConstantOp, op)), scope)
            return
        if len(results) == 1 and not _declared_names(op.__class__):
            self._set(results[0], named or "", scope)
            return
        groups = _declared_results(op) if _declared_names(op.__class__) else []
        for start, name in groups:
            self._set(results[start], named or name, scope)
        if id(results[0]) not in self.values:
            self._set(results[0], named or "", scope)
        if len(results) > 1:
            self._name_groups(op, sorted({0, *(start for start, _ in groups)}))

    def _name_groups(self, op: Operation, starts: list[int]) -> None:
        """Results that share a name are used by it and their number, `0#1`."""
        self.groups[op] = []
        for start, end in itertools.pairwise([*starts, len(op.results)]):
            name, size = self.values[id(op.results[start])], end - start
            self.groups[op].append(f"{name}:{size}" if size > 1 else name)
            if size > 1:
                self.values.update((id(op.results[start + i]), f"{name}#{i}") for i in range(size))

    def _set(self, value: SSAValue, name: str, scope: _Scope) -> None:
        if name:
            self.values[id(value)] = scope.unique(name)
        else:
            self.values[id(value)] = str(scope.next_value)
            scope.next_value += 1
