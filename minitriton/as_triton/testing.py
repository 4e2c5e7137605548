"""Measuring and checking kernels on a GPU: Triton's `testing` module.

`do_bench` times a function with CUDA events and an L2 flush before each run; `perf_report` runs it over a sweep and
prints, plots or saves the table. Timing needs torch, tables pandas; without matplotlib the plots are left out with a warning.

`nvsmi(["clocks.current.sm", "power.draw"])` is what `nvidia-smi` says of the first GPU, `set_gpu_clock` fixes its clocks while something is measured.
`cuda_memcheck` has a test with cases that run under NVIDIA's memory checker; the emulator checks every access of a kernel on host arrays, without it:

    @pytest.mark.parametrize("n", [100, 128])
    @cuda_memcheck(n=100)
    def test_copy(n, request): ...            # n=100 runs as a test of its own, under compute-sanitizer
"""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from pathlib import Path
from types import FunctionType
from typing import Any, Protocol, cast

from minitriton.errors import MinitritonError
from minitriton.host.json_values import is_list_or_tuple
from minitriton.host.whole_file import write_whole
from minitriton.runtime import driver
from minitriton.runtime.benchmarking import time_graph, time_launches
from minitriton.runtime.cuda_driver import get_driver, has_gpu
from minitriton.runtime.on_cpu.emulation_cost import CLOCK, MEMORY_CLOCK, TIMING

__all__ = [
    "Benchmark", "Mark", "assert_close", "cuda_memcheck", "do_bench", "do_bench_cudagraph", "get_dram_gbps",
    "get_max_simd_tflops", "get_max_tensorcore_tflops", "nvsmi", "perf_report", "set_gpu_clock",
]  # fmt: skip


def do_bench(
    fn: Callable[[], Any],
    warmup: float = 25,
    rep: float = 100,
    grad_to_none: Any = None,
    quantiles: Any = None,
    return_mode: str = "mean",
) -> Any:
    """Milliseconds that `fn` takes on the GPU, its L2 cache cold. `warmup` and `rep` are milliseconds of running.

    Under `run_as_triton --cpu`, where there is no GPU, the emulator's estimate of one run (`runtime.on_cpu.emulation_cost`).
    """
    return time_launches(driver.active, fn, warmup, rep, grad_to_none, quantiles, return_mode)


def do_bench_cudagraph(
    fn: Callable[[], Any], rep: float = 20, grad_to_none: Any = None, quantiles: Any = None, return_mode: str = "mean"
) -> Any:
    """Milliseconds of `fn` replayed from a CUDA graph, so that launch overhead does not count."""
    return time_graph(driver.active, fn, rep, grad_to_none, quantiles, return_mode)


def assert_close(x: Any, y: Any, atol: float | None = None, rtol: float | None = None, err_msg: str = "") -> None:
    """Raises `AssertionError` unless `x` and `y` (tensors, arrays or numbers) agree within tolerance; NaNs must match."""
    import numpy as np

    def array(value: Any) -> Any:
        if hasattr(value, "detach"):
            value = value.detach().cpu()
            return (value.float() if "bfloat16" in str(value.dtype) else value).numpy()
        return np.asarray(value)

    np.testing.assert_allclose(
        array(x), array(y), atol=1e-2 if atol is None else atol, rtol=0.0 if rtol is None else rtol, err_msg=err_msg,
        equal_nan=True,
    )  # fmt: skip


@dataclass
class Benchmark:
    """A sweep for `perf_report`: one figure with `x_names` over `x_vals`, one line for each of `line_vals`."""

    x_names: list[str]
    x_vals: list[Any]
    line_arg: str
    line_vals: list[Any]
    line_names: list[str]
    plot_name: str
    args: dict[str, Any]
    xlabel: str = ""
    ylabel: str = ""
    x_log: bool = False
    y_log: bool = False
    styles: Any = None
    colors: Any = field(default=None)


