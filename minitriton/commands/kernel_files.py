"""Python files that command lines name: kernels as `FILE.py:kernel`, and files that register passes.

What `@triton.heuristics` and `@triton.autotune` around a kernel say of parameters for which a command line has no value:

@triton.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})
    n=1024, BLOCK=256     EVEN is True
    n=i32, BLOCK=256      "EVEN is computed by @triton.heuristics, from arguments that have no value here"
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import sys
import traceback
from collections.abc import Callable, Generator
from pathlib import Path
from types import ModuleType
from weakref import WeakKeyDictionary

from minitriton import knobs
from minitriton.as_triton.run_as_triton import triton_means_minitriton
from minitriton.errors import MinitritonError, SourceLocation
from minitriton.frontend.function import JITCallable
from minitriton.host.source_text import give_folder_of, line_at
from minitriton.runtime.autotuner import Autotuner, Heuristics
from minitriton.runtime.jit import OF_FILE, JITFunction, kernel_in
from minitriton.runtime.kernel_interface import KernelInterface

_decorated: WeakKeyDictionary[JITCallable, KernelInterface] = WeakKeyDictionary()


def remember_decorators(kernel: JITCallable, decorated: KernelInterface) -> None:
    """Notes that a program knows `kernel` as `decorated`."""
    _decorated[kernel] = decorated


def _decorators(kernel: JITCallable) -> list[KernelInterface]:
    """From the outermost to the innermost; none for a kernel without known decorators."""
    found: list[KernelInterface] = []
    around = _decorated.get(kernel)
    while isinstance(around, KernelInterface) and not isinstance(around, JITFunction):
        found.append(around)
        around = getattr(around, "fn", None)
    return found


def computed_values(kernel: JITCallable, known: dict[str, object]) -> dict[str, object]:
    """What heuristics compute from the `known` values of other parameters, without those for which these do not suffice."""
    found: dict[str, object] = {}
    for decorator in _decorators(kernel):
        for name, heuristic in decorator.values.items() if isinstance(decorator, Heuristics) else ():
            if name not in known:
                try:
                    found[name] = heuristic({**known, **found})
                except Exception:  # the user's function, of arguments that are missing
                    continue
    return found


def first_config(kernel: JITCallable) -> dict[str, object]:
    """The constants of the first configuration of `@triton.autotune`."""
    for decorator in _decorators(kernel):
        if isinstance(decorator, Autotuner) and decorator.configs:
            return dict(decorator.configs[0].kwargs)
    return {}


def advice_on(kernel: JITCallable, name: str) -> str | None:
    """What to say of parameter `name`, if decorators give it; None if none does."""
    for decorator in _decorators(kernel):
        if isinstance(decorator, Heuristics) and name in decorator.values:
            return f"{name} is computed by @triton.heuristics, from arguments that are unknown here: say {name}=..."
        if isinstance(decorator, Autotuner) and decorator.configs and name in (kwargs := decorator.configs[0].kwargs):
            config = decorator.configs[0]
            values = ",".join(f"{key}={value}" for key, value in kwargs.items())
            options = f"--option num_warps={config.num_warps} --option num_stages={config.num_stages}"
            count = len(decorator.configs)
            return (
                f"{name} is chosen by @triton.autotune; the first of {count} configurations is {values} with {options}"
            )
    return None


def load_plugin(path: str) -> None:
    """Imports a Python file that registers passes. Raises `MinitritonError` if it cannot be imported."""
    _import_file(path, "--load takes a Python file that registers passes")


def _import_file(path: str, help: str, kernel: str = "") -> ModuleType:
    """The module that file `path` makes. Raises `MinitritonError`, at the file's line where it fails: before `kernel` is defined, if that is named."""
    root, name = _root_and_module(Path(path))
    give_folder_of(path)
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None or not Path(path).exists():
        why = "it is not a Python file" if Path(path).exists() else "no such file"
        raise MinitritonError(f"cannot load {path!r}: {why}", help=help)
    module = importlib.util.module_from_spec(spec)
    vars(module)[OF_FILE] = functools.partial(_kernel_elsewhere, str(Path(path).resolve()))
    _importing[path] = module
    sys.modules.setdefault(name, module)
    try:
        with _on_path(str(root)), _on_path(str(Path(path).resolve().parent)), _arguments_of(path):
            spec.loader.exec_module(module)
    except _KernelIsDefined:
        pass
    except (Exception, SystemExit) as error:
        if _defines(module, kernel):
            failure = _import_failure(path, error)
            print(f"{failure.location or path}: warning: {failure.message}; {kernel} is defined", file=sys.stderr)
            return module
        if isinstance(error, MinitritonError):
            raise
        if sys.modules.get(name) is module:
            del sys.modules[name]
        raise _import_failure(path, error) from error
    return module


