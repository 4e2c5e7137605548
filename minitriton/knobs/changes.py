"""Notices that a setting may have changed: a knob was set, or a variable of the environment.

    changes.settings            what was worked out from the settings, or None since something changed
    changes.watched             whether launches are reported to anyone, likewise

Launches ask for them, so asking is one attribute. Changes of `os.environ` are noticed by its class: reading a dozen variables for a launch would
take a third of what the launch takes.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from typing import Any, TypeVar


class Changes:
    """`count` goes up with every change. Who works something out keeps it here if `count` is what it was before."""

    settings: str | None = None
    watched: bool | None = None
    count = 0

    def note(self) -> None:
        """Called after something changed."""
        self.count += 1
        self.settings = None
        self.watched = None


changes = Changes()

T = TypeVar("T")


class NotingList(list[T]):
    """A list, and a note of each change."""


def _noting(name: str) -> Callable[..., Any]:
    method = getattr(list, name)

    def noting(self: NotingList[Any], *args: Any, **kwargs: Any) -> Any:
        result = method(self, *args, **kwargs)
        changes.note()
        return result

    return noting


for _name in (
    *("append", "extend", "insert", "remove", "pop", "clear", "sort", "reverse"),
    *("__setitem__", "__delitem__", "__iadd__", "__imul__"),
):
    setattr(NotingList, _name, _noting(_name))


_environment_class: Any = type(os.environ)


class _NoticedEnvironment(_environment_class):
    """`os.environ`, and a note of each change."""

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(key, value)  # pyright: ignore[reportUnknownMemberType]
        changes.note()

    def __delitem__(self, key: Any) -> None:
        super().__delitem__(key)  # pyright: ignore[reportUnknownMemberType]
        changes.note()


def notice_the_environment() -> None:
    """Has changes of `os.environ` noted from now on."""
    for mapping in (os.environ, getattr(os, "environb", os.environ)):
        if not isinstance(mapping, _NoticedEnvironment):
            with contextlib.suppress(TypeError):  # a program has put a mapping of its own there
                mapping.__class__ = _NoticedEnvironment
