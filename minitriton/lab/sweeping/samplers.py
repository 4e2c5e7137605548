"""How a search goes through a space.

    random          drawn from the space
    exhaustive      every single change of a pass, an option, a setting or a layout, and every combination of settings
    hill-climb      one change at a time, kept where it is no worse; begins anew after `PATIENCE` changes that gain nothing
    evolutionary    a population: the better of two parents, crossed and changed (Goldberg and Deb, "A comparative analysis of
                    selection schemes", 1991: tournament selection)
    tpe, cma-es, nsga2      Optuna's, by `optuna_samplers`

A sampler is a generator that asks for configurations; between two it may be left for good.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from minitriton.errors import MinitritonError
from minitriton.lab.sweeping.candidates import Ask, Candidates, Sampler

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
    if name in SAMPLERS:
        return SAMPLERS[name]
    from minitriton.lab.sweeping.optuna_samplers import optuna_sampler

    sampler: Sampler = optuna_sampler(name, objectives, seed)
    return sampler
