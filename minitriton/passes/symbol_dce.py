"""Dead symbols: private functions that no public one reaches are erased.

tt.func private @unused() {...}     =>     nothing
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
    TensorType,
    UnitAttr,
)
from xdsl.ir import Attribute, Operation
from xdsl.traits import SymbolOpInterface

from minitriton.dialects.fast_paths.operations import ops_in
from minitriton.dialects.narrowing import instance_of
from minitriton.pipeline.pass_registry import KEPT_IN_PLACE, Pass, Property, register_pass


def symbol_name(op: Operation) -> str | None:
    """The name that `op` defines, if it is a symbol."""
    name = op.properties.get("sym_name") or op.attributes.get("sym_name")
    if isinstance(name, StringAttr) and op.get_traits_of_type(SymbolOpInterface):
        return name.data
    return None


def is_private(op: Operation) -> bool:
    """True if the symbol `op` may be erased when nothing refers to it."""
    visibility = op.properties.get("sym_visibility") or op.attributes.get("sym_visibility")
    return isinstance(visibility, StringAttr) and visibility.data == "private"


_WITHOUT_NAMES: frozenset[type[Attribute]] = frozenset(
    {IntegerAttr, StringAttr, UnitAttr, TensorType, IntegerType, FunctionType}
)
"""Attributes that refer to no symbol: most of those that there are, whose class is found out sooner than that it is none of the others."""


def _references(attr: Attribute) -> list[str]:
    if attr.__class__ in _WITHOUT_NAMES:
        return []
    if isinstance(attr, SymbolRefAttr):
        return [attr.root_reference.data]
    if instance_of(attr, ArrayAttr):
        return [name for element in attr.data for name in _references(element)]
    if isinstance(attr, DictionaryAttr):
        return [name for element in attr.data.values() for name in _references(element)]
    return []


def referenced_symbols(op: Operation) -> set[str]:
    """The symbols that `op` and everything in it refer to."""
    found: set[str] = set()
    for inner in ops_in(op):
        for attributes in (inner.properties, inner.attributes):
            for attr in attributes.values():
                if attr.__class__ not in _WITHOUT_NAMES:
                    found.update(_references(attr))
    return found


def erase_dead_symbols(module: ModuleOp) -> bool:
    """Erases the private symbols of `module` that neither a public symbol nor another op leads to; whether there are any."""
    symbols: dict[str, Operation] = {}
    for op in module.body.ops:
        name = symbol_name(op)
        if name is not None and is_private(op):
            symbols[name] = op
    if not symbols:
        return False
    private = set(symbols.values())
    pending = [op for op in module.body.ops if op not in private]
    live: set[str] = set()
    while pending:
        for name in referenced_symbols(pending.pop()):
            if name in symbols and name not in live:
                live.add(name)
                pending.append(symbols[name])
    for name, op in symbols.items():
        if name not in live:
            module.body.block.erase_op(op)
    return len(live) < len(symbols)


@register_pass
class SymbolDce(Pass, origin="triton"):
    """Erases private functions that nothing refers to."""

    name: ClassVar[str] = "symbol-dce"
    requires: ClassVar[frozenset[Property]] = frozenset({Property.TENSOR_IR})
    keeps: ClassVar[frozenset[Property]] = KEPT_IN_PLACE

    def apply(self, ctx: Context, op: ModuleOp) -> bool:
        return erase_dead_symbols(op)
