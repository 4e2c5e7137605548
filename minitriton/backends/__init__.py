"""Triton's module paths for target descriptions (`triton.backends.compiler`), imported when first used."""

from __future__ import annotations

import importlib
from typing import Any

_MODULES = ("amd", "compiler", "driver", "nvidia")


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return importlib.import_module(f"{__name__}.{name}")
