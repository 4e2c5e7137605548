"""The module that Triton programs know as `triton.compiler`: sources, `compile`, and the kernel that it gives."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from minitriton.pipeline.ast_source import ASTSource
from minitriton.runtime.compiled_kernel import CompiledKernel
from minitriton.runtime.default_target import default_target

if TYPE_CHECKING:
    from minitriton.pipeline.ir_source import IRSource
    from minitriton.runtime.compiling import compile

__all__ = ["ASTSource", "CompiledKernel", "IRSource", "compile", "default_target"]

_LATER = {
    "IRSource": ("minitriton.pipeline.ir_source", "IRSource"),
    "compile": ("minitriton.runtime.compiling", "compile"),
    "AsmDict": ("minitriton.runtime.stored_kernel", "AsmDict"),
    "CompilationError": ("minitriton.frontend.errors", "CompilationError"),
    "LazyDict": ("minitriton.runtime.launching.launch_hooks", "LazyDict"),
    "compiler": ("minitriton.as_triton.compiler", None),
    "code_generator": ("minitriton.frontend.code_generator", None),
    "errors": ("minitriton.frontend.errors", None),
    "get_cache_key": ("minitriton.runtime.cache", "get_cache_key"),
    "make_backend": ("minitriton.backends.compiler", "make_backend"),
    "triton_key": ("minitriton.runtime.cache", "triton_key"),
}
"""What brings the compiler with it, and what else Triton has in its module of this name: where it is here."""


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, attribute = _LATER[name]
    found = importlib.import_module(module)
    return found if attribute is None else getattr(found, attribute)
