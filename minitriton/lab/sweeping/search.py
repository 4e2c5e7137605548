"""Looking for the configuration that gives the least of something.

    found = search("log_sum_exp", Space(), "sectors", sampler="evolutionary", budget=300, seed=1)
    found.options, found.gain                 the options that make it of the default pipeline, and 0.12 for 12 % fewer

    search("bench_matmul", Space(constants=True), ("microseconds", "registers"), sampler="nsga2").pareto_front()

Only right programs count. Of the best one the edits that matter are left: those without which it is as good are dropped. A configuration asked for before costs nothing, and a program known before is not run again.
"""

import contextlib
import random
import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

from minitriton.errors import MinitritonError
from minitriton.host.tables import ShownAsText
from minitriton.lab.sweeping.candidates import Candidates
from minitriton.lab.sweeping.configuration import Configuration, settings_text
from minitriton.lab.sweeping.correctness import Class, Evaluation
from minitriton.lab.sweeping.evaluation import Evaluator
from minitriton.lab.sweeping.metrics import LATER, METRICS, groups_of, unknown_metric_help
from minitriton.lab.sweeping.reducing import DefaultOf, minimal, options_of
from minitriton.lab.sweeping.references import Inputs, Reference, reference_of_call, references
from minitriton.lab.sweeping.samplers import sampler_of
from minitriton.lab.sweeping.space import Space
from minitriton.lab.sweeping.store import Store, compiler_name
from minitriton.lab.sweeping.table import undominated
from minitriton.lab.sweeping.timing import ROUNDS, time_programs
from minitriton.lab.sweeping.tuning_task import TuningTask
from minitriton.pipeline.pipeline_spec import format_step
from minitriton.runtime.kernel_interface import KernelInterface


@dataclass
class Found(ShownAsText):
    """What a search found: the kernel's own configuration, the best one, and every record in the order in which they were asked for."""

    kernel: str
    objectives: tuple[str, ...]
    first: Evaluation
    best: Evaluation
    records: list[Evaluation] = field(default_factory=list[Evaluation])
    stopped_early: bool = False
    pruned: int = 0
    """Programs that were not timed, because the cost model expected too much of them."""
    options: str = ""
    """The command-line options that make the best configuration of the default one."""

    @property
    def objective(self) -> str:
        """The first objective."""
        return self.objectives[0]

    @property
    def gain(self) -> float:
        """By how much of the first value the best is lower: 0.5 for half, 0 for none."""
        before, after = (value_of(record, self.objective) for record in (self.first, self.best))
        return 1 - after / before if before else 0.0

    def convergence(self) -> list[float]:
        """The least value of the first objective after each configuration."""
        least, values = float("inf"), list[float]()
        for record in self.records:
            least = min(least, value_of(record, self.objective))
            values.append(least)
        return values

    def pareto_front(self) -> list[Evaluation]:
        """The records that no other is better than in one objective and no worse in the rest, by the first objective."""
        return undominated(self.records, self.objectives)

    def text(self) -> str:
        """The result and how the best configuration differs from the first."""
        before, after = (value_of(record, self.objective) for record in (self.first, self.best))
        head = f"{self.kernel}: {self.objective} {before:g} -> {after:g} ({100 * (-self.gain or 0.0):+.1f} %), {len(self.records)} configurations"
        lines = [
            head,
            *difference(self.first.pipeline, self.best.pipeline),
            f"    {self.options or 'the default pipeline'}",
        ]
        if len(self.objectives) > 1:
            lines += ["", "none is better in all of " + ", ".join(self.objectives)]
            for record in self.pareto_front():
                numbers = ", ".join(f"{name} {value_of(record, name):g}" for name in self.objectives)
                lines.append(f"  {numbers}\n    {record.pipeline}")
        return "\n".join(lines)