@dataclass
class PlainTable:
    """What a sweep measured, where pandas is not installed: printed, neither plotted nor saved."""

    columns: list[str]
    rows: list[list[Any]]

    def to_string(self) -> str:
        """One line a row, without the columns of minima and maxima."""
        kept = [n for n, name in enumerate(self.columns) if not name.endswith(("-min", "-max"))]
        lines = [self.columns, *self.rows]
        return "\n".join("  ".join(f"{line[n]!s:>12}"[:24] for n in kept) for line in lines)


class Mark:
    """A benchmark function with its sweeps; `run()` measures them."""

    def __init__(self, fn: Callable[..., Any], benchmarks: Any) -> None:
        self.fn = fn
        self.benchmarks = benchmarks

    def _measure(self, bench: Benchmark, diff_col: bool, **kwargs: Any) -> Any:
        columns = [*bench.x_names]
        for name in bench.line_names:
            columns.extend([name, f"{name}-min", f"{name}-max"])
        rows: list[list[Any]] = []
        for x in bench.x_vals:
            xs = x if is_list_or_tuple(x) else (x,) * len(bench.x_names)
            row: list[Any] = list(xs)
            for line in bench.line_vals:
                point = dict(zip(bench.x_names, xs, strict=True))
                found = self.fn(**point, **{bench.line_arg: line}, **bench.args, **kwargs)
                row.extend(found if is_list_or_tuple(found) else (found, None, None))
            rows.append(row)
        try:
            import pandas
        except ImportError:
            return PlainTable(columns, rows)
        table = pandas.DataFrame(rows, columns=columns)
        if diff_col and len(bench.line_names) == 2:
            first, second = bench.line_names
            table["Diff"] = table[second] - table[first]
        return table

    def _plot(self, bench: Benchmark, table: Any, save_path: str, show_plots: bool) -> None:
        try:
            import matplotlib.pyplot as plt
        except ImportError:
            warnings.warn(f"{bench.plot_name} is not plotted: matplotlib is not installed", stacklevel=3)
            return
        axes = plt.subplots()[1]
        x = bench.x_names[0]
        for index, name in enumerate(bench.line_names):
            color, style = bench.styles[index] if bench.styles else (None, None)
            axes.plot(table[x], table[name], label=name, color=color, ls=style)
            low, high = table[f"{name}-min"], table[f"{name}-max"]
            if not low.isnull().all() and not high.isnull().all():
                axes.fill_between(table[x], low.astype(float), high.astype(float), alpha=0.15, color=color)
        axes.legend()
        axes.set_xlabel(bench.xlabel or x)
        axes.set_ylabel(bench.ylabel)
        axes.set_xscale("log" if bench.x_log else "linear")
        axes.set_yscale("log" if bench.y_log else "linear")
        if save_path:
            plt.savefig(Path(save_path) / f"{bench.plot_name}.png")
        if show_plots:
            plt.show()
        plt.close()

    def run(
        self,
        show_plots: bool = False,
        print_data: bool = False,
        save_path: str = "",
        return_df: bool = False,
        diff_col: bool = False,
        save_precision: int = 6,
        **kwargs: Any,
    ) -> Any:
        """Measures every sweep; prints, plots and saves as asked. Returns the tables if `return_df`."""
        single = isinstance(self.benchmarks, Benchmark)
        benchmarks: list[Benchmark] = [self.benchmarks] if single else list(self.benchmarks)
        if save_path:
            Path(save_path).mkdir(parents=True, exist_ok=True)
        tables: list[Any] = []
        for bench in benchmarks:
            table = self._measure(bench, diff_col, **kwargs)
            if isinstance(table, PlainTable):
                print(f"{bench.plot_name}:\n{table.to_string()}")
                tables.append(table)
                continue
            if bench.plot_name and (show_plots or save_path) and len(bench.x_names) == 1:
                self._plot(bench, table, save_path, show_plots)
            shown = table[[c for c in table.columns if not c.endswith(("-min", "-max"))]]
            if print_data:
                print(bench.plot_name + ":")
                print(shown.to_string())
            if save_path:
                write_whole(
                    Path(save_path) / f"{bench.plot_name}.csv",
                    shown.to_csv(float_format=f"%.{save_precision}f", index=False),
                )
            tables.append(shown)
        if save_path:
            images = "".join(f'<img src="{bench.plot_name}.png"/>\n' for bench in benchmarks)
            write_whole(Path(save_path) / "results.html", f"<html><body>\n{images}</body></html>\n")
        if not return_df:
            return None
        return tables[0] if single else tables


