"""Functions that stop a program in a debugger, by which kernels on the interpreter stop too.

breakpoint, pdb.set_trace, ipdb.set_trace, debugpy.breakpoint      →  True
"""

import builtins
import importlib
from collections.abc import Callable
from types import FunctionType


def at_breakpoint() -> None:
    """What `breakpoint` is in a kernel: whatever a program has put in its place by then."""
    builtins.breakpoint()


def stops(function: object) -> bool:
    """Whether `function` is `breakpoint`, or the like of a debugger."""
    if function is builtins.breakpoint or function is at_breakpoint:
        return True
    is_named = isinstance(function, FunctionType) and function.__name__ in ("set_trace", "breakpoint")
    return is_named and function.__module__.partition(".")[0] in ("IPython", "debugpy", "ipdb", "pdb", "pudb")


def name_of(function: Callable[..., object]) -> str:
    """`module:name` of such a function. What a program puts in place of `breakpoint` keeps that name: it may be local to a test."""
    is_builtin = function is builtins.breakpoint or function is at_breakpoint
    return "builtins:breakpoint" if is_builtin else f"{function.__module__}:{function.__name__}"


def named(name: str) -> Callable[[], None]:
    """The function called `module:name`."""
    module, _, function = name.partition(":")
    return getattr(importlib.import_module(module), function)
