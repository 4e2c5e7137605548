"""CUDA devices that are the CPU: programs written for torch on a GPU run where there is none, their kernels on the emulator.

    torch.rand(8, device="cuda"); x.cuda(); x.is_cuda; torch.cuda.synchronize(); torch.cuda.Event(enable_timing=True)

`install` has torch's functions take "cpu" wherever a CUDA device is named (a `TorchFunctionMode`), and gives `torch.cuda` the answers of one device.
Times are the emulator's estimate of the launches between two events, or within `do_bench`. Copies between the devices are copies. `torch.autocast("cuda")` is
autocasting of the CPU with a GPU's default type, float16; the functions that torch casts are those that it casts on the CPU.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import os
import types
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol, TypeVar

from minitriton.as_triton.after_import import after_import
from minitriton.backends.driver import backends
from minitriton.errors import MinitritonError
from minitriton.runtime import driver
from minitriton.runtime.compiled_kernel import CompiledKernel
from minitriton.runtime.default_target import default_target
from minitriton.runtime.on_cpu import emulation_cost
from minitriton.target import GPUTarget
from minitriton.target.architectures import H100_MULTIPROCESSORS


def install_autocast(torch: Any) -> None:
    """Has torch's functions around autocasting take the CPU for a CUDA device."""
    modes = torch.amp.autocast_mode
    begin, enabled, enable, type_of, set_type = (
        modes.autocast.__init__,
        torch.is_autocast_enabled,
        torch.set_autocast_enabled,
        torch.get_autocast_dtype,
        torch.set_autocast_dtype,
    )
    chosen = {"cuda": torch.float16}

    def autocast(
        self: Any, device_type: str, dtype: object = None, enabled: bool = True, cache_enabled: bool | None = None
    ) -> None:
        if device_type == "cuda":
            device_type, dtype = "cpu", dtype or chosen["cuda"]
        begin(self, device_type, dtype, enabled, cache_enabled)

    def is_autocast_enabled(device_type: str = "cuda") -> bool:
        return enabled(_autocast_device(device_type))

    def set_autocast_enabled(*given: object) -> None:
        # Of one argument, in torch's old way: for CUDA.
        device_type, value = given if len(given) == 2 else ("cuda", *given)
        enable(_autocast_device(str(device_type)), value)

    def get_autocast_dtype(device_type: str) -> object:
        if device_type == "cuda" and not enabled("cpu"):
            return chosen["cuda"]
        return type_of(_autocast_device(device_type))

    def set_autocast_dtype(device_type: str, dtype: object) -> None:
        # While autocasting, what is read and set is the type that it casts to: torch.compile sets what it read.
        if device_type == "cuda" and not enabled("cpu"):
            chosen["cuda"] = dtype
        else:
            set_type(_autocast_device(device_type), dtype)

    modes.autocast.__init__ = autocast
    torch.is_autocast_enabled, torch.get_autocast_dtype = is_autocast_enabled, get_autocast_dtype
    torch.set_autocast_dtype, torch.set_autocast_enabled = set_autocast_dtype, set_autocast_enabled
    torch.get_autocast_gpu_dtype = functools.partial(get_autocast_dtype, "cuda")
    for name in ("custom_fwd", "custom_bwd"):
        decorator = _for_cpu(getattr(modes, name))
        setattr(modes, name, decorator)
        setattr(torch.amp, name, decorator)
        setattr(torch.cuda.amp, name, functools.partial(decorator, device_type="cuda"))


def _autocast_device(device_type: str) -> str:
    return "cpu" if device_type == "cuda" else device_type


