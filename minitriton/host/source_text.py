"""The text of source files: of those that somebody named on purpose, and of those that only data names.

A location in IR text, in PTX or in a recorded launch names a file, and whoever wrote the text chose which: `loc("/home/me/.ssh/id_ed25519")`,
`loc("/dev/zero")`. So such a file is read only if it is an ordinary, small file of source text in a folder that the user gave
(docs/security.md, "Text that is shown").
"""

import io
import linecache
import os
import sys
import tokenize
from pathlib import Path

from minitriton.host.damaged_files import read_regular

MOST_BYTES = 4 << 20
"""Of a file of source text: 100,000 lines of 40 characters."""

SUFFIXES = frozenset({".py", ".pyi", ".ttir", ".ttgir", ".gluon", ".mlir", ".llir", ".ll", ".ptx", ".cu", ".cuh", ".h"})

_PACKAGE = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
_given: set[str] = set()


def source_text(path: str) -> str:
    """The text of a file that the user named, in the encoding that it declares. Raises `OSError`, and `ValueError` or `SyntaxError` where its
    bytes are no text."""
    content = read_regular(Path(path), MOST_BYTES)
    encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
    return io.TextIOWrapper(io.BytesIO(content), encoding).read()


def give_folder_of(path: str | Path) -> None:
    """The user named `path`: text of its folder, and of those below it, may be shown."""
    _given.add(os.path.dirname(os.path.realpath(path)))


def forget_changed_texts() -> None:
    """Files that changed on disk are read again."""
    linecache.checkcache()


def text_at(name: str) -> str | None:
    """The text of the file that data names; None where it may not be shown or cannot be read."""
    entered = linecache.cache.get(name)
    if entered is not None and len(entered) == 4 and entered[1] is None:  # never on disk, as the cells of a notebook
        return "".join(entered[2])
    try:
        return source_text(name) if _may_be_shown(os.path.realpath(name)) else None
    except (OSError, ValueError, SyntaxError):
        return None


def line_at(name: str, line: int) -> str | None:
    """Line `line`, from 1, of the file that data names; None likewise, and where it has no such line or an empty one."""
    lines = (text_at(name) or "").split("\n")
    return lines[line - 1] or None if 0 < line <= len(lines) else None


def _may_be_shown(path: str) -> bool:
    if os.path.splitext(path)[1] not in SUFFIXES:
        return False
    return is_below(path, folders_given()) or any(getattr(m, "__file__", None) == path for m in [*sys.modules.values()])


def folders_given() -> list[str]:
    """The folders whose source text may be shown: this one, those of modules, those of files that the user named, and of `MINITRITON_TRUSTED`."""
    from minitriton import knobs

    folders = [_PACKAGE, os.getcwd(), *_given, *knobs.runtime.trusted, *filter(os.path.isabs, sys.path)]
    return [folder for folder in map(os.path.realpath, folders) if folder != os.path.abspath(os.sep)]


def is_below(path: str, folders: list[str]) -> bool:
    """Whether the real path is of a file in one of the folders, or below it."""
    return any(path.startswith(folder + os.sep) for folder in folders)
