"""How good the model's tile sizes are: an exhaustive search over the configurations of 60 matmuls and 14 other kernels, on a GPU.

    python benchmarks/tile_search.py --out FILE.jsonl --seconds 550        measures, a line a case; run again it goes on after the last
    python benchmarks/tile_search.py --out FILE.jsonl --report             the figures of what is measured, nothing else
    python benchmarks/tile_search.py --tuning                              seconds of tuning, next to Triton with the tutorial's list
    python benchmarks/tile_search.py --out FILE.jsonl --fit 300            weights of the model fitted to half of the cases, judged by the rest
    python benchmarks/tile_search.py --dry-run                             without a GPU: enumerates, and how long that takes

Cases of one kind (types, alignment) share compiles, which all processes of the machine make before anything is timed (`--jobs`). Times are
medians with a cold L2 cache; what is within 10 % of the best, the model's first four and the tutorial's list are timed again. A line of FILE has a
case, and for each configuration its microseconds, registers, spilled registers and bytes of shared memory. `tile_resources.py` compares what the
model expects of the latter, `tile_lists.py` other lists of tiles by these times.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, fields, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from tile_search_cases import GROUPED, TUTORIAL, Array, Case, cases

from minitriton import MockTensor
from minitriton.errors import MinitritonError
from minitriton.runtime.autotuner import Config
from minitriton.runtime.tuning import resources as tuning_resources
from minitriton.runtime.tuning.measured import Measured
from minitriton.runtime.tuning.model import DEFAULT, Profile, Weights
from minitriton.runtime.tuning.problem import Problem, problem_of
from minitriton.runtime.tuning.ranking import Ranking, rank
from minitriton.runtime.tuning.resources import resources
from minitriton.runtime.tuning.space import configurations, misfit_of_size
from minitriton.runtime.tuning.taken import Resources
from minitriton.target import GPUTarget
from minitriton.target.architectures import architecture_of, speeds_of

LEAST = 300
"""Configurations of a matmul that are measured at least, if it has as many."""
USUAL_STAGES = (2, 3, 4)
SLOW = 3
"""A kernel that takes so many times the best of its case is timed by few launches."""
SPIN = 200_000
"""Cycles that the GPU waits before a launch that is timed, while the host gives it the launch: else a short kernel's time has the host's delays.
(Of the file of 2026-11-28, measured without, a quarter of the times of `matmul fp32 4096x128x2048` rise with stages by 25 % or more, of its siblings in other types none.)"""
BATCH = 8
"""Configurations that a process compiles at a time."""

Row = dict[str, Any]
Key = tuple[tuple[tuple[str, Any], ...], int, int]
"""Constants, warps and stages of a configuration."""


def key_of(config: Config) -> Key:
    return tuple(sorted(config.kwargs.items())), config.num_warps, config.num_stages


def mock_arguments(case: Case) -> list[Any]:
    return [MockTensor(a.element, list(a.shape)) if isinstance(a, Array) else a for a in case.arguments]


def problem_of_case(case: Case, target: GPUTarget) -> Problem:
    module = case.module()
    return problem_of(getattr(module, case.kernel), mock_arguments(case), case.constants(module), case.grid, target)


def nothing_measured(problem: Problem) -> Measured:
    """The model alone, whatever a tuner has stored on this machine."""
    return Measured(f"benchmark {problem.kind}")


def tutorial_configs(problem: Problem) -> list[Config]:
    """Those of Triton's tutorial that this kernel and size can have."""
    if not {"BM", "BN", "BK"} <= set(problem.roles.tiles) or "BK" in problem.given:
        return []
    return [Config({"BM": m, "BN": n, "BK": k}, warps, stages) for m, n, k, warps, stages in TUTORIAL]


