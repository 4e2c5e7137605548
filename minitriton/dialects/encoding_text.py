"""The text of encodings, by the fields of their values.

    Blocked.size_per_thread: Ints       <->   sizePerThread = [1, 4]
    Blocked.cga_layout: Bases = ()      <->   CGALayout = [[0, 1]], left out where it is ()
    NVMMAShared.transposed: bool        <->   transposed = false
    Slice.parent: DistributedEncoding   <->   parent = #blocked

A field is called as in the value, in camel case, and read and written by its type; one that has a default is left out of the text where it has it.
Complaints are those of Triton's parsers (lib/Dialect/TritonGPU/IR/Dialect.cpp).
"""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple, cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, IntegerType
from xdsl.ir import Attribute
from xdsl.parser import AttrParser

from minitriton.dialects.narrowing import instance_of
from minitriton.layouts.encodings import Bases, DistributedEncoding, Encoding, Ints

CGA_LAYOUT = "cga_layout"


class Field(NamedTuple):
    """One field of an encoding: its name in the value and in the text, and what it holds."""

    name: str
    key: str
    type: str
    default: Any
    """`dataclasses.MISSING` if there is none."""


_SPELLED = {"cga": "CGA", "cta": "CTA"}


@cache
def fields_of(encoding: type[Encoding]) -> dict[str, Field]:
    """The fields of the encoding's value, by name."""
    found: dict[str, Field] = {}
    for each in dataclasses.fields(cast(Any, encoding)):
        first, *others = each.name.split("_")
        key = _SPELLED.get(first, first) + "".join(_SPELLED.get(word, word.capitalize()) for word in others)
        found[each.name] = Field(each.name, key, str(each.type), each.default)
    return found


# Writing ----------------------------------------------------------------------------------------------------------------


def spelled(value: bool | int | Sequence[Any]) -> str:
    """A number, a boolean, or lists of them."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int) else "[" + ", ".join(map(spelled, value)) + "]"


# Reading ----------------------------------------------------------------------------------------------------------------


class Entries:
    """The dictionary of an encoding's text."""

    def __init__(self, parser: AttrParser, known: Iterable[str] = ()) -> None:
        """Reads it. Raises `ParseError` for a key that is not `known`, if any are."""
        self.parser = parser
        attr = parser.parse_attribute()
        if not isinstance(attr, DictionaryAttr):
            parser.raise_error("expected a dictionary of the encoding's parameters")
        self.values: Mapping[str, Attribute] = attr.data
        known = tuple(known)
        for key in self.values:
            if known and key not in known:
                parser.raise_error(f"unexpected key: {key}")

    def read(self, field: Field, what: str | None = None) -> Any:
        """The value of a field, called `what` in complaints; what Triton takes where the text lacks it."""
        default = 0 if field.default is dataclasses.MISSING else field.default
        match field.type:
            case "int":
                return self.integer(field.key, default)
            case "bool":
                return self.boolean(field.key)
            case "Ints":
                return self.ints(field.key, what)
            case "Bases":
                return self.bases(field.key)
            case _:
                return self.distributed(field.key)

    def integer(self, key: str, default: int = 0) -> int:
        """An integer that is not negative."""
        attr = self.values.get(key)
        return default if attr is None else self._integer(attr, key)

    def _integer(self, attr: Attribute, what: str) -> int:
        if not instance_of(attr, IntegerAttr) or not instance_of(attr.type, IntegerType):
            self.parser.raise_error(f"expected an integer type in {what}")
        if attr.value.data < 0:
            self.parser.raise_error(f"expected an unsigned integer value in {what}")
        return attr.value.data

    def boolean(self, key: str) -> bool:
        """A boolean, false if it is not there."""
        attr = self.values.get(key)
        if attr is None:
            return False
        if not instance_of(attr, IntegerAttr) or attr.type != IntegerType(1):
            self.parser.raise_error(f"expected a bool type in {key}")
        return bool(attr.value.data)

    def ints(self, key: str, what: str | None = None) -> Ints:
        """A list of integers, empty if it is not there."""
        attr = self.values.get(key)
        return () if attr is None else self._ints(attr, what or key)

    def _ints(self, attr: Attribute, what: str) -> Ints:
        if not instance_of(attr, ArrayAttr):
            self.parser.raise_error(f"expected an array for {what}")
        return tuple(self._integer(entry, what) for entry in attr.data)

    def cga(self, key: str, rank: int) -> Bases:
        """Bases of the CTAs of a cluster, none if they are not there."""
        attr = self.values.get(key)
        if attr is None:
            return ()
        if not instance_of(attr, ArrayAttr):
            self.parser.raise_error(f"expected array value for '{key}'")
        bases = tuple(self._ints(entry, f"{key} entry") for entry in attr.data)
        if any(len(basis) != rank for basis in bases):
            self.parser.raise_error(f"'{key}' entry length does not match rank {rank}")
        return bases

    def bases(self, key: str) -> Bases:
        """The bases of one dimension of a linear layout."""
        attr = self.values.get(key)
        if attr is None:
            self.parser.raise_error(f"Expected basis of '{key}' not found")
        if not instance_of(attr, ArrayAttr):
            self.parser.raise_error(f"Expected array of arrays for basis of '{key}'")
        found: list[Ints] = []
        for basis in attr.data:
            if not instance_of(basis, ArrayAttr):
                self.parser.raise_error(f"Expected array of integers in basis for '{key}'")
            numbers: list[int] = []
            for entry in basis.data:
                if not instance_of(entry, IntegerAttr):
                    self.parser.raise_error(f"Expected integer in basis for '{key}'")
                numbers.append(entry.value.data)
            found.append(tuple(numbers))
        return tuple(found)

    def distributed(self, key: str) -> DistributedEncoding:
        """Another encoding, of registers."""
        value = getattr(self.values.get(key), "data", None)
        if not isinstance(value, DistributedEncoding):
            self.parser.raise_error("expected a distributed encoding trait")
        return value
