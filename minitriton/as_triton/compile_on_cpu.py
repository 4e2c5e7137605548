"""`torch.compile` of functions that launch Triton kernels, on a machine without a GPU: torch sees a Triton backend for CPU devices, the emulator.

    @torch.compile
    def f(x, y):                    # on CPU tensors: torch's own parts become C++,
        return add(x * 2, y)        # `add_kernel[grid](...)` in it stays a kernel: compiled for the emulated GPU, run on the emulator

torch asks for `triton.backends.backends["cpu"]` and compiles for `GPUTarget("cpu", ...)`, as of a fork of Triton that has CPUs.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from typing import Any

from minitriton.as_triton.after_import import after_import
from minitriton.backends.discovery import backends
from minitriton.errors import MinitritonError
from minitriton.runtime.compiled_kernel import CompiledKernel
from minitriton.runtime.default_target import default_target
from minitriton.target import GPUTarget


def install_backend() -> None:
    """Has torch find the emulator as Triton's backend of CPU devices in this process."""
    backends["cpu"] = backends["nvidia"]
    _take_cpu_for_the_emulated_gpu()
    _load_without_assembler()
    after_import("torch.utils._triton", _offer_descriptors)
    after_import("torch._inductor.graph", _pass_tensors_of_no_dimension)
    after_import("torch._inductor.codegen.cpp_wrapper_cpu", _refuse_calls_from_cpp)
    # torch's compile workers are processes that know nothing of this.
    os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"


def _take_cpu_for_the_emulated_gpu() -> None:
    check = GPUTarget.__post_init__

    def emulated(self: GPUTarget) -> None:
        if self.backend == "cpu":
            for name, value in vars(default_target()).items():
                object.__setattr__(self, name, value)
        check(self)

    GPUTarget.__post_init__ = emulated


def _load_without_assembler() -> None:
    """torch loads each kernel before it launches it, and reads its registers only where there are some to read."""
    name = "_init_handles"
    load: Callable[[CompiledKernel], None] = getattr(CompiledKernel, name)

    def load_if_possible(kernel: CompiledKernel) -> None:
        try:
            load(kernel)
        except MinitritonError:
            caller = inspect.currentframe()
            caller = caller and caller.f_back
            if caller is None or "/torch/" not in caller.f_code.co_filename:
                raise

    setattr(CompiledKernel, name, load_if_possible)


def _offer_descriptors(module: Any) -> None:
    """`TensorDescriptor` in a compiled function: torch asks the GPU, and is told that there is none."""
    module._device_supports_tma = lambda: default_target().arch >= 90


def _pass_tensors_of_no_dimension(module: Any) -> None:
    """A kernel takes a pointer to a number on the device, which torch finds on the CPU and would pass by value."""

    def is_passed_by_value(graph: object, name: str) -> bool:
        return False

    module.GraphLowering.is_unspec_arg = is_passed_by_value


def _refuse_calls_from_cpp(module: Any) -> None:
    """`cpp_wrapper` and AOTInductor: torch would look for a shared library that launches the kernel."""

    def refuse(*args: object, **options: object) -> None:
        raise MinitritonError(
            "C++ that torch writes cannot launch a Triton kernel here: the emulator is Python",
            help="leave out cpp_wrapper, or compile ahead of time on a machine with a GPU",
        )

    if hasattr(module, "DeferredCpuTritonCallWrapper"):
        module.DeferredCpuTritonCallWrapper.__init__ = refuse