def measured_configs(case: Case, problem: Problem) -> list[Config]:
    """The configurations of an exhaustive search: usual stages first, then others, and tiles longer than an axis where there are few."""
    space = configurations(problem).kept
    fitting = [fit.config for fit in space if misfit_of_size(problem, fit.config) is None]
    usual = [c for c in fitting if c.num_stages in USUAL_STAGES]
    chosen = usual if len(usual) >= LEAST or not case.operations else fitting
    if case.operations and len(chosen) < LEAST:
        known = {key_of(config) for config in chosen}
        longer = [
            fit.config
            for fit in space
            if key_of(fit.config) not in known
            and (m := misfit_of_size(problem, fit.config)) is not None
            and m.what == "axis"
        ]
        longer.sort(key=lambda config: math.prod(v for v in config.kwargs.values() if isinstance(v, int)))
        chosen = chosen + longer[: LEAST - len(chosen)]
    ranking = rank(problem, measured=nothing_measured(problem))
    more = [*tutorial_configs(problem), *(candidate.config for candidate in ranking.best(8))]
    return list({key_of(config): config for config in (*chosen, *more)}.values())


# Compiling


def compile_batch(case: Case, configs: Sequence[tuple[dict[str, Any], int, int]]) -> list[str]:
    """Compiles configurations into the kernel cache; what each failed by, or nothing."""
    module = case.module()
    function: Any = getattr(module, case.kernel)
    found: list[str] = []
    for kwargs, warps, stages in configs:
        config = Config(kwargs, warps, stages)
        try:
            function.warmup(*mock_arguments(case), grid=(1,), **case.constants(module), **config.all_kwargs())
            found.append("")
        except Exception as error:
            found.append(f"{type(error).__name__}: {error}".splitlines()[0][:200])
    return found


def compile_all(pool: ProcessPoolExecutor, case: Case, configs: Sequence[Config]) -> dict[Key, str]:
    """Compiles `configs` in all processes of `pool`; the errors of those that cannot be."""
    batches = [configs[i : i + BATCH] for i in range(0, len(configs), BATCH)]
    plain = [[(config.kwargs, config.num_warps, config.num_stages) for config in batch] for batch in batches]
    results = pool.map(compile_batch, [case] * len(batches), plain)
    found = {
        key_of(c): e for batch, errors in zip(batches, results, strict=True) for c, e in zip(batch, errors, strict=True)
    }
    return {key: error for key, error in found.items() if error}


# Timing


class Timer:
    """Times launches with a cold L2 cache."""

    def __init__(self) -> None:
        import torch

        self.torch = torch
        self.cache = torch.empty(64 << 20, dtype=torch.int32, device="cuda")

    def microseconds(self, launch: Callable[[], object], best: float, budget: float = 3e3, most: int = 10) -> float:
        """The median of as many launches as `budget` microseconds allow; of a kernel that takes three times the `best`, the shorter of two."""
        launch()
        times = [self._once(launch)]
        if times[0] > SLOW * best:
            return min(times[0], self._once(launch))
        times += [self._once(launch) for _ in range(min(max(int(budget / (times[0] + 200)), 3), most))]
        return statistics.median(times)

    def is_alive(self) -> bool:
        """Whether the GPU still takes work: not after an access of memory that is not there."""
        try:
            self.torch.cuda.synchronize()
        except RuntimeError:
            return False
        return True

    def _once(self, launch: Callable[[], object]) -> float:
        start, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        self.cache.zero_()
        self.torch.cuda._sleep(SPIN)
        start.record()
        launch()
        end.record()
        end.synchronize()
        return 1000 * start.elapsed_time(end)


