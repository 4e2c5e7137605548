"""A line of a state's text, with what is known of it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Line:
    """One line of text. `op`: the number of the op that begins on it, 0 for none. `source`: the user's file and line."""

    text: str
    op: int = 0
    source: tuple[str, int] | None = None
    defines: tuple[str, ...] = ()
    uses: tuple[str, ...] = ()
    number: int = 0
    """Of LLVM IR and PTX, the line's number from 1 in the whole text, some lines of which are not shown."""