def search(
    kernel: str | Reference | TuningTask | KernelInterface,
    space: Space | None = None,
    objective: str | Sequence[str] = "instructions",
    *,
    sampler: str = "evolutionary",
    budget: int = 200,
    patience: int | None = None,
    seed: int = 0,
    prune: float | None = None,
    store: str | Path | None = None,
    progress: Callable[[str], None] | None = None,
    inputs: Inputs | None = None,
    grid: tuple[int, ...] = (1,),
) -> Found:
    """The best of `budget` configurations for `kernel`, by the metric `objective` (less is better); of several objectives, the Pareto front.

    `patience`: configurations without a gain after which it stops. `prune`: programs for which the cost model expects more than `prune` times the
    cycles of the best so far are not timed; only with a time among the objectives. A time is compared with the default pipeline's of the same rounds, and the best one is timed
    once more: if it is not faster by more than the spread then, the default pipeline is the best. `store`: a file of sweeps in which each
    configuration is stored once it is evaluated, so that the same search, begun again, goes on; not for times, which compare within rounds. Raises `MinitritonError` for a sampler
    or an objective that there is not, one that cannot be measured here, and for a kernel whose default pipeline is not right.
    """
    if isinstance(kernel, KernelInterface):
        kernel = reference_of_call(kernel, inputs, grid)
    objectives = (objective,) if isinstance(objective, str) else tuple(objective)
    for name in objectives:
        if name not in METRICS:
            raise MinitritonError(f"a search cannot lower {name!r}", help=unknown_metric_help(name))
    _check_numbers(budget, patience, prune)
    if prune is not None and "time" not in groups_of(objectives):
        raise MinitritonError(
            f"nothing to leave out: {' and '.join(objectives)} take no time to measure, and only what is timed is pruned",
            help="search by microseconds or speedup, or without prune",
        )
    walk_of = sampler_of(sampler, len(objectives), seed)
    if store is not None and ("time" in groups_of(objectives) or isinstance(kernel, TuningTask)):
        raise MinitritonError(
            "a search by time, or of a TuningTask, keeps no store: times compare within rounds, and a TuningTask lacks a name to be found by",
            help="search without store, or by another metric a kernel of the corpus or FILE.py:kernel",
        )
    reference = None if isinstance(kernel, TuningTask) else _reference(kernel)
    task = kernel if isinstance(kernel, TuningTask) else _reference(kernel).task()
    evaluate = Evaluator(task, objectives, prune)
    with contextlib.ExitStack() as stack:
        evaluate_or_load: Callable[[Configuration], Evaluation] = evaluate
        if store is not None and reference is not None:
            evaluate_or_load = stack.enter_context(SearchStore(store, reference, evaluate))
        candidates = Candidates(space or Space(), task)
        first = evaluate_or_load(candidates.first)
        if first.result is not Class.RIGHT:
            raise MinitritonError(f"kernel {task.name!r} is {first.result} as it is: {first.reason}")
        for name in objectives:
            if name not in first.all_metrics:
                raise MinitritonError(
                    f"{name} of kernel {task.name!r} is not known: its own program gives none",
                    help="search by another metric, such as cycles; minitriton.testing.do_bench times any launch",
                )
        found = Found(task.name, objectives, first, first, [first])
        ask = _Asking(evaluate_or_load, found, budget, patience, progress)
        for turn, _ in enumerate(walk_of(candidates, random.Random(seed), ask)):
            if ask.is_over or turn > 20 * budget:
                break
        found.stopped_early = len(found.records) < budget
        found.pruned = evaluate.pruned
        found.best, found.options = minimised(task.default_of, found.best, found.objective, ask.record_of)
        if found.objective in ("microseconds", "speedup"):
            _confirm(found, task, evaluate)
        return found


def _check_numbers(budget: int, patience: int | None, prune: float | None) -> None:
    if budget < 1 or (patience is not None and patience < 1):
        raise MinitritonError(
            f"cannot search {budget} configurations"
            + (f" with a patience of {patience}" if patience is not None else ""),
            help="give numbers of at least 1",
        )
    if prune is not None and not prune >= 1:
        raise MinitritonError(
            f"cannot leave out what is expected to take {prune:g} times the best",
            help="give a number of at least 1, such as 2",
        )


def _confirm(found: Found, task: TuningTask, evaluate: Evaluator) -> None:
    """Times the best once more next to the default pipeline; takes that one where the difference was chance."""
    programs = evaluate.checker.programs
    own, best = programs[found.first.program], programs[found.best.program]
    again = time_programs(task, own, [best], 3 * ROUNDS)[best.digest]
    found.best.metrics.update(again)
    if again.get("speedup", 1.0) < 1 + again["spread"]:
        found.best, found.options = found.first, ""


def _reference(kernel: str | Reference) -> Reference:
    return kernel if isinstance(kernel, Reference) else references([kernel])[0]


def value_of(record: Evaluation, objective: str) -> float:
    """What a search lowers: infinite where the record is not right or the number is missing."""
    numbers = record.all_metrics
    if record.result is not Class.RIGHT or objective not in numbers:
        return float("inf")
    if objective == "microseconds" and "speedup" in numbers and "own_microseconds" in numbers:
        return numbers["own_microseconds"] / numbers["speedup"]
    return -numbers[objective] if METRICS[objective].more_is_better else numbers[objective]


def minimised(
    default_of: DefaultOf, best: Evaluation, objective: str, record_of: Callable[[Configuration], Evaluation]
) -> tuple[Evaluation, str]:
    """The record of `best` less the edits without which it is as good, and the command-line options that make it."""
    least, records = value_of(best, objective), {best.pipeline: best}

    def is_as_good(configuration: Configuration) -> bool:
        record = records[str(configuration)] = record_of(configuration)
        return record.program == best.program or value_of(record, objective) <= least

    found = minimal(default_of, Configuration.parse(best.pipeline), is_as_good)
    return records[str(found)], options_of(default_of(found.settings), found)


