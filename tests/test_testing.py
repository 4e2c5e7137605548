"""Sweeps of benchmarks: tables, files, plots; summaries of timings; peaks of a device."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from minitriton import testing
from minitriton.runtime import driver


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
    assert testing._summary([4.0, 1.0, 2.0, 9.0], quantiles, mode) == expected


def test_a_mode_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match="return_mode must be one of"):
        testing._summary([1.0], None, "mode")


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
    monkeypatch.setattr(driver, "get_driver", lambda: SimpleNamespace(properties=lambda device: properties))
    assert testing.get_dram_gbps(0) == pytest.approx(3352.3, abs=0.1)
    assert testing.get_max_tensorcore_tflops("torch.float16", 1_755_000) == pytest.approx(474.4, abs=0.1)
    assert testing.get_max_tensorcore_tflops("fp8e4nv", 1_755_000) == pytest.approx(948.9, abs=0.1)
    assert testing.get_max_simd_tflops("torch.float32", 1_755_000) == pytest.approx(29.65, abs=0.01)
    with pytest.raises(RuntimeError, match="dtype not supported"):
        testing.get_max_simd_tflops("torch.int8", 1_755_000)
