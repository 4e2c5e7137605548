"""How long launches take: CUDA events around runs of a function, with the L2 cache flushed before each, or a CUDA graph of them.

Timing needs torch. Under `run_as_triton --cpu`, where there is no GPU, it is the emulator's estimate (`on_cpu.emulation_cost`).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from typing import Any, Protocol, Self, TypeAlias

from minitriton.errors import MinitritonError
from minitriton.runtime.cuda_driver import torch_module
from minitriton.runtime.on_cpu.emulation_cost import TIMING, estimated_time

Times: TypeAlias = "float | list[float]"
"""Milliseconds: one figure, or several where several quantiles or all are asked for."""


class TimingEvent(Protocol):
    """A point in time on the device, as torch has it."""

    def record(self) -> None: ...

    def elapsed_time(self, end_event: Self, /) -> float: ...


class DeviceInterface(Protocol):
    """What timing asks of torch's module of a device, such as `torch.cuda`."""

    def synchronize(self) -> None: ...

    @property
    def Event(self) -> Callable[..., TimingEvent]: ...


class Clearable(Protocol):
    """Memory that fills the L2 cache when it is written."""

    def zero_(self) -> object: ...


class TimingDriver(Protocol):
    """What timing asks of a driver; `active_driver.ActiveDriver` is one, and programs bring their own."""

    def is_active(self) -> bool: ...

    def get_device_interface(self) -> DeviceInterface: ...

    def get_empty_cache_for_benchmark(self) -> Clearable: ...

    def clear_cache(self, cache: Any, /) -> None: ...


def summary(times: list[float], quantiles: Sequence[float] | None, return_mode: str) -> Times:
    if quantiles is not None:
        found = [_quantile(times, q) for q in quantiles]
        return found[0] if len(found) == 1 else found
    modes: dict[str, Callable[[list[float]], Times]] = {
        "all": list,
        "min": min,
        "max": max,
        "mean": statistics.mean,
        "median": statistics.median,
    }
    if return_mode not in modes:
        raise ValueError(f"return_mode must be one of {sorted(modes)}, not {return_mode!r}")
    return modes[return_mode](times)


def _quantile(values: list[float], q: float) -> float:
    """Linear interpolation between closest ranks."""
    if not 0 <= q <= 1:
        raise ValueError("Quantiles must be in the range [0, 1]")
    ordered = sorted(values)
    point = q * (len(ordered) - 1)
    low, high = math.floor(point), math.ceil(point)
    return ordered[low] + (point - low) * (ordered[high] - ordered[low])


_LEAST_ESTIMATE = 1e-3
"""Milliseconds below which events cannot tell how often to run."""


def _with_gpu(active: TimingDriver) -> TimingDriver:
    """The driver `active`. Raises `MinitritonError` where it has no GPU to time."""
    torch = torch_module()
    has_cuda = torch is not None and torch.cuda.is_available()
    if getattr(active, "may_emulate", False) and not active.is_active() and not has_cuda:
        raise MinitritonError(
            "do_bench times kernels on a GPU, and there is none",
            help="kernel.last_report has what the emulator counted of a launch; @autotune compares that without a GPU",
        )
    return active


def time_launches(
    active: TimingDriver,
    fn: Callable[[], object],
    warmup: float = 25,
    rep: float = 100,
    grad_to_none: Sequence[Any] | None = None,
    quantiles: Sequence[float] | None = None,
    return_mode: str = "mean",
) -> Times:
    """Milliseconds that `fn` takes on the GPU of the driver `active`, its L2 cache cold. `warmup` and `rep` are milliseconds of running.

    Under `run_as_triton --cpu`, where there is no GPU, the emulator's estimate of one run (`runtime.on_cpu.emulation_cost`).
    """
    if TIMING.by_count:
        return summary([estimated_time(fn)], quantiles, return_mode)
    driver = _with_gpu(active)
    device = driver.get_device_interface()
    fn()
    device.synchronize()
    cache = driver.get_empty_cache_for_benchmark()

    def event() -> TimingEvent:
        return device.Event(enable_timing=True)

    start, end = event(), event()
    start.record()
    for _ in range(5):
        driver.clear_cache(cache)
        fn()
    end.record()
    device.synchronize()
    estimate = max(start.elapsed_time(end) / 5, _LEAST_ESTIMATE)
    for _ in range(max(1, int(warmup / estimate))):
        fn()
    pairs = [(event(), event()) for _ in range(max(1, int(rep / estimate)))]
    for start, end in pairs:
        for tensor in grad_to_none or ():
            tensor.grad = None
        driver.clear_cache(cache)
        start.record()
        fn()
        end.record()
    device.synchronize()
    return summary([s.elapsed_time(e) for s, e in pairs], quantiles, return_mode)


def time_graph(
    active: TimingDriver,
    fn: Callable[[], object],
    rep: float = 20,
    grad_to_none: Sequence[Any] | None = None,
    quantiles: Sequence[float] | None = None,
    return_mode: str = "mean",
) -> Times:
    """Milliseconds of `fn` replayed from a CUDA graph, so that launch overhead does not count."""
    if TIMING.by_count:
        return summary([estimated_time(fn)], quantiles, return_mode)
    _with_gpu(active)
    import torch

    with torch.cuda.stream(torch.cuda.Stream()):
        fn()
        if grad_to_none is not None:
            for tensor in grad_to_none:
                tensor.detach_()
                tensor.requires_grad_(True)
                tensor.grad = None
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        for _ in range(5):
            fn()
        end.record()
        torch.cuda.synchronize()
        repeats = max(1, int(rep / max(start.elapsed_time(end) / 5, _LEAST_ESTIMATE)))
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for _ in range(repeats):
                for tensor in grad_to_none or ():
                    tensor.grad = None
                fn()
        torch.cuda.synchronize()
        times: list[float] = []
        for _ in range(10):
            start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            start.record()
            graph.replay()
            end.record()
            torch.cuda.synchronize()
            times.append(start.elapsed_time(end) / repeats)
        return summary(times, quantiles, return_mode)
