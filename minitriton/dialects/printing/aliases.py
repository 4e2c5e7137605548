"""Which attributes are printed by an alias, and by which one.

#blocked = #ttg.blocked<{...}>        before the module: encodings and memory spaces, then numbered `#blocked1`, `#blocked2`, ...
#loc3 = loc("kernel.py":4:8)          after the module: places of ops

Aliases are numbered by nesting depth first (an alias stands after those it mentions), then by name, then by the order in which
printing meets them. Places of block arguments are defined before the module, since MLIR cannot put them off.

An alias's number is known only when all has been printed. Until then a mark stands for it, which `AliasTable.finish` replaces:

    tensor<4xf32, \0002\000>    →    tensor<4xf32, #blocked1>
"""

from __future__ import annotations

import functools
import re
from collections.abc import Hashable
from dataclasses import dataclass, field

from xdsl.dialects.builtin import CallSiteLoc, FileLineColLoc, FusedLoc, NameLoc, UnknownLoc
from xdsl.ir import Attribute

LOCATIONS = (UnknownLoc, FileLineColLoc, CallSiteLoc, FusedLoc, NameLoc)
_MARK = "\0"
"""Around the number of an alias. String literals escape this character."""


@functools.cache
def is_location(kind: type[Attribute]) -> bool:
    """Whether attributes of class `kind` are locations."""
    return issubclass(kind, LOCATIONS)


@functools.cache
def _alias_name(kind: type[Attribute]) -> str | None:
    """What aliases of attributes of class `kind` are called, None if they have none."""
    return "loc" if is_location(kind) else getattr(kind, "ALIAS", None)


@dataclass(eq=False, slots=True)
class Met:
    """What is known of an attribute that was printed: its alias's name (None: it has none), and how it is spelled.

    `in_full`: the attribute itself (of a location what stands between the parentheses of `loc(...)`); `reference`: its alias if it has
    one; `text`: what is printed where the attribute stands.
    """

    name: str | None
    is_location: bool
    deferrable: bool
    depth: int
    inside: list[Met] = field(default_factory=list["Met"])
    in_full: str = ""
    reference: str = ""
    text: str = ""

    def pin(self) -> None:
        """The alias, and those it mentions, must be defined before the module."""
        if self.deferrable:
            self.deferrable = False
            for each in self.inside:
                each.pin()