def perf_report(benchmarks: Benchmark | list[Benchmark]) -> Callable[[Callable[..., Any]], Mark]:
    """Decorator: makes a function that measures one point into a `Mark` that measures the sweeps."""
    return functools.partial(_mark, benchmarks)


def _mark(benchmarks: Any, fn: Callable[..., Any]) -> Mark:
    return Mark(fn, benchmarks)


def _properties(device: int | None) -> dict[str, int]:
    """Of the GPU, or of the one whose times are estimated on the CPU. Raises `MinitritonError` where there is neither."""
    if TIMING.by_count:
        return driver.active.utils.get_device_properties(device or 0)
    return get_driver().properties(device or 0)


def get_dram_gbps(device: int | None = None) -> float:
    """The memory bandwidth that the device's clocks and bus width allow, in GB/s."""
    properties = _properties(device)
    return properties["mem_clock_rate"] * properties["mem_bus_width"] * 2 / 1e6 / 8


_TENSOR_CORE_OPERATIONS = {
    "float32": 256,
    "int32": 256,
    "float16": 512,
    "bfloat16": 512,
    "int16": 512,
    "int8": 1024,
    "fp8": 1024,
}
"""Operations in each clock of one of the four parts of an SM, by element type; from Ampere on."""

_VECTOR_OPERATIONS = {"float32": 32, "float16": 64, "bfloat16": 64}


def get_max_tensorcore_tflops(dtype: Any, clock_rate: float, device: int | None = None) -> float:
    """The most that the device's tensor cores do at `clock_rate` (kHz), in TFLOP/s. Raises `RuntimeError` for a dtype they lack."""
    return _peak_tflops(_TENSOR_CORE_OPERATIONS, dtype, clock_rate, device)


def get_max_simd_tflops(dtype: Any, clock_rate: float, device: int | None = None) -> float:
    """The most that the device does without tensor cores at `clock_rate` (kHz), in TFLOP/s. Raises `RuntimeError` for other dtypes."""
    return _peak_tflops(_VECTOR_OPERATIONS, dtype, clock_rate, device)


def _peak_tflops(operations: dict[str, int], dtype: Any, clock_rate: float, device: int | None) -> float:
    name = str(dtype).rpartition(".")[2]
    name = (
        "fp8"
        if name.startswith(("fp8", "float8"))
        else {"fp16": "float16", "bf16": "bfloat16", "fp32": "float32"}.get(name, name)
    )
    if name not in operations:
        raise RuntimeError("dtype not supported")
    parts = _properties(device)["multiprocessor_count"] * 4
    return parts * clock_rate * operations[name] * 1e-9


_CHECKERS = ("compute-sanitizer", "cuda-memcheck")
"""The checker of CUDA 11.6 and later, and the one before."""

_INSIDE = "MINITRITON_MEMCHECK"
"""Set in the environment of a test that is being checked."""


class PytestNode(Protocol):
    """A test as pytest names it."""

    nodeid: str


class PytestRequest(Protocol):
    """What pytest's fixture `request` gives."""

    node: PytestNode


def cuda_memcheck(**target_kwargs: object) -> Callable[[Callable[..., object]], Callable[..., None]]:
    """Decorator of a test: cases whose parameters include `target_kwargs` run under the checker and fail for what it finds.

    The test needs pytest's fixture `request`. Raises `MinitritonError` where no checker is installed.
    """

    def decorate(test: Callable[..., object]) -> Callable[..., None]:
        @functools.wraps(test)
        def checked(*args: object, **kwargs: object) -> None:
            if _INSIDE in os.environ or not target_kwargs.items() <= kwargs.items():
                test(*args, **kwargs)
                return
            if "request" not in kwargs:
                raise MinitritonError(
                    f"{test.__name__} is to be checked and lacks the parameter `request`",
                    help="add pytest's fixture `request` to its parameters",
                )
            request = cast(PytestRequest, kwargs["request"])
            file = cast(FunctionType, test).__code__.co_filename
            _run_checked(request.node.nodeid.partition("::")[2], os.path.realpath(file))

        return checked

    return decorate


