"""`HIPBackend`, for programs that name it beside NVIDIA's: it supports no target here, and compiles nothing."""

from __future__ import annotations

from typing import Any

from minitriton import knobs
from minitriton.backends.compiler import BaseBackend
from minitriton.target import GPUTarget

_TWO_GIB = 2**31 - 1


class HIPBackend(BaseBackend):
    """Specialises arguments as Triton's does: addresses also on whether a tensor lies within 2 GiB."""

    supports_native_tensor_specialization = False

    @staticmethod
    def supports_target(target: GPUTarget) -> bool:
        return False

    @staticmethod
    def is_within_2gb(arg: Any) -> bool:
        if hasattr(arg, "ptr_range"):
            return arg.ptr_range() <= _TWO_GIB
        return hasattr(arg, "untyped_storage") and arg.untyped_storage().size() <= _TWO_GIB

    @staticmethod
    def get_tensor_specialization(arg: Any, **kwargs: Any) -> str:
        """ "D" for an address divisible by 16, "S" for a small tensor."""
        key = BaseBackend.get_tensor_specialization(arg, **kwargs)
        return key + "S" if knobs.amd.use_buffer_ops and HIPBackend.is_within_2gb(arg) else key
