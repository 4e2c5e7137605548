"""What a search keeps: each point as it is judged, and what was measured of its program, in the store of sweeps.

    with SearchStore("tuning.db", reference, evaluate) as kept:
        kept(point)             the record that the store has, else judged, measured and written

A search that was killed asks for the same points again, with the same seed, and finds those that it had.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Self

from minitriton.lab.sweeping.evaluation import Evaluator
from minitriton.lab.sweeping.judging import Class, Record
from minitriton.lab.sweeping.metrics import LATER, METRICS
from minitriton.lab.sweeping.point import Point
from minitriton.lab.sweeping.references import Reference
from minitriton.lab.sweeping.store import Store, compiler_name


class SearchStore:
    """The records of `reference` in the file at `path`, and those that `evaluate` adds. Raises `MinitritonError` where the file has those
    of another launch or source."""

    def __init__(self, path: str | Path, reference: Reference, evaluate: Evaluator) -> None:
        self._evaluate, self._name = evaluate, reference.name
        self._store = Store(path, compiler_name(), whole=True)
        try:
            made = reference.with_ir(str(evaluate.subject.make_ir()))
            own = str(Point(evaluate.subject.pipeline()))
            self._store.add_kernel(self._name, made.text(), own, made.is_that_of)
            self._known = {record.pipeline: record for record in self._store.records(self._name)}
        except BaseException:
            self._store.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._store.close()

    def __call__(self, point: Point) -> Record:
        """The record of `point`, with the metrics that are searched by."""
        known = self._known.get(str(point))
        if known is not None and (known.result is not Class.RIGHT or self._is_measured(known)):
            return replace(known, metrics=dict(known.metrics))
        record = self._evaluate(point)
        self._write(record)
        return record

    def _is_measured(self, record: Record) -> bool:
        return all(name in record.all_metrics for name in self._evaluate.metrics)

    def _write(self, record: Record) -> None:
        groups: dict[str, dict[str, float]] = defaultdict(dict)
        for name, value in record.metrics.items():
            group = METRICS[name].group if name in METRICS else ""
            groups[group if group in LATER else ""][name] = value
        program = self._evaluate.judge.programs.get(record.program)
        self._store.add([replace(record, metrics=groups.pop("", {}))], [program] if program is not None else [])
        for group, numbers in groups.items():
            self._store.add_metrics(self._name, group, {record.program: numbers})
