"""Colour on a terminal, nothing but text in a pipe (https://no-color.org).

painted("12", "31", is_coloured())      red on a terminal
"""

from __future__ import annotations

import os
import sys

RED, GREEN, YELLOW, BLUE, CYAN, BOLD, FAINT = "31", "32", "33", "34", "36", "1", "2"


def is_coloured() -> bool:
    """Whether standard output is a terminal, and NO_COLOR is not set."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def painted(text: str, code: str, colour: bool) -> str:
    """`text` in the colour that `code` says, where `colour` does."""
    return f"\x1b[{code}m{text}\x1b[0m" if colour and code else text


def background(number: int, of: int) -> str:
    """A code that tells `number` of `of` from its neighbours by its background, in the 256 colours of terminals."""
    wheel = (203, 114, 221, 75, 176, 80, 215, 150, 210, 117, 186, 141, 116, 223, 181, 152)
    return f"30;48;5;{wheel[number % len(wheel)] if of <= len(wheel) else 17 + (number * 37) % 214}"
