"""`triton.runtime.driver.active`: what programs ask of the current device, answered by the CUDA driver and torch.

Where there is no GPU the answers are the emulator's, which launches on host arrays run on (`emulated_device`).
"""

import functools
from collections.abc import Callable

from minitriton.errors import MinitritonError
from minitriton.runtime.benchmarking import Clearable, DeviceInterface, Times, time_launches
from minitriton.runtime.cuda_driver import CudaDriver, get_driver, has_gpu, torch_module
from minitriton.runtime.launching.loading import current_device, current_raw_stream, load
from minitriton.runtime.on_cpu.emulated_device import EmulatedDevice
from minitriton.target import GPUTarget

_C_TYPES = {
    "i1": "int8_t", "i8": "int8_t", "i16": "int16_t", "i32": "int32_t", "i64": "int64_t",
    "u1": "uint8_t", "u8": "uint8_t", "u16": "uint16_t", "u32": "uint32_t", "u64": "uint64_t",
    "fp16": "uint16_t", "bf16": "uint16_t", "fp32": "float", "f32": "float", "fp64": "double",
}  # fmt: skip


def c_type(ty: str) -> str:
    """The C type in which a parameter of this type is passed: pointers as `CUdeviceptr`, half precision as its bits.

    Raises `MinitritonError` for types that C cannot pass.
    """
    if ty.startswith("*"):
        return "CUdeviceptr"
    found = _C_TYPES.get(ty)
    if found is None:
        raise MinitritonError(f"a parameter of type {ty!r} cannot be passed from C")
    return found


_EMULATED = EmulatedDevice()


def _device() -> CudaDriver | EmulatedDevice:
    return get_driver() if has_gpu() else _EMULATED


def _torch_sees_one() -> bool:
    torch = torch_module()
    return torch is not None and torch.version.cuda is not None and torch.cuda.is_available()


class _Utils:
    """`driver.active.utils`."""

    def get_device_properties(self, device: int) -> dict[str, int]:
        return _device().properties(device or 0)

    def load_binary(self, name: str, binary: bytes, shared: int, device: int) -> tuple[int, int, int, int, int]:
        k = get_driver().load(name, binary, shared, device)
        return (k.module, k.function, k.n_regs, k.n_spills, k.n_max_threads)


class ActiveDriver:
    """The current device as Triton's `driver.active` shows it. Methods that name torch need torch."""

    utils = _Utils()
    load_kernel = staticmethod(load)
    may_emulate = True
    """Whether it answers for the emulator where there is no GPU."""

    @classmethod
    def is_active(cls) -> bool:
        """Whether there is a GPU to drive, as far as this process can tell: in one forked from a process that uses the GPU the
        driver answers nothing, and torch knows."""
        return has_gpu() or _torch_sees_one()

    def get_device_capability(self, device: int | None = None) -> tuple[int, int]:
        """The compute capability, as (9, 0)."""
        return divmod(_device().target(device or 0).capability, 10)

    def map_python_to_cpp_type(self, ty: str) -> str:
        """The C type in which a parameter of this type is passed. Raises `MinitritonError` for types that C cannot pass."""
        return c_type(ty)

    def get_current_target(self) -> GPUTarget:
        return get_driver().target(current_device()) if has_gpu() else _EMULATED.target()

    def get_current_device(self) -> int:
        return current_device() if has_gpu() else _EMULATED.current_device()

    def get_current_stream(self, device: int | None = None) -> int:
        return current_raw_stream() if has_gpu() else 0

    def set_current_device(self, device: int) -> None:
        _device().set_current_device(device)

    def get_active_torch_device(self) -> object:
        import torch

        return torch.device("cuda", self.get_current_device()) if has_gpu() else torch.device("cpu")

    def get_device_interface(self) -> DeviceInterface:
        import torch

        return torch.cuda

    def get_benchmarker(self) -> Callable[..., Times]:
        return functools.partial(time_launches, self)

    def get_empty_cache_for_benchmark(self) -> Clearable:
        import torch

        return torch.empty(256 * 1024 * 1024 // 4, dtype=torch.int, device="cuda")

    def clear_cache(self, cache: Clearable) -> None:
        cache.zero_()
