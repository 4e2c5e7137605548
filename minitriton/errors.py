"""Errors that carry a location in the user's source.

In: what went wrong, where (a kernel's file and line, or an IR text's), and what to do about it.
Out: one exception whose message a kernel author can act on without reading the compiler.

    kernel.py:12:8: error: cannot load through a value of type int32
        x = tl.load(n)
            ^
    help: pass a pointer, such as `base + offsets`
"""

import importlib
import inspect
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple


class SourceLocation(NamedTuple):
    """A location in a text: `file`, 1-based `line`, 1-based `column` (0 when not known)."""

    file: str
    line: int
    column: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}" if self.column else f"{self.file}:{self.line}"


_OWN_FOLDER = str(Path(__file__).parent)


def location_of_caller() -> SourceLocation | None:
    """The line outside of minitriton, and of code that it generates, from which it was called."""
    frame = inspect.currentframe()
    while frame is not None and frame.f_code.co_filename.startswith((_OWN_FOLDER, "<")):
        frame = frame.f_back
    return None if frame is None else SourceLocation(frame.f_code.co_filename, frame.f_lineno)


class MinitritonError(Exception):
    """Base of every error that minitriton raises on purpose.

    `message` says what was expected and found, `location` where, `help` what to do, `source_line` the text at the location.
    """

    def __init__(
        self,
        message: str,
        location: SourceLocation | None = None,
        *,
        help: str | None = None,
        source_line: str | None = None,
    ) -> None:
        self.message = message
        self.location = location
        self.help = help
        self.source_line = source_line
        super().__init__(message)

    def __str__(self) -> str:
        lines = [f"{self.location}: error: {self.message}" if self.location else self.message]
        if self.source_line is not None:
            text, column = _around(self.source_line.rstrip(), self.location.column if self.location else 0)
            lines.append("    " + text)
            if column:
                lines.append("    " + " " * (column - 1) + "^")
        if self.help:
            lines.append(f"help: {self.help}")
        return "\n".join(lines)


MOST_SHOWN = 240
"""Characters that an error shows of the line at its location."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`did you mean 'x'?`, the known name that is most like `name`; "" if none is."""
    from difflib import get_close_matches

    close = get_close_matches(name, list(known), n=1)
    return f"did you mean {close[0]!r}?" if close else ""


def optional_library(name: str, needed_by: str) -> Any:
    """The module `name` of a library that not every installation has. Raises `MinitritonError` that says how to install it."""
    try:
        return importlib.import_module(name)
    except ImportError:
        library = name.partition(".")[0]
        raise MinitritonError(f"{needed_by} needs {library}", help="pip install 'minitriton[lab]'") from None


def _around(line: str, column: int) -> tuple[str, int]:
    """The part of a line around a column, and that column within it."""
    if len(line) <= MOST_SHOWN:
        return line, column
    first = max(0, column - MOST_SHOWN // 2)
    return line[first : first + MOST_SHOWN], column - first if column else 0


class IRError(MinitritonError):
    """IR text that does not parse, or IR that does not verify."""


class PipelineError(MinitritonError):
    """A pipeline that names an unknown pass or option, or whose order breaks a pass's contract."""


class BrokenContract(PipelineError):
    """A pass that is to run where a fact that it needs does not hold. `makers`: passes that would establish it."""

    makers: tuple[str, ...] = ()


class PassError(MinitritonError):
    """A pass met IR that it must refuse (never an internal failure: those keep their traceback)."""


class LoweringError(MinitritonError):
    """An op that the target or the lowering cannot express."""


class AssemblerError(MinitritonError):
    """PTX that the assembler refuses."""


class OutOfResources(MinitritonError):
    """A kernel needs more of a hardware resource than the target has.

    `required` and `limit` are in the units that `name` implies (bytes of shared memory, threads, registers).
    """

    @property
    def error_message(self) -> str:
        """Triton's name for the message."""
        return self.message

    def __init__(self, required: int, limit: int, name: str, location: SourceLocation | None = None) -> None:
        self.required = required
        self.limit = limit
        self.name = name
        super().__init__(
            f"out of resource: {name}, Required: {required}, Hardware limit: {limit}.",
            location,
            help="Reducing block sizes or `num_stages` may help.",
        )

    def __reduce__(self) -> tuple[type, tuple[int, int, str]]:
        return (type(self), (self.required, self.limit, self.name))


TritonError = MinitritonError
"""The name that Triton programs catch."""
