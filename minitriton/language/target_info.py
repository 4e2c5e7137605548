"""What a program can ask about its target: in kernels and `constexpr_function`s the one compiled for, on the host the active driver's.

if tl.target_info.cuda_capability_geq(9, 0): ...
"""

from __future__ import annotations

import contextlib
import functools
import importlib
from collections.abc import Generator
from contextvars import ContextVar
from typing import Any

from minitriton.language.declare import constexpr_function
from minitriton.target import GPUTarget

__all__ = ["current_target"]

_compiled_for: ContextVar[GPUTarget | None] = ContextVar("compiled_for", default=None)


@contextlib.contextmanager
def compiling_for(target: GPUTarget) -> Generator[None]:
    """Inside the `with`, `target` is the current target: a kernel is compiled for it."""
    token = _compiled_for.set(target)
    try:
        yield
    finally:
        _compiled_for.reset(token)


@constexpr_function
def current_target() -> Any:
    """The target: `.backend`, `.arch`, `.warp_size`. None if the active driver has none (a driver of the program's own may raise)."""
    target = _compiled_for.get()
    if target is not None:
        return target
    try:
        return _driver_module().active.get_current_target()
    except RuntimeError:
        return None


@functools.cache
def _driver_module() -> Any:
    """Found by name: the language is below the runtime, and is complete without it."""
    return importlib.import_module("minitriton.runtime.driver")


@constexpr_function
def is_cuda() -> bool:
    """Whether the target is an NVIDIA GPU."""
    return _is("cuda", None)


@constexpr_function
def cuda_capability_geq(major: int, minor: int = 0) -> bool:
    """Whether the target is an NVIDIA GPU of at least compute capability `major`.`minor`."""
    target = current_target.fn()
    return target is not None and target.backend == "cuda" and target.arch >= major * 10 + minor


@constexpr_function
def is_hip() -> bool:
    """Whether the target is an AMD GPU."""
    return _is("hip", None)


@constexpr_function
def is_hip_cdna3() -> bool:
    """Whether the target is an AMD GPU of the CDNA 3 generation."""
    return _is(None, "gfx942")


@constexpr_function
def is_hip_cdna4() -> bool:
    """Whether the target is an AMD GPU of the CDNA 4 generation."""
    return _is(None, "gfx950")


def _is(backend: str | None, arch: str | None) -> bool:
    """Whether the target, if there is one, is of these."""
    target = current_target.fn()
    return target is not None and backend in (None, target.backend) and arch in (None, target.arch)
