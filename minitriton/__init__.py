"""minitriton: a Triton-compatible GPU compiler in pure Python.

    import minitriton as triton
    import minitriton.language as tl

The names below are Triton's; each is imported when first used, so `import minitriton` costs nothing.
"""

import importlib
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

__version__ = "0.1.0"

_EXPORTS = {
    "jit": "minitriton.runtime.jit",
    "JITFunction": "minitriton.runtime.jit",
    "MockTensor": "minitriton.runtime.jit",
    "compile": "minitriton.as_triton.compiler",
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
_ELSEWHERE = {
    "_C": "as_triton._C",
    "_filecheck": "as_triton._filecheck",
    "_internal_testing": "as_triton._internal_testing",
    "_utils": "as_triton._utils",
    "compiler": "as_triton.compiler",
    "experimental": "as_triton.experimental",
    "experimental.gluon.language": "language.gluon",
    "experimental.gluon.language._core": "language.gluon.core",
    "experimental.gluon.language._layouts": "language.gluon.layouts",
    "experimental.gluon._runtime": "runtime.gluon",
    "opt": "commands.opt",
    "pass_manager": "pipeline.pass_manager",
    "pass_registry": "pipeline.pass_registry",
    "pipelines": "pipeline.pipelines",
    "profiler": "as_triton.profiler",
    "run_as_triton": "as_triton.run_as_triton",
    "testing": "as_triton.testing",
    "tools": "as_triton.tools",
}
"""Module paths that programs know from Triton or from the docs, and where those modules are."""

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


class _Elsewhere:
    """Finds a module by a path of `_ELSEWHERE`: the same module object as by its own path."""

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:
        package, _, name = fullname.partition(".")
        rest: list[str] = []
        while name and name not in _ELSEWHERE:
            name, _, last = name.rpartition(".")
            rest.insert(0, last)
        if package != "minitriton" or not name:
            return None
        real = ".".join(("minitriton", _ELSEWHERE[name], *rest))
        try:
            module = importlib.import_module(real)
        except ModuleNotFoundError as error:
            if error.name != real:
                raise
            return None
        loader: Any = _Existing(module)
        return ModuleSpec(fullname, loader, origin=module.__file__, is_package=hasattr(module, "__path__"))


class _Existing:
    """Loads a module that is there already, and leaves its `__spec__` as it is."""

    def __init__(self, module: ModuleType) -> None:
        self.module, self.spec = module, module.__spec__

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return self.module

    def exec_module(self, module: ModuleType) -> None:
        """Modules below it that are there get their other paths too: a finder before ours, such as pytest's, would load them anew."""
        alias = module.__spec__.name if module.__spec__ else module.__name__
        module.__spec__ = self.spec
        below = module.__name__ + "."
        for name, loaded in list(sys.modules.items()):
            if name.startswith(below):
                sys.modules.setdefault(f"{alias}.{name.removeprefix(below)}", loaded)

    def get_code(self, fullname: str) -> Any:
        """For `python -m`."""
        loader: Any = self.spec.loader if self.spec else None
        return loader.get_code(self.module.__name__)


sys.meta_path.insert(0, _Elsewhere())  # pyright: ignore[reportArgumentType]
