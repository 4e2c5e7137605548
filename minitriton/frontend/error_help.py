"""What to do about an error in a kernel, where the error itself does not say.

In: a kind of syntax, or what Python raised while a line was compiled. Out: one line of advice, or None.

    try:  in a kernel         INSTEAD[ast.Try]       "kernels cannot raise: ..."
    tl.laod(x)                help_for(error, ...)   "did you mean 'load'?"
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterable

from minitriton.errors import MinitritonError, did_you_mean
from minitriton.language.declare import Declaration
from minitriton.language.values import handle_value

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
