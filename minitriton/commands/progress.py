"""What a command is at, on standard error, where somebody looks: a line that the next one takes the place of.

with progress() as show:
    show("checking softmax: 12 of 72 passes, cse")
"""

from __future__ import annotations

import contextlib
import shutil
import sys
from collections.abc import Callable, Generator

_BEGIN = "\r\x1b[K"
"""To the line's begin, which is emptied."""


def show_progress(text: str) -> None:
    """Shows `text`, cut to the terminal's width; nothing more where it is empty. Says nothing where standard error is no terminal."""
    if not sys.stderr.isatty():
        return
    room = shutil.get_terminal_size().columns - 2
    print(f"{_BEGIN}{text[:room]}…" if text else _BEGIN, end="", file=sys.stderr, flush=True)


@contextlib.contextmanager
def progress() -> Generator[Callable[[str], None]]:
    """Gives `show_progress`; the line is empty afterwards, whatever happens."""
    try:
        yield show_progress
    finally:
        show_progress("")
