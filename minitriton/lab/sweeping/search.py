"""Looking for the pipeline that gives the least of something.

    found = search("log_sum_exp", Space(), "sectors", sampler="evolutionary", budget=300, seed=1)
    found.best.pipeline, found.gain                 the text to give to `--pipeline`, and 0.12 for 12 % fewer

Only right programs count. A pipeline asked for before costs nothing, and a program known before is not run again.

    random          drawn from the space
    exhaustive      every single removal, swap of neighbours and duplication
    hill-climb      one change at a time, kept where it is no worse; begins anew after `PATIENCE` changes that gain nothing
    evolutionary    a population: the better of two parents, crossed and changed (Goldberg and Deb, "A comparative analysis of
                    selection schemes", 1991: tournament selection)
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from minitriton.errors import MinitritonError
from minitriton.lab.sweeping.judging import Class, Judge, Record
from minitriton.lab.sweeping.references import Reference, references
from minitriton.lab.sweeping.space import Space
from minitriton.lab.sweeping.subject import Subject
from minitriton.pass_manager import Pipeline

PATIENCE = 40
POPULATION = 24
_CROSSED = 0.5
"""How often a child has two parents. Not tuned."""


@dataclass
class Found:
    """What a search found: the target's own pipeline, the best one, and every record in the order in which they were asked for."""

    kernel: str
    objective: str
    first: Record
    best: Record
    records: list[Record] = field(default_factory=list)
    stopped_early: bool = False

    @property
    def gain(self) -> float:
        """By how much of the first value the best is lower: 0.5 for half, 0 for none."""
        before = self.first.metrics[self.objective]
        return 1 - self.best.metrics[self.objective] / before if before else 0.0

    def convergence(self) -> list[float]:
        """The least value after each point."""
        least, values = float("inf"), []
        for record in self.records:
            least = min(least, _value(record, self.objective))
            values.append(least)
        return values

    def text(self) -> str:
        """The result and how the best pipeline differs from the first."""
        before, after = (record.metrics[self.objective] for record in (self.first, self.best))
        head = f"{self.kernel}: {self.objective} {before:g} -> {after:g} ({-100 * self.gain:+.1f} %), {len(self.records)} points"
        return "\n".join([head, *difference(self.first.pipeline, self.best.pipeline), f"    {self.best.pipeline}"])


def search(
    kernel: str | Reference | Subject,
    space: Space | None = None,
    objective: str = "instructions",
    *,
    sampler: str = "evolutionary",
    budget: int = 200,
    patience: int | None = None,
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
) -> Found:
    """The best of `budget` points for `kernel`, by the metric `objective` (less is better).

    `patience`: points without a gain after which it stops. Raises `MinitritonError` for a sampler or an objective that there is not,
    and for a kernel whose own pipeline is not right.
    """
    if sampler not in SAMPLERS:
        raise MinitritonError(f"no sampler is called {sampler!r}", help="samplers: " + ", ".join(SAMPLERS))
    subject = kernel if isinstance(kernel, Subject) else _subject(kernel)
    judge = Judge(subject)
    first = judge.record(subject.pipeline())
    if first.result is not Class.RIGHT:
        raise MinitritonError(f"kernel {subject.name!r} is {first.result} as it is: {first.reason}")
    if objective not in first.metrics:
        raise MinitritonError(
            f"a search cannot lower {objective!r}", help="it can lower: " + ", ".join(sorted(first.metrics))
        )
    found = Found(subject.name, objective, first, first, [first])
    ask = _Asking(judge, found, budget, patience, progress)
    walk = SAMPLERS[sampler](space or Space(), subject, random.Random(seed), ask)
    for _ in walk:
        if ask.is_over:
            break
    found.stopped_early = len(found.records) < budget
    return found


def _subject(kernel: str | Reference) -> Subject:
    reference = kernel if isinstance(kernel, Reference) else references([kernel])[0]
    return reference.subject()


def _value(record: Record, objective: str) -> float:
    return record.metrics.get(objective, float("inf")) if record.result is Class.RIGHT else float("inf")


