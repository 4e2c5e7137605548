"""What a process of a sweep does: takes a batch, writes its records to the store, and answers.
It knows a checker, with the states it has made, for each kernel that it has seen (`WorkerState`).

for text in Drawing(Space(), count=500).configurations(task): ...      drawn by the process that evaluates the kernel: a tenth of the time
"""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import os
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from minitriton.errors import MinitritonError
from minitriton.lab import corpus
from minitriton.lab.sweeping.candidates import Candidates
from minitriton.lab.sweeping.configuration import Configuration, KernelProgram
from minitriton.lab.sweeping.correctness import CorrectnessChecker, Evaluation
from minitriton.lab.sweeping.metrics import cubin_of, machine_metrics, sass_metrics
from minitriton.lab.sweeping.references import Reference
from minitriton.lab.sweeping.space import Space
from minitriton.lab.sweeping.store import Store
from minitriton.lab.sweeping.tuning_task import TuningTask
from minitriton.pipeline.pass_registry import load_own_passes
from minitriton.runtime.driver import has_gpu

BATCH = 50
"""Configurations a process is given at once, and at most loses when it is killed."""


@dataclass(frozen=True)
class ConfigurationBatch:
    """Configurations of one kernel, as text; to `measure` a group of metrics, the digests of its programs; or, in place of configurations, what they are
    to be drawn from. `tries`: how often it has ended a process."""

    reference: Reference
    pipelines: tuple[str, ...] = ()
    tries: int = 0
    measure: str = ""
    drawing: Drawing | None = None

    @property
    def num_configurations(self) -> int:
        """How many it has, or is to draw, at least one."""
        return max(1, self.drawing.count if self.drawing else len(self.pipelines))

    def singles(self) -> list[ConfigurationBatch]:
        """What is given out again when its process was lost: configuration by configuration, to find one that ends processes."""
        if self.drawing is not None:
            return [replace(self, tries=self.tries + 1)]
        return [replace(self, pipelines=(text,), tries=self.tries + 1) for text in self.pipelines]


@dataclass(frozen=True)
class WorkerAnswer:
    """What a process says of a batch: how many configurations are evaluated or measured, the records it wrote of them, the processor seconds they took;
    the configurations that it drew; or what kept it from all that."""

    done: int = 0
    records: Sequence[Evaluation] = ()
    seconds: float = 0.0
    error: Exception | None = None
    drawn: tuple[str, ...] = ()


@dataclass(frozen=True)
class BatchProgress:
    """What has become of a batch: how many configurations are evaluated or measured, and the records that were not in the store before."""

    done: int
    records: Sequence[Evaluation] = ()


Drawn = Callable[[Reference, Sequence[str]], list[ConfigurationBatch]]
"""What is to be evaluated of configurations that were drawn."""


def nothing_drawn(reference: Reference, configurations: Sequence[str]) -> list[ConfigurationBatch]:
    """Where no batch draws."""
    raise AssertionError(f"nobody asked for {len(configurations)} configurations of {reference.name}")


@dataclass(frozen=True)
class Work:
    """What every process is given: where to write, as which compiler, and whether to run what it compiles."""

    store: Path
    compiler: str
    run: bool = True


_TRIES = 20
"""For each configuration wanted: a small space has fewer different ones."""


@dataclass(frozen=True)
class Drawing:
    """`count` configurations of `space`, the kernel's own first; with `neighbours`, every configuration that is one change away besides."""

    space: Space
    count: int
    seed: int = 0
    neighbours: bool = False

    def configurations(self, task: TuningTask) -> Iterator[str]:
        """The configurations as text, each once: the same ones in the same order wherever they are drawn.

        Raises `MinitritonError` for a setting that the kernel does not have.
        """
        candidates = Candidates(self.space, task)
        rng = random.Random(f"{self.seed} {task.name}")
        found = {str(candidates.first): None}
        if self.neighbours:
            found.update(dict.fromkeys(map(str, candidates.neighbours())))
        yield from found
        most = len(found) + self.count - 1
        for _ in range(_TRIES * self.count):
            if len(found) >= most:
                return
            text = str(candidates.sample(rng))
            if text not in found:
                found[text] = None
                yield text


