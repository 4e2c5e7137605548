"""The records of a sweep: counts by class, what is best, and a data frame.

table.counts()                     {"right": 480, "refused": 20}
table.best("instructions")         the right record of each kernel with the fewest
table.frame()                      pandas: a row a configuration, a column a metric

What order of passes the best configurations of many kernels agree on, `agreed_order(table, "cycles").text()`: of each kernel the best by a metric vote, for
every two passes of a level, whether the one stands before the other. The order is by Copeland's rule, the number of passes that one stands before in most
configurations less that of those it stands after; `share` is how many of the votes it follows. Passes that the best lack more often than not are named apart.

How well one metric ranks the configurations of a kernel by another, `ranking(table, "cycles", "microseconds")`: `spearman` is the rank correlation over the
kernel's different programs. Where all take the same time it ranks noise; `agreement` is the share of those pairs of programs in the same order whose `by`
differs by more than `GAP`; `spearman_beyond` leaves out the pairs that timing cannot tell apart.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from operator import le
from pathlib import Path
from typing import Any

from minitriton.errors import MinitritonError, optional_library
from minitriton.host.tables import ShownAsText, aligned
from minitriton.host.whole_file import write_whole
from minitriton.lab.sweeping.configuration import Configuration
from minitriton.lab.sweeping.correctness import Class, Evaluation
from minitriton.lab.sweeping.metrics import METRICS
from minitriton.lab.sweeping.space import is_fixed, segments

_NOT_RIGHT = (Class.WRONG, Class.UNSOUND, Class.FAILED, Class.CRASHED, Class.UNEVALUATED)
_NUMBERS = re.compile(r"\b(?:0x[0-9a-f]+|\d+)\b")


@dataclass
class Table(ShownAsText):
    """Records, and the seconds that the `evaluated` new ones of them took."""

    records: list[Evaluation] = field(default_factory=list[Evaluation])
    seconds: float = 0.0
    evaluated: int = 0
    own: dict[str, str] = field(default_factory=dict[str, str], compare=False)
    """By kernel, the configuration that it has by itself, where the store says."""

    def __len__(self) -> int:
        return len(self.records)

    def counts(self, kernel: str | None = None) -> dict[str, int]:
        """How many configurations of each class, of one kernel or all."""
        found = Counter(str(r.result) for r in self.records if kernel in (None, r.kernel))
        return {str(c): found[str(c)] for c in Class if found[str(c)]}

    def kernels(self) -> list[str]:
        """The kernels in it, in order."""
        return list(dict.fromkeys(r.kernel for r in self.records))

    def programs(self, kernel: str) -> int:
        """How many different programs the configurations of `kernel` gave."""
        return len({r.program for r in self.records if r.kernel == kernel and r.program})

    def best(self, metric: str) -> dict[str, Evaluation]:
        """By kernel, the right record with the best `metric`: the smallest, unless more of it is better; of equal ones the
        kernel's own. Raises `MinitritonError` for one that was not measured."""
        found: dict[str, Evaluation] = {}
        known: set[str] = set()
        sign = -1 if metric in METRICS and METRICS[metric].more_is_better else 1
        for record in self.records:
            numbers = record.all_metrics
            known.update(numbers)
            if record.result not in (Class.RIGHT, Class.COMPILED) or metric not in numbers:
                continue
            best = found.get(record.kernel)
            value = sign * numbers[metric]
            least = sign * best.all_metrics[metric] if best is not None else float("inf")
            is_own = record.pipeline == self.own.get(record.kernel)
            if best is None or value < least or (value == least and is_own):
                found[record.kernel] = record
        if not found:
            raise _not_measured(metric, known)
        return found

    def pareto_front(self, *metrics: str, kernel: str | None = None) -> list[Evaluation]:
        """The right records that no other is better than in one of `metrics` and no worse in the rest (of one kernel). Raises
        `MinitritonError` for a metric that was not measured."""
        kernels = self.kernels()
        if kernel is None and len(kernels) > 1:
            raise MinitritonError("a Pareto front is of one kernel", help="name it: kernel=" + repr(kernels[0]))
        records = [r for r in self.records if kernel in (None, r.kernel)]
        check_measured(records, *metrics)
        return undominated(records, metrics)

    def refused_all(self) -> bool:
        """Whether contracts or the target refused every configuration: then nothing was evaluated."""
        return all(r.result is Class.REFUSED for r in self.records)

    def not_right(self) -> list[Evaluation]:
        """What needs looking at: all but right, refused and merely compiled."""
        return [r for r in self.records if r.result in _NOT_RIGHT]

    def frame(self) -> Any:
        """A pandas `DataFrame`, a row a configuration. Raises `MinitritonError` where pandas is not installed."""
        return optional_library("pandas", "a data frame").DataFrame(
            [
                {
                    "kernel": r.kernel, "pipeline": r.pipeline, "class": str(r.result), "culprit": r.culprit,
                    "reason": r.reason, "program": r.program, **r.all_metrics,
                }
                for r in self.records
            ]
        )  # fmt: skip

    def to_parquet(self, path: str | Path) -> None:
        """Writes the data frame as a Parquet file. Raises `MinitritonError` where pandas or pyarrow is not installed."""
        optional_library("pyarrow", "Parquet")
        write_whole(Path(path), self.frame().to_parquet())

    @classmethod
    def read_parquet(cls, path: str | Path) -> Table:
        """The table that `to_parquet` wrote. Raises `MinitritonError` where pandas or pyarrow is not installed."""
        optional_library("pyarrow", "Parquet")
        frame = optional_library("pandas", "a data frame").read_parquet(path)
        return cls([_record_of(row) for row in frame.to_dict("records")])

    def text(self) -> str:
        """A row a kernel: configurations, programs, counts by class; then what is not right, the first of each kind."""
        rows = [("kernel", "configurations", "programs", "classes")]
        for kernel in self.kernels():
            counts = self.counts(kernel)
            classes = ", ".join(f"{count} {name}" for name, count in counts.items())
            rows.append((kernel, str(sum(counts.values())), str(self.programs(kernel)), classes))
        rate = (
            f", {60 * self.evaluated / self.seconds:.0f} configurations a minute"
            if self.evaluated and self.seconds
            else ""
        )
        total = ", ".join(f"{count} {name}" for name, count in self.counts().items())
        return "\n".join([*aligned(rows), "", f"{len(self.records)} configurations: {total}{rate}", *self._examples()])

    def faults(self) -> list[list[Evaluation]]:
        """What is `not_right`, together what has class, pass and reason (but for its numbers) in common, most first."""
        found: dict[tuple[str, str, str], list[Evaluation]] = {}
        for record in self.not_right():
            like = (str(record.result), record.culprit, _NUMBERS.sub("N", record.reason)[:80])
            found.setdefault(like, []).append(record)
        return sorted(found.values(), key=lambda records: -len(records))

    def _examples(self) -> list[str]:
        lines: list[str] = []
        for found in self.faults()[:20]:
            first = found[0]
            who = f" in {first.culprit}" if first.culprit else ""
            lines += [
                "",
                f"{first.result}{who}, {len(found)} configurations, first {first.kernel}: {first.reason[:200]}",
            ]
            lines.append(f"    {first.pipeline}")
        return lines


