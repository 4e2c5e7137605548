"""What attributes hold, as Python values: `op.properties["axis"]` is some attribute, `integer(op.properties["axis"])` a number.

Each raises `AssertionError` for an attribute of another kind, which the op's declaration rules out.
"""

from __future__ import annotations

import struct
from functools import lru_cache

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, IntegerType, StringAttr, SymbolRefAttr
from xdsl.ir import Attribute, Data


def integer(attr: Attribute | None) -> int:
    """The number of an integer attribute."""
    assert isinstance(attr, IntegerAttr)
    return attr.value.data


def integer_or(attr: Attribute | None, default: int) -> int:
    """The number of an integer attribute; `default` where there is none."""
    return attr.value.data if isinstance(attr, IntegerAttr) else default


def integers(attr: Attribute) -> tuple[int, ...]:
    """The numbers of a dense array of integers, decoded once for each different one."""
    assert isinstance(attr, DenseArrayBase) and isinstance(attr.elt_type, IntegerType)
    return _decoded(attr.elt_type.width.data, attr.data.data)


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


def word(attr: Attribute) -> str:
    """The case of an enum's attribute, or the text of a string attribute."""
    assert isinstance(attr, Data)
    return str(attr.data)


def is_true(attr: Attribute | None) -> bool:
    """Whether a boolean attribute is there and true."""
    return isinstance(attr, IntegerAttr) and attr.value.data != 0