def torch_arguments(case: Case) -> list[Any]:
    """The arguments of a launch on the GPU."""
    import torch

    names = {
        "fp16": "float16",
        "bf16": "bfloat16",
        "fp32": "float32",
        "fp8e4nv": "float8_e4m3fn",
        "i8": "int8",
        "i32": "int32",
        "i64": "int64",
    }
    torch.manual_seed(0)
    made: list[Any] = []
    for argument in case.arguments:
        if not isinstance(argument, Array):
            made.append(argument)
            continue
        dtype = getattr(torch, names[argument.element])
        if argument.fill == "sizes":
            made.append(torch.tensor([GROUPED] * argument.shape[0], dtype=dtype, device="cuda"))
        elif argument.fill == "addresses":
            made.append(_addresses(argument.shape[0]))
        elif argument.fill == "zeros":
            made.append(torch.zeros(argument.shape, dtype=dtype, device="cuda"))
        elif dtype in (torch.int8, torch.int32):
            made.append(torch.randint(-8, 8, argument.shape, dtype=dtype, device="cuda"))
        else:
            made.append(torch.randn(argument.shape, device="cuda").to(dtype))
    return made


_alive: list[Any] = []
"""Arrays that only addresses name."""


def _addresses(count: int) -> Any:
    import torch

    m, n, k = GROUPED
    shapes = ((m, k), (k, n), (m, n))
    _alive[:] = [[torch.randn(shape, device="cuda").half() for shape in shapes] for _ in range(count)]
    return torch.tensor([[each.data_ptr() for each in one] for one in _alive], dtype=torch.int64, device="cuda")


def measure(case: Case, problem: Problem, configs: Sequence[Config], failed: Mapping[Key, str], timer: Timer) -> Row:
    """All times of a case, and what each configuration takes and was expected to."""
    module = case.module()
    function: Any = getattr(module, case.kernel)
    arguments, constants = torch_arguments(case), case.constants(module)
    kernels: dict[Key, Any] = {}
    times: dict[Key, float] = {}
    errors = dict(failed)

    def launch(config: Config) -> Any:
        return function[case.grid](*arguments, **constants, **config.all_kwargs())

    for config in configs:
        key = key_of(config)
        if key in failed:
            continue
        try:
            kernels[key] = launch(config)
            times[key] = timer.microseconds(lambda config=config: launch(config), min(times.values(), default=math.inf))
        except Exception as error:
            errors[key] = f"{type(error).__name__}: {error}".splitlines()[0][:200]
            if not timer.is_alive():
                rows = [row_of(c, times, kernels, errors) for c in configs if key_of(c) in times or key_of(c) in errors]
                return {
                    "case": case.name,
                    "fatal": f"{config}: {errors[key]}",
                    "target": problem.target.arch,
                    "configs": rows,
                }
    ranking = rank(problem, measured=nothing_measured(problem))
    best = min(times.values())
    again = {key for key, taken in times.items() if taken < 1.1 * best}
    again |= {key_of(c) for c in (*tutorial_configs(problem), *(x.config for x in ranking.best(4)))} & set(times)
    for config in configs:
        if key_of(config) in again:
            times[key_of(config)] = timer.microseconds(lambda config=config: launch(config), math.inf, 2e4, 25)
    rows = [row_of(config, times, kernels, errors) for config in configs]
    by_time = sorted(
        (config for config in configs if key_of(config) in times), key=lambda config: times[key_of(config)]
    )
    outputs = [
        value
        for argument, value in zip(case.arguments, arguments, strict=True)
        if isinstance(argument, Array) and argument.fill == "zeros"
    ]
    launch(by_time[-1])
    wanted = [output.copy() if hasattr(output, "copy") else output.clone() for output in outputs]
    launch(by_time[0])
    difference = max((_difference(got, want) for got, want in zip(outputs, wanted, strict=True)), default=0.0)
    return {
        "case": case.name, "operations": case.operations, "target": problem.target.arch, "difference": difference, "configs": rows
    }  # fmt: skip


def _difference(got: Any, wanted: Any) -> float:
    """The largest difference of the results of two configurations, relative to the largest number."""
    got, wanted = (each.float() if hasattr(each, "float") else each.astype("float32") for each in (got, wanted))
    return float(abs(got - wanted).max()) / max(float(abs(wanted).max()), 1e-30)


