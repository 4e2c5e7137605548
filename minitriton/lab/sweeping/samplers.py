"""How a search goes through a space.

    random          drawn from the space
    exhaustive      every single change of a pass, an option, a setting or a layout, and every combination of settings
    hill-climb      one change at a time, kept where it is no worse; begins anew after `PATIENCE` changes that gain nothing
    evolutionary    a population: the better of two parents, crossed and changed (Goldberg and Deb, "A comparative analysis of
                    selection schemes", 1991: tournament selection)
    tpe, cma-es, nsga2      Optuna's: TPE, CMA-ES, and NSGA-II for several objectives (Akiba et al., "Optuna", KDD 2019)

A sampler is a generator that asks for configurations; between two it may be left for good. For Optuna a configuration becomes numbers in
[0, 1], the kernel's own being the first trial; a change after which a contract does not hold is not made:

    keep 3     below 0.1: pass number 3 of the default pipeline is left out
    move 3     how far it moves within its level: between 0.1 and 0.9 it stays, 0 is to the start, 1 to the end
    BLOCK      which of its values
    insert cse, layout of access 0, optimize-llvm-ir{level}, ...      below 0.5 as it is; above, which of the `alternatives`
"""

import math
import random
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from minitriton.errors import MinitritonError, optional_library
from minitriton.lab.sweeping.candidates import Ask, Candidates, Sampler, with_layout_step, with_memory_step
from minitriton.lab.sweeping.configuration import Configuration, Value
from minitriton.lab.sweeping.space import (
    LLVM_PASSES,
    is_fixed,
    is_legal,
    movable_indices,
    segments,
    with_llvm_pass,
    with_option,
)
from minitriton.pipeline.pass_manager import Pipeline
from minitriton.pipeline.pass_registry import Step

_LEFT_OUT = 0.1
_STAYS = 0.5
_MOVES = 0.4
"""How far from `_STAYS` an index begins to move its pass."""
_KEPT = 0.8
_AS_IT_IS = 0.5
"""Below it an alternative is not taken."""


def load_optuna() -> Any:
    """Optuna. Raises `MinitritonError` where it is not installed."""
    optuna = optional_library("optuna", "this sampler")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna


def optuna_sampler(name: str, objectives: int, seed: int) -> Sampler:
    """The sampler called `name`, for so many objectives."""
    optuna = load_optuna()
    if name == "cma-es":
        optional_library("cmaes", "Optuna's cma-es")
    made = {
        "tpe": lambda: optuna.samplers.TPESampler(seed=seed),
        "cma-es": lambda: optuna.samplers.CmaEsSampler(seed=seed),
        "nsga2": lambda: optuna.samplers.NSGAIISampler(seed=seed, population_size=16),
    }[name]()

    def sample(candidates: Candidates, rng: random.Random, ask: Ask) -> Iterator[None]:
        study = optuna.create_study(directions=["minimize"] * objectives, sampler=made)
        coordinates = _Coordinates(candidates)
        study.enqueue_trial(coordinates.own)
        while True:
            trial = study.ask()
            drawn = {n: trial.suggest_float(n, 0.0, 1.0) for n in coordinates.own}
            configuration = coordinates.configuration(drawn)
            values = ask(configuration) if configuration is not None else (math.inf,) * objectives
            if all(map(math.isfinite, values)):
                study.tell(trial, list(values))
            else:
                study.tell(trial, state=optuna.trial.TrialState.FAIL)
            yield

    return sample


