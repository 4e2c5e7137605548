"""`python -m minitriton.run_as_triton [--cpu] SCRIPT [ARGS]` or `-m MODULE [ARGS]`: runs a program for which `import triton`
means minitriton; with `--cpu`, and no GPU, its CUDA devices are the CPU (`cuda_on_cpu`).

    import triton.language as tl      →  minitriton.language, the same module object

A finder at the start of `sys.meta_path` answers every name that starts with `triton` by the module of the same path under
`minitriton`, so nothing is loaded twice and the program needs no edit. Python processes that the program starts (test
workers, pools, scripts) get the same meaning of `triton` through PYTHONPATH.

What Triton's modules have because they import it, or under another name (`ALSO_NAMED`), is found in them when a program asks for it:

    from triton.runtime.autotuner import JITFunction     →    minitriton.runtime.jit.JITFunction
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.abc
import importlib.machinery
import importlib.metadata
import os
import runpy
import sys
from collections.abc import Callable, Generator, Sequence
from importlib.metadata import Distribution, DistributionFinder
from pathlib import Path
from types import ModuleType
from typing import Any

import minitriton
from minitriton import knobs
from minitriton.as_triton.after_import import after_import

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


_ELSEWHERE = {
    "triton.compiler.code_generator": "minitriton.frontend.code_generator",
    "triton.compiler.compiler": "minitriton.as_triton.compiler",
    "triton.compiler.errors": "minitriton.frontend.errors",
}
"""Triton's modules whose counterpart has another path."""

_LOADED_WITH_TRITON = (
    "triton.language", "triton.runtime", "triton.runtime.driver", "triton.compiler", "triton.testing",
)  # fmt: skip
"""What `import triton` loads too: programs look for these in `sys.modules`."""

ALIAS_FOLDER = Path(__file__).parent / "_alias"
"""On the path of a process, this folder makes `import triton` mean minitriton."""


def _counterpart(name: str | None) -> ModuleType | None:
    """The module `name`, or None if there is no such module."""
    if name is None:
        return None
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        return None


class _AliasLoader(importlib.abc.Loader):
    """Hands out a module that exists already, its own `__spec__` untouched."""

    def __init__(self, module: ModuleType) -> None:
        self.module = module
        self.own_spec = module.__spec__

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return self.module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self.own_spec
        add_names(module)
        if module.__name__ == "minitriton":
            minitriton.__version__ = triton_version()
            for name in _LOADED_WITH_TRITON:
                importlib.import_module(name)


class TritonFinder(importlib.abc.MetaPathFinder):
    """Finds `triton` and `triton.x.y` as `minitriton` and `minitriton.x.y`."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != "triton" and not fullname.startswith("triton."):
            return None
        module = _counterpart("mini" + fullname) or _counterpart(_ELSEWHERE.get(fullname))
        if module is None:
            return None
        is_package = hasattr(module, "__path__") or any(name.startswith(fullname + ".") for name in _ELSEWHERE)
        return importlib.machinery.ModuleSpec(fullname, _AliasLoader(module), is_package=is_package)

    def find_distributions(self, context: Any = None) -> list[Distribution]:
        """What `importlib.metadata` knows of Triton."""
        return found_as(context or DistributionFinder.Context())


def install() -> None:
    """Makes `import triton` mean minitriton from now on in this process. Raises if another triton is imported already."""
    loaded = sys.modules.get("triton")
    if loaded is not None and loaded.__name__ != "minitriton":
        raise ImportError(
            "triton is imported already: call minitriton.run_as_triton.install() before anything imports it"
        )
    if not any(isinstance(f, TritonFinder) for f in sys.meta_path):
        sys.meta_path.insert(0, TritonFinder())
        after_import("torch._inductor.codegen.wrapper", _write_names)


def _write_names(wrapper: Any) -> None:
    from minitriton.as_triton.after_import import write_names

    write_names(wrapper)


@contextlib.contextmanager
def triton_means_minitriton() -> Generator[None]:
    """Inside the `with`, `import triton` means minitriton, also where Triton itself is imported already."""
    before = _triton_modules()
    for name in before:
        del sys.modules[name]
    finder = TritonFinder()
    sys.meta_path.insert(0, finder)
    version = minitriton.__version__
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        minitriton.__version__ = version
        for name in _triton_modules():
            del sys.modules[name]
        sys.modules.update(before)


def _triton_modules() -> dict[str, ModuleType]:
    return {name: m for name, m in sys.modules.items() if name == "triton" or name.startswith("triton.")}


def main(argv: list[str] | None = None) -> int:
    """The command. Exit code 2 for a wrong command line, else the program's own."""
    argv = sys.argv[1:] if argv is None else argv
    usage = "usage: python -m minitriton.run_as_triton [--cpu] (SCRIPT | -m MODULE) [ARGS...]"
    on_cpu = argv[:1] == ["--cpu"]
    argv = argv[1:] if on_cpu else argv
    if not argv or argv[0] in ("-h", "--help"):
        print(usage)
        return 0 if argv else 2
    as_module = argv[0] == "-m"
    if as_module and len(argv) < 2:
        print(usage, file=sys.stderr)
        return 2
    if not as_module and not Path(argv[0]).exists():
        print(f"no such script: {argv[0]}", file=sys.stderr)
        return 2
    begin(on_cpu=on_cpu)
    if as_module:
        sys.argv = argv[1:]
        sys.path.insert(1, "")
        runpy.run_module(argv[1], run_name="__main__", alter_sys=True)
        return 0
    sys.argv = argv
    sys.path.insert(1, str(Path(argv[0]).resolve().parent))
    runpy.run_path(argv[0], run_name="__main__")
    return 0


def begin(*, on_cpu: bool = False) -> None:
    """What a program finds: `import triton` means minitriton here and in its child processes; `on_cpu` maps CUDA devices to the CPU here."""
    install()
    _tell_child_processes()
    if on_cpu:
        from minitriton.as_triton import cuda_on_cpu

        cuda_on_cpu.install()


def _tell_child_processes() -> None:
    """Puts the alias first on PYTHONPATH, and on this process's path, which pytest-xdist and multiprocessing pass to their processes."""
    given = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = str(ALIAS_FOLDER) + (os.pathsep + given if given else "")
    sys.path.insert(0, str(ALIAS_FOLDER))


# What a program that calls minitriton `triton` is given as its version: that of the Triton whose meaning it has.
#
# import triton; triton.__version__               "3.6.0", or what MINITRITON_TRITON_VERSION says
# importlib.metadata.version("triton")            "3.6.0", whether or not Triton's wheel is installed


def triton_version() -> str:
    """The release whose names and rules programs find: libraries choose imports and features by it."""
    return knobs.language.triton_version


class TritonDistribution(importlib.metadata.Distribution):
    """The installed package `triton`, as `importlib.metadata` sees it. It has no files of its own."""

    def read_text(self, filename: str) -> str | None:
        if filename not in ("METADATA", "PKG-INFO"):
            return None
        return (
            f"Metadata-Version: 2.1\nName: triton\nVersion: {triton_version()}\nSummary: minitriton, by Triton's name\n"
        )

    def locate_file(self, path: str | os.PathLike[str]) -> Path:
        return Path(__file__).parent / path


def found_as(context: importlib.metadata.DistributionFinder.Context) -> list[importlib.metadata.Distribution]:
    """The distributions that answer `context`, a `DistributionFinder.Context`."""
    name = context.name
    return [TritonDistribution()] if name is None or name.lower() == "triton" else []


if __name__ == "__main__":
    sys.exit(main())
