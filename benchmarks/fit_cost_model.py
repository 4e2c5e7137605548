"""The cost model beside times on an H200: how well it ranks kernels that it was not fitted to, and its coefficients fitted anew.

    python benchmarks/fit_cost_model.py                     the model as it is, and what times can say at most
    nice python benchmarks/fit_cost_model.py --rounds 1500  fits: each kernel ranked by a model that has not seen it, and one to all

In: `benchmarks/data/programs_on_h200.csv`, 450 programs of the benchmark's 26 kernels (814 configurations; random ones, single passes left out, other
launches; `own` is that of the kernel as it is), counted on the emulator, assembled, and timed in 15 interleaved rounds on 2026-11-22; and `held_out_on_h200.csv`, 194 programs of eight
kernels (family `held_out`) that neither terms nor coefficients were chosen by, means of two sets of 15 rounds on 2026-11-23. Out, by kernel: Spearman's rank correlation
of all programs, and the share of pairs in the right order, of those whose times differ by more than 3 % and by more than 1 %. The same

    of the median of half of the rounds with that of the other half, drawn from the spread of each program: what no model exceeds
    of a model whose error is so many per cent
    of the model of what is known without times (`KNOWN`), where fits begin
    with `--rounds`, of models fitted without the kernels that they rank, a fifth of them left out at once

and, beside each, the correlation over the pairs that the rounds tell apart (differences of more than twice their standard deviation),
and for how many kernels a search finds the fastest program that times the own one and those that the model expects to be fastest.
"""

from __future__ import annotations

import argparse
import csv
import dataclasses
import math
import random
import statistics
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from minitriton.lab.sweeping.cost_model import FITTED, KNOWN, MEGAHERTZ, Model, parts
from minitriton.lab.sweeping.references import TEST, TRAIN
from minitriton.lab.sweeping.table import agreement, spearman, spearman_beyond

MEASURED = Path(__file__).parent / "data" / "programs_on_h200.csv"
HELD_OUT = MEASURED.with_name("held_out_on_h200.csv")
ERRORS = (0.002, 0.01, 0.02, 0.05)
ROUNDS = 15
"""Of which the times are medians."""
HALVES_DRAWN = 50

FOLDS = 5
TIMED = (0, 1, 3, 5)
"""How many programs a search times beside the own one."""

SEEDS = 2
"""Fits of each set of kernels, of which the one with the least loss is taken."""

Counted = dict[str, np.ndarray]
"""What was measured of the programs of one kernel or of several, by metric."""


def read(table: Path = MEASURED) -> dict[str, Counted]:
    """The programs of a table, by kernel."""
    rows: dict[str, list[dict[str, float]]] = {}
    with table.open(newline="") as file:
        for row in csv.DictReader(file):
            kernel = row.pop("kernel")
            del row["settings"]
            rows.setdefault(kernel, []).append({name: float(text) for name, text in row.items()})
    return {kernel: {name: np.array([r[name] for r in own]) for name in own[0]} for kernel, own in rows.items()}


@dataclasses.dataclass(frozen=True)
class Ranked:
    """Of one kernel: how well estimates rank times."""

    correlation: float
    agreement_3: float
    agreement_1: float
    beyond: float
    """Spearman's correlation over the pairs that the rounds tell apart."""

    @classmethod
    def of(cls, estimates: np.ndarray, programs: Counted) -> Ranked:
        by, times = list(estimates), list(programs["microseconds"])
        shares = [agreement(by, times, gap)[0] for gap in (0.03, 0.01)]
        return cls(spearman(by, times), *shares, spearman_beyond(by, times, list(error_of_median(programs, ROUNDS))))


def ranked(programs: Mapping[str, Counted], model: Model, kernels: Iterable[str]) -> dict[str, Ranked]:
    """How well `model` ranks each of `kernels`."""
    return {k: Ranked.of(cycles(programs[k], model), programs[k]) for k in kernels}


def error_of_median(programs: Counted, rounds: int) -> np.ndarray:
    """The standard deviation, in µs, of the median of `rounds` rounds: a round's error is normal with the program's spread (the middle
    half, 1.349 deviations), and a median's 1.2533 of that over the root of the rounds."""
    return programs["microseconds"] * 1.2533 * programs["spread"] / 1.349 / math.sqrt(rounds)


def cycles(programs: Counted, model: Model) -> np.ndarray:
    """What `model` expects of each."""
    return np.asarray(parts(programs, model).total)