class AliasTable:
    """All attributes met, in that order. Where `enabled` is false, all are printed in full."""

    def __init__(self, enabled: bool = True) -> None:
        self._enabled = enabled
        self._met: dict[Hashable, Met] = {}
        self._by_identity: dict[int, tuple[Met, Attribute]] = {}
        """Hashing an attribute takes long. An entry keeps its attribute alive, so that the key stays its own."""
        self._numbers: dict[Hashable, int] = {}
        self._number_by_identity: dict[int, tuple[int, Attribute]] = {}
        self._named: list[Met] = []
        self._open: list[Met] = []
        """The attributes that are being printed, each inside the one before it."""

    def known(self, attribute: Attribute, deferrable: bool) -> Met | None:
        """The entry of `attribute`, if it was met before. Inside another attribute, that one says what is deferrable."""
        found = self._by_identity.get(id(attribute))
        if found is not None:
            met = found[0]
        else:
            met = self._met.get(self._key(attribute))
            if met is None:
                return None
            self._by_identity[id(attribute)] = met, attribute
        if self._open:
            outer = self._open[-1]
            outer.inside.append(met)
            deferrable = outer.deferrable
        if not deferrable:
            met.pin()
        return met

    def known_by_identity(self, attribute: Attribute) -> Met | None:
        """The entry of this very `attribute`, unless it stands inside another."""
        if self._open:
            return None
        found = self._by_identity.get(id(attribute))
        return None if found is None else found[0]

    def add_location(self, location: FileLineColLoc, deferrable: bool) -> Met:
        """A new entry for a location, in which nothing else can be."""
        outer = self._open[-1] if self._open else None
        name = "loc" if self._enabled else None
        met = Met(name, True, deferrable if outer is None else outer.deferrable, 1 if name else 0)
        if outer is not None:
            outer.inside.append(met)
        met.in_full = location_text(location)
        if name is not None:
            met.reference = f"{_MARK}{len(self._named)}{_MARK}"
            self._named.append(met)
        else:
            met.reference = met.in_full
        met.text = f"loc({met.in_full})"
        self._met[self._key(location)] = met
        self._by_identity[id(location)] = met, location
        return met

    def begin(self, attribute: Attribute, deferrable: bool) -> Met:
        """A new entry for `attribute`, with those inside that are met until `end`."""
        kind = type(attribute)
        name = _alias_name(kind) if self._enabled else None
        outer = self._open[-1] if self._open else None
        met = Met(name, is_location(kind), deferrable if outer is None else outer.deferrable, 1 if name else 0)
        if outer is not None:
            outer.inside.append(met)
        if name is not None:
            met.reference = f"{_MARK}{len(self._named)}{_MARK}"
            self._named.append(met)
        self._met[self._key(attribute)] = met
        self._by_identity[id(attribute)] = met, attribute
        self._open.append(met)
        return met

    def _key(self, attribute: Attribute) -> Hashable:
        """Equal for equal attributes; of a location in a file what it says, which takes less to hash. A call's location stands for its two parts by number: hashing it whole would go through
        all the calls within it, and so once more for each of these."""
        if type(attribute) is FileLineColLoc:
            return FileLineColLoc, attribute.filename.data, attribute.line.data, attribute.column.data
        if type(attribute) is CallSiteLoc:
            return CallSiteLoc, self._number_of(attribute.callee), self._number_of(attribute.caller)
        return attribute

    def _number_of(self, location: Attribute) -> int:
        found = self._number_by_identity.get(id(location))
        if found is None:
            number = self._numbers.setdefault(self._key(location), len(self._numbers))
            found = self._number_by_identity[id(location)] = number, location
        return found[0]

    def end(self, met: Met, in_full: str) -> None:
        """`in_full`: how the attribute of the innermost entry begun is spelled."""
        self._open.pop()
        met.in_full = in_full
        met.reference = met.reference or in_full
        met.text = f"loc({in_full})" if met.is_location else met.reference
        deepest = 0
        for each in met.inside:
            if each.depth > deepest:
                deepest = each.depth
        if deepest:
            met.depth = deepest + 1

    def finish(self, body: str) -> str:
        """`body` with the aliases' definitions around it, and the aliases in place of their marks."""
        order = sorted(range(len(self._named)), key=lambda i: (self._named[i].depth, self._named[i].name))
        counts: dict[str | None, int] = {}
        aliases: dict[str, str] = {}
        before: list[str] = []
        after: list[str] = []
        for index in order:
            met = self._named[index]
            number = counts.get(met.name, 0)
            counts[met.name] = number + 1
            alias = aliases[str(index)] = f"#{met.name}{number or ''}"
            definition = f"loc({met.in_full})" if met.is_location else met.in_full
            (after if met.deferrable else before).append(f"{alias} = {definition}\n")
        parts = "".join([*before, body, "\n", *after]).split(_MARK)
        parts[1::2] = [aliases[index] for index in parts[1::2]]
        return "".join(parts)


# How MLIR spells strings, and the locations that name files.
#
# "kernel.py":4:8       what stands between the parentheses of `loc(...)`

_PLAIN = re.compile(r"[ !#-\[\]-~]*", re.ASCII)
"""Characters that a string literal need not escape."""


def bytes_literal(data: bytes) -> str:
    """`data` in quotes; what is no printable ASCII, and quotes, by number."""
    text = data.decode("latin-1")
    if not _PLAIN.fullmatch(text):
        text = "".join(
            "\\\\" if byte == 0x5C else chr(byte) if 0x20 <= byte <= 0x7E and byte != 0x22 else f"\\{byte:02X}"
            for byte in data
        )
    return f'"{text}"'


@functools.lru_cache(maxsize=256)
def _name_literal(name: str) -> str:
    return bytes_literal(name.encode())


def location_text(location: FileLineColLoc) -> str:
    """File, line and column of `location`."""
    return f"{_name_literal(location.filename.data)}:{location.line.data}:{location.column.data}"