def _for_cpu(decorator: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(decorator)
    def mapped(fwd: object = None, *, device_type: str, **options: object) -> Any:
        return decorator(fwd, device_type=_autocast_device(device_type), **options)

    return mapped


_PACKAGE = str(Path(__file__).parents[1])
_NAME = "minitriton's PTX emulator"
_MEMORY = 80 << 30


T = TypeVar("T")


class Copied(Protocol):
    """What a copy between the devices is made of: a tensor."""

    def clone(self) -> object: ...


def install() -> bool:
    """Maps CUDA devices to the CPU in this process from now on. False where there is no torch, or torch sees a GPU."""
    emulation_cost.TIMING.by_count = True
    try:
        torch = importlib.import_module("torch")
        overrides = importlib.import_module("torch.overrides")
    except ImportError:
        return False
    if torch.cuda.is_available():
        return False

    asks_for_cuda = torch.Tensor.is_cuda.__get__

    class CudaOnCpu(overrides.TorchFunctionMode):
        """Has every function of torch take the CPU for a CUDA device."""

        def __torch_function__(
            self,
            func: Callable[..., Copied],
            types: object,
            args: tuple[Copied, ...] = (),
            kwargs: dict[str, object] | None = None,
        ) -> object:
            name = getattr(func, "__name__", "")
            if name == "__get__" and func == asks_for_cuda:
                return _asked_by_a_program(_file_of_caller())
            if func is torch.device:
                return func(*args, **(kwargs or {}))
            if func is torch.Tensor.cuda or func is torch.Tensor.cpu:
                return args[0].clone()
            moved, args = _without_cuda(torch, args, numbers=func is torch.Tensor.to)
            named = {k: _cpu(torch, v, numbers=k == "device") for k, v in (kwargs or {}).items() if k != "pin_memory"}
            result = func(*args, **named)
            return result.clone() if moved and func is torch.Tensor.to and result is args[0] else result

    CudaOnCpu().__enter__()
    _answer_for_cuda(torch)
    install_autocast(torch)
    install_backend()
    return True


def _asked_by_a_program(file: str) -> bool:
    """Whether the code that asks is neither torch's nor minitriton's nor generated."""
    return not file.startswith("<") and not file.startswith(_PACKAGE) and "/torch/" not in file


def _available() -> bool:
    """`torch.cuda.is_available`: programs are answered so; torch and minitriton know better."""
    return _asked_by_a_program(_file_of_caller())


def _file_of_caller() -> str:
    """Of the code that calls the function which asks, perhaps through the mode of `with torch.device(...)`."""
    asking = inspect.currentframe()
    for _ in range(2):
        asking = asking and asking.f_back
    while asking and asking.f_code.co_filename.endswith("/torch/utils/_device.py"):
        asking = asking.f_back
    return asking.f_code.co_filename if asking else ""


def _is_cuda(torch: ModuleType, value: object, numbers: bool = False) -> bool:
    if numbers and isinstance(value, int) and not isinstance(value, bool):
        return True
    if isinstance(value, str):
        return value == "cuda" or (value.startswith("cuda:") and value[5:].isdigit())
    return isinstance(value, torch.device) and getattr(value, "type", "") == "cuda"


def _cpu(torch: ModuleType, value: T, *, numbers: bool = False) -> T:
    """`value`, or the CPU where it names a CUDA device; a number may do so, too, if `numbers`."""
    return torch.device("cpu") if _is_cuda(torch, value, numbers) else value


def _without_cuda(torch: ModuleType, args: tuple[T, ...], *, numbers: bool) -> tuple[bool, tuple[T, ...]]:
    named = any(_is_cuda(torch, a, numbers) for a in args)
    return named, tuple(_cpu(torch, a, numbers=numbers) for a in args) if named else tuple(args)


class Event:
    """`torch.cuda.Event`: remembers how much the emulator had run when it was recorded."""

    def __init__(self, *args: object, **options: object) -> None:
        self.at = 0.0

    def record(self, stream: object = None) -> None:
        """Takes the time."""
        self.at = emulation_cost.TIMING.now()

    def elapsed_time(self, other: Event) -> float:
        """Milliseconds between two records."""
        return other.at - self.at

    def _nothing(self, *args: object) -> None:
        """The emulator is always done."""

    synchronize = wait = _nothing

    def query(self) -> bool:
        """Work is done when a launch returns."""
        return True


class Stream(Event):
    """`torch.cuda.Stream`: there is one, the thread that launches."""

    cuda_stream = 0
    device_index = 0

    def record_event(self, event: Event | None = None) -> Event:
        """An event recorded now."""
        event = event or Event()
        event.record()
        return event

    wait_event = wait_stream = Event._nothing

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *error: object) -> None:
        pass


class NoGraph:
    """`torch.cuda.CUDAGraph` and `torch.cuda.graph`: launches run when they are made, there is nothing to replay."""

    def __init__(self, *args: object, **options: object) -> None:
        raise MinitritonError(
            "CUDA graphs need a GPU: on the CPU nothing records launches",
            help="call the function that would be captured",
        )


class _Within:
    """`torch.cuda.device(0)`, `torch.cuda.stream(s)`."""

    def __init__(self, *args: object) -> None:
        pass

    def __enter__(self) -> _Within:
        return self

    def __exit__(self, *error: object) -> None:
        pass


