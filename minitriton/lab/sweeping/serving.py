"""What a process of a sweep does: takes a batch, writes its records to the store, and answers."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Mapping
from dataclasses import replace

from minitriton.lab import corpus
from minitriton.lab.sweeping.batches import ConfigurationBatch, Work, WorkerAnswer
from minitriton.lab.sweeping.correctness import Evaluation
from minitriton.lab.sweeping.drawing import Drawing
from minitriton.lab.sweeping.references import Reference
from minitriton.lab.sweeping.space import Space
from minitriton.lab.sweeping.store import Store
from minitriton.lab.sweeping.worker_state import WorkerState
from minitriton.pipeline.pass_registry import load_own_passes
from minitriton.runtime.driver import has_gpu

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
