"""What attributes hold, as Python values: `op.properties["axis"]` is some attribute, `integer(op.properties["axis"])` a number.

Each raises `AssertionError` for an attribute of another kind, which the op's declaration rules out. The other way: `dense_elements`.
"""

import struct
from collections.abc import Hashable, Sequence
from functools import cache, lru_cache
from typing import cast

from xdsl.dialects.builtin import (
    BytesAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    IntegerAttr,
    IntegerType,
    RankedStructure,
    StringAttr,
    SymbolRefAttr,
    TensorType,
    VectorType,
    i1,
    i32,
)
from xdsl.ir import Attribute, Data

from minitriton.dialects.narrowing import instance_of


def integer(attr: Attribute | None) -> int:
    """The number of an integer attribute."""
    assert instance_of(attr, IntegerAttr)
    return attr.value.data


def integer_or(attr: Attribute | None, default: int) -> int:
    """The number of an integer attribute; `default` where there is none."""
    return attr.value.data if isinstance(attr, IntegerAttr) else default


def integers(attr: Attribute) -> tuple[int, ...]:
    """The numbers of a dense array of integers, decoded once for each different one."""
    assert instance_of(attr, DenseArrayBase) and instance_of(attr.elt_type, IntegerType)
    return _decoded(attr.elt_type.width.data, attr.data.data)


def elements(attr: DenseIntOrFPElementsAttr) -> tuple[int, ...] | tuple[float, ...]:
    """The elements of a tensor or vector of real numbers."""
    return cast("tuple[int, ...] | tuple[float, ...]", attr.get_values())


def dense_elements(type_: Attribute, numbers: Sequence[int] | Sequence[float]) -> DenseIntOrFPElementsAttr:
    """The attribute of a tensor or vector type with these elements; one number stands for all."""
    return DenseIntOrFPElementsAttr.from_list(_of_numbers(type_), cast("Sequence[int]", numbers))


def dense_bytes(type_: Attribute, data: BytesAttr) -> DenseIntOrFPElementsAttr:
    """The attribute of a tensor or vector type with the elements that `data` has the bytes of, or one that stands for all."""
    return DenseIntOrFPElementsAttr(_of_numbers(type_), data)


def _of_numbers(type_: Attribute) -> RankedStructure[IntegerType]:
    """`type_` as xDSL's constructors want it, which are declared once for integers and once for floats."""
    assert instance_of(type_, (TensorType, VectorType))
    return cast("RankedStructure[IntegerType]", type_)


_FORMATS = {8: "b", 32: "i", 64: "q"}


@lru_cache(maxsize=4096)
def _decoded(width: int, data: bytes) -> tuple[int, ...]:
    return struct.unpack(f"<{len(data) * 8 // width}{_FORMATS[width]}", data)


def plain_text(attr: Attribute) -> str:
    """The text of a string attribute, or the name that a symbol reference names."""
    if isinstance(attr, SymbolRefAttr):
        return attr.string_value()
    assert isinstance(attr, StringAttr)
    return attr.data


_DATA: type[Data[Hashable]] = Data


def word(attr: Attribute) -> str:
    """The case of an enum's attribute, or the text of a string attribute."""
    assert instance_of(attr, _DATA)
    return str(attr.data)


def is_true(attr: Attribute | None) -> bool:
    """Whether a boolean attribute is there and true."""
    return instance_of(attr, IntegerAttr) and attr.value.data != 0


# Attributes made once for each value.

_strings: dict[str, StringAttr] = {}


def string_attr(text: str) -> StringAttr:
    """An interned `StringAttr`."""
    found = _strings.get(text)
    if found is None:
        found = _strings[text] = StringAttr(text)
    return found


@lru_cache(maxsize=4096)
def integer_attr(value: int, type_: IntegerType) -> IntegerAttr[IntegerType]:
    """An interned `IntegerAttr` of a value that its type holds."""
    return IntegerAttr(value, type_)


@lru_cache(maxsize=4096)
def integer_array(element: IntegerType, values: tuple[int, ...]) -> DenseArrayBase:
    """An interned `array<element: values>`: the lanes of a shuffle, the indices of an address."""
    return DenseArrayBase.from_list(element, values)


@cache
def i32_attr(value: int) -> IntegerAttr:
    """A shared `value : i32`."""
    return IntegerAttr(value, i32)


@cache
def i32_array(values: tuple[int, ...]) -> DenseArrayBase:
    """A shared `array<i32: values>`."""
    return DenseArrayBase.from_list(i32, values)


TRUE = IntegerAttr(-1, i1)
FALSE = IntegerAttr(0, i1)


def bool_attr(value: bool) -> Attribute:
    """`true` or `false`."""
    return TRUE if value else FALSE