def row_of(config: Config, times: Mapping[Key, float], kernels: Mapping[Key, Any], errors: Mapping[Key, str]) -> Row:
    key = key_of(config)
    row: Row = {"kwargs": config.kwargs, "warps": config.num_warps, "stages": config.num_stages}
    if key in kernels and kernels[key] is not None:
        kernel = kernels[key]
        row |= {"shared": kernel.metadata.shared}
        if kernel.n_regs is not None:
            row |= {"registers": kernel.n_regs, "spills": kernel.n_spills}
    return row | ({"us": times[key]} if key in times else {"error": errors.get(key, "not run")})


# Figures


def figures(row: Row, weights: Weights = DEFAULT, target: GPUTarget | None = None) -> Row | None:
    """Of a measured case: the share of the best that the model alone, its first four and the tutorial's list reach; rank correlation."""
    case = next((case for case in cases() if case.name == row["case"]), None)
    if case is None:
        return None
    problem = problem_of_case(case, target or GPUTarget("cuda", row["target"]))
    times = {
        (tuple(sorted(c["kwargs"].items())), c["warps"], c["stages"]): c["us"] for c in row["configs"] if "us" in c
    }
    ranking = rank(problem, weights, nothing_measured(problem))
    best = min(times.values())

    def share(configs: Iterable[Config]) -> float | None:
        found = [times[key] for config in configs if (key := key_of(config)) in times]
        return best / min(found) if found else None

    expected = {key_of(c.config): c.microseconds for c in ranking}
    common = [key for key in times if key in expected]
    first = [c.config for c in ranking if key_of(c.config) in times]
    return {
        "case": row["case"], "best_us": best, "configs": len(times), "k0": share(first[:1]), "k4": share(best_of(ranking, times)),
        "tutorial": share(tutorial_configs(problem)), "correlation": spearman([times[k] for k in common], [expected[k] for k in common]),
        "best": next(c for c in row["configs"] if c.get("us") == best), "first": str(first[0]) if first else "",
        "one_launch": bool(first) and times[key_of(first[0])] > SLOW * best,
    }  # fmt: skip


def best_of(ranking: Ranking, times: Mapping[Key, float]) -> list[Config]:
    kept = replace(ranking, kept=tuple(c for c in ranking if key_of(c.config) in times))
    return [candidate.config for candidate in kept.best(4)]


def spearman(a: Sequence[float], b: Sequence[float]) -> float:
    """The correlation of ranks."""

    def ranks(values: Sequence[float]) -> list[float]:
        order = sorted(range(len(values)), key=values.__getitem__)
        found = [0.0] * len(values)
        for position, index in enumerate(order):
            found[index] = float(position)
        return found

    return statistics.correlation(ranks(a), ranks(b)) if len(a) > 2 else 1.0


def report(rows: Sequence[Row], weights: Weights = DEFAULT) -> list[Row]:
    """Prints a line a case and the summary."""
    found = [made for row in rows if (made := figures(row, weights)) is not None]
    for made in sorted(found, key=lambda each: each["k0"] or 0):
        tutorial = f"{made['tutorial']:.3f}" if made["tutorial"] else "  -  "
        print(
            f"{made['case']:44} best {made['best_us']:9.1f} us of {made['configs']:4}   k=0 {made['k0'] or 0:.3f}  k=4 {made['k4'] or 0:.3f}"
            f"  tutorial {tutorial}  correlation {made['correlation']:.2f}   {_short(made['best'])}"
            + ("   k=0 timed by one launch or two" if made["one_launch"] else "")
        )
    apart = [f"{row['case']} {row['difference']:.2g}" for row in rows if not row.get("difference", 0) < 0.02]
    if apart:
        print("results of the fastest and the slowest configuration differ: " + ", ".join(apart))
    for what in ("k0", "k4", "tutorial", "correlation"):
        values = [made[what] for made in found if made[what] is not None]
        if values:
            mean = math.exp(statistics.fmean(math.log(max(v, 1e-3)) for v in values))
            print(
                f"{what}: median {statistics.median(values):.3f}, worst {min(values):.3f}, geometric mean {mean:.3f} of {len(values)}"
            )
    return found