@dataclass
class _Asking:
    """Judges a pipeline and remembers the best; equal pipelines are judged once."""

    judge: Judge
    found: Found
    budget: int
    patience: int | None
    progress: Callable[[str], None] | None
    _known: dict[str, float] = field(default_factory=dict)
    _since_gain: int = 0
    _repeats: int = 0

    @property
    def is_over(self) -> bool:
        """Whether budget or patience is used up, or nothing new has been asked for a long time."""
        waited = self.patience is not None and self._since_gain >= self.patience
        return len(self.found.records) >= self.budget or waited or self._repeats > 20 * self.budget

    def __call__(self, pipeline: Pipeline) -> float:
        text = str(pipeline)
        if text in self._known:
            self._repeats += 1
            return self._known[text]
        record = self.judge.record(pipeline)
        value = self._known[text] = _value(record, self.found.objective)
        self.found.records.append(record)
        self._since_gain += 1
        if value < _value(self.found.best, self.found.objective):
            self.found.best, self._since_gain = record, 0
        if self.progress is not None:
            least = self.found.best.metrics[self.found.objective]
            self.progress(f"{len(self.found.records)} of {self.budget} points, {self.found.objective} {least:g}")
        return value


Ask = Callable[[Pipeline], float]


def _random(space: Space, subject: Subject, rng: random.Random, ask: Ask) -> Iterator[None]:
    base, facts = subject.pipeline(), subject.facts
    while True:
        ask(space.sample(base, facts, rng))
        yield


def _exhaustive(space: Space, subject: Subject, rng: random.Random, ask: Ask) -> Iterator[None]:
    for pipeline in space.neighbours(subject.pipeline()):
        ask(pipeline)
        yield


def _hill_climb(space: Space, subject: Subject, rng: random.Random, ask: Ask) -> Iterator[None]:
    start, facts = subject.pipeline(), subject.facts
    while True:
        here, value, idle = start, ask(start), 0
        while idle < PATIENCE:
            changed = space.mutate(here, facts, rng)
            reached = ask(changed)
            idle = 0 if reached < value else idle + 1
            if reached <= value:
                here, value = changed, reached
            yield
        start = space.sample(subject.pipeline(), facts, rng)


def _evolutionary(space: Space, subject: Subject, rng: random.Random, ask: Ask) -> Iterator[None]:
    base, facts = subject.pipeline(), subject.facts
    population = [(ask(base), base)]
    while len(population) < POPULATION:
        pipeline = space.mutate(base, facts, rng) if rng.random() < 0.5 else space.sample(base, facts, rng)
        population.append((ask(pipeline), pipeline))
        yield
    while True:
        mother, father = (min(rng.sample(population, 2), key=lambda one: one[0])[1] for _ in range(2))
        child = space.cross(mother, father, facts, rng) if rng.random() < _CROSSED else mother
        child = space.mutate(child, facts, rng)
        population.append((ask(child), child))
        population.remove(max(population, key=lambda one: (one[0], len(one[1].steps))))
        yield


SAMPLERS: dict[str, Callable[[Space, Subject, random.Random, Ask], Iterator[None]]] = {
    "random": _random,
    "exhaustive": _exhaustive,
    "hill-climb": _hill_climb,
    "evolutionary": _evolutionary,
}


def difference(before: str, after: str) -> list[str]:
    """The passes of `after` that `before` lacks (`+`) and the other way round (`-`), each with the pass it follows."""
    import difflib

    from minitriton.compilation.pipeline_spec import format_step
    from minitriton.lab.sweeping.space import parse_point

    a, b = ([format_step(step) for step in parse_point(text).steps] for text in (before, after))
    lines: list[str] = []
    for kind, a0, a1, b0, b1 in difflib.SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if kind == "equal":
            continue
        behind = f" behind {a[a0 - 1]}" if a0 else " at the beginning"
        lines += [f"  - {name}{behind}" for name in a[a0:a1]] + [f"  + {name}{behind}" for name in b[b0:b1]]
    return lines