def mean(values: Iterable[float]) -> float:
    """Of those that are numbers."""
    return statistics.fmean(v for v in values if not math.isnan(v))


def line(found: Mapping[str, Ranked]) -> str:
    """The means over kernels."""
    rows = found.values()
    return (
        f"Spearman {mean(r.correlation for r in rows):.2f} ({sum(r.correlation >= 0.8 for r in rows)} of {len(rows)} at least 0.80), "
        f"pairs in order {100 * mean(r.agreement_3 for r in rows):.0f} % (3 % apart), "
        f"{100 * mean(r.agreement_1 for r in rows):.0f} % (1 % apart); Spearman of those that rounds tell apart "
        f"{mean(r.beyond for r in rows):.2f} ({sum(r.beyond >= 0.8 for r in rows)} at least 0.80)"
    )


def with_error(programs: Mapping[str, Counted], error: float, rng: np.random.Generator) -> dict[str, Ranked]:
    """How well the times themselves rank, each off by a normally distributed relative `error`."""
    found: dict[str, Ranked] = {}
    for kernel, own in programs.items():
        times = own["microseconds"]
        found[kernel] = Ranked.of(times * np.exp(error * rng.standard_normal(len(times))), own)
    return found


def half_with_half(programs: Counted, rng: np.random.Generator) -> float:
    """Spearman's correlation of two medians of half of the rounds."""
    times, error = programs["microseconds"], error_of_median(programs, ROUNDS // 2)
    drawn = [[list(times + error * rng.standard_normal(len(times))) for _ in range(2)] for _ in range(HALVES_DRAWN)]
    return statistics.fmean(spearman(first, second) for first, second in drawn)


class Loss:
    """Of a model over kernels, the mean of: pairs in the wrong order, each as heavy as their ranks are apart, those within 1 % less; and
    errors of the logarithm. All kernels' programs are estimated at once."""

    def __init__(self, programs: Mapping[str, Counted], kernels: Iterable[str]) -> None:
        chosen = [programs[k] for k in kernels]
        self._all = {name: np.concatenate([own[name] for own in chosen]) for name in chosen[0]}
        ends = np.cumsum([len(own["microseconds"]) for own in chosen])
        self._parts = [slice(end - len(own["microseconds"]), end) for own, end in zip(chosen, ends, strict=True)]
        self._measured = np.log(self._all["microseconds"] * MEGAHERTZ)
        pairs = [self._pairs(part) for part in self._parts]
        self._slower, self._faster, self._weights = (np.concatenate(one) for one in zip(*pairs, strict=True))

    def _pairs(self, part: slice) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        order = part.start + np.argsort(self._measured[part], kind="stable")
        faster, slower = np.triu_indices(len(order), 1)
        apart = self._measured[order[slower]] - self._measured[order[faster]]
        weights = (slower - faster) * np.minimum(1, apart / 0.01) * (apart > 0.003)
        return order[slower], order[faster], weights / max(weights.sum(), 1e-9) / len(self._parts)

    def __call__(self, model: Model) -> float:
        expected = np.log(cycles(self._all, model))
        behind = (expected[self._slower] - expected[self._faster]) / 0.012
        wrong = float((self._weights / (1 + np.exp(np.clip(behind, -50, 50)))).sum())
        errors = expected - self._measured
        middles = [float(np.median(errors[part])) for part in self._parts]
        around = [float(np.abs(errors[p] - m).mean()) for p, m in zip(self._parts, middles, strict=True)]
        return wrong + 0.3 * statistics.fmean(around) + 0.1 * statistics.fmean(map(abs, middles))


def fitted(programs: Mapping[str, Counted], kernels: Iterable[str], rounds: int, first: Model = KNOWN) -> Model:
    """The model with the least loss that `rounds` random changes find, the best of `SEEDS`."""
    loss = Loss(programs, kernels)
    return min((_climbed(loss, rounds, first, seed) for seed in range(SEEDS)), key=loss)


def _climbed(loss: Loss, rounds: int, first: Model, seed: int) -> Model:
    rng = random.Random(seed)
    names = [f.name for f in dataclasses.fields(Model)]
    best, least, step = first, loss(first), 0.4
    for number in range(rounds):
        chosen = rng.sample(names, rng.randrange(1, 4))
        changed = dataclasses.replace(best, **{n: getattr(best, n) * math.exp(rng.gauss(0, step)) for n in chosen})
        if (found := loss(changed)) < least:
            best, least = changed, found
        if number % 200 == 199:
            step = max(0.03, 0.85 * step)
    return best


def held_out(programs: Mapping[str, Counted], rounds: int) -> dict[str, Model]:
    """For each kernel the model that was fitted to the kernels of the other folds: every `FOLDS`-th kernel is left out at once."""
    names, found = sorted(programs), dict[str, Model]()
    for fold in range(FOLDS):
        left_out = names[fold::FOLDS]
        model = fitted(programs, [k for k in names if k not in left_out], rounds)
        found |= dict.fromkeys(left_out, model)
    return found


def found_among(programs: Mapping[str, Counted], models: Mapping[str, Model], timed: int) -> tuple[int, float]:
    """Of a search that times the own program and the `timed` that the model expects to be fastest: for how many kernels one of them is
    the fastest of all but for its spread, and how much slower than the fastest its choice is on average."""
    reached, behind, rng = 0, list[float](), np.random.default_rng(0)
    for kernel, own in programs.items():
        times = own["microseconds"]
        in_any_order = rng.permutation(len(times))
        expected = in_any_order[np.argsort(cycles(own, models[kernel])[in_any_order], kind="stable")]
        chosen = {int(own["own"].argmax()), *expected[:timed].tolist()}
        slower = min(times[i] for i in chosen) / times.min() - 1
        reached += slower <= own["spread"][int(times.argmin())]
        behind.append(slower)
    return reached, statistics.fmean(behind)


def searches(programs: Mapping[str, Counted], models: Mapping[str, Model]) -> str:
    """What searches of several sizes find."""
    told: list[str] = []
    for timed in TIMED:
        reached, behind = found_among(programs, models, timed)
        told.append(f"{timed} timed: {reached} of {len(programs)}, {100 * behind:.1f} % behind")
    return "; ".join(told)


def row(kernel: str, count: int, found: Ranked) -> str:
    """Of one kernel."""
    return f"{kernel:26} {count:3} {found.correlation:+.2f} {100 * found.agreement_3:4.0f} % {100 * found.agreement_1:4.0f} % {found.beyond:+.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=0, help="changes to try in each fit; 1500 take 2 minutes in all")
    given = parser.parse_args()
    programs, rng = read(), np.random.default_rng(0)
    counts = {kernel: len(own["microseconds"]) for kernel, own in programs.items()}
    everything, ceiling = ranked(programs, FITTED, programs), dict[str, float]()
    for kernel, found in everything.items():
        ceiling[kernel] = half_with_half(programs[kernel], rng)
        print(f"{row(kernel, counts[kernel], found)}  half of the rounds with the other {ceiling[kernel]:+.2f}")
    for label, kernels in (("train half", TRAIN), ("test half", TEST), ("all", tuple(programs))):
        print(f"{label}: {line({k: everything[k] for k in kernels})}")
    print(f"half of the rounds with the other: {mean(ceiling.values()):.2f}")
    for error in ERRORS:
        print(f"a model off by {100 * error:g} %: {line(with_error(programs, error, rng))}")
    print(f"what is known without times: {line(ranked(programs, KNOWN, programs))}")
    for label, of in (("the model", FITTED), ("what is known without times", KNOWN)):
        print(f"fastest found, by {label}: {searches(programs, dict.fromkeys(programs, of))}", flush=True)
    unseen_by_all = read(HELD_OUT)
    for label, of in (("the model", FITTED), ("what is known without times", KNOWN)):
        print(f"kernels held back, by {label}: {line(ranked(unseen_by_all, of, unseen_by_all))}")
        print(f"fastest found of those: {searches(unseen_by_all, dict.fromkeys(unseen_by_all, of))}")
    for kernel, found in ranked(unseen_by_all, FITTED, unseen_by_all).items():
        print(row(kernel, len(unseen_by_all[kernel]["own"]), found))
    if given.rounds:
        model = fitted(programs, programs, given.rounds)
        print(f"fitted to all: {line(ranked(programs, model, programs))}")
        print({f.name: float(f"{getattr(model, f.name):.3g}") for f in dataclasses.fields(Model)}, flush=True)
        models = held_out(programs, given.rounds)
        unseen = {kernel: ranked(programs, models[kernel], [kernel])[kernel] for kernel in programs}
        for kernel, found in unseen.items():
            print(row(kernel, counts[kernel], found))
        print(f"each by a model that had not seen it: {line(unseen)}")
        print(f"fastest found, by those: {searches(programs, models)}")


if __name__ == "__main__":
    main()
