"""Launches on host arrays without a GPU: what is passed, what comes back, and what the emulator says of the kernel."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import minitriton as triton
import minitriton.language as tl
from minitriton import knobs
from minitriton.errors import MinitritonError
from minitriton.runtime import cuda_driver, driver
from minitriton.runtime.launching import dispatch
from minitriton.runtime.on_cpu.emulation import KernelFault


@triton.jit
def copy(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    tl.store(out + i, tl.load(x + i, mask=mask), mask=mask)


@triton.jit
def backwards(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x - i))


@triton.jit
def scalars(half: tl.float16, brain: tl.bfloat16, double: tl.float64, byte: tl.uint8, out):
    tl.store(out, half.to(tl.float32))
    tl.store(out + 1, brain.to(tl.float32))
    tl.store(out + 2, double.to(tl.float32))
    tl.store(out + 3, byte.to(tl.float32))


@triton.jit
def of_a_tuple(args, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(args[0] + i) * args[1] + args[2][0])


@triton.jit
def says(x, BLOCK: tl.constexpr):
    values = tl.load(x + tl.arange(0, BLOCK))
    tl.device_print("v", values)
    tl.device_assert(values < 3, "too big")


@triton.jit
def same_place(out, BLOCK: tl.constexpr):
    tl.store(out + tl.arange(0, BLOCK), tl.program_id(0))


@triton.jit
def meets(count, out):
    tl.atomic_add(count, 1)
    while tl.atomic_add(count, 0) < tl.num_programs(0):
        pass
    tl.store(out + tl.program_id(0), tl.load(count))


@triton.jit
def never(count):
    while tl.atomic_add(count, 0) < 1:
        pass


@triton.jit
def add_up(x, out, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + i) if EVEN else tl.load(x + i, mask=i < n, other=0.0)
    tl.atomic_add(out, tl.sum(values))


@pytest.fixture(autouse=True)
def settings(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("MINITRITON_INTERPRET", "TRITON_INTERPRET", "MINITRITON_EMULATOR_CHECK"):
        monkeypatch.delenv(name, raising=False)
    with knobs.emulator.scope(), knobs.runtime.scope():
        yield


def fresh(kernel: Any) -> Any:
    """The same kernel without anything that it remembers of earlier launches."""
    return triton.jit(kernel.fn)


def test_views_of_one_array_are_read_and_written_where_they_lie() -> None:
    base = np.arange(64, dtype=np.float32)
    copy[(1,)](base[1:], base[32:], 16, BLOCK=16)
    assert base.tolist() == [*range(32), *range(1, 17), *range(48, 64)]


def test_a_pointer_into_an_array_with_negative_strides_is_that_of_its_first_element() -> None:
    x, out = np.arange(32, dtype=np.float32), np.zeros(32, np.float32)
    backwards[(1,)](x[::-1], out, BLOCK=32)
    assert out.tolist() == x[::-1].tolist()


def test_numbers_of_each_width_are_passed_as_declared() -> None:
    out = np.zeros(4, np.float32)
    scalars[(1,)](1.5, 2.5, 3.25, 7, out)
    assert out.tolist() == [1.5, 2.5, 3.25, 7]


def test_a_number_that_does_not_fit_is_refused_by_its_parameter() -> None:
    with pytest.raises(MinitritonError, match="parameter 'byte': 300 does not fit its type u8"):
        scalars[(1,)](1.5, 2.5, 3.25, 300, np.zeros(4, np.float32))


def test_tuples_are_passed_part_by_part() -> None:
    x, out = np.arange(16, dtype=np.float32), np.zeros(16, np.float32)
    of_a_tuple[(1,)]((x, 2.0, (5, 1)), out, BLOCK=16)
    assert out.tolist() == (2 * x + 5).tolist()


def test_a_compiled_kernel_launches_on_host_arrays_too() -> None:
    x, out = np.arange(16, dtype=np.float32), np.zeros(16, np.float32)
    kernel = fresh(copy).warmup(x, out, 16, BLOCK=16, grid=(1,))
    kernel[(1,)](x, out, 16)
    assert out.tolist() == x.tolist()
    assert kernel.last_report is not None


def test_the_launch_returns_the_kernel_with_the_report_of_what_it_cost() -> None:
    x, out = np.arange(1024, dtype=np.float32), np.zeros(1024, np.float32)
    report = fresh(copy)[lambda meta: (1024 // meta["BLOCK"],)](x, out, 1024, BLOCK=256).last_report
    traffic = report.total("global")
    assert (traffic.bytes, traffic.sectors) == (2 * 4096, 2 * 128)
    assert report.grid == (4, 1, 1)


def test_no_cubin_is_made_for_the_emulator() -> None:
    x = np.arange(48, dtype=np.float32)
    assert "cubin" not in fresh(copy)[(1,)](x, x.copy(), 48, BLOCK=64).asm


def test_the_target_can_be_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_OVERRIDE_ARCH", "sm80")
    x = np.arange(16, dtype=np.float32)
    assert ".target sm_80" in fresh(copy)[(1,)](x, x.copy(), 16, BLOCK=16).asm["ptx"]


def test_prints_go_to_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    fresh(says)[(1,)](np.arange(32, dtype=np.float32), BLOCK=32, num_warps=1)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 32
    assert lines[5] == "pid (0, 0, 0) idx ( 5) v: 5.000000"


def test_a_failed_assertion_is_raised_at_its_line_in_debug_mode() -> None:
    x = np.arange(32, dtype=np.float32)
    with pytest.raises(KernelFault, match=r"assertion failed: too big") as caught:
        fresh(says)[(1,)](x, BLOCK=32, num_warps=1, debug=True)
    assert 'tl.device_assert(values < 3, "too big")' in str(caught.value)
    assert caught.value.report.findings[0].count == 29


def test_programs_that_write_one_place_are_warned_of() -> None:
    with pytest.warns(RuntimeWarning, match="global-race: writes what another CTA") as caught:
        fresh(same_place)[(4,)](np.zeros(16, np.int32), BLOCK=16)
    assert "test_emulation.py:" in str(caught[0].message)


@pytest.mark.parametrize(("setting", "warned"), [("first", [True, False]), ("1", [True, True]), ("0", [False, False])])
def test_the_knob_says_which_launches_are_checked(setting: str, warned: list[bool]) -> None:
    knobs.emulator.check = setting
    kernel, seen = fresh(same_place), []
    for _ in range(2):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            kernel[(4,)](np.zeros(16, np.int32), BLOCK=16)
        seen.append(bool(caught))
    assert seen == warned


def test_an_unknown_setting_of_the_knob_is_refused() -> None:
    knobs.emulator.check = "sometimes"
    with pytest.raises(MinitritonError, match="MINITRITON_EMULATOR_CHECK is 'sometimes'"):
        fresh(same_place)[(1,)](np.zeros(16, np.int32), BLOCK=16)


def test_the_programs_of_a_cooperative_grid_run_side_by_side() -> None:
    count, out = np.zeros(1, np.int32), np.zeros(100, np.int32)
    fresh(meets)[(100,)](count, out, launch_cooperative_grid=True)
    assert (out == 100).all()


def test_programs_that_wait_for_later_ones_run_at_once_too() -> None:
    count, out = np.zeros(1, np.int32), np.zeros(20, np.int32)
    fresh(meets)[(20,)](count, out, num_warps=16)
    assert (out == 20).all()


def test_programs_that_wait_for_nothing_are_an_error() -> None:
    with pytest.raises(KernelFault, match="deadlock: threads wait for memory that nothing changes"):
        fresh(never)[(1,)](np.zeros(1, np.int32), num_warps=1)


def test_an_empty_grid_runs_nothing() -> None:
    out = np.zeros(16, np.int32)
    fresh(same_place)[(0,)](out, BLOCK=16)
    assert not out.any()


def test_hooks_are_called_around_the_launch() -> None:
    called: list[str] = []
    knobs.runtime.launch_enter_hook.add(enter := lambda metadata: called.append(metadata.get()["name"]))
    knobs.runtime.launch_exit_hook.add(leave := lambda metadata: called.append("left"))
    try:
        kernel = fresh(same_place)
        kernel.add_pre_run_hook(lambda *args, **options: called.append("before"))
        kernel[(1,)](np.zeros(16, np.int32), BLOCK=16)
    finally:
        knobs.runtime.launch_enter_hook.remove(enter)
        knobs.runtime.launch_exit_hook.remove(leave)
    assert called == ["before", "same_place", "left"]


def test_an_autotuner_runs_each_configuration_once_and_takes_the_fewest_instructions() -> None:
    runs: list[int] = []
    configs = [
        triton.Config({"BLOCK": block}, pre_hook=lambda args: runs.append(args["BLOCK"])) for block in (64, 256, 128)
    ]
    even = triton.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})
    kernel = triton.autotune(configs, key=["n"], reset_to_zero=["out"])(even(fresh(add_up)))
    x, out = np.ones(1000, np.float32), np.zeros(1, np.float32)
    kernel[lambda meta: (triton.cdiv(1000, meta["BLOCK"]),)](x, out, 1000)
    assert out[0] == 1000
    costs = {config.kwargs["BLOCK"]: timing[0] for config, timing in kernel.configs_timings.items()}
    assert kernel.best_config.kwargs["BLOCK"] == min(costs, key=lambda block: costs[block])
    assert runs == [64, 256, 128, kernel.best_config.kwargs["BLOCK"]]


def test_a_value_to_restore_may_be_a_numpy_array() -> None:
    configs = [triton.Config({"BLOCK": block}) for block in (64, 128)]
    kernel = triton.autotune(configs, key=[], restore_value=["out"])(fresh(add_up))
    x, out = np.ones(128, np.float32), np.full(1, 5, np.float32)
    kernel[lambda meta: (128 // meta["BLOCK"],)](x, out, 128, EVEN=True)
    assert out[0] == 133


@triton.jit
def says_a_number(n):
    tl.device_print("n", n)


def test_a_kernel_without_arrays_runs_where_there_is_no_gpu(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(dispatch, "has_gpu", lambda: False)
    says_a_number.device_caches.clear()
    says_a_number[(1,)](7)
    assert "7" in capsys.readouterr().out


def test_no_driver_is_told_again_and_again_at_the_same_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda_driver, "_driver", MinitritonError("no CUDA driver"))
    depths: list[int] = []
    for _ in range(3):
        assert not driver.has_gpu()
        with pytest.raises(MinitritonError) as raised:
            driver.get_driver()
        depths.append(len(raised.traceback))
    assert len(set(depths)) == 1
