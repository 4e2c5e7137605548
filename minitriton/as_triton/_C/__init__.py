"""Triton's path of its C++ extension. What Python programs ask of it and has a meaning here is in `libtriton`."""

from __future__ import annotations

import importlib
from types import ModuleType


def __getattr__(name: str) -> ModuleType:
    if name != "libtriton":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return importlib.import_module("minitriton.as_triton._C.libtriton")
