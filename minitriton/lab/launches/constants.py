"""Values of compile-time parameters as JSON can hold them, and back.

tl.float16                →  {"dtype": "fp16"}
another kernel, `gelu`    →  {"global": "gelu"}          what the kernel's own file calls by that name
(1, 2)                    →  {"tuple": [1, 2]}
Size(m=1, n=2)            →  {"named": {"m": 1, "n": 2}}
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Mapping
from typing import TypeVar

from minitriton.dialects.narrowing import TUPLE, instance_of
from minitriton.errors import MinitritonError
from minitriton.host.json_values import Json
from minitriton.language.dtypes import dtype
from minitriton.language.signatures import str_to_ty
from minitriton.language.values import constexpr

T = TypeVar("T")

_PLAIN = (bool, int, float, str, type(None))


def field_names(value: tuple[object, ...]) -> tuple[str, ...]:
    """The names of the items of a named tuple; () for other tuples."""
    return getattr(type(value), "_fields", ())


def named(items: Mapping[str, T]) -> tuple[T, ...]:
    """A named tuple."""
    return namedtuple("Named", list(items))(*items.values())  # pyright: ignore[reportUntypedNamedTuple]


def written(value: object, names: Mapping[str, object]) -> Json:
    """`value` for JSON; `names` are those that the kernel's file has. Raises `MinitritonError` for what cannot be written."""
    if isinstance(value, constexpr):
        value = value.value
    if isinstance(value, dtype):
        return {"dtype": value.name}
    if type(value) in _PLAIN and isinstance(value, _PLAIN):
        return value
    if instance_of(value, TUPLE):
        items, fields = [written(one, names) for one in value], field_names(value)
        return {"named": dict(zip(fields, items, strict=True))} if fields else {"tuple": items}
    name = next((name for name, known in names.items() if known is value), None)
    if name is None:
        raise MinitritonError(
            f"a compile-time value of type {type(value).__name__} cannot be written to a file",
            help="numbers, strings, dtypes, tuples of them, and what the kernel's file has a name for can",
        )
    return {"global": name}


def read(found: Json, names: Mapping[str, object]) -> object:
    """The reverse of `written`."""
    match found:
        case {"dtype": str(name)}:
            return str_to_ty(name)
        case {"tuple": list(items)}:
            return tuple(read(one, names) for one in items)
        case {"named": dict(items)}:
            return named({name: read(one, names) for name, one in items.items()})
        case {"global": str(value)}:
            pass
        case _:
            return found
    if value not in names:
        raise MinitritonError(
            f"the kernel's file lacks {value!r}, which the recorded launch was given", help="record the launch again"
        )
    return names[value]
