"""Sweeps of benchmarks: tables, files, plots; summaries of timings; peaks of a device."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from minitriton import testing
from minitriton.errors import MinitritonError
from minitriton.runtime import active_driver, benchmarking, driver


@pytest.mark.parametrize(
    ("quantiles", "mode", "expected"),
    [
        (None, "mean", 4.0),
        (None, "median", 3.0),
        (None, "min", 1.0),
        (None, "max", 9.0),
        (None, "all", [4.0, 1.0, 2.0, 9.0]),
        ([0.5], "mean", 3.0),
        ([0.0, 0.5, 1.0], "mean", [1.0, 3.0, 9.0]),
    ],
)
def test_timings_are_summarised(quantiles: Any, mode: str, expected: Any) -> None:
    assert benchmarking.summary([4.0, 1.0, 2.0, 9.0], quantiles, mode) == expected


def test_a_mode_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match="return_mode must be one of"):
        benchmarking.summary([1.0], None, "mode")


def sweep(**others: Any) -> testing.Benchmark:
    return testing.Benchmark(
        **{
            "x_names": ["n"],
            "x_vals": [1, 2, 4],
            "line_arg": "provider",
            "line_vals": ["a", "b"],
            "line_names": ["A", "B"],
            "plot_name": "speed",
            "args": {"factor": 10},
            **others,
        }
    )


def measured(n: int, provider: str, factor: int, **_: Any) -> Any:
    value = float(n * factor)
    return value if provider == "a" else (value + 1, value, value + 2)


def test_a_sweep_is_a_table_printed_saved_and_returned(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pandas")
    if "matplotlib" in sys.modules or _has_matplotlib():
        import matplotlib

        matplotlib.use("Agg")
    mark = testing.perf_report(sweep())(measured)
    folder = tmp_path / "new"
    table = mark.run(print_data=True, save_path=str(folder), return_df=True, diff_col=True)
    assert list(table.columns) == ["n", "A", "B", "Diff"]
    assert table["A"].tolist() == [10.0, 20.0, 40.0]
    assert table["Diff"].tolist() == [1.0, 1.0, 1.0]
    assert capsys.readouterr().out.startswith("speed:\n")
    assert (folder / "speed.csv").read_text().splitlines()[1] == "1,10.000000,11.000000,1.000000"
    assert '<img src="speed.png"/>' in (folder / "results.html").read_text()
    assert (folder / "speed.png").exists() == _has_matplotlib()


def _has_matplotlib() -> bool:
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        return False
    return True


def test_several_sweeps_give_several_tables() -> None:
    pytest.importorskip("pandas")
    mark = testing.perf_report([sweep(), sweep(x_names=["n", "m"], x_vals=[(1, 2)], plot_name="two")])(measured)
    first, second = mark.run(return_df=True)
    assert len(first) == 3
    assert second[["n", "m"]].to_numpy().tolist() == [[1, 2]]


def test_without_matplotlib_a_plot_is_left_out_with_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pandas")
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.warns(UserWarning, match="speed is not plotted: matplotlib is not installed"):
        testing.perf_report(sweep())(measured).run(save_path=str(tmp_path))
    assert not (tmp_path / "speed.png").exists()
    assert (tmp_path / "speed.csv").exists()


def test_peaks_follow_from_clocks_and_widths(monkeypatch: pytest.MonkeyPatch) -> None:
    properties = {"multiprocessor_count": 132, "mem_clock_rate": 2_619_000, "mem_bus_width": 5120}
    monkeypatch.setattr(testing, "get_driver", lambda: SimpleNamespace(properties=lambda device: properties))
    assert testing.get_dram_gbps(0) == pytest.approx(3352.3, abs=0.1)
    assert testing.get_max_tensorcore_tflops("torch.float16", 1_755_000) == pytest.approx(474.4, abs=0.1)
    assert testing.get_max_tensorcore_tflops("fp8e4nv", 1_755_000) == pytest.approx(948.9, abs=0.1)
    assert testing.get_max_simd_tflops("torch.float32", 1_755_000) == pytest.approx(29.65, abs=0.01)
    with pytest.raises(RuntimeError, match="dtype not supported"):
        testing.get_max_simd_tflops("torch.int8", 1_755_000)


class Clock:
    """A device interface whose time goes on by 2 ms for each call that is measured."""

    def __init__(self) -> None:
        self.now = 0.0
        self.cleared = 0

    def synchronize(self) -> None:
        pass

    def Event(self, enable_timing: bool) -> Any:
        event = SimpleNamespace(at=0.0)
        event.record = lambda: setattr(event, "at", self.now)
        event.elapsed_time = lambda end: end.at - event.at
        return event


def test_a_call_is_timed_by_the_active_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    active = SimpleNamespace(
        get_device_interface=lambda: clock,
        get_empty_cache_for_benchmark=lambda: "cache",
        clear_cache=lambda cache: setattr(clock, "cleared", clock.cleared + (cache == "cache")),
    )
    tensor = SimpleNamespace(grad=1)

    def call() -> None:
        clock.now += 2

    driver.set_active(active)
    try:
        times = testing.do_bench(call, warmup=4, rep=20, grad_to_none=[tensor], return_mode="all")
    finally:
        driver.reset_active()
    assert times == [2.0] * 10
    assert tensor.grad is None
    assert clock.cleared == 5 + 10
    assert clock.now == 2 * (1 + 5 + 2 + 10)


def test_without_a_gpu_there_is_nothing_to_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(active_driver, "has_gpu", lambda: False)
    for bench in (testing.do_bench, testing.do_bench_cudagraph):
        with pytest.raises(MinitritonError, match="times kernels on a GPU"):
            bench(lambda: None)


SMI = """#!/bin/sh
echo "$@" >> {log}
case "$*" in
    *current.sm,clocks.current.memory*) echo "{clocks}" ;;
    *query*) echo "12, 7.5" ;;
