"""`HIPBackend`, for programs that name it next to NVIDIA's: it supports no target here, and compiles nothing."""

from __future__ import annotations

from minitriton import knobs
from minitriton.backends.compiler import Addressed, BaseBackend
from minitriton.target import GPUTarget

_TWO_GIB = 2**31 - 1


class HIPBackend(BaseBackend):
    """Specialises arguments as Triton's does: addresses also on whether a tensor lies within 2 GiB."""

    supports_native_tensor_specialization = False

    @staticmethod
    def supports_target(target: GPUTarget) -> bool:
        return False

    @staticmethod
    def is_within_2gb(arg: object) -> bool:
        ptr_range = getattr(arg, "ptr_range", None)
        if ptr_range is not None:
            return ptr_range() <= _TWO_GIB
        storage = getattr(arg, "untyped_storage", None)
        return storage is not None and storage().size() <= _TWO_GIB

    @staticmethod
    def get_tensor_specialization(arg: Addressed, **kwargs: object) -> str:
        """ "D" for an address divisible by 16, "S" for a small tensor."""
        key = BaseBackend.get_tensor_specialization(arg, **kwargs)
        return key + "S" if knobs.amd.use_buffer_ops and HIPBackend.is_within_2gb(arg) else key
