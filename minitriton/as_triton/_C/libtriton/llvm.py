"""The extension's `llvm`, as far as it has a counterpart in llvmlite."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import llvmlite.binding

from minitriton.codegen import llvm_session
from minitriton.codegen.nvidia.device_library import link_device_library

__all__ = ["init_targets", "link_extern_libs"]


def init_targets() -> None:
    """Sets up LLVM's NVPTX target."""
    with llvm_session.LOCK:
        llvm_session.initialize()


def link_extern_libs(module: llvmlite.binding.ModuleRef, paths: Sequence[str | Path]) -> None:
    """Links the functions that `module` calls and does not define, from files of bitcode or LLVM IR text, then from libdevice.

    Raises `MinitritonError` for a file that is no library, and for a device function that is nowhere found.
    """
    with llvm_session.LOCK:
        link_device_library(module, [Path(path) for path in paths])
