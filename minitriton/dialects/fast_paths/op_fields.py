"""The fields of an op, read fast: `op.ptr`, `op.mask`, `op.axis` at the price of an index.

xDSL finds out at each read which operands belong to a field, and decodes segment sizes. Here the question is answered when
the op's declaration is read, and segment sizes are decoded once for each different one.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Any, TypeAlias

from xdsl.dialects.builtin import DenseArrayBase
from xdsl.ir import Attribute
from xdsl.irdl import IRDLOperation
from xdsl.irdl.operations import (
    AfterVariadicSingleAccessor,
    BeforeVariadicSingleAccessor,
    OptionalAttrAccessor,
    OptionalPropertyAccessor,
    PropertyAccessor,
    SameOptionalAccessor,
    SingleAttrAccessor,
    UniqueVariadicAccessor,
    VariadicAttrAccessor,
    VarIRConstruct,
)

_Values: TypeAlias = "Callable[[IRDLOperation], tuple[object, ...]]"
"""The operands, results or regions of an op."""

_TUPLE: type[tuple[object, ...]] = tuple
_ITEM: Callable[[tuple[object, ...], int], object] = _TUPLE.__getitem__
_VALUES: dict[VarIRConstruct, _Values] = {
    VarIRConstruct.OPERAND: attrgetter("_operands"),
    VarIRConstruct.RESULT: attrgetter("results"),
    VarIRConstruct.REGION: attrgetter("regions"),
}


def fast_fields(accessors: Mapping[str, object]) -> dict[str, object]:
    """`accessors`, which xDSL made of the fields of an op, those that can answer at once replaced."""
    fields = dict(accessors)
    for name, accessor in accessors.items():
        maker = _MAKERS.get(accessor.__class__)
        if maker is not None and getattr(accessor, "construct", None) in (None, *_VALUES):
            fields[name] = maker(accessor)
    return fields


def _at(values: _Values, index: int) -> property:
    return property(lambda op: _ITEM(values(op), index))


def _first(accessor: BeforeVariadicSingleAccessor) -> property:
    return _at(_VALUES[accessor.construct], accessor.idx)


def _last(accessor: AfterVariadicSingleAccessor) -> property:
    return _at(_VALUES[accessor.construct], accessor.idx - accessor.num_defs)


def _optional(accessor: SameOptionalAccessor) -> property:
    values, index, all_there = _VALUES[accessor.construct], accessor.idx, accessor.num_defs

    def get(op: IRDLOperation) -> object:
        found = values(op)
        return _ITEM(found, index) if len(found) == all_there else None

    return property(get)


def _variadic(accessor: UniqueVariadicAccessor) -> property:
    values, first, others = _VALUES[accessor.construct], accessor.idx, accessor.num_defs - 1

    def get(op: IRDLOperation) -> object:
        found = values(op)
        return found[first : first + len(found) - others]

    return property(get)


# Fields of ops that say in a property how many values each field has -------------------------------------------------------

_ends: dict[bytes, tuple[int, ...]] = {}


def _ends_of(sizes: bytes) -> tuple[int, ...]:
    """Where each field begins, and where the last ends, of segment sizes as 32-bit integers."""
    ends = [0]
    for size in struct.unpack(f"<{len(sizes) // 4}i", sizes):
        ends.append(ends[-1] + size)
    return _ends.setdefault(sizes, tuple(ends))


def _segment(
    accessor: SingleAttrAccessor | OptionalAttrAccessor | VariadicAttrAccessor,
    field: Callable[[tuple[object, ...], int, int], object],
) -> property:
    values, index = _VALUES[accessor.construct], accessor.idx
    dictionary, name = "properties" if accessor.option.as_property else "attributes", accessor.option.attribute_name
    holder: Callable[[IRDLOperation], dict[str, DenseArrayBase]] = attrgetter(dictionary)

    def get(op: IRDLOperation) -> object:
        sizes = holder(op)[name].data.data
        ends = _ends.get(sizes) or _ends_of(sizes)
        return field(values(op), ends[index], ends[index + 1])

    return property(get)


def _segment_single(accessor: SingleAttrAccessor) -> property:
    return _segment(accessor, lambda values, first, end: _ITEM(values, first))


def _segment_optional(accessor: OptionalAttrAccessor) -> property:
    return _segment(accessor, lambda values, first, end: None if first == end else _ITEM(values, first))


def _segment_variadic(accessor: VariadicAttrAccessor) -> property:
    return _segment(accessor, lambda values, first, end: values[first:end])


# Properties ---------------------------------------------------------------------------------------------------------------


def _property(accessor: PropertyAccessor) -> property:
    name = accessor.property_name

    def put(op: IRDLOperation, value: Attribute) -> None:
        op.properties[name] = value

    return property(lambda op: op.properties[name], put)


def _optional_property(accessor: OptionalPropertyAccessor) -> property:
    name, default = accessor.property_name, accessor.default_value

    def put(op: IRDLOperation, value: Attribute | None) -> None:
        if value is None:
            op.properties.pop(name, None)
        else:
            op.properties[name] = value

    return property(lambda op: op.properties.get(name, default), put)


_MAKERS: dict[type, Callable[[Any], property]] = {
    BeforeVariadicSingleAccessor: _first,
    AfterVariadicSingleAccessor: _last,
    SameOptionalAccessor: _optional,
    UniqueVariadicAccessor: _variadic,
    SingleAttrAccessor: _segment_single,
    OptionalAttrAccessor: _segment_optional,
    VariadicAttrAccessor: _segment_variadic,
    PropertyAccessor: _property,
    OptionalPropertyAccessor: _optional_property,
}
