"""Host-side values of Gluon: descriptors and the layouts in them. Anything else of Gluon is an error that says so."""

from __future__ import annotations

import importlib
from types import ModuleType

from minitriton.as_triton.experimental.gluon.missing import missing, watch_imports

watch_imports()


def __getattr__(name: str) -> ModuleType:
    """Raises `GluonNotSupported`; `AttributeError` for what Python itself looks for."""
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name in ("language", "nvidia"):
        return importlib.import_module(f"{__name__}.{name}")
    raise missing(f"gluon.{name}")
