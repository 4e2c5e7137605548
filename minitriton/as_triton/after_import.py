"""Changing a module of another library once it is imported: importing it only to change it would cost every program the time.

after_import("torch._inductor.graph", change)    →    change(module), now or when the program imports it
"""

from __future__ import annotations

import importlib.abc
import importlib.util
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


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
