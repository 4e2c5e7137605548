"""Errors in a kernel's source, with the location in its file, and what to do about those that do not say it themselves.

    kernel.py:12:8: error: arange's range must be a power of 2
    at 2:4:
    def kernel(x):
        tl.arange(0, 7)
        ^
    help: round up with triton.next_power_of_2 and mask the rest

    try:  in a kernel         INSTEAD[ast.Try]       "kernels cannot raise: ..."
    tl.laod(x)                help_for(error, ...)   "did you mean 'load'?"

Class names, `src`, `node` and `error_message` are Triton's; line and column after `at` count from the function's `def`.
"""

import ast
import inspect
from collections.abc import Iterable

from minitriton.errors import MinitritonError, SourceLocation, did_you_mean
from minitriton.language.declare import Declaration
from minitriton.language.values import handle_value

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


_LOOP_EXIT = "compute in every iteration and mask the result with tl.where, or bound the loop by `while condition`"
_HELPER = "write it as a function of the module, decorated with @triton.jit"
_COLLECTION = "use a tuple: kernels know only that collection"

INSTEAD: dict[type[ast.AST], str] = {
    ast.Break: _LOOP_EXIT,
    ast.Continue: "put the rest of the body under `if`, or mask it with tl.where",
    ast.With: "call the operations without `with`",
    ast.Try: "kernels cannot raise: test with `if`, or tl.device_assert",
    ast.Raise: "kernels cannot raise: use tl.device_assert, or tl.static_assert for what is known at compile time",
    ast.Lambda: _HELPER,
    ast.FunctionDef: _HELPER,
    ast.ClassDef: "define classes outside of kernels",
    ast.Yield: "kernels return nothing: store results with tl.store",
    ast.YieldFrom: "kernels return nothing: store results with tl.store",
    ast.Global: "kernels cannot change variables of the module: store results with tl.store",
    ast.Nonlocal: "kernels cannot change variables of the module: store results with tl.store",
    ast.Delete: "leave the variable: it costs nothing",
    ast.Import: "import at the top of the file",
    ast.ImportFrom: "import at the top of the file",
    ast.Dict: _COLLECTION,
    ast.Set: _COLLECTION,
    ast.DictComp: _COLLECTION,
    ast.SetComp: _COLLECTION,
    ast.GeneratorExp: _COLLECTION,
    ast.Match: "write `if` and `elif`",
    ast.MatMult: "write tl.dot(a, b)",
    ast.Pow: "write x * x, or libdevice.pow(x, y) of triton.language.extra",
}
"""What to write instead of Python that kernels cannot contain."""


def help_for(error: Exception, names: Iterable[str]) -> str | None:
    """The error's own help, or the closest of the known names for one that is not defined. `names`: the local variables."""
    own = getattr(error, "help", None)
    if own:
        return own
    if isinstance(error, NameError):
        return did_you_mean(error.name or "", names) or "assign it before, or make it a parameter"
    if isinstance(error, AttributeError) and isinstance(error.obj, handle_value):
        return error.obj.as_tensor
    if isinstance(error, AttributeError) and error.obj is not None:
        return did_you_mean(error.name or "", (n for n in dir(error.obj) if not n.startswith("_"))) or None
    return None


def without_help(error: Exception) -> str:
    """The text of an error; of one of minitriton's that names no location, without the help, which `help_for` gives."""
    return error.message if isinstance(error, MinitritonError) and error.location is None else str(error)


def call_help(function: Declaration[..., object], error: Exception) -> str | None:
    """How `function` is called, if `error` says that a call did not fit its parameters."""
    if type(error) is not TypeError:
        return None
    shown = [
        str(p.replace(annotation=p.empty)) for p in inspect.signature(function).parameters.values() if p.name[0] != "_"
    ]
    return f"{function.__name__}({', '.join(shown)})"