@dataclass
class _Asking:
    """Evaluates a configuration and remembers the best; equal configurations are evaluated once."""

    evaluate: Callable[[Configuration], Evaluation]
    found: Found
    budget: int
    patience: int | None
    progress: Callable[[str], None] | None
    _known: dict[str, tuple[float, ...]] = field(default_factory=dict[str, tuple[float, ...]])
    _since_gain: int = 0
    _repeats: int = 0

    @property
    def is_over(self) -> bool:
        """Whether budget or patience is used up, or nothing new has been asked for a long time."""
        waited = self.patience is not None and self._since_gain >= self.patience
        return len(self.found.records) >= self.budget or waited or self._repeats > 20 * self.budget

    def record_of(self, configuration: Configuration) -> Evaluation:
        """The record of `configuration`, by which no search goes on."""
        record = self.evaluate(configuration)
        if (own := self.found.first.metrics.get("microseconds")) is not None:
            record.metrics["own_microseconds"] = own
        return record

    def __call__(self, configuration: Configuration) -> tuple[float, ...]:
        text = str(configuration)
        if text in self._known:
            self._repeats += 1
            return self._known[text]
        record = self.record_of(configuration)
        values = self._known[text] = tuple(value_of(record, name) for name in self.found.objectives)
        if text != self.found.first.pipeline:
            self.found.records.append(record)
        self._since_gain += 1
        if values[0] < value_of(self.found.best, self.found.objective):
            self.found.best, self._since_gain = record, 0
        if self.progress is not None:
            least = value_of(self.found.best, self.found.objective)
            self.progress(
                f"{len(self.found.records)} of {self.budget} configurations, {self.found.objective} {least:g}"
            )
        return values


def difference(before: str, after: str) -> list[str]:
    """What `after` has that `before` lacks (`+`) and the other way round (`-`): settings, and passes, each with the pass it follows."""
    import difflib

    first, second = Configuration.parse(before), Configuration.parse(after)
    a, b = (_steps_of(configuration) for configuration in (first, second))
    lines: list[str] = []
    if first.settings != second.settings:
        lines.append(f"  [{settings_text(first.settings)}] -> [{settings_text(second.settings)}]")
    for kind, a0, a1, b0, b1 in difflib.SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if kind == "equal":
            continue
        follows = f" after {a[a0 - 1]}" if a0 else " at the beginning"
        lines += [f"  - {name}{follows}" for name in a[a0:a1]] + [f"  + {name}{follows}" for name in b[b0:b1]]
    return lines


def _steps_of(configuration: Configuration) -> list[str]:
    """The passes as text, without options that only repeat a setting: `num-warps=1` where `num_warps` is 1."""
    repeated = "|".join(
        f"{re.escape(name.replace('_', '-'))}={re.escape(str(value))}(?=[ }}])"
        for name, value in configuration.settings
    )
    steps = [format_step(step) for step in configuration.pipeline.steps]
    return [re.sub(rf" ?(?:{repeated})", "", step).replace("{}", "") for step in steps] if repeated else steps


class SearchStore:
    """The records of `reference` in the file at `path`, and those that `evaluate` adds. Raises `MinitritonError` where the file has those
    of another launch or source."""

    def __init__(self, path: str | Path, reference: Reference, evaluate: Evaluator) -> None:
        self._evaluate, self._name = evaluate, reference.name
        self._store = Store(path, compiler_name(), whole=True)
        try:
            made = reference.with_ir(str(evaluate.task.make_ir()))
            own = str(Configuration(evaluate.task.pipeline()))
            self._store.add_kernel(self._name, made.text(), own, made.is_that_of)
            self._known = {record.pipeline: record for record in self._store.records(self._name)}
        except BaseException:
            self._store.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._store.close()

    def __call__(self, configuration: Configuration) -> Evaluation:
        """The record of `configuration`, with the metrics that are searched by."""
        known = self._known.get(str(configuration))
        if known is not None and (known.result is not Class.RIGHT or self._is_measured(known)):
            return replace(known, metrics=dict(known.metrics))
        record = self._evaluate(configuration)
        self._write(record)
        return record

    def _is_measured(self, record: Evaluation) -> bool:
        return all(name in record.all_metrics for name in self._evaluate.metrics)

    def _write(self, record: Evaluation) -> None:
        groups: dict[str, dict[str, float]] = defaultdict(dict)
        for name, value in record.metrics.items():
            group = METRICS[name].group if name in METRICS else ""
            groups[group if group in LATER else ""][name] = value
        program = self._evaluate.checker.programs.get(record.program)
        self._store.add([replace(record, metrics=groups.pop("", {}))], [program] if program is not None else [])
        for group, numbers in groups.items():
            self._store.add_metrics(self._name, group, {record.program: numbers})
