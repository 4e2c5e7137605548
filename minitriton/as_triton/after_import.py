"""Changing a module of another library once it is imported: importing it only to change it would cost every program the time.

after_import("torch._inductor.graph", change)    →    change(module), now or when the program imports it

The source that `torch.compile` writes for a kernel needs more than the kernel's own text (`write_names`):

from triton.language import load        →    from minitriton.language.memory import load as load
N: tl.constexpr = tl.constexpr(3)       →    N: tl.constexpr = tl.constexpr(3)              (not `minitriton.language.values.constexpr`)

torch writes a copy of each kernel of the program's into a file of its own, with the functions that it calls and the constants that it
reads; of what a name without a module in front means it writes an import, if that is in a module whose name begins with `triton`.
"""

from __future__ import annotations

import importlib.abc
import importlib.util
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from minitriton.frontend.function import JITCallable
from minitriton.language.dtypes import dtype


def after_import(name: str, change: Callable[[Any], None]) -> None:
    """Calls `change` with the module `name`, at once if it is imported already."""
    module = sys.modules.get(name)
    if module is not None:
        change(module)
    else:
        sys.meta_path.insert(0, _Watch(name, change))


class _Watch(importlib.abc.MetaPathFinder):
    """Waits for one module, and is gone once it is found."""

    def __init__(self, name: str, change: Callable[[Any], None]) -> None:
        self.name, self.change = name, change

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != self.name:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is not None and spec.loader is not None:
            spec.loader = _ChangedAfterwards(spec.loader, self.change)
        return spec


class _ChangedAfterwards(importlib.abc.Loader):
    def __init__(self, loader: importlib.abc.Loader, change: Callable[[Any], None]) -> None:
        self.loader, self.change = loader, change

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        if module.__spec__ is not None:
            module.__spec__.loader = self.loader
        self.loader.exec_module(module)
        self.change(module)


_ANNOTATION = re.compile(r"^(\w+): minitriton\.[\w.]+ = ", re.MULTILINE)


def write_names(wrapper: Any) -> None:
    """Changes `torch._inductor.codegen.wrapper`."""
    name = "user_defined_triton_kernel_transitive_closure_source_code"
    write: Callable[..., str] | None = getattr(wrapper, name, None)
    if write is None:
        return

    def with_names(kernel: JITCallable, *args: object, **options: object) -> str:
        text = _ANNOTATION.sub(r"\1: tl.constexpr = ", write(kernel, *args, **options))
        imports = sorted(set(_imports(kernel, set())))
        return "\n".join([text.rstrip("\n"), *imports, ""])

    setattr(wrapper, name, with_names)


def _imports(kernel: JITCallable, seen: set[int]) -> Iterator[str]:
    """A line for each global of the kernel, and of the functions that it calls, that is one of the language's."""
    seen.add(id(kernel))
    scope = kernel.fn.__globals__
    for name in kernel.fn.__code__.co_names:
        value: Any = scope.get(name)
        if isinstance(value, JITCallable):
            if id(value) not in seen:
                yield from _imports(value, seen)
        elif isinstance(value, dtype):
            yield f"{name} = tl.dtype({value.name!r})"
        elif hasattr(value, "__name__") and (getattr(value, "__module__", None) or "").startswith(
            "minitriton.language"
        ):
            yield f"from {value.__module__} import {value.__name__} as {name}"
