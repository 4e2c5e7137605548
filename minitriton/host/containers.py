"""Containers of values of any type. Whether a value is one: `isinstance` that says of what, where a type checker would know `list[Unknown]`.

if isinstance(value, list): value[0]    of unknown type
if is_list(value): value[0]             an object, which is asked in its turn
"""

from __future__ import annotations

import collections
from collections.abc import Set as AbstractSet
from functools import cache
from typing import Any, TypeGuard


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
