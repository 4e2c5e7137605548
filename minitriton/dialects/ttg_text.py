"""Pieces of textual forms that several ops of the GPU dialects share and that declarative formats cannot say.

{contiguity = 8 : i32, loop.stage = 1 : i32}     the attribute dictionary: properties and attributes, sorted, defaults left out
cacheModifier = cg evictionPolicy = evict_first  clauses in any order
<64xf16, #shared, #smem, mutable>                a memory descriptor's type without its name
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer

from minitriton.dialects.tt_enums import (
    CacheModifierAttr,
    DescriptorReduceKindAttr,
    EvictionPolicyAttr,
    InputPrecisionAttr,
    IntegerEnumAttr,
    ScaleDotElemTypeAttr,
)
from minitriton.dialects.ttg_types import MemDescType

SEGMENTS = frozenset({"operandSegmentSizes", "resultSegmentSizes"})

_ENUM_PROPERTIES: dict[str, type[IntegerEnumAttr[Any]]] = {
    "cache": CacheModifierAttr,
    "evict": EvictionPolicyAttr,
    "inputPrecision": InputPrecisionAttr,
    "kind": DescriptorReduceKindAttr,
    "a_type": ScaleDotElemTypeAttr,
    "b_type": ScaleDotElemTypeAttr,
}


def parse_attr_dict(parser: Parser, op_class: type[IRDLOperation]) -> tuple[dict[str, Attribute], dict[str, Attribute]]:
    """Parse an op's attribute dictionary, if there is one, into its properties and its discardable attributes."""
    known = op_class.get_irdl_definition().properties
    properties: dict[str, Attribute] = {}
    attributes: dict[str, Attribute] = {}
    for name, value in parser.parse_optional_attr_dict().items():
        if name not in known:
            attributes[name] = value
        elif isinstance(value, IntegerAttr) and name in _ENUM_PROPERTIES:
            case = _ENUM_PROPERTIES[name].from_code(value.value.data)
            if case is None:
                parser.raise_error(f"{value.value.data} is no case of '{name}'")
            properties[name] = case
        else:
            properties[name] = value
    return properties, attributes


def print_attr_dict(printer: Printer, op: IRDLOperation, elided: Collection[str] = ()) -> None:
    """Print the properties and attributes of `op`, sorted by name, without segment sizes, defaults and `elided`."""
    shown = dict(op.attributes)
    definitions = op.get_irdl_definition().properties
    for name, value in op.properties.items():
        definition = definitions.get(name)
        is_default = definition is not None and definition.default_value == value
        if name not in SEGMENTS and name not in elided and not is_default:
            shown[name] = IntegerAttr(value.code, 32) if isinstance(value, IntegerEnumAttr) else value
    if shown:
        printer.print_op_attributes(dict(sorted(shown.items())))


def parse_cache_clauses(parser: Parser, properties: dict[str, Attribute]) -> None:
    """Parse `cacheModifier = ...` and `evictionPolicy = ...`, in any order, into `properties`."""
    while True:
        if parser.parse_optional_keyword("cacheModifier") is not None:
            parser.parse_punctuation("=")
            properties["cache"] = CacheModifierAttr.new(CacheModifierAttr.parse_parameter(parser))
        elif parser.parse_optional_keyword("evictionPolicy") is not None:
            parser.parse_punctuation("=")
            properties["evict"] = EvictionPolicyAttr.new(EvictionPolicyAttr.parse_parameter(parser))
        else:
            return


def print_cache_clauses(printer: Printer, op: IRDLOperation) -> None:
    """Print the clauses that `parse_cache_clauses` reads, where they are not the default."""
    definitions = op.get_irdl_definition().properties
    for name, keyword in (("cache", "cacheModifier"), ("evict", "evictionPolicy")):
        value = op.properties.get(name)
        if isinstance(value, IntegerEnumAttr) and value != definitions[name].default_value:
            printer.print_string(f" {keyword} = {value.data.value}")


def parse_memdesc(parser: Parser) -> Attribute:
    """A memory descriptor type, with or without `!ttg.memdesc` before its parameters."""
    type_ = parser.parse_optional_type()
    return MemDescType.new(MemDescType.parse_parameters(parser)) if type_ is None else type_


def print_memdesc(printer: Printer, type_: Attribute) -> None:
    """The parameters of a memory descriptor type; other types in full."""
    if isinstance(type_, MemDescType):
        type_.print_parameters(printer)
    else:
        printer.print_attribute(type_)


def parse_indices(parser: Parser) -> list[UnresolvedOperand]:
    """`[%x, %y]`."""
    return parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_unresolved_operand)


def print_indices(printer: Printer, values: Collection[SSAValue]) -> None:
    """`[%x, %y]`."""
    with printer.in_square_brackets():
        printer.print_list(values, printer.print_ssa_value)


def resolve(parser: Parser, operands: list[UnresolvedOperand], types: list[Attribute]) -> list[SSAValue]:
    """The values of `operands`, which must have `types`."""
    return list(parser.resolve_operands(operands, types, parser.pos))
