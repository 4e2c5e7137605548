"""A kernel of Triton's as one file that stands by itself, so that any compiler can be given it.

    file = kernel_file(kernel, signature, constants, attrs, options, arch)

In: Triton's `JITFunction` and what a launch made of its arguments. Out: Python text that imports `triton`, defines the kernel,
the functions it calls and the globals it reads, and names the kernel, its signature, constants, attributes, options and
architecture in capitals. Raises `CannotWrite` where a value has no text.
"""

from __future__ import annotations

import ast
import builtins
import math
import sys
from types import ModuleType
from typing import Any

HEADER = "import triton\nimport triton.language as tl\n"


class CannotWrite(Exception):
    """A value that the file would need has no text of its own."""


def expression(value: Any) -> str:
    """Python text whose value is `value`."""
    import triton.language as tl

    if isinstance(value, tl.constexpr):
        return f"tl.constexpr({expression(value.value)})"
    if isinstance(value, tl.dtype):
        return f"tl.dtype({value.name!r})"
    if isinstance(value, float) and not math.isfinite(value):
        return f"float('{value}')"
    if isinstance(value, tuple) and type(value) is tuple:
        return "(" + "".join(expression(v) + ", " for v in value) + ")"
    if isinstance(value, list):
        return "[" + ", ".join(expression(v) for v in value) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{expression(k)}: {expression(v)}" for k, v in value.items()) + "}"
    if value is None or type(value) in (bool, int, float, str):
        return repr(value)
    raise CannotWrite(f"{value!r} of type {type(value).__name__}")


class _Globals:
    """Collects the lines that define what kernels read, each name once."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.meaning: dict[str, Any] = {}

    def define(self, name: str, value: Any) -> None:
        from triton.runtime.jit import JITFunction

        if name in ("tl", "triton"):
            return
        if name in self.meaning:
            if self.meaning[name] is not value and self.meaning[name] != value:
                raise CannotWrite(f"two meanings of {name}")
            return
        self.meaning[name] = value
        if isinstance(value, JITFunction):
            self.define_function(name, value)
        elif isinstance(value, ModuleType):
            self.lines.append(f"import {value.__name__} as {name}")
        elif is_of_language(value):
            self.lines.append(f"from {public_module(value)} import {value.__name__} as {name}")
        else:
            self.lines.append(f"{name} = {expression(value)}")

    def define_function(self, name: str, function: Any) -> None:
        """The functions and globals that `function` reads, then itself, also under `name`."""
        if function.__name__ != name:
            self.meaning.setdefault(function.__name__, function)
        if function.module.startswith("triton.language"):
            self.lines.append(f"from {function.module} import {function.__name__} as {name}")
            return
        scope = function.get_capture_scope()
        for read in names_read(function.src):
            if read in scope:
                self.define(read, scope[read])
            elif not hasattr(builtins, read) and read != function.__name__:
                raise CannotWrite(f"{read} is not defined")
        options = "(noinline=True)" if function.noinline else ""
        self.lines.append(f"@triton.jit{options}\n{function.src.rstrip()}\n")
        if function.__name__ != name:
            self.lines.append(f"{name} = {function.__name__}")


def is_of_language(value: Any) -> bool:
    """Whether `value` is a function or class of `triton.language`."""
    return hasattr(value, "__name__") and (getattr(value, "__module__", None) or "").startswith("triton.language")


def public_module(value: Any) -> str:
    """The outermost package of `triton.language` that has `value`."""
    parts = value.__module__.split(".")
    names = [".".join(parts[:n]) for n in range(2, len(parts) + 1)]
    return next(n for n in names if getattr(sys.modules.get(n), value.__name__, None) is value)


def names_read(source: str) -> list[str]:
    """The names that a function reads and does not assign, in order."""
    function = ast.parse(source).body[0]
    assert isinstance(function, ast.FunctionDef)
    assigned = {a.arg for a in ast.walk(function) if isinstance(a, ast.arg)}
    loads: dict[str, None] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Load):
                loads[node.id] = None
            else:
                assigned.add(node.id)
    return [name for name in loads if name not in assigned]


def kernel_file(kernel: Any, signature: Any, constants: Any, attrs: Any, options: dict[str, Any], arch: int) -> str:
    """The file of one kernel. Raises `CannotWrite`."""
    from triton.runtime.jit import JITFunction

    found = _Globals()
    found.define(kernel.__name__, kernel)
    values: dict[Any, str] = {}
    for path, value in constants.items():
        if isinstance(value, JITFunction) or is_of_language(value):
            found.define(value.__name__, value)
            values[path] = value.__name__
        else:
            values[path] = expression(value)
    body = "\n".join(found.lines)
    described = "{" + ", ".join(f"{path!r}: {text}" for path, text in values.items()) + "}"
    return (
        f"{HEADER}{body}\nKERNEL = {kernel.__name__}\nSIGNATURE = {expression(signature)}\nCONSTANTS = {described}\n"
        f"ATTRS = {expression(attrs)}\nOPTIONS = {expression(options)}\nARCH = {arch}\n"
    )
