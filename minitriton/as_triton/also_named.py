"""What Triton's modules have because they import it, or under another name: programs that import it from there find it there.

    from triton.runtime.autotuner import JITFunction     →    minitriton.runtime.jit.JITFunction

Found when it is asked for, so nothing is imported that a program does not use. What a module has itself comes first.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from types import ModuleType
from typing import Any

_JIT, _UTILS, _ERRORS = "minitriton.runtime.jit", "minitriton.as_triton._utils", "minitriton.frontend.errors"
_CACHE, _BACKEND, _LIBTRITON = (
    "minitriton.runtime.cache",
    "minitriton.backends.compiler",
    "minitriton.as_triton._C.libtriton",
)
_DECLARE, _TARGET, _VALUES = "minitriton.language.declare", "minitriton.target", "minitriton.language.values"

ALSO_NAMED: dict[str, dict[str, str]] = {
    "minitriton.backends.nvidia.compiler": {
        "BaseBackend": _BACKEND, "GPUTarget": _TARGET, "Language": _BACKEND, "PTXASError": "minitriton.runtime.errors",
    },
    "minitriton.backends.nvidia.driver": {"GPUDriver": "minitriton.backends.driver", "GPUTarget": _TARGET},
    "minitriton.as_triton.compiler": {
        "BaseBackend": _BACKEND, "GPUTarget": _TARGET, "JITFunction": _JIT, "Language": _BACKEND, "OutOfResources": "minitriton.errors",
        "driver": "minitriton.runtime.driver:driver", "get_cache_invalidating_env_vars": _LIBTRITON, "get_cache_manager": _CACHE,
        "get_dump_manager": _CACHE, "get_override_manager": _CACHE, "get_sass": "minitriton.as_triton.tools.disasm",
    },
    "minitriton.frontend.code_generator": {
        "BoundConstexprFunction": _JIT, "CompileTimeAssertionFailure": _ERRORS, "ConstexprFunction": _JIT, "JITFunction": _JIT,
        "UnsupportedLanguageConstruct": _ERRORS, "_is_namedtuple": f"{_UTILS}:is_namedtuple", "_unwrap_if_constexpr": f"{_VALUES}:unwrap",
        "base_value": _VALUES, "find_paths_if": _UTILS, "get_full_name": _JIT, "get_iterable_path": _UTILS, "get_jit_fn_file_line": _JIT,
        "is_namedtuple": _UTILS, "tl_tuple": f"{_VALUES}:tuple",
    },
    "minitriton.frontend.errors": {"TritonError": "minitriton.errors"},
    "minitriton.knobs": {"getenv": _LIBTRITON, "getenv_bool": _LIBTRITON},
    "minitriton.language.core": {"JITCallable": _JIT, "get_primitive_bitwidth": _UTILS},
    "minitriton.language.random": {"jit": _JIT},
    "minitriton.language.standard": {"jit": _JIT},
    "minitriton.language.target_info": {"driver": "minitriton.runtime.driver:driver"},
    "minitriton.runtime.autotuner": {
        "JITFunction": _JIT, "driver": "minitriton.runtime.driver:driver", "get_cache_invalidating_env_vars": _LIBTRITON,
        "get_cache_manager": _CACHE, "triton_key": _CACHE,
    },
    "minitriton.runtime.driver": {"DriverBase": "minitriton.backends.driver"},
    "minitriton.runtime.errors": {"TritonError": "minitriton.errors"},
    "minitriton.runtime.interpreter": {"InterpreterError": "minitriton.runtime.errors"},
    "minitriton.runtime.jit": {
        "BaseBackend": _BACKEND, "driver": "minitriton.runtime.driver:driver", "find_paths_if": _UTILS,
        "get_cache_invalidating_env_vars": _LIBTRITON, "get_cache_key": _CACHE, "get_iterable_path": _UTILS, "is_namedtuple": _UTILS,
    },
    "minitriton.as_triton.testing": {"_summarize_statistics": "minitriton.runtime.benchmarking:summary", "runtime": "minitriton.runtime:"},
}  # fmt: skip
"""Module here → name → the module that defines it, with the name that it has there (`:` alone: that module itself) if it is another."""


def add_names(module: ModuleType) -> None:
    """Has `module` give what Triton's module of its name has too. Once or again: it stays the same."""
    names = ALSO_NAMED.get(module.__name__)
    own: Callable[[str], Any] | None = vars(module).get("__getattr__")
    if names is None or getattr(own, "adds_names", False):
        return

    def find(name: str) -> Any:
        if name not in names:
            if own is not None:
                return own(name)
            raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")
        target, colon, attribute = names[name].partition(":")
        found = importlib.import_module(target)
        return found if colon and not attribute else getattr(found, attribute or name)

    vars(find)["adds_names"] = True
    vars(module)["__getattr__"] = find
