"""Reading files that anything may have happened to, or that somebody else wrote: an error that says which file and why, never a wait, never
more memory than the file may take.

    read_regular(path, 1 << 20)     its bytes       a pipe, a device and a larger file are errors
    parse_json(text)                                nested a thousand deep: an error, not the end of the stack
    unpacked(data, 1 << 20)                         a zlib stream of a kilobyte that would become a gigabyte: an error
    with damage_of(path): ...                       what the reading code raises in there, as `DamagedFile`
"""

import contextlib
import json
import os
import stat
import zlib
from collections.abc import Generator
from pathlib import Path
from typing import Any

from minitriton.errors import MinitritonError

MOST_BYTES = 1 << 30
"""Of a file that is read at once and has no limit of its own."""


class DamagedFile(MinitritonError):
    """A file that does not hold what it was written with."""

    def __init__(self, path: str | Path, why: str, help: str | None = None) -> None:
        super().__init__(
            f"cannot read {path}: {why}", help=help or "write it again, or take a copy from before it was damaged"
        )


def read_regular(path: Path, most_bytes: int = MOST_BYTES) -> bytes:
    """The contents of a plain file. Raises `OSError` for what is none, without waiting for it, and for a larger one."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(0, "it is not a plain file")
        content = file.read(most_bytes + 1) if found.st_size <= most_bytes else None
        if content is None or len(content) > most_bytes:
            raise OSError(0, f"it has more than {most_bytes} bytes")
        return content


def parse_json(text: str | bytes) -> Any:
    """What JSON says. Raises `ValueError`, for what is nested too deeply too."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("JSON nested too deeply") from None


def unpacked(data: bytes, most_bytes: int) -> bytes:
    """What zlib packed. Raises `ValueError` for what it did not, and for more than `most_bytes`."""
    unpacker = zlib.decompressobj()
    try:
        found = unpacker.decompress(data, most_bytes)
    except zlib.error as error:
        raise ValueError(str(error)) from None
    if not unpacker.eof:
        raise ValueError(f"packed data without its end, or of more than {most_bytes} bytes")
    return found


@contextlib.contextmanager
def damage_of(path: str | Path, help: str | None = None) -> Generator[None]:
    """Errors of reading and decoding `path` as `DamagedFile`; errors of minitriton's own stay."""
    try:
        yield
    except MinitritonError:
        raise
    except (
        OSError,
        ValueError,
        LookupError,
        TypeError,
        AttributeError,
        ArithmeticError,
        MemoryError,
        RecursionError,
    ) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else f"{error}"
        if isinstance(error, LookupError):
            why = f"it lacks {error}"
        raise DamagedFile(path, why or type(error).__name__, help) from error
