"""NVIDIA descriptors of Gluon."""

from __future__ import annotations

import importlib
from types import ModuleType

from minitriton.as_triton.experimental.gluon.missing import missing


def __getattr__(name: str) -> ModuleType:
    """Raises `GluonNotSupported`; `AttributeError` for what Python itself looks for."""
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name == "hopper":
        return importlib.import_module(f"{__name__}.{name}")
    raise missing(f"gluon.nvidia.{name}")