SMALL = "masked_copy"
"""A kernel of the corpus that costs little."""

_serving: list[_Serving] = []
"""What this process has, once it has begun."""


def prepare() -> None:
    """What every process needs, before it is one. One configuration of a small kernel loads and makes what the first configuration of any kernel would, in
    each process anew: 0.15 s of it."""
    load_own_passes()
    corpus.names()
    with contextlib.suppress(Exception):  # what is wrong here is wrong with the kernel asked for, which says so
        state, batch = WorkerState(run=True), ConfigurationBatch(Reference(SMALL), drawing=Drawing(Space(), 2))
        state.evaluated(replace(batch, pipelines=tuple(state.drawn(batch))), set())


def begin(work: Work, environment: Mapping[str, str], folder: str) -> None:
    """Makes this process one that answers, in the surroundings of the one that started it, with which it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the starter, which ends the others
    os.environ.update(environment)
    os.chdir(folder)
    threading.Thread(target=_end_with_the_starter, daemon=True).start()
    _serving[:] = [_Serving(work)]


def _end_with_the_starter() -> None:
    starter = multiprocessing.parent_process()
    assert starter is not None
    starter.join()
    os._exit(0)


def answer(batch: ConfigurationBatch) -> WorkerAnswer:
    """Writes what becomes of a batch, or draws."""
    start = time.process_time()
    try:
        if batch.drawing is not None:
            return WorkerAnswer(drawn=_serving[0].draw(batch))
        records = _serving[0].evaluate(batch)
        return WorkerAnswer(len(batch.pipelines), records, time.process_time() - start)
    except Exception as error:
        if batch.measure == "time" and has_gpu():
            os._exit(1)  # a fault on the device leaves its process without one
        return WorkerAnswer(error=error)


class _Serving:
    """The store, and the checkers of kernels."""

    def __init__(self, work: Work) -> None:
        self._store = Store(work.store, work.compiler)
        self._state = WorkerState(work.run)

    def draw(self, batch: ConfigurationBatch) -> tuple[str, ...]:
        """The configurations that are drawn."""
        self._claim(batch)
        return tuple(self._state.drawn(batch))

    def evaluate(self, batch: ConfigurationBatch) -> list[Evaluation]:
        """Writes what becomes of a batch: the records that are new."""
        name = batch.reference.name
        if batch.measure:
            self._store.add_metrics(name, batch.measure, self._state.measured(batch, self._store))
            return []
        self._claim(batch)
        records, programs = self._state.evaluated(batch, self._store.known_of(name, batch.pipelines))
        self._store.add(records, programs)
        return records

    def _claim(self, batch: ConfigurationBatch) -> None:
        """Makes the kernel's records in the store those of the batch's reference, before the first is written. Raises `MinitritonError`
        where they are of another kernel of this name already."""
        reference, state = batch.reference, self._state
        if reference not in state.claimed:
            made = state.made(reference)
            self._store.add_kernel(reference.name, made.text(), state.own_configuration(reference), made.is_that_of)
            state.claimed.add(reference)


@dataclass(frozen=True)
class Measured:
    """What a batch that measures needs of the store: its programs, the kernel's own, and what is known of them."""

    programs: list[KernelProgram]
    own: KernelProgram | None
    known: dict[str, dict[str, float]]

    @classmethod
    def of(cls, store: Store, batch: ConfigurationBatch, own_configuration: str) -> Measured:
        """All of it, from `store`."""
        name = batch.reference.name
        records = list(store.records(name))
        own = [r.program for r in records if r.pipeline == own_configuration and r.program]
        known = {r.program: r.metrics for r in records if r.program in batch.pipelines}
        return cls(store.programs(name, batch.pipelines), next(iter(store.programs(name, own)), None), known)