def _short(config: Row) -> str:
    return "x".join(str(v) for v in config["kwargs"].values()) + f", {config['warps']} warps, {config['stages']} stages"


# Fitting


@dataclass(frozen=True)
class Fitted:
    """A measured case, for which the model is asked again and again: configurations that were measured, their times, and tiles."""

    name: str
    problem: Problem
    profile: Profile
    grid: Callable[[Mapping[str, Any]], Sequence[int]]
    taken: np.ndarray[Any, Any]
    tiles: list[tuple[Any, ...]]

    @classmethod
    def of(cls, row: Row) -> Fitted | None:
        case = next((case for case in cases() if case.name == row["case"]), None)
        if case is None:
            return None
        problem = problem_of_case(case, GPUTarget("cuda", row["target"]))
        arguments = {**problem.arguments, **problem.given}
        rows: list[tuple[dict[str, Any], int, int, Resources]] = []
        taken: list[float] = []
        for config in (c for c in row["configs"] if "us" in c):
            kwargs, warps, stages = config["kwargs"], config["warps"], config["stages"]
            if misfit_of_size(problem, Config(kwargs, warps, stages)) is None:
                rows.append(
                    (
                        kwargs,
                        warps,
                        stages,
                        resources(
                            problem.roles, {**problem.given, **kwargs}, warps, stages, architecture_of(row["target"])
                        ),
                    )
                )
                taken.append(config["us"])
        profile = Profile.of(
            problem.roles, problem.given, rows, architecture_of(row["target"]), speeds_of(row["target"])
        )
        tiles = [tuple(kwargs.get(name) for name in problem.roles.tiles) for kwargs, *_ in rows]
        return cls(
            row["case"], problem, profile, lambda kwargs: case.grid({**arguments, **kwargs}), np.array(taken), tiles
        )

    def score(self, weights: Weights) -> tuple[float, float, float, float]:
        """The share of the best that the first and the first four reach, the correlation of ranks, and how far expected and measured times
        are apart among those that take less than twice the best: the deviation of logarithms."""
        expected = self.profile.times(self.problem.sizes, self.problem.multiprocessors, self.grid, weights).microseconds
        order = np.argsort(expected, kind="stable")
        first: list[int] = []
        seen: dict[tuple[Any, ...], int] = {}
        for index in order.tolist():
            seen[self.tiles[index]] = seen.get(self.tiles[index], 0) + 1
            if seen[self.tiles[index]] <= 2:
                first.append(index)
            if len(first) == 4:
                break
        best = self.taken.min()
        apart = np.log(self.taken / expected)[self.taken < 2 * best]
        ranks = np.argsort(order), np.argsort(np.argsort(self.taken))
        return (
            best / self.taken[order[0]],
            best / self.taken[first].min(),
            float(np.corrcoef(*ranks)[0, 1]) if len(order) > 2 else 1.0,
            float(apart.std()),
        )


def fit(rows: Sequence[Row], seconds: float, seed: int = 0) -> Weights:
    """Weights with which the model's first are nearest to the best, of every second case; the others judge."""
    rng = random.Random(seed)
    known = [made for row in rows if (made := Fitted.of(row)) is not None]
    train, judge = known[::2], known[1::2]
    best, score = DEFAULT, _score(train, DEFAULT)
    print(f"{score:.4f} (the other half {_score(judge, best):.4f}) as they are", flush=True)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        names = [f.name for f in fields(Weights) if rng.random() < 0.25]
        width = rng.choice((0.05, 0.2, 0.6))
        tried = replace(best, **{name: getattr(best, name) * math.exp(rng.gauss(0, width)) for name in names})
        if (now := _score(train, tried)) > score:
            best, score = tried, now
            print(f"{score:.4f} (the other half {_score(judge, best):.4f})  {best}", flush=True)
    for what, some in (("fitted to", train), ("the others", judge)):
        shares = [made.score(best) for made in some]
        for number, name in enumerate(("k=0", "k=4", "correlation")):
            values = [each[number] for each in shares]
            print(f"{what}: {name} median {statistics.median(values):.3f}, worst {min(values):.3f}")
    return best