def _root_and_module(path: Path) -> tuple[Path, str]:
    """The folder that packages are imported from, and the module's name: `src` and `layers.norms.rms` for `src/layers/norms/rms.py`.

    Relative imports go by the name; the packages themselves are imported where the file imports from them.
    """
    folder, name = path.resolve().parent, path.stem
    while (folder / "__init__.py").exists() and folder.name.isidentifier():
        folder, name = folder.parent, f"{folder.name}.{name}"
    return folder, name


@contextlib.contextmanager
def _on_path(folder: str) -> Generator[None]:
    """Modules in `folder` can be imported, as where Python runs a file of it."""
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        with contextlib.suppress(ValueError):
            sys.path.remove(folder)


@contextlib.contextmanager
def _arguments_of(path: str) -> Generator[None]:
    """The program at `path` is given no arguments, as where Python runs it without: not those of the command that imports it."""
    kept = sys.argv
    sys.argv = [path]
    try:
        yield
    finally:
        sys.argv = kept


def _import_failure(path: str, error: BaseException) -> MinitritonError:
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == path]
    line = error.lineno if isinstance(error, SyntaxError) else lines[-1] if lines else None
    return MinitritonError(
        f"{path} cannot be imported: {type(error).__name__}: {error}",
        SourceLocation(path, line) if line else None,
        help="see that `python` runs the file by itself",
        source_line=line_at(path, line) if line else None,
    )


class _KernelIsDefined(BaseException):
    """Ends the import of a program at the launch of the kernel that it is imported for."""


_importing: dict[str, ModuleType] = {}


@contextlib.contextmanager
def _until_its_launch(path: str, name: str) -> Generator[None]:
    """Lets the import of a program that launches its kernels end at the first launch after the definition of kernel `name`."""

    def see(*_: object) -> None:
        if _defines(_importing.get(path), name):
            raise _KernelIsDefined

    hook = knobs.runtime.launch_arguments_hook
    if name:
        hook.add(see)
    try:
        yield
    finally:
        hook.remove(see)
        _importing.pop(path, None)


def _defines(module: ModuleType | None, name: str) -> bool:
    return isinstance(getattr(module, name, None), KernelInterface) if name else False


def _kernel_elsewhere(path: str, name: str) -> tuple[Callable[[str], JITFunction], tuple[str]]:
    """How kernel `name` of the file goes to another process."""
    return load_kernel, (f"{path}:{name}",)


def is_corpus_name(reference: str) -> bool:
    """Whether a command line means a kernel of the corpus: a name, and no file of that name."""
    return reference.isidentifier() and not Path(reference).exists()


def load_kernel(reference: str) -> JITFunction:
    """The kernel named by `FILE.py:kernel`; `import triton` in the file means minitriton."""
    path, _, name = reference.partition(":")
    if not Path(path).exists():
        raise MinitritonError(f"no such file: {path}", help="name a kernel as FILE.py:kernel")
    with triton_means_minitriton(), _until_its_launch(path, name):
        module = _import_file(path, "name a kernel as FILE.py:kernel", name)
    kernels = {name: found for name, value in vars(module).items() if (found := kernel_in(value)) is not None}
    for each, kernel in kernels.items():
        remember_decorators(kernel, getattr(module, each))
    if not name and len(kernels) == 1:
        return next(iter(kernels.values()))
    if not name:
        raise MinitritonError(
            f"{path} has {len(kernels) or 'no'} kernels",
            help=f"write {path}:KERNEL with one of: {', '.join(kernels)}" if kernels else "decorate one by @triton.jit",
        )
    if name not in kernels:
        raise MinitritonError(f"{path} lacks kernel {name!r}", help="it has: " + (", ".join(kernels) or "none"))
    return kernels[name]
