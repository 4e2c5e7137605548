"""Gluon, Triton's lower-level language, is not here: what a program hears that asks for it."""

from __future__ import annotations

from minitriton.errors import MinitritonError


class GluonNotSupported(MinitritonError, ImportError):
    """A part of Gluon that does not exist here. An `ImportError` too: programs that can do without Gluon catch that."""


def missing(name: str) -> GluonNotSupported:
    """The error for `name` (`gluon.jit`, `gluon.language.load`)."""
    return GluonNotSupported(
        f"{name} does not exist in minitriton: Gluon is not supported yet; of it there are only tensor descriptors and "
        "NVMMASharedLayout, for host code",
        help="write the kernel in triton.language, or run this program with Triton itself",
    )