def _score(known: Sequence[Fitted], weights: Weights) -> float:
    """The mean share of the best that the first and the first four reach, worst cases counting more; correlation and deviation a little."""
    found = [made.score(weights) for made in known]
    shares = [0.5 * one + 0.5 * four for one, four, _, _ in found]
    smooth = 0.1 * statistics.fmean(each[2] for each in found) - 0.5 * statistics.fmean(each[3] for each in found)
    return statistics.fmean(s - 2 * max(0.9 - s, 0) for s in shares) + smooth


# Programs


def grouped(todo: Sequence[Case], target: GPUTarget) -> list[list[tuple[Case, Problem]]]:
    """Cases whose kernels are the same, for they share compiles."""
    found: dict[str, list[tuple[Case, Problem]]] = {}
    for case in todo:
        try:
            problem = problem_of_case(case, target)
        except MinitritonError as error:
            print(f"{case.name}: {error.message}")
            continue
        found.setdefault(problem.kind, []).append((case, problem))
    return list(found.values())


def search(todo: Sequence[Case], target: GPUTarget, out: Path, end: float, jobs: int) -> None:
    """Compiles and measures case after case until `end`, appending a line for each."""
    timer = Timer()
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        for group in grouped(todo, target):
            known: dict[Key, str] = {}
            compiled: set[Key] = set()
            for case, problem in group:
                if time.monotonic() > end:
                    return
                configs = measured_configs(case, problem)
                start = time.monotonic()
                missing = [config for config in configs if key_of(config) not in compiled]
                known |= compile_all(pool, case, missing)
                compiled |= {key_of(config) for config in missing}
                between = time.monotonic()
                row = measure(case, problem, configs, known, timer)
                row |= {
                    "compile_seconds": between - start,
                    "measure_seconds": time.monotonic() - between,
                    "compiled": len(missing),
                }
                with out.open("a") as file:
                    file.write(json.dumps(row) + "\n")
                if "fatal" in row:
                    sys.exit(f"{case.name}: the GPU is lost after {row['fatal']}; run it again for the other cases")
                made = figures(row)
                assert made is not None
                print(
                    f"{case.name:44} {len(configs):4} configurations, {len(missing):4} compiled in {between - start:5.1f} s, measured in "
                    f"{time.monotonic() - between:5.1f} s: k=0 {made['k0'] or 0:.3f}  k=4 {made['k4'] or 0:.3f}  best {_short(made['best'])}",
                    flush=True,
                )  # fmt: skip


def dry_run(todo: Sequence[Case], target: GPUTarget) -> None:
    """Without a GPU: the first configuration of each case, and how long the ranking takes."""
    for group in grouped(todo, target):
        for case, problem in group:
            start = time.perf_counter()
            ranking = rank(problem, measured=nothing_measured(problem))
            milliseconds = 1000 * (time.perf_counter() - start)
            print(
                f"{case.name:44} {len(measured_configs(case, problem)):4} configurations, {milliseconds:5.1f} ms: {ranking[0]}"
            )


def tuning_seconds(case: Case, compiler: str, configs: Any) -> tuple[float, Any]:
    """How long the first launch of a tuned kernel takes, nothing cached, and the configuration that it took."""
    module = case.module(compiler)
    tuned = module.triton.autotune(configs=configs, key=["m", "n", "k"])(getattr(module, case.kernel))
    arguments, constants = torch_arguments(case), case.constants(module)
    start = time.perf_counter()
    tuned[case.grid](*arguments, **constants)
    import torch

    torch.cuda.synchronize()
    return time.perf_counter() - start, tuned.best_config


