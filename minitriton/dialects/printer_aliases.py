"""Which attributes are printed by an alias, and by which one.

#blocked = #ttg.blocked<{...}>        before the module: encodings and memory spaces, then numbered `#blocked1`, `#blocked2`, ...
#loc3 = loc("kernel.py":4:8)          after the module: places of ops

Aliases are numbered by nesting depth first (an alias stands after those it mentions), then by name, then by the order in which
printing meets them. Places of block arguments are defined before the module, since MLIR cannot put them off.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from xdsl.dialects.builtin import (
    ArrayAttr,
    CallSiteLoc,
    DictionaryAttr,
    FunctionType,
    FusedLoc,
    NameLoc,
    NoneAttr,
    TensorType,
    UnknownLoc,
    UnregisteredOp,
    VectorType,
)
from xdsl.ir import Attribute, BlockArgument, BuiltinAttribute, Operation

from minitriton.dialects.printer import LOCATIONS, TritonPrinter
from minitriton.dialects.printer_names import ValueNames
from minitriton.dialects.printer_upstream import PRINTERS


@dataclass
class _Seen:
    """What is known of an attribute that printing met."""

    name: str | None
    deferrable: bool
    depth: int
    children: list[Attribute] = field(default_factory=list)


class AliasCollector(TritonPrinter):
    """Goes through the motions of printing and notes every attribute met."""

    def __init__(self, names: ValueNames, locations: bool) -> None:
        super().__init__(names, {}, locations)
        self.seen: dict[Attribute, _Seen] = {}
        self._children: list[Attribute] = []
        self._deferrable = False

    def print_attribute(self, attribute: Attribute) -> None:
        self._visit(attribute, self._deferrable)

    def print_location(self, location: Attribute) -> None:
        """Places of ops are visited before the op, in `print_op`."""

    def print_op(self, op: Operation) -> None:
        if self.print_debuginfo:
            self._visit(op.location, True)
        generic = isinstance(op, UnregisteredOp) or (type(op) not in PRINTERS and Operation.print is type(op).print)
        if not generic:
            self._print_form(op)
            return
        for region in op.regions:
            self.print_region(region)
        for type_ in (*op.operand_types, *op.result_types):
            self._visit(type_, False)
        for _, value in sorted({**op.properties, **op.attributes}.items()):
            self._visit(value, False)

    def print_block_argument(self, arg: BlockArgument, print_type: bool = True) -> None:
        if print_type:
            self._visit(arg.type, False)
            if self.print_debuginfo:
                self._visit(arg.location, False)

    def _visit(self, attribute: Attribute, deferrable: bool) -> None:
        self._children.append(attribute)
        seen = self.seen.get(attribute)
        if seen is not None:
            if not deferrable:
                self._pin(seen)
            return
        name = "loc" if isinstance(attribute, LOCATIONS) else getattr(type(attribute), "ALIAS", None)
        seen = self.seen[attribute] = _Seen(name, deferrable, 1 if name else 0)
        outer = self._children, self._deferrable
        self._children, self._deferrable = seen.children, deferrable
        self._visit_parts(attribute)
        self._children, self._deferrable = outer
        deepest = max((self.seen[child].depth for child in seen.children), default=0)
        if deepest:
            seen.depth = deepest + 1

    def _pin(self, seen: _Seen) -> None:
        if seen.deferrable:
            seen.deferrable = False
            for child in seen.children:
                self._pin(self.seen[child])

    def _visit_parts(self, attribute: Attribute) -> None:
        for part in _parts(attribute):
            self._visit(part, self._deferrable)
        if not isinstance(attribute, BuiltinAttribute):
            self.print_attribute_in_full(attribute)


def _parts(attribute: Attribute) -> Iterable[Attribute]:
    """The attributes inside a builtin attribute or type."""
    if isinstance(attribute, TensorType | VectorType):
        encoding = getattr(attribute, "encoding", None)
        return (
            (attribute.element_type,)
            if encoding is None or isinstance(encoding, NoneAttr)
            else (attribute.element_type, encoding)
        )
    if isinstance(attribute, FunctionType):
        return (*attribute.inputs, *attribute.outputs)
    if isinstance(attribute, DictionaryAttr):
        return [value for _, value in sorted(attribute.data.items())]
    if isinstance(attribute, ArrayAttr):
        return attribute.data
    if isinstance(attribute, NameLoc):
        return () if isinstance(attribute.location, NoneAttr | UnknownLoc) else (attribute.location,)
    if isinstance(attribute, CallSiteLoc):
        return (attribute.callee, attribute.caller)
    if isinstance(attribute, FusedLoc):
        nested = tuple(attribute.locations) if isinstance(attribute.locations, ArrayAttr) else ()
        return nested if isinstance(attribute.metadata, NoneAttr) else (attribute.metadata, *nested)
    type_ = getattr(attribute, "type", None)
    return (type_,) if isinstance(type_, TensorType) else ()


@dataclass(frozen=True)
class Aliases:
    """The chosen aliases: all by attribute, and in the order in which they are defined, before and after the module."""

    by_attribute: dict[Attribute, str]
    before: list[tuple[str, Attribute]]
    after: list[tuple[str, Attribute]]


def choose_aliases(root: Operation, names: ValueNames, locations: bool) -> Aliases:
    """The aliases for printing `root`."""
    collector = AliasCollector(names, locations)
    collector.print_op(root)
    named = [(attr, seen, seen.name) for attr, seen in collector.seen.items() if seen.name is not None]
    named.sort(key=lambda entry: (entry[1].depth, entry[2]))
    counts: dict[str, int] = {}
    by_attribute: dict[Attribute, str] = {}
    before: list[tuple[str, Attribute]] = []
    after: list[tuple[str, Attribute]] = []
    for attribute, seen, name in named:
        number = counts.get(name, 0)
        counts[name] = number + 1
        alias = f"#{name}{number or ''}"
        by_attribute[attribute] = alias
        (after if seen.deferrable else before).append((alias, attribute))
    return Aliases(by_attribute, before, after)
