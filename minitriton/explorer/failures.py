"""Errors as answers: plain values that say what is wrong, where, and what to do, in place of what was asked for.

answered(lambda: run(session, question))        what it gives, or {"error": {"message": ..., "file": ..., "line": ...}}
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import TypeVar

from minitriton.errors import BrokenContract, MinitritonError
from minitriton.explorer.wire import Failure, Problem
from minitriton.host.source_text import text_at

_T = TypeVar("_T")
_LEAST_MEMORY = 8 << 30


def most_memory() -> int:
    """Bytes of address space that a process may have: half of the machine's memory, at least 8 GiB. (LLVM, NumPy and the forked
    libraries take 3 GiB of address space before a kernel is compiled.)"""
    return max(_LEAST_MEMORY, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2)


def answered(service: Callable[[], _T]) -> _T | Failure:
    """What a service says, or why it says nothing."""
    try:
        return service()
    except Exception as error:
        return as_error(error)


def error_bytes(error: BaseException) -> bytes:
    """An error as an answer."""
    return json.dumps(as_error(error)).encode()


def as_error(error: BaseException) -> Failure:
    """An error as plain values: what a page shows, and where."""
    if isinstance(error, MinitritonError):
        inner = _innermost(error)
        location = inner.location
        said: Problem = {
            "message": error.message, "help": error.help, "text": str(error), "source_line": inner.source_line,
            "file": location.file if location else None, "line": location.line if location else None, "column": location.column if location else None,
            "source": text_at(location.file) if location else None,
        }  # fmt: skip
        if isinstance(error, BrokenContract):
            said["contract"] = True
    elif isinstance(error, MemoryError):
        return as_error(
            MinitritonError(
                f"out of memory: a process of the explorer may have {most_memory() >> 30} GiB",
                help="take smaller tiles or arrays",
            )
        )
    else:
        said = {"message": f"{type(error).__name__}: {error}", "text": f"{type(error).__name__}: {error}"}
    return {"error": said}


def _innermost(error: MinitritonError) -> MinitritonError:
    """Of an error in a function that the kernel calls the one at the line that is wrong, where that is in the same file."""
    cause = error.__cause__ or error.__context__
    while isinstance(cause, MinitritonError) and cause.location is not None and error.location is not None:
        if cause.location.file != error.location.file:
            break
        error = cause
        cause = error.__cause__ or error.__context__
    return error
