"""`CUDAOptions`, the backend and what it says of dots, under the module path that Triton programs import them from."""

from __future__ import annotations

from collections.abc import Callable

from minitriton.backends.compiler import CUDABackend
from minitriton.frontend.semantic.dot import min_dot_shape
from minitriton.language.dtypes import dtype
from minitriton.target import CUDAOptions, GPUTarget

__all__ = ["CUDABackend", "CUDAOptions", "min_dot_size"]


def min_dot_size(target: GPUTarget) -> Callable[[dtype, dtype], tuple[int, int, int]]:
    """What gives the least (m, n, k) of `tl.dot` from its operands' types; the same for every target."""
    return min_dot_shape
