"""The records of a sweep: counts by class, what is best, and a data frame.

table.counts()                     {"right": 480, "refused": 20}
table.best("instructions")         the right record of each kernel with the fewest
table.frame()                      pandas: a row a configuration, a column a metric
"""

from __future__ import annotations

import importlib
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from operator import le
from pathlib import Path
from typing import Any

from minitriton.errors import MinitritonError
from minitriton.host.whole_file import write_whole
from minitriton.lab.sweeping.correctness import Class, Evaluation
from minitriton.lab.sweeping.metrics import METRICS

_NOT_RIGHT = (Class.WRONG, Class.UNSOUND, Class.FAILED, Class.CRASHED, Class.UNEVALUATED)
_NUMBERS = re.compile(r"\b(?:0x[0-9a-f]+|\d+)\b")


@dataclass
class Table:
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

    def not_right(self) -> list[Evaluation]:
        """What needs looking at: all but right, refused and merely compiled."""
        return [r for r in self.records if r.result in _NOT_RIGHT]

    def frame(self) -> Any:
        """A pandas `DataFrame`, a row a configuration. Raises `MinitritonError` where pandas is not installed."""
        try:
            pandas = importlib.import_module("pandas")
        except ImportError:
            raise MinitritonError("a data frame needs pandas", help="pip install 'minitriton[lab]'") from None
        return pandas.DataFrame(
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
        frame = self.frame()
        try:
            write_whole(Path(path), frame.to_parquet())
        except ImportError:
            raise MinitritonError("Parquet needs pyarrow", help="pip install 'minitriton[lab]'") from None

    @classmethod
    def read_parquet(cls, path: str | Path) -> Table:
        """The table that `to_parquet` wrote. Raises `MinitritonError` where pandas or pyarrow is not installed."""
        try:
            frame = importlib.import_module("pandas").read_parquet(path)
        except ImportError:
            raise MinitritonError("Parquet needs pandas and pyarrow", help="pip install 'minitriton[lab]'") from None
        return cls([_record_of(row) for row in frame.to_dict("records")])

    def text(self) -> str:
        """A row a kernel: configurations, programs, counts by class; then what is not right, the first of each kind."""
        rows = [("kernel", "configurations", "programs", "classes")]
        for kernel in self.kernels():
            counts = self.counts(kernel)
            classes = ", ".join(f"{count} {name}" for name, count in counts.items())
            rows.append((kernel, str(sum(counts.values())), str(self.programs(kernel)), classes))
        widths = [max(len(row[column]) for row in rows) for column in range(3)]
        lines = ["  ".join((*(c.ljust(w) for c, w in zip(r, widths, strict=False)), r[3])) for r in rows]
        rate = (
            f", {60 * self.evaluated / self.seconds:.0f} configurations a minute"
            if self.evaluated and self.seconds
            else ""
        )
        total = ", ".join(f"{count} {name}" for name, count in self.counts().items())
        return "\n".join([*lines, "", f"{len(self.records)} configurations: {total}{rate}", *self._examples()])

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
