"""What the commands of `minitriton` are added to."""

import os
from argparse import ArgumentParser
from pathlib import Path
from typing import Protocol

from minitriton.errors import MinitritonError
from minitriton.host.whole_file import write_whole


class Subcommands(Protocol):
    """A set of subcommands, as `ArgumentParser.add_subparsers` makes it."""

    def add_parser(self, name: str, *, help: str) -> ArgumentParser: ...


# Files that a command is asked to write: a path that cannot be written is said, before the work where it takes long.


def check_writable(path: Path) -> None:
    """Raises `MinitritonError` where `path` cannot become a file: no such folder, a folder itself, not ours to write."""
    folder = path.parent
    if not folder.is_dir():
        raise _cannot_write(path, f"folder {folder} is missing")
    if path.is_dir():
        raise _cannot_write(path, "it is a folder")
    if not os.access(path if path.exists() else folder, os.W_OK):
        raise _cannot_write(path, "permission denied")


def write_output(path: Path, content: str | bytes) -> None:
    """Writes the file. Raises `MinitritonError` where it cannot be written, or the disk is full."""
    try:
        write_whole(path, content)
    except OSError as error:
        raise _cannot_write(path, error.strerror or str(error)) from None


def _cannot_write(path: Path, why: str) -> MinitritonError:
    return MinitritonError(f"cannot write {path}: {why}", help="name a file in a folder that is there")
