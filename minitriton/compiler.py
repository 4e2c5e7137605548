"""The module that Triton programs know as `triton.compiler`: sources, `compile`, and the kernel that it gives."""

from __future__ import annotations

import importlib
from typing import Any

from minitriton.compilation.ast_source import ASTSource
from minitriton.compilation.ir_source import IRSource
from minitriton.runtime.compiled_kernel import CompiledKernel
from minitriton.runtime.compiling import compile
from minitriton.runtime.default_target import default_target

__all__ = ["ASTSource", "CompiledKernel", "IRSource", "compile", "default_target"]

_OF_TRITON = {
    "AsmDict": ("minitriton.runtime.compiled_parts", "AsmDict"),
    "CompilationError": ("minitriton.frontend.errors", "CompilationError"),
    "LazyDict": ("minitriton.runtime.launching.launch_hooks", "LazyDict"),
    "compiler": ("minitriton.compiler", None),
    "code_generator": ("minitriton.frontend.code_generator", None),
    "errors": ("minitriton.frontend.errors", None),
    "get_cache_key": ("minitriton.runtime.cache", "get_cache_key"),
    "make_backend": ("minitriton.backends.compiler", "make_backend"),
    "triton_key": ("minitriton.runtime.cache", "triton_key"),
}
"""What else Triton has in its module of this name: where it is here."""


def __getattr__(name: str) -> Any:
    if name not in _OF_TRITON:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, attribute = _OF_TRITON[name]
    found = importlib.import_module(module)
    return found if attribute is None else getattr(found, attribute)
