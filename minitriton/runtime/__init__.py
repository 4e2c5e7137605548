"""Running kernels: launches, the cache, the driver. The names below are those of `triton.runtime`, imported when first used."""

from __future__ import annotations

import importlib
from typing import Any

_EXPORTS = {
    "JITFunction": "minitriton.runtime.jit",
    "MockTensor": "minitriton.runtime.jit",
    "OutOfResources": "minitriton.errors",
}
_MODULES = ("cache", "driver", "jit")


def __getattr__(name: str) -> Any:
    if name in _EXPORTS:
        return getattr(importlib.import_module(_EXPORTS[name]), name)
    if name in _MODULES:
        return importlib.import_module(f"minitriton.runtime.{name}")
    raise AttributeError(f"module 'minitriton.runtime' has no attribute {name!r}")
