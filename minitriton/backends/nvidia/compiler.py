"""`CUDAOptions`, the backend and what it says of dots, under the module path that Triton programs import them from."""

from collections.abc import Callable

from minitriton import knobs
from minitriton.backends.compiler import CUDABackend
from minitriton.frontend.semantic.dot import min_dot_shape
from minitriton.language.dtypes import dtype
from minitriton.target import CUDAOptions, GPUTarget

__all__ = ["CUDABackend", "CUDAOptions", "get_ptxas", "min_dot_size", "sm_arch_from_capability"]


def min_dot_size(target: GPUTarget) -> Callable[[dtype, dtype], tuple[int, int, int]]:
    """What gives the least (m, n, k) of `tl.dot` from its operands' types; the same for every target."""
    return min_dot_shape


def get_ptxas(arch: int) -> knobs.NvidiaTool:
    """The ptxas that `knobs.nvidia` names for an architecture, with its path and version. Raises `RuntimeError` if there is none."""
    return knobs.nvidia.ptxas_blackwell if arch >= 100 else knobs.nvidia.ptxas


def sm_arch_from_capability(capability: int) -> str:
    """`sm_90a` for 90: the target's name in PTX."""
    return GPUTarget("cuda", capability).sm
