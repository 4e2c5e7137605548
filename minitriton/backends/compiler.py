"""`GPUTarget`, the options and the backend, under the module path that Triton programs import them from.

make_backend(GPUTarget("cuda", 90, 32)).parse_options({"num_warps": 8})    →    CUDAOptions(num_warps=8, ...)
"""

from __future__ import annotations

from typing import Any

from minitriton.runtime.arguments import specialize
from minitriton.target import CUDAOptions, GPUTarget


class CUDABackend:
    """What programs ask of Triton's backend object: options, and what arguments are specialised on."""

    binary_ext = "cubin"

    def __init__(self, target: GPUTarget) -> None:
        self.target = target

    @staticmethod
    def supports_target(target: GPUTarget) -> bool:
        return target.backend == "cuda"

    def parse_options(self, options: dict[str, Any]) -> CUDAOptions:
        """The compile options among `options`; other names are the kernel's and are passed over."""
        known = CUDAOptions.__dataclass_fields__
        return CUDAOptions.for_target(self.target, **{k: v for k, v in options.items() if k in known})

    @staticmethod
    def get_int_specialization(arg: int, align: bool = True, **_: Any) -> Any:
        """ "D" for a number divisible by 16."""
        return "D" if align and arg % 16 == 0 else ""

    @staticmethod
    def get_tensor_specialization(arg: Any, align: bool = True, **_: Any) -> Any:
        """ "D" for an address divisible by 16."""
        return specialize(arg, False, True, align)[1]

    def hash(self) -> str:
        """Names the target and everything else that compiles depend on beside their sources and options."""
        from minitriton.runtime.cache import compiler_fingerprint

        return f"{compiler_fingerprint()}-{self.target.arch}"


def make_backend(target: GPUTarget) -> CUDABackend:
    """The backend of `target`."""
    return CUDABackend(target)


__all__ = ["CUDABackend", "CUDAOptions", "GPUTarget", "make_backend"]
