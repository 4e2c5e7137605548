"""Standard output of a command: its reader may leave before its end, and may be a program (`--json`)."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import io
import json
import os
import shutil
import sys
from collections.abc import Callable, Generator
from enum import Enum
from pathlib import Path

from minitriton.errors import MinitritonError
from minitriton.host.json_values import is_set


@contextlib.contextmanager
def until_the_reader_leaves() -> Generator[None]:
    """Lets the output end where its reader stops reading, as in `minitriton compile ... | head`; where a disk is full the command ends with an error.

    What the terminal's encoding cannot say is written as an escape.
    """
    output: object = sys.stdout
    if isinstance(output, io.TextIOWrapper):
        output.reconfigure(errors="backslashreplace")
    try:
        yield
        sys.stdout.flush()
    except OSError as error:
        # Python flushes standard output once more when it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            print(f"cannot write: {error.strerror}", file=sys.stderr)
            sys.exit(1)


def add_json(parser: argparse.ArgumentParser) -> None:
    """Adds `--json` to a command."""
    parser.add_argument("--json", action="store_true", help="machine-readable")


def print_json(value: object) -> None:
    """One line of JSON; dataclasses as objects."""
    print(json.dumps(value, default=_plain))


def print_error(error: MinitritonError, *, as_json: bool) -> None:
    """An error on standard error; `as_json`: as an object with its location on standard output too, where a program reads."""
    print(error, file=sys.stderr)
    if as_json:
        location = error.location
        where = {"file": location.file, "line": location.line, "column": location.column} if location else {}
        print_json({"error": {"message": error.message, "help": error.help, **where}})


def _plain(value: object) -> object:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value) if field.repr}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Path):
        return str(value)
    if is_set(value):
        return sorted(map(str, value))
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")


# What a command is at, on standard error, where somebody looks: a line that the next one takes the place of.
#
# with progress() as show:
#     show("checking softmax: 12 of 72 passes, cse")

_BEGIN = "\r\x1b[K"
"""To the line's begin, which is emptied."""


def show_progress(text: str) -> None:
    """Shows `text`, shortened to the terminal's width; nothing more where it is empty. Says nothing where standard error is no terminal."""
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
