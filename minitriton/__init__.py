"""minitriton: a Triton-compatible GPU compiler in pure Python.

    import minitriton as triton
    import minitriton.language as tl

The names below are Triton's; each is imported when first used, so `import minitriton` costs nothing.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

_EXPORTS = {
    "jit": "minitriton.runtime.jit",
    "JITFunction": "minitriton.runtime.jit",
    "MockTensor": "minitriton.runtime.jit",
    "compile": "minitriton.compiler",
    "cdiv": "minitriton.host.functions",
    "next_power_of_2": "minitriton.host.functions",
    "TritonError": "minitriton.errors",
    "OutOfResources": "minitriton.errors",
    "InterpreterError": "minitriton.runtime.errors",
    "KernelInterface": "minitriton.runtime.kernel_interface",
    "autotune": "minitriton.runtime.autotuner",
    "Config": "minitriton.runtime.autotuner",
    "heuristics": "minitriton.runtime.autotuner",
    "TensorWrapper": "minitriton.runtime.tensor_wrapper",
    "reinterpret": "minitriton.runtime.tensor_wrapper",
    "set_allocator": "minitriton.runtime._allocation",
    "AsyncCompileMode": "minitriton.runtime._async_compile",
    "FutureKernel": "minitriton.runtime._async_compile",
    "CompilationError": "minitriton.frontend.errors",
    "aggregate": "minitriton.language.aggregates",
    "constexpr_function": "minitriton.frontend.function",
    "must_use_result": "minitriton.language.declare",
}
_MODULES = ("language", "testing", "runtime", "compiler", "backends", "tools", "errors", "target", "knobs", "_C")

__all__ = ["__version__", *_EXPORTS, *_MODULES[:-1]]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name in _EXPORTS:
        value = getattr(importlib.import_module(_EXPORTS[name]), name)
        globals()[name] = value
        return value
    if name in _MODULES:
        return importlib.import_module(f"minitriton.{name}")
    raise AttributeError(f"module 'minitriton' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
