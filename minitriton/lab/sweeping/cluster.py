"""The workers of a Dask cluster in place of this machine's processes: batches out, records back, the store written here.

    sweep(["@train"], Space(), count=500, client=distributed.Client("tcp://..."), store="sweep.db")

A worker keeps the states of the kernels it has seen, as a process here does. A worker that dies takes its batches to another; what
ends workers again and again is tried configuration by configuration, and a configuration that ends one by itself is recorded as crashed. Times are taken by
workers that have the resource `GPU` (`dask worker --resources GPU=1`).
"""

from __future__ import annotations

import importlib
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from minitriton.errors import MinitritonError, optional_library
from minitriton.lab.sweeping.configuration import KernelProgram
from minitriton.lab.sweeping.correctness import Class, Evaluation
from minitriton.lab.sweeping.references import Reference
from minitriton.lab.sweeping.serving import (
    BatchProgress,
    ConfigurationBatch,
    Drawn,
    Measured,
    Work,
    WorkerState,
    nothing_drawn,
)
from minitriton.lab.sweeping.store import Store

GPU = {"GPU": 1}
"""What a worker must have that times."""


@dataclass
class BatchAnswer:
    """What a worker made of a batch."""

    records: list[Evaluation] = field(default_factory=list[Evaluation])
    programs: list[KernelProgram] = field(default_factory=list[KernelProgram])
    own: str = ""
    made: Reference | None = None
    drawn: list[str] = field(default_factory=list[str])
    numbers: dict[str, dict[str, float]] = field(default_factory=dict[str, dict[str, float]])
    cubins: dict[str, bytes] = field(default_factory=dict[str, bytes])


_states_of_workers: dict[bool, WorkerState] = {}


def answer(batch: ConfigurationBatch, run: bool, measured: Measured | None = None) -> BatchAnswer:
    """What a worker does."""
    state = _states_of_workers.setdefault(run, WorkerState(run))
    if batch.drawing is not None:
        return BatchAnswer(drawn=list(state.drawn(batch)))
    if measured is None:
        records, programs = state.evaluated(batch, set())
        return BatchAnswer(
            records, programs, state.own_configuration(batch.reference), made=state.made(batch.reference)
        )
    numbers, cubins = state.numbers(batch, measured)
    return BatchAnswer(numbers=numbers, cubins=cubins)


SECONDS_WITHOUT_WORKERS = 60.0
"""After which a cluster is taken for lost; one that starts another worker in time goes on."""

_SECONDS_BETWEEN_LOOKS = 2.0


class _WorkerWatch:
    """Looks from time to time whether the cluster still has workers: without any, futures never end."""

    def __init__(self, workers: ClusterWorkers, waiting: Mapping[Any, ConfigurationBatch]) -> None:
        self._workers, self._waiting = workers, waiting
        self._over = threading.Event()
        self._is_lost = False

    def until_lost(self, arriving: Iterable[Any]) -> Iterator[Any]:
        """The futures as they arrive. Raises `MinitritonError` once there has been no worker for `SECONDS_WITHOUT_WORKERS`."""
        watcher = threading.Thread(target=self._watch, daemon=True)
        watcher.start()
        try:
            for future in arriving:
                if self._is_lost and future.cancelled():
                    raise MinitritonError(
                        f"the cluster has had no worker for {SECONDS_WITHOUT_WORKERS:.0f} seconds",
                        help="start workers and sweep again: what was evaluated is in the store",
                    )
                yield future
        finally:
            self._over.set()
            watcher.join()

    def _watch(self) -> None:
        seen = time.monotonic()
        while not self._over.wait(_SECONDS_BETWEEN_LOOKS):
            if self._workers.present():
                seen = time.monotonic()
            elif time.monotonic() - seen > SECONDS_WITHOUT_WORKERS:
                self._is_lost = True
                self._workers.client.cancel(list(self._waiting))
                return


def check_client(client: Any) -> None:
    """Raises `MinitritonError` where Dask is not installed, and for what is no client of a cluster, as its address."""
    distributed = optional_library("distributed", "a cluster of Dask")
    if not isinstance(client, distributed.Client):
        raise MinitritonError(
            f"client={client!r} is not a client of a cluster", help='give distributed.Client("tcp://ADDRESS:8786")'
        )


class ClusterWorkers:
    """As `workers.WorkerProcesses`, over a `distributed.Client`."""

    def __init__(self, work: Work, client: Any, limit: float = 60.0) -> None:
        self.work, self.client, self.limit = work, client, limit

    def evaluate(
        self, batches: Iterable[ConfigurationBatch], at_once: int | None = None, drawn: Drawn = nothing_drawn
    ) -> Iterator[BatchProgress]:
        """Has `batches` evaluated or measured, and the batches that `drawn` makes of configurations that were drawn. Raises `MinitritonError` where
        no worker can."""
        as_completed = importlib.import_module("distributed").as_completed

        store = Store(self.work.store, self.work.compiler)
        try:
            waiting = {self._submit(store, batch): batch for batch in batches}
            arriving = as_completed(list(waiting))

            def submit(more: Iterable[ConfigurationBatch]) -> None:
                for batch in more:
                    future = self._submit(store, batch)
                    waiting[future] = batch
                    arriving.add(future)

            watch = _WorkerWatch(self, waiting)
            for future in watch.until_lost(arriving):
                batch = waiting.pop(future)
                error = future.exception()
                if error is None and batch.drawing is not None:
                    submit(drawn(batch.reference, future.result().drawn))
                elif error is None:
                    found: BatchAnswer = future.result()
                    self._write(store, batch, found)
                    yield BatchProgress(len(batch.pipelines), found.records)
                elif type(error).__name__ != "KilledWorker" or batch.drawing is not None:
                    raise error
                elif len(batch.pipelines) == 1:
                    yield self._crashed(store, batch, error)
                else:
                    submit(batch.singles())
        finally:
            store.close()

    def _submit(self, store: Store, batch: ConfigurationBatch) -> Any:
        resources = GPU if batch.measure == "time" else None
        if resources and not any("GPU" in w.get("resources", {}) for w in self.present().values()):
            raise MinitritonError(
                "no worker of the cluster has the resource GPU: none can take times",
                help="start one by `dask worker ADDRESS --resources GPU=1` on a machine with a GPU",
            )
        own = store.kernels()[batch.reference.name][1] if batch.measure else ""
        about = Measured.of(store, batch, own) if batch.measure else None
        return self.client.submit(answer, batch, self.work.run, about, pure=False, resources=resources)

    def present(self) -> dict[str, Any]:
        """The workers that the cluster has now, by address."""
        return self.client.scheduler_info(n_workers=-1)["workers"]

    @staticmethod
    def _write(store: Store, batch: ConfigurationBatch, found: BatchAnswer) -> None:
        name = batch.reference.name
        if batch.measure:
            store.add_metrics(name, batch.measure, found.numbers)
            store.add_cubins(name, found.cubins)
        else:
            made = found.made or batch.reference
            store.add_kernel(name, made.text(), found.own, made.is_that_of)
            store.add(found.records, found.programs)

    @staticmethod
    def _crashed(store: Store, batch: ConfigurationBatch, error: BaseException) -> BatchProgress:
        if batch.measure:
            return BatchProgress(1)
        reason = f"its workers ended: {str(error).splitlines()[0][:200]}"
        record = Evaluation(batch.reference.name, batch.pipelines[0], Class.CRASHED, "", reason)
        store.add([record])
        return BatchProgress(1, [record])