esac
"""


@pytest.fixture
def nvidia_smi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Puts an `nvidia-smi` first on the PATH, with these clocks; gives the file of what it is asked."""

    def install(clocks: str) -> Path:
        log, program = tmp_path / "log", tmp_path / "nvidia-smi"
        program.write_text(SMI.format(log=log, clocks=clocks))
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
        return log

    return install


def test_the_gpu_is_asked_for_numbers(nvidia_smi: Callable[[str], Path]) -> None:
    nvidia_smi("0, 0")
    assert testing.nvsmi(["utilization.gpu", "power.draw"]) == [12, 7]


def test_clocks_are_fixed_and_freed(nvidia_smi: Callable[[str], Path]) -> None:
    log = nvidia_smi("1350, 1215")
    with testing.set_gpu_clock(1350, 1215) as (tflops, gbps):
        assert tflops == pytest.approx(298.6, rel=1e-3) and gbps == pytest.approx(1555.2)
        assert "--lock-gpu-clocks=1350,1350" in log.read_text() and "-rgc" not in log.read_text()
    assert log.read_text().splitlines()[-2:] == ["-i 0 -rgc", "-i 0 -rmc"]


def test_clocks_that_are_not_reached_are_an_error(nvidia_smi: Callable[[str], Path]) -> None:
    log = nvidia_smi("900, 1215")
    with pytest.raises(MinitritonError, match="SMs run at 900 MHz, not 1350"), testing.set_gpu_clock(1350, 1215):
        raise AssertionError("not reached")
    assert "-rgc" in log.read_text()


def test_without_nvidia_smi_the_error_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MinitritonError, match="cannot run nvidia-smi"):
        testing.nvsmi(["power.draw"])


CHECKED = """
import pytest
from minitriton.testing import cuda_memcheck

@pytest.mark.parametrize("n", [100, 128])
@cuda_memcheck(n=100)
def test_copy(n, request):
    print("RUNS", n)
"""


@pytest.mark.parametrize(("summary", "passed"), [("0 errors", 2), ("1 error", 1)])
def test_the_cases_that_are_named_run_under_the_memory_checker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, summary: str, passed: int
) -> None:
    checker = tmp_path / "compute-sanitizer"
    checker.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/log\n"$@"\necho "ERROR SUMMARY: {summary}"\n')
    checker.chmod(0o755)
    (tmp_path / "test_checked.py").write_text(CHECKED)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_checked.py"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert f"{passed} passed" in done.stdout, done.stdout
    asked = (tmp_path / "log").read_text().splitlines()
    assert len(asked) == 1 and asked[0].endswith("test_checked.py::test_copy[100]")