def compare_tuning(names: Sequence[str]) -> None:
    """The tuner by the model next to Triton with the tutorial's list, each with a cache of its own."""
    for case in (case for case in cases() if case.name in names):
        found: dict[str, tuple[float, Any]] = {}
        for compiler in ("minitriton", "triton"):
            with tempfile.TemporaryDirectory() as folder:
                os.environ["TRITON_CACHE_DIR"] = folder
                config: Any = case.module(compiler).triton.Config
                listed = [config({"BM": m, "BN": n, "BK": k}, num_warps=w, num_stages=s) for m, n, k, w, s in TUTORIAL]
                found[compiler] = tuning_seconds(case, compiler, "model" if compiler == "minitriton" else listed)
        (ours, chosen), (theirs, other) = found["minitriton"], found["triton"]
        print(
            f"{case.name}: {ours:.2f} s by the model ({chosen}), {theirs:.2f} s by Triton's list ({other}): {ours / theirs:.3f}"
        )


def add_recording_option(parser: argparse.ArgumentParser) -> None:
    """Adds `--short-rows`, for files that were measured when tiles with rows of less than 128 bytes were described too (before 2026-11-28)."""

    class ShortRows(argparse.Action):
        def __call__(self, *_: Any) -> None:
            tuning_resources.SWIZZLED_ROW = 0

    parser.add_argument(
        "--short-rows",
        action=ShortRows,
        nargs=0,
        help="the file is of before 2026-11-28: tiles with short rows were described",
    )


def rows_of(files: Sequence[Path]) -> list[Row]:
    """The lines of all files that are there; of a case that is in several, the last."""
    lines = [json.loads(line) for file in files if file.exists() for line in file.read_text().splitlines()]
    return list({row["case"]: row for row in lines}.values())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="a file of JSON lines, to which cases are added")
    parser.add_argument(
        "--done", type=Path, action="append", default=[], help="another such file, whose cases are not measured again"
    )
    parser.add_argument("--seconds", type=float, default=550, help="after these no other case begins")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--only", default="", help="cases whose name has this")
    parser.add_argument("--arch", type=int, default=90, help="of --dry-run")
    parser.add_argument("--dry-run", action="store_true")
    parser.add_argument("--report", action="store_true")
    parser.add_argument(
        "--tuning", action="store_true", help="seconds of tuning, next to Triton with the tutorial's list"
    )
    parser.add_argument("--fit", type=float, metavar="SECONDS")
    add_recording_option(parser)
    arguments = parser.parse_args()
    end = time.monotonic() + arguments.seconds
    files = [*arguments.done, *([arguments.out] if arguments.out else [])]
    rows = rows_of(files)
    todo = [case for case in cases() if arguments.only in case.name and case.name not in {row["case"] for row in rows}]
    if arguments.dry_run:
        dry_run(todo, GPUTarget("cuda", arguments.arch))
        return 0
    if arguments.fit:
        print(fit([row for row in rows if "fatal" not in row], arguments.fit))
        return 0
    if not arguments.report:
        from requirements_here import need_gpu

        need_gpu()
        if arguments.tuning:
            compare_tuning(
                [f"matmul {what}" for what in ("fp16 4096x4096x4096", "bf16 8192x128x4096", "fp16 1024x1024x1024")]
            )
            return 0
        import torch

        if not arguments.out:
            parser.error("--out FILE.jsonl is where the times go")
        major, minor = torch.cuda.get_device_capability()
        with tempfile.TemporaryDirectory() as folder:
            os.environ.setdefault("TRITON_CACHE_DIR", folder)
            search(todo, GPUTarget("cuda", 10 * major + minor), arguments.out, end, arguments.jobs)
        rows = rows_of(files)
    report([row for row in rows if "fatal" not in row])
    return 0


if __name__ == "__main__":
    sys.exit(main())
