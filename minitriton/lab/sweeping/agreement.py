"""What order of passes the best configurations of many kernels agree on.

    agreed = agreed_order(table, "cycles")
    print(agreed.text())

Of each kernel the best configurations by a metric vote: for every two passes of a level, whether the one stands before the other. The order is by
Copeland's rule, the number of passes that one stands before in most configurations less that of those it stands after; `share` is how many of the
votes it follows. Passes that the best configurations lack more often than not are named apart.

And how well one metric ranks the configurations of a kernel by another: the cost model's cycles by the time on a GPU.

    for row in ranking(table, "cycles", "microseconds"): print(row)

`spearman` is the rank correlation over the kernel's different programs. Where all take the same time it ranks noise; `agreement` is the
share of those pairs of programs in the same order whose `by` differs by more than `GAP`; `spearman_beyond` leaves out the pairs that
timing cannot tell apart.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from minitriton.lab.sweeping.configuration import Configuration
from minitriton.lab.sweeping.correctness import Class, Evaluation
from minitriton.lab.sweeping.metrics import METRICS
from minitriton.lab.sweeping.space import is_fixed, segments
from minitriton.lab.sweeping.table import Table

BEST = 10
"""Configurations of each kernel that vote."""


@dataclass
class Agreement:
    """The order, level by level; by pass, the share of voting configurations that have it; and how many votes the order follows."""

    metric: str
    levels: list[list[str]] = field(default_factory=list[list[str]])
    presence: dict[str, float] = field(default_factory=dict[str, float])
    share: float = 1.0
    voters: int = 0

    def text(self) -> str:
        """A level a line, then what is left out more often than not."""
        lines = [
            f"by {self.metric}, {self.voters} configurations vote, {100 * self.share:.0f} % of their votes are followed"
        ]
        lines += ["  " + ", ".join(level) for level in self.levels if level]
        absent = [f"{name} ({100 * share:.0f} %)" for name, share in self.presence.items() if share < 0.5]
        return "\n".join([*lines, *(["left out more often than not: " + ", ".join(absent)] if absent else [])])


def agreed_order(table: Table, metric: str, best: int = BEST) -> Agreement:
    """The order that the `best` right configurations of each kernel by `metric` agree on. Raises `MinitritonError` if it was not measured."""
    table.best(metric)
    voters = [Configuration.parse(r.pipeline) for kernel in table.kernels() for r in _best(table, kernel, metric, best)]
    before: Counter[tuple[str, str]] = Counter()
    present: Counter[str] = Counter()
    level_of: dict[str, int] = {}
    for configuration in voters:
        for number, segment in enumerate(segments(configuration.pipeline.steps)):
            if any(map(is_fixed, segment)):
                continue
            names = list(dict.fromkeys(step.name for step in segment))
            for name in names:
                level_of.setdefault(name, number)
            present.update(names)
            before.update(itertools.combinations(names, 2))
    found = Agreement(metric, voters=len(voters))
    for number in sorted(set(level_of.values())):
        names = [name for name, level in level_of.items() if level == number]
        wins = {a: sum(_sign(before[a, b] - before[b, a]) for b in names) for a in names}
        found.levels.append(sorted(names, key=lambda name: -wins[name]))
    position = {name: i for i, name in enumerate(name for level in found.levels for name in level)}
    followed = sum(count for (a, b), count in before.items() if position[a] < position[b])
    found.share = followed / max(sum(before.values()), 1)
    found.presence = {name: present[name] / max(len(voters), 1) for name in position}
    return found


def _best(table: Table, kernel: str, metric: str, best: int) -> list[Evaluation]:
    sign = -1 if metric in METRICS and METRICS[metric].more_is_better else 1
    right = [r for r in table.records if r.kernel == kernel and r.result is Class.RIGHT and metric in r.all_metrics]
    return sorted(right, key=lambda r: (sign * r.all_metrics[metric], len(r.pipeline)))[:best]


def _sign(number: int) -> int:
    return (number > 0) - (number < 0)


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
