"""Whether a value of any type is a container: `isinstance` that says of what, where a type checker would know `list[Unknown]`.

if isinstance(value, list): value[0]    of unknown type
if is_list(value): value[0]             an object, which is asked in its turn
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import TypeGuard


def is_list(value: object) -> TypeGuard[list[object]]:
    """Whether `value` is a list."""
    return isinstance(value, list)


def is_tuple(value: object) -> TypeGuard[tuple[object, ...]]:
    """Whether `value` is a tuple, a named one too."""
    return isinstance(value, tuple)


def is_list_or_tuple(value: object) -> TypeGuard[list[object] | tuple[object, ...]]:
    """Whether `value` is a list or a tuple."""
    return isinstance(value, (list, tuple))


def is_set(value: object) -> TypeGuard[AbstractSet[object]]:
    """Whether `value` is a set, a frozen one too."""
    return isinstance(value, (set, frozenset))


def is_object(value: object) -> TypeGuard[dict[str, object]]:
    """Whether `value`, read from JSON, is an object."""
    return isinstance(value, dict)
