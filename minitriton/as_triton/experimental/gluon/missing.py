"""Gluon, Triton's lower-level language, is not here: what a program hears that asks for it.

    gluon.jit                                        →    GluonNotSupported, an AttributeError
    from triton.experimental.gluon import jit        →    GluonNotImportable, an ImportError

An attribute that is missing must be an `AttributeError`: `pickle` asks every loaded module for the names that it looks for.
"""

from __future__ import annotations

import importlib.abc
import sys
from collections.abc import Sequence
from types import ModuleType

from minitriton.errors import MinitritonError

_PACKAGE = "minitriton.as_triton.experimental."
_HELP = "write the kernel in triton.language, or run this program with Triton itself"


class GluonNotSupported(MinitritonError, AttributeError):
    """A part of Gluon that does not exist here."""


class GluonNotImportable(MinitritonError, ImportError):
    """The same where it is imported; programs that can do without Gluon catch `ImportError`."""


def missing(name: str) -> GluonNotSupported:
    """The error for `name` (`gluon.jit`, `gluon.language.load`)."""
    return GluonNotSupported(_message(name), help=_HELP)


def _message(name: str) -> str:
    return (
        f"{name} does not exist in minitriton: Gluon is not supported yet; of it there are only tensor descriptors and "
        "NVMMASharedLayout, for host code"
    )


class _LastFinder(importlib.abc.MetaPathFinder):
    """Asked for a module of Gluon's that nothing has found: `from gluon import jit` asks for a module `gluon.jit` at last."""

    def find_spec(self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> None:
        if fullname.startswith(_PACKAGE + "gluon.") and not fullname.rpartition(".")[2].startswith("__"):
            raise GluonNotImportable(_message(fullname.removeprefix(_PACKAGE)), help=_HELP)


def watch_imports() -> None:
    """Has imports of what Gluon lacks end in `GluonNotImportable`."""
    if not any(isinstance(finder, _LastFinder) for finder in sys.meta_path):
        sys.meta_path.append(_LastFinder())
