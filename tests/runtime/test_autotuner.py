"""Autotuning and heuristics, on the interpreter with timings made up."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minitriton
import minitriton.language as tl
from minitriton import Config, knobs
from minitriton.errors import OutOfResources
from minitriton.runtime.errors import AutotunerError

SMALL, LARGE = Config({"BLOCK": 16}), Config({"BLOCK": 64}, num_warps=8)


@minitriton.jit
def add_one(x, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + offsets, tl.load(x + offsets, mask=offsets < n) + 1, mask=offsets < n)


class Array(np.ndarray):
    """What the tuner asks of tensors, on a NumPy array."""

    def zero_(self) -> None:
        self[...] = 0

    def clone(self) -> Any:
        return self.copy()

    def copy_(self, other: Any) -> None:
        self[...] = other


def zeros(n: int) -> Any:
    return np.zeros(n, np.float32).view(Array)


class Bench:
    """Runs what it is to measure once, and gives the timings it was told in turn."""

    def __init__(self, *timings: float) -> None:
        self.timings = list(timings)
        self.count = 0

    def __call__(self, call: Callable[[], Any], quantiles: Any) -> Any:
        call()
        self.count += 1
        return [self.timings[(self.count - 1) % len(self.timings)]] * 3


def grid(args: dict[str, Any]) -> tuple[int]:
    return (minitriton.cdiv(args["n"], args["BLOCK"]),)


def tuned(bench: Any, configs: Any = (SMALL, LARGE), kernel: Any = add_one, **settings: Any) -> Any:
    return minitriton.autotune(list(configs), key=["n"], do_bench=bench, **settings)(kernel)


def test_the_fastest_configuration_is_chosen_once_for_each_key() -> None:
    bench = Bench(2.0, 1.0, 1.0, 2.0)
    kernel = tuned(bench)
    kernel[grid](zeros(100), 100)
    assert kernel.best_config is LARGE
    kernel[grid](zeros(100), 100)
    assert bench.count == 2
    kernel[grid](zeros(50), 50)
    assert (bench.count, kernel.best_config) == (4, SMALL)


def test_what_was_chosen_is_found_by_all_that_a_choice_depends_on() -> None:
    bench = Bench(2.0, 1.0)

    @minitriton.autotune([SMALL, LARGE], key=["n"], do_bench=bench)
    @minitriton.jit
    def kernel(x, n, other, BLOCK: tl.constexpr):
        tl.store(x + n, 1)

    x = zeros(64)
    for count, (args, kwargs) in enumerate(
        [((x, 4, None), {}), ((x, 5, None), {}), ((x, 4, zeros(4)), {}), ((x, 4), {"other": x.astype(np.int32)})], 1
    ):
        for _ in range(3):
            kernel[(1,)](*args, **kwargs)
            assert bench.count == 2 * count and kernel.best_config is LARGE and kernel.nargs == {}
    kernel[(1,)](x, 4, None)
    assert bench.count == 8
    kernel.cache.clear()
    kernel[(1,)](x, 4, None)
    assert bench.count == 10


def test_another_element_type_is_another_key() -> None:
    bench = Bench(1.0)
    kernel = tuned(bench)
    kernel[grid](zeros(32), 32)
    kernel[grid](np.zeros(32, np.int32), 32)
    assert (bench.count, len(kernel.cache)) == (4, 2)


def test_one_configuration_needs_no_measurement() -> None:
    bench = Bench(1.0)
    x = zeros(32)
    tuned(bench, [SMALL])[grid](x, 32)
    assert bench.count == 0
    np.testing.assert_array_equal(x, 1)


def test_what_a_kernel_adds_up_is_restored_or_reset() -> None:
    restored, reset = zeros(32), zeros(32)
    tuned(Bench(1.0), restore_value=["x"])[grid](restored, 32)
    tuned(Bench(1.0), reset_to_zero=["x"])[grid](reset, n=32)
    np.testing.assert_array_equal(restored, 1)
    np.testing.assert_array_equal(reset, 1)


def test_hooks_see_all_arguments_and_the_error() -> None:
    seen: list[Any] = []

    @minitriton.jit
    def refuses_large(x, n, BLOCK: tl.constexpr):
        tl.static_assert(BLOCK < 64)
        tl.store(x, n)

    def before(args: dict[str, Any], reset_only: bool = False) -> None:
        seen.append(("before", args["BLOCK"], reset_only))

    def after(args: dict[str, Any], exception: Exception | None) -> None:
        seen.append(("after", args["BLOCK"], type(exception).__name__))

    kernel = tuned(Bench(1.0), kernel=refuses_large, pre_hook=before, post_hook=after)
    kernel[(1,)](zeros(1), 1)
    assert kernel.best_config is SMALL
    assert seen == [
        ("before", 16, False),
        ("after", 16, "NoneType"),
        ("before", 64, False),
        ("after", 64, "CompileTimeAssertionFailure"),
        ("before", 16, True),
    ]


def test_a_configuration_that_does_not_fit_is_never_chosen() -> None:
    kernel = tuned(Bench(5.0), [SMALL, Config({"BLOCK": 16}, num_warps=128)])
    kernel[grid](zeros(16), 16)
    assert kernel.best_config is SMALL


def test_another_error_is_not_swallowed() -> None:
    def bench(call: Any, quantiles: Any) -> Any:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        tuned(bench)[grid](zeros(16), 16)


def test_pruning_leaves_what_it_returns() -> None:
    seen: dict[str, Any] = {}

    def prune(configs: Any, named: dict[str, Any], **kwargs: Any) -> Any:
        seen.update(named=set(named), kwargs=set(kwargs) - {"grid", "warmup"})
        return configs[1:]

    kernel = tuned(Bench(1.0), prune_configs_by={"early_config_prune": prune})
    kernel[grid](zeros(16), n=16)
    assert kernel.best_config is LARGE
    assert seen == {"named": {"x"}, "kwargs": {"n"}}


def test_pruning_everything_is_an_error() -> None:
    with pytest.raises(AutotunerError, match="No valid autotuner configs"):
        tuned(Bench(1.0), prune_configs_by={"early_config_prune": lambda *a, **k: []})[grid](zeros(16), 16)


def test_a_fraction_is_of_the_configurations_that_early_pruning_left() -> None:
    prune = {"early_config_prune": lambda c, *_, **__: c[:2], "perf_model": lambda BLOCK, **_: -BLOCK, "top_k": 0.5}
    bench = Bench(1.0)
    kernel = tuned(bench, [SMALL, LARGE, Config({"BLOCK": 32}), Config({"BLOCK": 128})], prune_configs_by=prune)
    kernel[grid](zeros(16), 16)
    assert (bench.count, kernel.best_config) == (0, LARGE)


@pytest.mark.parametrize(("top_k", "measured"), [(1, 0), (0.7, 2), (0.1, 0)])
def test_a_model_of_the_time_picks_what_is_measured_and_one_configuration_needs_no_measurement(
    top_k: float, measured: int
) -> None:
    bench = Bench(1.0)
    configs = [SMALL, LARGE, Config({"BLOCK": 32})]
    kernel = tuned(bench, configs, prune_configs_by={"perf_model": lambda BLOCK, **_: -BLOCK, "top_k": top_k})
    kernel[grid](zeros(16), 16)
    assert (bench.count, kernel.best_config) == (measured, LARGE)


def test_arguments_that_are_none_are_neither_reset_nor_restored() -> None:
    @minitriton.jit
    def adds_if_given(x, y, n, BLOCK: tl.constexpr):
        i = tl.arange(0, BLOCK)
        tl.store(x + i, tl.load(x + i, mask=i < n) + 1, mask=i < n)
        if y is not None:
            tl.store(y, 1)

    x = zeros(16)
    tuned(Bench(1.0), kernel=adds_if_given, reset_to_zero=["y"], restore_value=["x", "y"])[(1,)](x, None, 16)
    np.testing.assert_array_equal(x, 1)


def test_a_listener_is_told_of_every_choice() -> None:
    told: list[dict[str, Any]] = []
    with knobs.autotuning.scope():
        knobs.autotuning.listener = lambda **facts: told.append(facts)
        kernel = tuned(Bench(2.0, 1.0))
        for _ in range(2):
            kernel[grid](zeros(16), 16)
    (facts,) = told
    assert facts["fn"] is add_one and facts["best_config"] is LARGE and facts["key"][0] == 16
    assert set(facts["configs_timings"]) == {SMALL, LARGE} and facts["duration"] > 0 and not facts["cache_hit"]


def test_a_parameter_that_is_tuned_cannot_be_passed() -> None:
    with pytest.raises(ValueError, match="Conflicting meta-parameters: BLOCK"):
        tuned(Bench(1.0))[(1,)](zeros(16), 16, BLOCK=16)


def test_it_says_what_it_tries_and_chooses(capsys: pytest.CaptureFixture[str]) -> None:
    with knobs.autotuning.scope():
        knobs.autotuning.print = True
        tuned(Bench(2.0, 1.0))[grid](zeros(16), 16)
    text = capsys.readouterr().out
    assert "Autotuning kernel add_one with config BLOCK: 16, num_warps: 4" in text
    assert "best config selected: BLOCK: 64, num_warps: 8, num_ctas: 1, num_stages: 3, maxnreg: None;" in text


def test_other_processes_find_the_timings(tmp_path: Path) -> None:
    with knobs.cache.scope():
        knobs.cache.dir = str(tmp_path)
        first, second = Bench(2.0, 1.0), Bench(1.0, 2.0)
        tuned(first, cache_results=True)[grid](zeros(16), 16)
        again = tuned(second, cache_results=True)
        again[grid](zeros(16), 16)
    assert (first.count, second.count) == (2, 0)
    assert again.best_config == LARGE


def test_heuristics_see_what_came_before_them() -> None:
    @minitriton.heuristics({"BLOCK": lambda a: minitriton.next_power_of_2(a["n"]), "TWICE": lambda a: 2 * a["BLOCK"]})
    @minitriton.jit
    def fill(x, n, BLOCK: tl.constexpr, TWICE: tl.constexpr):
        offsets = tl.arange(0, BLOCK)
        tl.store(x + offsets, TWICE, mask=offsets < n)

    x = zeros(5)
    fill[(1,)](x, 5)
    np.testing.assert_array_equal(x, 16)


def test_warmup_compiles_every_configuration() -> None:
    kernels = tuned(Bench(1.0)).warmup(minitriton.MockTensor(tl.float32), 64, grid=(1,))
    assert [k.metadata.num_warps for k in kernels] == [4, 8]


def test_equal_configurations_are_equal() -> None:
    assert Config({"A": 1}) == Config({"A": 1})
    assert Config({"A": 1}) != Config({"A": 1}, num_warps=8)
    assert len({Config({"A": 1}), Config({"A": 1})}) == 1
    assert issubclass(OutOfResources, minitriton.TritonError)


def test_the_settings_may_be_given_in_their_order() -> None:
    def keep(configs: list[Config], named: dict[str, Any], **others: Any) -> list[Config]:
        return configs[1:]

    tuned = minitriton.autotune([SMALL, LARGE], ["n"], {"early_config_prune": keep}, ["x"], None)(add_one)
    assert tuned.early_config_prune is keep and tuned.reset_to_zero == ["x"]
    assert (tuned.num_warmups, tuned.num_reps, tuned.use_cuda_graph) == (None, None, False)