class _Coordinates:
    """Configurations of a space as numbers by name."""

    def __init__(self, candidates: Candidates) -> None:
        self.candidates = candidates
        space, steps = candidates.space, candidates.first.pipeline.steps
        self.own: dict[str, float] = {}
        for name, values in candidates.varied.items():
            self.own[name] = (self._own_index(name, values) + 0.5) / len(values)
        for index, step in enumerate(steps):
            if is_fixed(step):
                continue
            if space.omit:
                self.own[f"keep {index}"] = _KEPT
            if space.order:
                self.own[f"move {index}"] = _STAYS
        self._alternatives = alternatives(candidates)
        self.own.update(dict.fromkeys(self._alternatives, _AS_IT_IS / 2))

    def _own_index(self, name: str, values: tuple[Value, ...]) -> int:
        own = self.candidates.own_value(name)
        return values.index(own) if own in values else 0

    def configuration(self, drawn: dict[str, float]) -> Configuration | None:
        """The configuration at `drawn`; None where there is no such launch."""
        settings: dict[str, Value] = {}
        for name, values in self.candidates.varied.items():
            settings[name] = values[min(int(drawn[name] * len(values)), len(values) - 1)]
        launch = self.candidates.default_of(settings)
        if launch is None:
            return None
        return launch.with_pipeline(self._with_alternatives(self._placed(launch.pipeline, drawn), drawn))

    def _placed(self, pipeline: Pipeline, drawn: dict[str, float]) -> Pipeline:
        """`pipeline` with passes left out and moved."""
        steps = pipeline.steps
        changed = [n for n in range(len(steps)) if self._leaves(n, drawn) or self._moves(n, drawn)]
        if (whole := self._applied(steps, set(changed), drawn)) is not None:
            return whole
        made: set[int] = set()
        for number in changed:
            if (further := self._applied(steps, made | {number}, drawn)) is not None:
                made.add(number)
                pipeline = further
        return pipeline

    def _with_alternatives(self, pipeline: Pipeline, drawn: dict[str, float]) -> Pipeline:
        for name, changes in self._alternatives.items():
            if drawn[name] >= _AS_IT_IS:
                at = int((drawn[name] - _AS_IT_IS) / (1 - _AS_IT_IS) * len(changes))
                changed = changes[min(at, len(changes) - 1)](pipeline)
                if self._is_allowed(changed):
                    pipeline = changed
        return pipeline

    def _is_allowed(self, pipeline: Pipeline) -> bool:
        return not self.candidates.space.legal or is_legal(pipeline, self.candidates.facts)

    @staticmethod
    def _leaves(number: int, drawn: dict[str, float]) -> bool:
        return drawn.get(f"keep {number}", 1.0) < _LEFT_OUT

    @staticmethod
    def _moves(number: int, drawn: dict[str, float]) -> bool:
        return abs(drawn.get(f"move {number}", _STAYS) - _STAYS) > _MOVES

    def _applied(self, steps: tuple[Step, ...], numbers: set[int], drawn: dict[str, float]) -> Pipeline | None:
        """`steps` with the changes of the passes `numbers`; None where a contract does not hold."""
        found: list[Step] = []
        number = 0
        for segment in segments(steps):
            keyed: list[tuple[float, int, Step]] = []
            for at, step in enumerate(segment):
                key = float(at)
                if number in numbers and self._moves(number, drawn):
                    offset = drawn[f"move {number}"] - _STAYS
                    key += (abs(offset) - _MOVES) / (0.5 - _MOVES) * len(segment) * (1 if offset > 0 else -1)
                if number not in numbers or not self._leaves(number, drawn):
                    keyed.append((key, at, step))
                number += 1
            found += [step for _, _, step in sorted(keyed, key=lambda one: one[:2])]
        pipeline = Pipeline(tuple(found))
        return pipeline if self._is_allowed(pipeline) else None


Change = Callable[[Pipeline], Pipeline]


def alternatives(candidates: Candidates) -> dict[str, list[Change]]:
    """What the space of `candidates` says of passes put in, options of passes, LLVM's own passes, layouts and memory."""
    space, found = candidates.space, dict[str, list[Change]]()
    steps = candidates.first.pipeline.steps
    for text in space.insert:
        (step,) = Pipeline.parse(text).steps
        found[f"insert {text}"] = [
            partial(_inserted, step=step, before=steps[i], count=_nth(steps, i)) for i in movable_indices(steps)
        ]
    for (name, option), values in space.pass_options:
        found[f"{name}{{{option}}}"] = [partial(_with_option, name=name, option=option, value=v) for v in values]
    if space.llvm:
        for name in LLVM_PASSES:
            found[f"llvm {name}"] = [partial(_with_llvm, name=name, first=first) for first in (True, False)]
    if space.layouts:
        for step in candidates.layout_steps():
            about = f"layout of access {getattr(step, 'access', 0)}"
            found.setdefault(about, []).append(partial(with_layout_step, step=step))
    for number, group in enumerate(candidates.memory_steps()):
        found[f"memory {number}"] = [partial(with_memory_step, step=step) for step in group]
    return found


