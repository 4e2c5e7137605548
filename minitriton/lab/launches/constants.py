"""Values of compile-time parameters as JSON can hold them, and back.

tl.float16                →  {"dtype": "fp16"}
another kernel, `gelu`    →  {"global": "gelu"}          what the kernel's own file calls by that name
(1, 2)                    →  {"tuple": [1, 2]}
"""

from __future__ import annotations

from typing import Any

from minitriton.errors import MinitritonError
from minitriton.language.dtypes import dtype
from minitriton.language.signatures import str_to_ty
from minitriton.language.values import constexpr

_PLAIN = (bool, int, float, str, type(None))


def written(value: Any, names: dict[str, Any]) -> Any:
    """`value` for JSON; `names` are those that the kernel's file has. Raises `MinitritonError` for what cannot be written."""
    if isinstance(value, constexpr):
        value = value.value
    if isinstance(value, dtype):
        return {"dtype": value.name}
    if type(value) in _PLAIN:
        return value
    if isinstance(value, tuple):
        return {"tuple": [written(one, names) for one in value]}
    name = next((name for name, known in names.items() if known is value), None)
    if name is None:
        raise MinitritonError(
            f"a compile-time value of type {type(value).__name__} cannot be written to a file",
            help="numbers, strings, dtypes, tuples of them, and what the kernel's file has a name for can",
        )
    return {"global": name}


def read(found: Any, names: dict[str, Any]) -> Any:
    """The reverse of `written`."""
    if not isinstance(found, dict):
        return found
    kind, value = next(iter(found.items()))
    if kind == "dtype":
        return str_to_ty(value)
    if kind == "tuple":
        return tuple(read(one, names) for one in value)
    if value not in names:
        raise MinitritonError(
            f"the kernel's file has no {value!r}, which the recorded launch was given", help="record the launch again"
        )
    return names[value]
