"""Values whose types are not known: whether one is a container, what JSON can hold, frozen dataclasses as JSON gives them back.

if is_list(value): value[0]                                    an object, which is asked in its turn (after `isinstance` a type checker knows `list[Unknown]`)
frozen(json.loads('[1, [2, 3]]'))                              (1, (2, 3))
of_json(View, {"span": "x", "offset": 0, "shape": [4]})        View("x", 0, (4,))
of_json(View, {"span": "x", "offset": "0"})                    ValueError: offset is '0', no int
"""

import builtins
import collections
import functools
import types
import typing
from collections.abc import Set as AbstractSet
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from typing import Any, TypeGuard, TypeVar


def is_list(value: object) -> TypeGuard[list[object]]:
    """Whether `value` is a list."""
    return isinstance(value, list)


def is_tuple(value: object) -> TypeGuard[tuple[object, ...]]:
    """Whether `value` is a tuple, a named one too."""
    return isinstance(value, tuple)


@cache
def named_tuple(fields: tuple[str, ...]) -> Any:
    """The class of named tuples with these fields, which are known at run time only."""
    return collections.namedtuple("tuple", fields)  # pyright: ignore[reportUntypedNamedTuple]


def is_list_or_tuple(value: object) -> TypeGuard[list[object] | tuple[object, ...]]:
    """Whether `value` is a list or a tuple."""
    return isinstance(value, (list, tuple))


def is_set(value: object) -> TypeGuard[AbstractSet[object]]:
    """Whether `value` is a set, a frozen one too."""
    return isinstance(value, (set, frozenset))


def is_object(value: object) -> TypeGuard[dict[str, object]]:
    """Whether `value`, read from JSON, is an object."""
    return isinstance(value, dict)


Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]
T = TypeVar("T")


def frozen(value: Any) -> Any:
    """`value` with tuples in place of its lists: JSON has no tuples."""
    found: Json = value
    return tuple(map(frozen, found)) if isinstance(found, list) else value


def of_json(kind: type[T], value: object) -> T:
    """The dataclass `kind` of an object read from JSON: every field of the type that the class says. Raises `ValueError`."""
    return _checked(kind, value, kind.__name__)


def _checked(kind: Any, value: object, name: str) -> Any:
    parts: tuple[Any, ...] = typing.get_args(kind)
    match typing.get_origin(kind) or kind:
        case builtins.tuple if is_list_or_tuple(value):
            kinds = parts[:1] * len(value) if parts[1:] == (...,) else parts
            if len(kinds) == len(value):
                return tuple(_checked(one, item, name) for one, item in zip(kinds, value, strict=True))
        case builtins.list if is_list_or_tuple(value):
            return [_checked(parts[0], item, name) for item in value]
        case builtins.dict if is_object(value):
            return {key: _checked(parts[1], item, f"{name}.{key}") for key, item in value.items()}
        case typing.Union | types.UnionType:
            return _any_of(parts, value, name)
        case builtins.object | typing.Any:
            return frozen(value)
        case found if isinstance(found, str | typing.ForwardRef):  # an alias within itself, as `Json`
            return value
        case found if is_dataclass(found) and is_object(value):
            return _record(found, value, name)
        case found if type(value) is found or (found is float and type(value) is int):
            return value
        case _:
            pass
    raise ValueError(f"{name} is {value!r:.80}, no {getattr(kind, '__name__', kind)}")


def _any_of(kinds: tuple[Any, ...], value: object, name: str) -> Any:
    said = f"{name} is {value!r:.80}"
    for kind in kinds:
        try:
            return _checked(kind, value, name)
        except ValueError as error:
            said = str(error)
    raise ValueError(said)


def _record(kind: Any, value: dict[str, object], name: str) -> Any:
    hints = _hints(kind)
    if unknown := value.keys() - hints.keys():
        raise ValueError(f"{name} lacks {', '.join(sorted(unknown))}")
    if missing := [f.name for f in fields(kind) if f.default is f.default_factory is MISSING and f.name not in value]:
        raise ValueError(f"{name} lacks {missing[0]}")
    return kind(**{key: _checked(hints[key], item, key) for key, item in value.items()})


@functools.cache
def _hints(kind: Any) -> dict[str, Any]:
    return typing.get_type_hints(kind)