def _nth(steps: tuple[Step, ...], index: int) -> int:
    """How many steps before `index` are equal to the one there."""
    return steps[:index].count(steps[index])


def _inserted(pipeline: Pipeline, *, step: Step, before: Step, count: int) -> Pipeline:
    """With `step` before the `count`th step that equals `before`, wherever that has moved to; as it is where that is gone."""
    found = [index for index, one in enumerate(pipeline.steps) if one == before]
    if count >= len(found):
        return pipeline
    at = found[count]
    return Pipeline((*pipeline.steps[:at], step, *pipeline.steps[at:]))


def _with_option(pipeline: Pipeline, *, name: str, option: str, value: Value) -> Pipeline:
    return Pipeline(tuple(with_option(s, option, value) if s.name == name else s for s in pipeline.steps))


def _with_llvm(pipeline: Pipeline, *, name: str, first: bool) -> Pipeline:
    """With one more of LLVM's passes, before or after those that are chosen, or those of the level."""
    return Pipeline(
        tuple(with_llvm_pass(s, name, first=first) if s.name == "optimize-llvm-ir" else s for s in pipeline.steps)
    )


PATIENCE = 40
POPULATION = 24
_CROSSED = 0.5
"""How often a child has two parents. Not tuned."""


def random_configurations(candidates: Candidates, rng: random.Random, ask: Ask) -> Iterator[None]:
    """Draws for ever."""
    while True:
        ask(candidates.sample(rng))
        yield


def exhaustive(candidates: Candidates, rng: random.Random, ask: Ask) -> Iterator[None]:
    """Single changes, then combinations of settings."""
    for configuration in (*candidates.neighbours(), *candidates.grid()):
        ask(configuration)
        yield


def hill_climb(candidates: Candidates, rng: random.Random, ask: Ask) -> Iterator[None]:
    """Changes what is best so far."""
    start = candidates.first
    while True:
        here, value, idle = start, ask(start), 0
        while idle < PATIENCE:
            changed = candidates.mutate(here, rng)
            reached = ask(changed)
            idle = 0 if reached < value else idle + 1
            if reached <= value:
                here, value = changed, reached
            yield
        start = candidates.sample(rng)


def evolutionary(candidates: Candidates, rng: random.Random, ask: Ask) -> Iterator[None]:
    """Changes and crosses the better of a population."""
    first = candidates.first
    population = [(ask(first), first)]
    while len(population) < POPULATION:
        configuration = candidates.mutate(first, rng) if rng.random() < 0.5 else candidates.sample(rng)
        population.append((ask(configuration), configuration))
        yield
    while True:
        mother, father = (min(rng.sample(population, 2), key=lambda one: one[0])[1] for _ in range(2))
        child = candidates.cross(mother, father, rng) if rng.random() < _CROSSED else mother
        child = candidates.mutate(child, rng)
        population.append((ask(child), child))
        population.remove(max(population, key=lambda one: (one[0], len(one[1].pipeline.steps))))
        yield


SAMPLERS: dict[str, Sampler] = {
    "random": random_configurations,
    "exhaustive": exhaustive,
    "hill-climb": hill_climb,
    "evolutionary": evolutionary,
}

OPTUNA = ("tpe", "cma-es", "nsga2")

SEVERAL_OBJECTIVES = ("random", "exhaustive", "nsga2")


def sampler_of(name: str, objectives: int, seed: int) -> Sampler:
    """The sampler called `name`. Raises `MinitritonError` for one that there is not, that takes one objective only, or that needs
    Optuna where it is not installed."""
    if name not in SAMPLERS and name not in OPTUNA:
        raise MinitritonError(f"no sampler is called {name!r}", help="samplers: " + ", ".join([*SAMPLERS, *OPTUNA]))
    if objectives > 1 and name not in SEVERAL_OBJECTIVES:
        raise MinitritonError(
            f"the sampler {name!r} lowers one objective, not {objectives}",
            help="for several: " + ", ".join(SEVERAL_OBJECTIVES),
        )
    return SAMPLERS[name] if name in SAMPLERS else optuna_sampler(name, objectives, seed)
