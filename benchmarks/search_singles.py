"""What each option does by itself, then what the best do together: `search_quality.py --singles`.

In: a kernel. Three stages, each of them in rounds of one process, all programs of a stage in turns with the kernel's own:

1. every setting of the launch (all combinations where they are few, else one change), every layout of an access, every hint for the
   caches, overlapping launches and limits of registers, one at a time;
2. the best settings with the best layouts and the best hints;
3. the three fastest of both again, in four times as many rounds.

Out: a line for each option of the first stage, and the fastest of the third. Every program is run on the emulator before, and is right.
Times are of launches behind each other, as in a search, and (`cold`) of single launches behind one that empties the caches: what a hint
gains in the first only, it gains by what the launch before left in the L2 cache.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field

from minitriton import lab
from minitriton.errors import MinitritonError
from minitriton.lab import corpus
from minitriton.lab.sweeping.candidates import Candidates, with_memory_step
from minitriton.lab.sweeping.configuration import Configuration
from minitriton.lab.sweeping.correctness import Class, CorrectnessChecker, Evaluation
from minitriton.lab.sweeping.search import difference
from minitriton.lab.sweeping.timing import ROUNDS, time_programs

LIMITS = (32, 40, 48, 64, 96, 128)
"""Registers a thread."""
MOST_SETTINGS = 48
MOST_LAYOUTS = 16
_KEPT = {"launch": 3, "layout": 2, "memory": 4}
"""How many of the fastest of a group go on to the second stage."""


@dataclass(frozen=True)
class Option:
    """A configuration of the first stage, and what it varies."""

    group: str
    configuration: Configuration


@dataclass
class Line:
    """What was found of one configuration: how many times as fast as the own program."""

    group: str
    configuration: str
    changes: tuple[str, ...]
    numbers: dict[str, float] = field(default_factory=dict[str, float])

    def __str__(self) -> str:
        numbers = " ".join(f"{name} {value:.4g}" for name, value in self.numbers.items())
        return f"  {self.group:8} {numbers:60} {'; '.join(one.strip() for one in self.changes)}"


@dataclass
class Singles:
    """Of one kernel."""

    kernel: str
    lines: list[Line]
    final: list[Line]
    wrong: list[str]
    seconds: float

    def __str__(self) -> str:
        best = sorted(self.lines, key=lambda line: -line.numbers.get("speedup", 0.0))
        head = f"{self.kernel} ({len(self.lines)} programs, {self.seconds:.0f} s)"
        return "\n".join(
            [
                head,
                *map(str, best),
                *(f"  not right: {one}" for one in self.wrong),
                "  in the end",
                *map(str, self.final),
            ]
        )


def options_of(kernel: str) -> tuple[Candidates, list[Option]]:
    """The configurations of the first stage; the own one is the first."""
    space = lab.Space(order=False, omit=False, duplicate=False, constants=True, layouts=True, memory=True)
    candidates = Candidates(space, corpus.task(kernel))
    settings = list(itertools.islice(candidates.grid(), MOST_SETTINGS + 1))
    found = [Option("own", candidates.first)]
    if len(settings) <= MOST_SETTINGS:
        found += [Option("launch", configuration) for configuration in settings]
    neighbours = list(candidates.neighbours())
    found += [Option("launch", configuration) for configuration in neighbours if configuration.settings]
    plain = [configuration for configuration in neighbours if not configuration.settings]
    hints = sum(map(len, candidates.memory_steps()))
    found += [Option("memory", configuration) for configuration in plain[len(plain) - hints :]]
    layouts = plain[: len(plain) - hints]
    found += [Option("layout", configuration) for configuration in layouts[:: max(1, len(layouts) // MOST_LAYOUTS)]]
    limits = (candidates.default_of({"maxnreg": limit}) for limit in LIMITS)
    found += [Option("launch", configuration) for configuration in limits if configuration is not None]
    different: dict[str, Option] = {}
    for one in found:
        different.setdefault(str(one.configuration), one)
    return candidates, list(different.values())


class _Stages:
    """Evaluates and times configurations of one kernel."""

    def __init__(self, candidates: Candidates, by_cycles: bool) -> None:
        self.task, self.by_cycles = candidates.task, by_cycles
        self.checker = CorrectnessChecker(self.task)
        self.own = self.checker.record(candidates.first)
        if self.own.result is not Class.RIGHT:
            raise MinitritonError(f"{self.task.name} is {self.own.result} as it is: {self.own.reason}")
        self.wrong: list[str] = []

    def lines(self, options: Iterable[Option], rounds: int) -> list[Line]:
        """A line for each different program, timed in turns, the fastest first."""
        records: dict[str, tuple[Option, Evaluation]] = {}
        for option in options:
            record = self.checker.record(option.configuration)
            if record.result is Class.RIGHT:
                records.setdefault(record.program, (option, record))
            elif record.result is not Class.REFUSED:
                self.wrong.append(
                    f"{record.result}, {record.reason}: {option.configuration.settings} {self._changes(option)}"
                )
        numbers = self._numbers(list(records), rounds)
        found = [
            Line(option.group, str(option.configuration), self._changes(option), numbers.get(program, {}))
            for program, (option, _) in records.items()
        ]
        return sorted(found, key=lambda line: -line.numbers.get("speedup", 0.0))

    def _changes(self, option: Option) -> tuple[str, ...]:
        return tuple(difference(self.own.pipeline, str(option.configuration)))

    def _numbers(self, digests: list[str], rounds: int) -> dict[str, dict[str, float]]:
        if self.by_cycles:
            return self._estimates(digests)
        own, programs = self.checker.programs[self.own.program], [self.checker.programs[digest] for digest in digests]
        hot = time_programs(self.task, own, programs, rounds)
        cold = time_programs(self.task, own, programs, rounds, cold=True)
        return {
            digest: {
                "speedup": one["speedup"], "spread": one["spread"], "microseconds": one["microseconds"],
                "cold": cold.get(digest, {}).get("speedup", 0.0), "cold_microseconds": cold.get(digest, {}).get("microseconds", 0.0),
            }
            for digest, one in hot.items()
        }  # fmt: skip

    def _estimates(self, digests: list[str]) -> dict[str, dict[str, float]]:
        """Without a GPU: registers, and that it can be assembled."""
        from minitriton.lab.sweeping.metrics import machine_metrics

        found: dict[str, dict[str, float]] = {}
        for digest in digests:
            with suppress(MinitritonError):
                found[digest] = {"registers": machine_metrics(self.checker.programs[digest])["registers"]}
        return found


def _together(candidates: Candidates, lines: list[Line]) -> list[Option]:
    """The best of the groups with each other."""
    best = {
        group: [line for line in lines if line.group == group and line.numbers.get("speedup", 2.0) > 1.002][:count]
        for group, count in _KEPT.items()
    }
    own = str(candidates.first)
    launches = [own, *(line.configuration for line in best["launch"])]
    found: list[Option] = []
    for launch in launches:
        for count in (1, 2, 3):
            for chosen in itertools.combinations([*best["memory"], *best["layout"]], count):
                configuration = Configuration.parse(launch)
                for line in chosen:
                    configuration = _with(candidates, configuration, line)
                found.append(Option("together", configuration))
    return found


def _with(candidates: Candidates, configuration: Configuration, line: Line) -> Configuration:
    """`configuration` with the passes that `line` has and the default pipeline lacks."""
    own = set(candidates.first.pipeline.steps)
    pipeline = configuration.pipeline
    for step in Configuration.parse(line.configuration).pipeline.steps:
        if step in own:
            continue
        if step.name.startswith("minitriton-choose-layout"):
            pipeline = pipeline.insert(_text(step), after="minitriton-coalesce-by-width")
        else:
            pipeline = with_memory_step(pipeline, step)
    return configuration.with_pipeline(pipeline)


def _text(step: object) -> str:
    from minitriton.pipeline.pass_registry import Pass
    from minitriton.pipeline.pipeline_spec import format_step

    assert isinstance(step, Pass)
    return format_step(step)


def singles(kernel: str, by_cycles: bool, rounds: int = ROUNDS) -> Singles | str:
    """What a process does; text where it could not, and why."""
    start = time.monotonic()
    try:
        candidates, options = options_of(kernel)
        stages = _Stages(candidates, by_cycles)
        lines = stages.lines(options, rounds)
        together = stages.lines(_together(candidates, lines), rounds)
        fastest = sorted([*lines, *together], key=lambda line: -line.numbers.get("speedup", 0.0))
        last = [Option(line.group, Configuration.parse(line.configuration)) for line in fastest if line.group != "own"][
            :3
        ]
        final = stages.lines(last, 4 * rounds)
    except MinitritonError as error:
        return f"{kernel}: {error}"
    return Singles(kernel, [*lines, *together], final, stages.wrong, time.monotonic() - start)
