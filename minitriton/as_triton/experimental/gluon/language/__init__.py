"""Layouts by their Gluon names."""

from __future__ import annotations

from typing import NoReturn

from minitriton.as_triton.experimental.gluon.language._layouts import NVMMASharedLayout
from minitriton.as_triton.experimental.gluon.missing import missing

__all__ = ["NVMMASharedLayout"]


def __getattr__(name: str) -> NoReturn:
    """Raises `GluonNotSupported`; `AttributeError` for what Python itself looks for."""
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    raise missing(f"gluon.language.{name}")