def _answer_for_cuda(torch: ModuleType) -> None:
    """What `torch.cuda` and `torch.cpu` say of the one device."""

    def capability(device: object = None) -> tuple[int, int]:
        return driver.active.get_device_capability()

    def properties(device: object = None) -> types.SimpleNamespace:
        major, minor = capability()
        sm = default_target().features
        return types.SimpleNamespace(
            name=_NAME, major=major, minor=minor, multi_processor_count=H100_MULTIPROCESSORS, total_memory=_MEMORY, warp_size=sm.warp_size,
            shared_memory_per_block=48 << 10, shared_memory_per_block_optin=sm.max_shared_memory, shared_memory_per_multiprocessor=sm.shared_kib_per_sm << 10, regs_per_multiprocessor=sm.registers_per_sm,
            max_threads_per_multi_processor=sm.warps_per_sm * sm.warp_size, L2_cache_size=50 << 20, gcnArchName="",
        )  # fmt: skip

    def constant(value: T) -> Callable[..., T]:
        """A function of its own at every call: torch._dynamo refuses one that has two of torch's names."""
        return lambda *args, **options: value

    def get_rng_state(device: object = None) -> object:
        return torch.get_rng_state()

    def set_rng_state(state: object, device: object = None) -> None:
        torch.set_rng_state(state)

    def manual_seed(seed: int) -> None:
        torch.default_generator.manual_seed(seed)

    stream = Stream()
    answers: dict[str, object] = {
        "is_available": _available, "get_device_capability": capability, "get_device_properties": properties, "manual_seed": manual_seed,
        "get_rng_state": get_rng_state, "set_rng_state": set_rng_state, "Stream": Stream, "Event": Event, "device": _Within, "stream": _Within,
        "CUDAGraph": NoGraph, "graph": NoGraph,
    }  # fmt: skip
    constants: dict[str, object] = {
        "is_initialized": True, "memory_stats": dict[str, int](), "is_bf16_supported": True, "device_count": 1, "get_device_name": _NAME, "memory_summary": "", "utilization": 0, "mem_get_info": (_MEMORY, _MEMORY),
        "current_stream": stream, "default_stream": stream,
        **dict.fromkeys(("init", "set_device", "synchronize", "empty_cache", "manual_seed_all", "reset_peak_memory_stats", "reset_max_memory_allocated", "ipc_collect", "set_stream")),
        **dict.fromkeys(("current_device", "memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved"), 0),
    }  # fmt: skip
    answers.update((name, constant(value)) for name, value in constants.items())
    for name, value in answers.items():
        setattr(torch.cuda, name, value)
    for kind in ("Bool", "Byte", "Char", "Short", "Int", "Long", "Half", "BFloat16", "Float", "Double"):
        setattr(torch.cuda, f"{kind}Tensor", getattr(torch, f"{kind}Tensor"))
    torch.cpu.set_stream = constant(None)
    # Builds of torch without CUDA have none; libraries pass these on to launches.
    torch._C._cuda_getDevice = torch._C._cuda_getCurrentRawStream = constant(0)
    torch.Tensor.record_stream = constant(None)
    torch.Tensor.pin_memory = torch.Tensor.clone
    default = torch.set_default_device
    generator = torch.Generator

    def set_default_device(device: object) -> None:
        default(_cpu(torch, device))

    def new_generator(cls: type, device: object = "cpu") -> object:
        return generator.__new__(generator, _cpu(torch, device))

    replaced = {
        "set_default_device": set_default_device,
        "Generator": type("Generator", (generator,), {"__new__": new_generator}),
    }
    for name, value in replaced.items():
        setattr(torch, name, value)


# `torch.compile` of functions that launch Triton kernels, on a machine without a GPU: torch sees a Triton backend for CPU devices, the emulator.
#
#     @torch.compile
#     def f(x, y):                    # on CPU tensors: torch's own parts become C++,
#         return add(x * 2, y)        # `add_kernel[grid](...)` in it stays a kernel: compiled for the emulated GPU, run on the emulator
#
# torch asks for `triton.backends.backends["cpu"]` and compiles for `GPUTarget("cpu", ...)`, as of a fork of Triton that has CPUs.


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
    """`TensorDescriptor` in a compiled function: torch asks the GPU, and is answered that there is none."""
    module._device_supports_tma = lambda: default_target().features.has_tma


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
