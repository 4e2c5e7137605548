"""The numbers of one configuration, in this process: evaluated, and measured as far as an objective asks for it.

    evaluate = Evaluator(task, ["registers", "cycles"])
    evaluate(configuration).metrics["cycles"]

Each different program is measured once.
"""

from collections.abc import Sequence
from dataclasses import replace

from minitriton.lab.sweeping.configuration import Configuration
from minitriton.lab.sweeping.correctness import Class, CorrectnessChecker, Evaluation
from minitriton.lab.sweeping.measuring import check_possible
from minitriton.lab.sweeping.metrics import LATER, groups_of
from minitriton.lab.sweeping.serving import measured
from minitriton.lab.sweeping.tuning_task import TuningTask
from minitriton.pipeline.pass_manager import Pipeline


class Evaluator:
    """Evaluates and measures configurations of `task`. With `prune`, programs for which the cost model expects more than `prune` times the
    cycles of the best one so far are not timed. Raises `MinitritonError` for metrics that cannot be measured here."""

    def __init__(self, task: TuningTask, metrics: Sequence[str], prune: float | None = None) -> None:
        groups = groups_of([*metrics, *(["cycles"] if prune is not None else [])])
        check_possible(groups)
        self.task, self.checker, self.metrics = task, CorrectnessChecker(task), tuple(metrics)
        self.later = [group for group in groups if group in LATER]
        self.prune = prune
        self.pruned = 0
        self._numbers: dict[str, dict[str, float]] = {}
        self._own = Configuration(task.pipeline())
        self._least_cycles = float("inf")

    def __call__(self, configuration: Configuration) -> Evaluation:
        """The record of `configuration`, with what its program was measured to be."""
        record = self.checker.record(configuration)
        if record.result is not Class.RIGHT or not self.later:
            return record
        return replace(record, metrics={**record.metrics, **self._of_program(record)})

    def record(self, given: Configuration | Pipeline | str) -> Evaluation:
        """As a checker's: the record of what `given` says."""
        return self(Configuration.of(given))

    def _of_program(self, record: Evaluation) -> dict[str, float]:
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
        programs = self.checker.programs
        own = programs.get(self.checker.record(self._own).program)
        task = self.task if group == "time" else None
        return measured(group, task, own, [programs[digest]], {digest: known}).get(digest, {})
