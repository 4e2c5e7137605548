"""The cost model beside times on an H200: how well it ranks, and its coefficients fitted anew.

    python benchmarks/fit_cost_model.py [--rounds 0]

In: `benchmarks/data/programs_on_h200.csv`, 450 programs of the benchmark's 26 kernels (814 points; random ones, single passes left out, other
launches), counted on the emulator, assembled, and timed in 15 interleaved rounds on 2026-11-22. Out: by kernel, Spearman's rank
correlation and the share of pairs in the right order, of those whose times differ by more than 3 % and by more than 1 %; the same for a
model whose error is so many per cent. With `--rounds N`: the same after N random changes of the coefficients that lowered the
loss on one half of the kernels, for the other half, and the coefficients fitted to all.
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

from minitriton.lab.corpus.benchmark import TEST, TRAIN
from minitriton.lab.sweeping.cost_model import FITTED, MEGAHERTZ, Model, estimated_cycles
from minitriton.lab.sweeping.ranking import agreement, spearman

MEASURED = Path(__file__).parent / "data" / "programs_on_h200.csv"
ERRORS = (0.002, 0.01, 0.02, 0.05)

Programs = Mapping[str, list[dict[str, float]]]
"""What was measured of each program, by kernel."""


def read() -> Programs:
    """The programs of the table."""
    found: dict[str, list[dict[str, float]]] = {}
    with MEASURED.open(newline="") as file:
        for row in csv.DictReader(file):
            kernel = row.pop("kernel")
            del row["settings"]
            found.setdefault(kernel, []).append({name: float(text) for name, text in row.items()})
    return found


@dataclasses.dataclass(frozen=True)
class Ranked:
    """Of one kernel: how well estimates rank times."""

    correlation: float
    agreement_3: float
    agreement_1: float

    @classmethod
    def of(cls, estimates: list[float], times: list[float]) -> Ranked:
        shares = [agreement(estimates, times, gap)[0] for gap in (0.03, 0.01)]
        return cls(spearman(estimates, times), *shares)


def ranked(programs: Programs, model: Model, kernels: Iterable[str]) -> dict[str, Ranked]:
    """How well `model` ranks each of `kernels`."""
    return {
        kernel: Ranked.of([estimated_cycles(p, model) for p in programs[kernel]], times(programs[kernel]))
        for kernel in kernels
    }


def times(programs: list[dict[str, float]]) -> list[float]:
    """Microseconds."""
    return [p["microseconds"] for p in programs]


def mean(values: Iterable[float]) -> float:
    """Of those that are numbers."""
    return statistics.fmean(v for v in values if not math.isnan(v))


def line(found: Mapping[str, Ranked]) -> str:
    """The means over kernels."""
    rows = found.values()
    return (
        f"Spearman {mean(r.correlation for r in rows):.2f} ({sum(r.correlation >= 0.8 for r in rows)} of {len(rows)} at least 0.80), "
        f"pairs in order {100 * mean(r.agreement_3 for r in rows):.0f} % (3 % apart), "
        f"{100 * mean(r.agreement_1 for r in rows):.0f} % (1 % apart)"
    )


def with_error(programs: Programs, error: float, rng: random.Random) -> dict[str, Ranked]:
    """How well the times themselves rank, each off by a normally distributed relative `error`."""
    return {
        kernel: Ranked.of([t * math.exp(rng.gauss(0, error)) for t in times(of_kernel)], times(of_kernel))
        for kernel, of_kernel in programs.items()
    }


def loss(programs: Programs, model: Model, kernels: Iterable[str]) -> float:
    """Mean over kernels: pairs in the wrong order, weighed by how far their times are apart, and errors of the logarithm."""
    return statistics.fmean(_loss_of(programs[kernel], model) for kernel in kernels)


def _loss_of(programs: list[dict[str, float]], model: Model) -> float:
    measured = [math.log(t * MEGAHERTZ) for t in times(programs)]
    expected = [math.log(estimated_cycles(p, model)) for p in programs]
    weight = wrong = 0.0
    for i, (t, e) in enumerate(zip(measured, expected, strict=True)):
        for u, f in zip(measured[:i], expected[:i], strict=True):
            if abs(t - u) > 0.005:
                apart = min(abs(t - u), 0.15)
                weight += apart
                wrong += apart / (1 + math.exp(max(-50.0, min(50.0, (e - f) * math.copysign(1, t - u) / 0.03))))
    errors = [e - t for e, t in zip(expected, measured, strict=True)]
    middle = statistics.median(errors)
    return wrong / max(weight, 1e-9) + 0.3 * statistics.fmean(abs(e - middle) for e in errors) + 0.1 * abs(middle)


def fitted(programs: Programs, kernels: tuple[str, ...], rounds: int, seed: int = 0) -> Model:
    """The model with the least loss that `rounds` random changes find."""
    rng = random.Random(seed)
    names = [f.name for f in dataclasses.fields(Model)]
    best, least, step = FITTED, loss(programs, FITTED, kernels), 0.3
    for number in range(rounds):
        chosen = rng.sample(names, rng.randrange(1, 4))
        changed = dataclasses.replace(best, **{n: getattr(best, n) * math.exp(rng.gauss(0, step)) for n in chosen})
        if (found := loss(programs, changed, kernels)) < least:
            best, least = changed, found
        if number % 100 == 99:
            step = max(0.05, 0.8 * step)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=0, help="changes to try; 300 take a minute or two")
    given = parser.parse_args()
    programs = read()
    everything = ranked(programs, FITTED, programs)
    for kernel, row in everything.items():
        print(
            f"{kernel:26} {len(programs[kernel]):3} {row.correlation:+.2f} {100 * row.agreement_3:4.0f} % {100 * row.agreement_1:4.0f} %"
        )
    for label, kernels in (("train half", TRAIN), ("test half", TEST), ("all", tuple(programs))):
        print(f"{label}: {line({k: everything[k] for k in kernels})}")
    for error in ERRORS:
        print(f"a model off by {100 * error:g} %: {line(with_error(programs, error, random.Random(0)))}")
    if given.rounds:
        for label, seen, unseen in (("fitted to train", TRAIN, TEST), ("fitted to test", TEST, TRAIN)):
            model = fitted(programs, seen, given.rounds)
            print(f"{label}, that half: {line(ranked(programs, model, seen))}")
            print(f"{label}, the other: {line(ranked(programs, model, unseen))}", flush=True)
        model = fitted(programs, tuple(programs), given.rounds, 1)
        print(f"fitted to all: {line(ranked(programs, model, programs))}")
        print({f.name: float(f"{getattr(model, f.name):.3g}") for f in dataclasses.fields(Model)})


if __name__ == "__main__":
    main()