_YOUNG_OBJECTS = 20_000
"""Python looks for unreachable objects after so many new ones. With its own 700 that takes 28 % of a process's time, with these 9 %, in as
much memory (measured 2026-11-22)."""


class WorkerState:
    """What one process knows: the checker of each kernel that it has seen. The process is one that does nothing else."""

    def __init__(self, run: bool) -> None:
        gc.set_threshold(_YOUNG_OBJECTS, 20, 100)
        self._run = run
        self._checkers: dict[Reference, CorrectnessChecker] = {}
        self._written: dict[Reference, set[str]] = {}
        self.own: dict[Reference, str] = {}
        """The kernels seen, with their own configurations."""
        self.claimed: set[Reference] = set()
        """Those that the store knows."""

    def own_configuration(self, reference: Reference) -> str:
        """The launch and the pipeline that a kernel has by itself, as text."""
        if reference not in self.own:
            self.own[reference] = str(Configuration(self._checker(reference).task.pipeline()))
        return self.own[reference]

    def made(self, reference: Reference) -> Reference:
        """`reference` with the digest of the first IR."""
        return reference.with_ir(str(self._checker(reference).task.make_ir()))

    def _checker(self, reference: Reference) -> CorrectnessChecker:
        checker = self._checkers.get(reference)
        if checker is None:
            checker = self._checkers[reference] = CorrectnessChecker(reference.task(), run=self._run, culprits=True)
        return checker

    def drawn(self, batch: ConfigurationBatch) -> Iterator[str]:
        """The configurations that the batch asks for."""
        assert batch.drawing is not None
        return batch.drawing.configurations(self._checker(batch.reference).task)

    def evaluated(self, batch: ConfigurationBatch, known: set[str]) -> tuple[list[Evaluation], list[KernelProgram]]:
        """The records of the configurations that are not `known`, and the programs that no batch before gave."""
        checker = self._checker(batch.reference)
        records = [checker.record(text) for text in batch.pipelines if text not in known]
        written = self._written.setdefault(batch.reference, set())
        fresh = [checker.programs[r.program] for r in records if r.program and r.program not in written]
        written.update(p.digest for p in fresh)
        return records, list({p.digest: p for p in fresh}.values())

    def measured(self, batch: ConfigurationBatch, store: Store) -> dict[str, dict[str, float]]:
        """The metrics of a group of the batch's programs, from `store`, which keeps their machine code."""
        wanted = Measured.of(store, batch, self.own_configuration(batch.reference))
        numbers, cubins = self.numbers(batch, wanted)
        store.add_cubins(batch.reference.name, cubins)
        return numbers

    def numbers(
        self, batch: ConfigurationBatch, wanted: Measured
    ) -> tuple[dict[str, dict[str, float]], dict[str, bytes]]:
        """The metrics of a group by the digests of programs, and their machine code where the group is of it."""
        task = self._checker(batch.reference).task if batch.measure == "time" else None
        numbers = measured(batch.measure, task, wanted.own, wanted.programs, wanted.known)
        is_machine = batch.measure == "machine"
        return numbers, {p.digest: cubin_of(p) for p in wanted.programs if numbers[p.digest]} if is_machine else {}


def measured(
    group: str,
    task: TuningTask | None,
    own: KernelProgram | None,
    programs: Sequence[KernelProgram],
    known: Mapping[str, dict[str, float]],
) -> dict[str, dict[str, float]]:
    """The metrics of `group` of `programs`, by digest. `known`: what was measured of each before."""
    if group == "time":
        from minitriton.lab.sweeping.timing import time_programs

        assert task is not None
        return time_programs(task, own, programs)
    if group == "estimate":
        from minitriton.lab.sweeping.cost_model import estimated_cycles

        return {p.digest: {"cycles": estimated_cycles(known[p.digest])} for p in programs if "turns" in known[p.digest]}
    found: dict[str, dict[str, float]] = {}
    for program in programs:
        try:
            found[program.digest] = (machine_metrics if group == "machine" else sass_metrics)(program)
        except MinitritonError:
            found[program.digest] = {}
    return found
