"""Contenders timed in turns, and a table of cases: what `attention.py`, `matmul.py` and `speed.py` share."""

from __future__ import annotations

import itertools
import json
import math
import statistics
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

Row = dict[str, Any]

ROUNDS = 4
"""The fewest rounds of a case."""


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


def balanced_orders(names: Sequence[str]) -> list[list[str]]:
    """Orders in which each of `names` comes in each place, and after each of the others, equally often: as many orders as names, or
    twice as many if their number is odd (Williams, 1949).

    A GPU that gives way to its limit of power runs what comes after a hot kernel slower. With orders that are only turned round, every
    contender has the same one before it in all rounds.
    """
    count = len(names)
    zigzag = [0 if place == 0 else (place + 1) // 2 if place % 2 else count - place // 2 for place in range(count)]
    orders = [[names[(number + start) % count] for number in zigzag] for start in range(count)]
    return orders + [order[::-1] for order in orders] if count % 2 else orders


def time_in_turns(
    runs: Mapping[str, Callable[[], Any]],
    time: Callable[[Callable[[], Any]], float] = median_milliseconds,
    rounds: int = ROUNDS,
) -> dict[str, list[float]]:
    """Milliseconds of each contender by `time`, one for each round: at least `rounds`, and whole sets of `balanced_orders`."""
    orders = balanced_orders(list(runs))
    times: dict[str, list[float]] = {name: [] for name in runs}
    for order in orders * -(-rounds // len(orders)):
        for name in order:
            times[name].append(time(runs[name]))
    return times


def ratio(times: Mapping[str, list[float]], to: str) -> float:
    """How fast minitriton is beside `to`: the median of the rounds' ratios."""
    return statistics.median(t / m for m, t in zip(times["minitriton"], times[to], strict=True))


def interval(times: Mapping[str, list[float]], to: str) -> tuple[float, float]:
    """A 95 % interval of `ratio`: the j-th of the rounds' ratios from either end (the sign test assumes no distribution), with the largest j
    that leaves so much inside. Of fewer than six rounds, all."""
    ratios = sorted(t / m for m, t in zip(times["minitriton"], times[to], strict=True))
    rounds = len(ratios)
    outside = itertools.accumulate(math.comb(rounds, below) * 0.5**rounds for below in range(rounds))
    left_out = max(sum(share <= 0.025 for share in outside) - 1, 0)
    return ratios[left_out], ratios[-1 - left_out]


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
