"""The numbers of one point, in this process: judged, and measured as far as an objective asks for it.

    evaluate = Evaluator(subject, ["registers", "cycles"])
    evaluate(point).metrics["cycles"]

Each different program is measured once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from minitriton.lab.sweeping.bench import measured
from minitriton.lab.sweeping.judging import Class, Judge, Record
from minitriton.lab.sweeping.measuring import check_possible
from minitriton.lab.sweeping.metrics import LATER, groups_of
from minitriton.lab.sweeping.point import Point
from minitriton.lab.sweeping.subject import Subject
from minitriton.pipeline.pass_manager import Pipeline


class Evaluator:
    """Judges and measures points of `subject`. With `prune`, programs of which the cost model expects more than `prune` times the
    cycles of the best one so far are not timed. Raises `MinitritonError` for metrics that cannot be measured here."""

    def __init__(self, subject: Subject, metrics: Sequence[str], prune: float | None = None) -> None:
        groups = groups_of([*metrics, *(["cycles"] if prune is not None else [])])
        check_possible(groups)
        self.subject, self.judge, self.metrics = subject, Judge(subject), tuple(metrics)
        self.later = [group for group in groups if group in LATER]
        self.prune = prune
        self.pruned = 0
        self._numbers: dict[str, dict[str, float]] = {}
        self._own = Point(subject.pipeline())
        self._least_cycles = float("inf")

    def __call__(self, point: Point) -> Record:
        """The record of `point`, with what its program was measured to be."""
        record = self.judge.record(point)
        if record.result is not Class.RIGHT or not self.later:
            return record
        return replace(record, metrics={**record.metrics, **self._of_program(record)})

    def record(self, given: Point | Pipeline | str) -> Record:
        """As a judge's: the record of what `given` says."""
        return self(Point.of(given))

    def _of_program(self, record: Record) -> dict[str, float]:
        known = self._numbers.get(record.program)
        if known is None:
            known = self._numbers[record.program] = {}
            for group in self.later:
                if group == "time" and self._is_pruned(known):
                    self.pruned += 1
                    continue
                known.update(self._measured(group, record.program, {**record.metrics, **known}))
        return known

    def _is_pruned(self, known: dict[str, float]) -> bool:
        cycles = known.get("cycles", 0.0)
        self._least_cycles = min(self._least_cycles, cycles)
        return self.prune is not None and cycles > self.prune * self._least_cycles

    def _measured(self, group: str, digest: str, known: dict[str, float]) -> dict[str, float]:
        programs = self.judge.programs
        own = programs.get(self.judge.record(self._own).program)
        subject = self.subject if group == "time" else None
        return measured(group, subject, own, [programs[digest]], {digest: known}).get(digest, {})
