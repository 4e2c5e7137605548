"""How well one metric ranks the configurations of a kernel by another: the cost model's cycles by the time on a GPU.

    for row in ranking(table, "cycles", "microseconds"): print(row)

`spearman` is the rank correlation over the kernel's different programs. Where all take the same time it ranks noise; `agreement` is the
share of those pairs of programs in the same order whose `by` differs by more than `GAP`; `spearman_beyond` leaves out the pairs that
timing cannot tell apart.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from minitriton.lab.sweeping.correctness import Class
from minitriton.lab.sweeping.table import Table

GAP = 0.03


@dataclass(frozen=True)
class Ranking:
    """Of one kernel: `programs` with both metrics, and the `pairs` of them that are apart."""

    kernel: str
    programs: int
    spearman: float
    agreement: float
    pairs: int

    def __str__(self) -> str:
        return f"{self.kernel:28} {self.programs:4} {self.spearman:+.2f} {100 * self.agreement:5.0f} % of {self.pairs}"


def ranking(table: Table, metric: str, by: str, gap: float = GAP) -> list[Ranking]:
    """A row a kernel that has at least three programs with both metrics."""
    rows: list[Ranking] = []
    for kernel in table.kernels():
        known = {
            r.program: (r.all_metrics[metric], r.all_metrics[by])
            for r in table.records
            if r.kernel == kernel and r.result is Class.RIGHT and metric in r.all_metrics and by in r.all_metrics
        }
        if len(known) < 3:
            continue
        first, second = zip(*known.values(), strict=True)
        share, pairs = agreement(first, second, gap)
        rows.append(Ranking(kernel, len(known), spearman(first, second), share, pairs))
    return rows


def spearman(a: Sequence[float], b: Sequence[float]) -> float:
    """The correlation of ranks, ties in the middle; not a number where one of them is the same everywhere."""
    first, second = _ranks(a), _ranks(b)
    middle = (len(a) - 1) / 2
    across = sum((x - middle) * (y - middle) for x, y in zip(first, second, strict=True))
    spread = math.sqrt(sum((x - middle) ** 2 for x in first) * sum((y - middle) ** 2 for y in second))
    return across / spread if spread else math.nan


def spearman_beyond(a: Sequence[float], b: Sequence[float], error: Sequence[float]) -> float:
    """The correlation of ranks over the pairs whose `b` differ by more than twice the standard deviation of their difference: pairs that
    a measurement cannot tell apart say nothing for or against `a`.

    `error` is the standard deviation of each `b`, in its unit. It is Daniels' general correlation (Biometrika 33, 1944) of differences of
    ranks, with those of such pairs zero on both sides: `spearman` where there are none. Not a number where no pair is left.
    """
    first, second = _ranks(a), _ranks(b)
    apart = [(i, j) for i in range(len(a)) for j in range(i) if abs(b[i] - b[j]) > 2 * math.hypot(error[i], error[j])]
    steps = [(first[i] - first[j], second[i] - second[j]) for i, j in apart]
    across = sum(x * y for x, y in steps)
    spread = math.sqrt(sum(x * x for x, _ in steps) * sum(y * y for _, y in steps))
    return across / spread if spread else math.nan


def _ranks(values: Sequence[float]) -> list[float]:
    ordered = sorted(values)
    return [(ordered.index(v) + len(ordered) - 1 - ordered[::-1].index(v)) / 2 for v in values]


def agreement(a: Sequence[float], b: Sequence[float], gap: float) -> tuple[float, int]:
    """The share of pairs in the same order, of those whose `b` is more than `gap` apart; half for those with equal `a`."""
    apart = [(i, j) for i in range(len(a)) for j in range(i) if abs(math.log(b[i] / b[j])) > gap]
    same = sum(0.5 if a[i] == a[j] else float((a[i] < a[j]) == (b[i] < b[j])) for i, j in apart)
    return (same / len(apart) if apart else math.nan), len(apart)
