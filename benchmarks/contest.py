"""Contenders timed in turns, and a table of cases: what `attention.py` and `matmul.py` share."""

from __future__ import annotations

import json
import math
import statistics
import traceback
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

Row = dict[str, Any]

ROUNDS = 3


def median_milliseconds(run: Any) -> float:
    from triton.testing import do_bench

    return do_bench(run, warmup=10, rep=40, return_mode="median")


def largest_difference(got: Any, wanted: Any) -> float:
    """The largest difference of two tensors, relative to the largest number; infinite for a NaN."""
    apart = (got.float() - wanted.float()).abs().max().item()
    return math.inf if math.isnan(apart) else apart / max(wanted.float().abs().max().item(), 1e-30)


def resources(kernel: Any) -> str:
    """Registers, spilled registers and bytes of shared memory of a compiled kernel."""
    return f"{kernel.n_regs}/{kernel.n_spills}/{kernel.metadata.shared}"


def time_in_turns(runs: Mapping[str, Callable[[], Any]]) -> dict[str, list[float]]:
    """Milliseconds of each contender, a median a round; each round begins with another."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    order = list(runs)
    for turn in range(ROUNDS):
        for name in order[turn:] + order[:turn]:
            times[name].append(median_milliseconds(runs[name]))
    return times


def ratio(times: Mapping[str, list[float]], to: str) -> float:
    """How fast minitriton is beside `to`: the median of the rounds' ratios."""
    return statistics.median(t / m for m, t in zip(times["minitriton"], times[to], strict=True))


def print_table(
    cases: Iterable[Any], measure: Callable[[Any], Row], line: Callable[[Row], str], out: str | None
) -> int:
    """Measures the cases one by one, prints a line of each and the geometric mean of their `ratio`s, and writes the rows to `out` as JSON.
    1 if a case failed."""
    rows: list[Row] = []
    for case in cases:
        try:
            row = measure(case)
            print(line(row), flush=True)
        except Exception as error:
            traceback.print_exc(limit=-3)
            said = str(error).splitlines()[0][:120] if str(error) else ""
            print(f"{case.name:40} {type(error).__name__}: {said}", flush=True)
            row = {"name": case.name, "error": f"{type(error).__name__}: {error}"}
        rows.append(row)
    ratios = [row["ratio"] for row in rows if "ratio" in row]
    if ratios:
        mean = math.exp(statistics.fmean(map(math.log, ratios)))
        print(f"\ngeometric mean of the ratios {mean:.3f}, least {min(ratios):.3f}, of {len(ratios)} cases")
    if out:
        Path(out).write_text(json.dumps(rows, indent=1) + "\n")
    return int(any("error" in row for row in rows))
