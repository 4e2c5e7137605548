"""Notices that a setting may have changed: a knob was set, or a variable of the environment.

    changes.settings            what was worked out from the settings, or None since something changed

Launches ask for it, so asking is one attribute. Changes of `os.environ` are noticed by its class: reading a dozen variables for a launch would
take a third of what the launch takes.
"""

from __future__ import annotations

import os
from typing import Any


class Changes:
    """`count` goes up with every change. Who works something out keeps it in `settings` if `count` is what it was before."""

    settings: str | None = None
    count = 0

    def note(self) -> None:
        """Called after something changed."""
        self.count += 1
        self.settings = None


changes = Changes()

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
            mapping.__class__ = _NoticedEnvironment
