"""Errors in a kernel's source, with the location in its file.

    kernel.py:12:8: error: arange's range must be a power of 2
    at 2:4:
    def kernel(x):
        tl.arange(0, 7)
        ^
    help: round up with triton.next_power_of_2 and mask the rest

Class names, `src`, `node` and `error_message` are Triton's; line and column after `at` count from the function's `def`.
"""

from __future__ import annotations

import ast

from minitriton.errors import MinitritonError, SourceLocation

_EXCERPT_LINES = 12


class CompilationError(MinitritonError):
    """A kernel that does not compile. `__cause__` is the error in a called function or operation, if that is the reason."""

    def __init__(
        self,
        src: str | None,
        node: ast.AST | None,
        error_message: str | None = None,
        *,
        location: SourceLocation | None = None,
        help: str | None = None,
    ) -> None:
        self.src = src
        self.node = node
        self.error_message = error_message
        super().__init__(error_message or "the error is in a function called from here", location, help=help)

    def _excerpt(self) -> str:
        if self.src is None:
            return " <source unavailable>"
        if not isinstance(self.node, (ast.stmt, ast.expr, ast.arg, ast.keyword)):
            return self.src
        lines = self.src.split("\n")[: self.node.lineno][-_EXCERPT_LINES:]
        lines.append(" " * self.node.col_offset + "^")
        return f"at {self.node.lineno}:{self.node.col_offset}:\n" + "\n".join(lines)

    def __str__(self) -> str:
        parts = [self._excerpt()]
        if self.location is not None:
            parts.insert(0, f"{self.location}: error: {self.message}")
        if self.help:
            parts.append(f"help: {self.help}")
        if self.error_message and self.location is None:
            parts.append(self.error_message)
        return "\n".join(parts)

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.src, self.node, self.error_message, self.location, self.help)


def _rebuild(
    cls: type[CompilationError],
    src: str | None,
    node: ast.AST | None,
    message: str | None,
    location: SourceLocation | None,
    help: str | None,
) -> CompilationError:
    return cls(src, node, message, location=location, help=help)


class CompileTimeAssertionFailure(CompilationError):
    """`tl.static_assert` on a false condition."""


class UnsupportedLanguageConstruct(CompilationError):
    """Python that kernels cannot contain."""


class LanguageError(Exception):
    """A rule of the language that an operation's arguments break. Carries what to do about it; gets its location on the way out."""

    def __init__(self, message: str, help: str | None = None) -> None:
        super().__init__(message)
        self.help = help


class LanguageTypeError(LanguageError, TypeError):
    """Values of types that do not fit."""


class LanguageValueError(LanguageError, ValueError):
    """Arguments of fitting types whose values do not fit."""


class GlobalVariableError(LanguageError, NameError):
    """A global variable that kernels may not read."""


class UnsupportedReference(CompilationError, RuntimeError):
    """A kernel that names a Python function which is none of the language. A `RuntimeError`, as in Triton."""


def location_of(node: ast.AST, file: str, first_line: int) -> SourceLocation | None:
    """Where `node` stands in `file`, whose function's `def` is line `first_line`."""
    line = getattr(node, "lineno", None)
    return None if line is None else SourceLocation(file, first_line - 1 + line, getattr(node, "col_offset", 0) + 1)