def _run_checked(test: str, file: str) -> None:
    checker = next((path for name in _CHECKERS if (path := shutil.which(name))), None)
    if checker is None:
        raise MinitritonError(
            "no memory checker is installed", help="put compute-sanitizer of the CUDA toolkit on the PATH"
        )
    command = [checker, sys.executable, "-m", "pytest", "-vs", f"{file}::{test}"]
    environment = {**os.environ, _INSIDE: "1", "PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode or "ERROR SUMMARY: 0 errors" not in done.stdout:
        raise AssertionError(f"{os.path.basename(checker)} found errors in {test}:\n{done.stdout}{done.stderr}")


_CLOSE = 10
"""MHz by which a clock may differ from what was asked for."""

_CLOCKS = {
    f"clocks.{when}{part}": clock
    for when in ("", "current.", "max.", "applications.")
    for parts, clock in ((("sm", "gr", "graphics"), CLOCK), (("mem", "memory"), MEMORY_CLOCK))
    for part in parts
}
"""kHz."""


def _nvidia_smi(*arguments: str) -> str:
    """What it prints. Raises `MinitritonError` where it is missing or refuses."""
    try:
        return subprocess.check_output(["nvidia-smi", "-i", "0", *arguments], text=True, stderr=subprocess.STDOUT)
    except OSError as error:
        raise MinitritonError(
            f"cannot run nvidia-smi: {error.strerror}", help="it comes with NVIDIA's driver; put it on the PATH"
        ) from None
    except subprocess.CalledProcessError as error:
        raise MinitritonError(
            f"nvidia-smi {' '.join(arguments)}: {error.output.strip()}", help="clocks are for the administrator to set"
        ) from None


def nvsmi(attrs: list[str]) -> list[int]:
    """The numbers that `nvidia-smi --query-gpu` gives for `attrs`, fractions dropped; on the CPU, clocks of the GPU whose times are estimated."""
    if TIMING.by_count and not has_gpu() and all(name in _CLOCKS for name in attrs):
        return [_CLOCKS[name] // 1000 for name in attrs]
    out = _nvidia_smi(f"--query-gpu={','.join(attrs)}", "--format=csv,noheader,nounits")
    return [int(float(number)) for number in out.split(",")]


@contextlib.contextmanager
def set_gpu_clock(ref_sm_clock: int = 1350, ref_mem_clock: int = 1215) -> Generator[tuple[float, float]]:
    """Inside the `with`, SMs and memory run at these clocks (MHz); gives the peaks of an A100 at them, in TFLOP/s and GB/s.

    Needs the administrator's rights. Raises `MinitritonError` if the clocks are not reached; they are freed at the end.
    """
    try:
        _nvidia_smi("-pm", "1")
        _nvidia_smi(f"--lock-gpu-clocks={ref_sm_clock},{ref_sm_clock}")
        _nvidia_smi(f"--lock-memory-clocks={ref_mem_clock},{ref_mem_clock}")
        clocks = nvsmi(["clocks.current.sm", "clocks.current.memory"])
        for name, clock, wanted in zip(("SMs", "memory"), clocks, (ref_sm_clock, ref_mem_clock), strict=True):
            if abs(clock - wanted) >= _CLOSE:
                raise MinitritonError(f"the GPU's {name} run at {clock} MHz, not {wanted}")
        yield 1e-6 * 2 * 108 * 4 * 256 * ref_sm_clock, 640 * 2 * ref_mem_clock * 1e-3
    finally:
        for reset in (("-pm", "0"), ("-rgc",), ("-rmc",)):
            _nvidia_smi(*reset)
