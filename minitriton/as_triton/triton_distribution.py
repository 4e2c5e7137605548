"""What a program that calls minitriton `triton` is told of its version: that of the Triton whose meaning it has.

import triton; triton.__version__               "3.6.0", or what MINITRITON_TRITON_VERSION says
importlib.metadata.version("triton")            "3.6.0", whether or not Triton's wheel is installed
"""

from __future__ import annotations

import importlib.metadata
import os
from pathlib import Path

from minitriton import knobs


def triton_version() -> str:
    """The release whose names and rules programs find: libraries choose imports and features by it."""
    return knobs.language.triton_version


class TritonDistribution(importlib.metadata.Distribution):
    """The installed package `triton`, as `importlib.metadata` sees it. It has no files of its own."""

    def read_text(self, filename: str) -> str | None:
        if filename not in ("METADATA", "PKG-INFO"):
            return None
        return (
            f"Metadata-Version: 2.1\nName: triton\nVersion: {triton_version()}\nSummary: minitriton, by Triton's name\n"
        )

    def locate_file(self, path: str | os.PathLike[str]) -> Path:
        return Path(__file__).parent / path


def found_as(context: importlib.metadata.DistributionFinder.Context) -> list[importlib.metadata.Distribution]:
    """The distributions that answer `context`, a `DistributionFinder.Context`."""
    name = context.name
    return [TritonDistribution()] if name is None or name.lower() == "triton" else []