def check_measured(records: Sequence[Evaluation], *metrics: str) -> None:
    """Raises `MinitritonError` for one of `metrics` that none of the records has, where there are any."""
    known = {name for r in records for name in r.all_metrics}
    for name in metrics:
        if records and name not in known:
            raise _not_measured(name, known)


def _not_measured(metric: str, known: set[str]) -> MinitritonError:
    return MinitritonError(f"no record has the metric {metric!r}", help="measured: " + ", ".join(sorted(known)))


_TEXTS = {"kernel": "kernel", "pipeline": "pipeline", "culprit": "culprit", "reason": "reason", "program": "program"}


def _record_of(row: dict[str, str | float]) -> Evaluation:
    """The record of a row of a data frame."""
    numbers = {name: float(value) for name, value in row.items() if name not in (*_TEXTS, "class") and value == value}
    own = {name: numbers.pop(name) for name in list(numbers) if METRICS.get(name, METRICS["cycles"]).group == "seconds"}
    texts = {field_name: str(row[name]) for name, field_name in _TEXTS.items()}
    return Evaluation(result=Class(row["class"]), metrics=numbers, own=own, **texts)


def undominated(records: Iterable[Evaluation], metrics: Sequence[str]) -> list[Evaluation]:
    """The right records that none is better than in one of `metrics` and no worse in the rest, one of each program, by the first."""
    signs = [-1 if name in METRICS and METRICS[name].more_is_better else 1 for name in metrics]
    valued: dict[tuple[float, ...], Evaluation] = {}
    for record in records:
        numbers = record.all_metrics
        if record.result is Class.RIGHT and all(name in numbers for name in metrics):
            valued.setdefault(tuple(s * numbers[n] for s, n in zip(signs, metrics, strict=True)), record)
    return [valued[v] for v in sorted(valued) if not any(o != v and all(map(le, o, v)) for o in valued)]


BEST = 10
"""Configurations of each kernel that vote."""


@dataclass
class Agreement(ShownAsText):
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
