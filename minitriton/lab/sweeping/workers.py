"""Processes that judge points: each keeps the states of the kernels it has seen, so a kernel goes back to the process that knows it.

In: batches of one kernel's points, or what to draw them from. Out: each batch's records, written to the store by the process that made
them; points that were drawn come back, `BATCH` at a time, to be given out as batches to whoever is free. A process that dies, or takes
longer than `limit` seconds over a point, is replaced; its batch is given out again point by point, and a point that ends two processes by
itself, or takes too long by itself, is recorded as crashed.
"""

from __future__ import annotations

import contextlib
import gc
import itertools
import os
import socket
import sys
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection, wait
from pathlib import Path

from minitriton.errors import MinitritonError
from minitriton.lab import corpus
from minitriton.lab.sweeping.drawing import Drawing
from minitriton.lab.sweeping.fork_server import ForkedProcess, start
from minitriton.lab.sweeping.judging import Class, Judge, Record
from minitriton.lab.sweeping.machine import cubin_of
from minitriton.lab.sweeping.measured import measured
from minitriton.lab.sweeping.point import Point
from minitriton.lab.sweeping.program import KernelProgram
from minitriton.lab.sweeping.references import Reference
from minitriton.lab.sweeping.store import Store
from minitriton.pass_registry import load_own_passes
from minitriton.runtime.driver import has_gpu

BATCH = 50
"""Points a process is given at once, and at most loses when it is killed."""

LOST_AT_START = 5
"""Processes in a row that may end before they can take a batch: killed by chance, before something is wrong with all."""

_YOUNG_OBJECTS = 20_000
"""Python looks for unreachable objects after so many new ones. With its own 700 that takes 28 % of a process's time, with these 9 %, in as
much memory (measured 2026-11-22)."""

_TOO_LONG = "no answer within"
"""Why a process was ended."""

_SECONDS_BETWEEN_LOOKS = 0.2
"""For processes that take too long."""

_READY = "ready"
"""What a process says once it can take batches."""


@dataclass(frozen=True)
class PointBatch:
    """Points of one kernel, as text; to `measure` a group of metrics, the digests of its programs; or, in place of points, what they are
    to be drawn from. `tries`: how often it has ended a process."""

    reference: Reference
    pipelines: tuple[str, ...] = ()
    tries: int = 0
    measure: str = ""
    drawing: Drawing | None = None

    @property
    def points(self) -> int:
        """How many it has, or is to draw, at least one."""
        return max(1, self.drawing.orders if self.drawing else len(self.pipelines))

    def singles(self) -> list[PointBatch]:
        """What is given out again when its process was lost: point by point, to find one that ends processes."""
        if self.drawing is not None:
            return [replace(self, tries=self.tries + 1)]
        return [replace(self, pipelines=(text,), tries=self.tries + 1) for text in self.pipelines]


@dataclass(frozen=True)
class WorkerAnswer:
    """What a process says of a batch: how many points are judged or measured, the records it wrote of them, the processor seconds they took,
    what kept them from it; of a drawing, the points drawn since the last answer, and whether there are `more`."""

    done: int = 0
    records: Sequence[Record] = ()
    seconds: float = 0.0
    error: Exception | None = None
    drawn: tuple[str, ...] = ()
    more: bool = False


@dataclass(frozen=True)
class Judged:
    """What has become of a batch: how many points are judged or measured, and the records that were not in the store before."""

    done: int
    records: Sequence[Record] = ()


Drawn = Callable[[Reference, Sequence[str]], list[PointBatch]]
"""What is to be judged of points that were drawn."""


def nothing_drawn(reference: Reference, points: Sequence[str]) -> list[PointBatch]:
    """Where no batch draws."""
    raise AssertionError(f"nobody asked for {len(points)} points of {reference.name}")


@dataclass(frozen=True)
class Work:
    """What every process is told: where to write, as which compiler, and whether to run what it compiles."""

    store: Path
    compiler: str
    run: bool = True


def prepare() -> None:
    """What every process needs, before it is one: called once, by the process that is copied."""
    load_own_passes()
    corpus.names()


def serve(descriptor: int) -> None:
    """What a process does: takes `Work`, then batches until the other end closes, and answers each. It ends without taking apart what it
    holds, which takes longer than a batch: all that it made is in the store."""
    connection = Connection(descriptor)
    with contextlib.suppress(EOFError, OSError):
        _judge_batches(connection.recv(), connection)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def _judge_batches(work: Work, connection: Connection) -> None:
    store = Store(work.store, work.compiler)
    bench = Bench(work.run)
    connection.send(_READY)
    while True:
        batch: PointBatch = connection.recv()
        start = time.process_time()
        try:
            if batch.drawing is not None:
                _claim(batch.reference, bench, store)
                points, records = bench.drawn(batch), list[Record]()
                while drawn := tuple(itertools.islice(points, BATCH)):
                    connection.send(WorkerAnswer(drawn=drawn, more=True))
                done = 0
            else:
                records = _answer(batch, bench, store)
                done = len(batch.pipelines)
            connection.send(WorkerAnswer(done, records, time.process_time() - start))
        except Exception as error:
            if batch.measure == "time" and has_gpu():
                raise  # a fault on the device leaves its process without one
            connection.send(WorkerAnswer(0, (), time.process_time() - start, error))


def _answer(batch: PointBatch, bench: Bench, store: Store) -> list[Record]:
    """Writes what `bench` makes of a batch: the records that are new."""
    name = batch.reference.name
    if batch.measure:
        store.add_metrics(name, batch.measure, bench.measured(batch, store))
        return []
    _claim(batch.reference, bench, store)
    records, programs = bench.judged(batch, store.known_of(name, batch.pipelines))
    store.add(records, programs)
    return records


def _claim(reference: Reference, bench: Bench, store: Store) -> None:
    """Makes the kernel's records in `store` those of `reference`, before the first is written. Raises `MinitritonError` where they are
    of another kernel of this name already."""
    if reference not in bench.claimed:
        made = bench.made(reference)
        store.add_kernel(reference.name, made.text(), bench.own_point(reference), made.is_that_of)
        bench.claimed.add(reference)


class Bench:
    """What one process knows: the judge of each kernel that it has seen. The process is one that does nothing else."""

    def __init__(self, run: bool) -> None:
        gc.set_threshold(_YOUNG_OBJECTS, 20, 100)
        self._run = run
        self._judges: dict[Reference, Judge] = {}
        self._written: dict[Reference, set[str]] = {}
        self.own: dict[Reference, str] = {}
        """The kernels seen, with their own points."""
        self.claimed: set[Reference] = set()
        """Those of which the store knows."""

    def own_point(self, reference: Reference) -> str:
        """The launch and the pipeline that a kernel has by itself, as text."""
        if reference not in self.own:
            self.own[reference] = str(Point(self._judge(reference).subject.pipeline()))
        return self.own[reference]

    def made(self, reference: Reference) -> Reference:
        """`reference` with the digest of the first IR."""
        return reference.with_ir(str(self._judge(reference).subject.make_ir()))

    def _judge(self, reference: Reference) -> Judge:
        judge = self._judges.get(reference)
        if judge is None:
            judge = self._judges[reference] = Judge(reference.subject(), run=self._run)
        return judge

    def drawn(self, batch: PointBatch) -> Iterator[str]:
        """The points that the batch asks for."""
        assert batch.drawing is not None
        return batch.drawing.points(self._judge(batch.reference).subject)

    def judged(self, batch: PointBatch, known: set[str]) -> tuple[list[Record], list[KernelProgram]]:
        """The records of the points that are not `known`, and the programs that no batch before gave."""
        judge = self._judge(batch.reference)
        records = [judge.record(text) for text in batch.pipelines if text not in known]
        written = self._written.setdefault(batch.reference, set())
        fresh = [judge.programs[r.program] for r in records if r.program and r.program not in written]
        written.update(p.digest for p in fresh)
        return records, list({p.digest: p for p in fresh}.values())

    def measured(self, batch: PointBatch, store: Store) -> dict[str, dict[str, float]]:
        """The metrics of a group of the batch's programs, from `store`, which keeps their machine code."""
        name = batch.reference.name
        records = list(store.records(name))
        own = [r.program for r in records if r.pipeline == self.own_point(batch.reference) and r.program]
        known = {r.program: r.metrics for r in records if r.program in batch.pipelines}
        programs = store.programs(name, batch.pipelines)
        numbers, cubins = self.numbers(batch, programs, next(iter(store.programs(name, own)), None), known)
        store.add_cubins(name, cubins)
        return numbers

    def numbers(
        self,
        batch: PointBatch,
        programs: list[KernelProgram],
        own: KernelProgram | None,
        known: dict[str, dict[str, float]],
    ) -> tuple[dict[str, dict[str, float]], dict[str, bytes]]:
        """The metrics of a group of `programs` by digest, and their machine code where the group is of it."""
        subject = self._judge(batch.reference).subject if batch.measure == "time" else None
        numbers = measured(batch.measure, subject, own, programs, known)
        is_machine = batch.measure == "machine"
        return numbers, {p.digest: cubin_of(p) for p in programs if numbers[p.digest]} if is_machine else {}


@dataclass
class _Worker:
    process: ForkedProcess
    connection: Connection
    batch: PointBatch | None = None
    since: float = 0.0
    kernels: set[Reference] = field(default_factory=set[Reference])
    is_ready: bool = False


def _reason(why: str, limit: float) -> str:
    return f"{why} {limit:g} s" if why is _TOO_LONG else why


class WorkerProcesses:
    """`jobs` processes. `judge(batches)` yields what is `Judged` as each batch ends."""

    def __init__(self, work: Work, jobs: int, limit: float = 60.0) -> None:
        self.work, self.jobs, self.limit = work, jobs, limit
        self.cpu_seconds = 0.0
        self._workers: list[_Worker] = []
        self._lost_at_start = 0

    def judge(
        self, batches: Iterable[PointBatch], at_once: int | None = None, drawn: Drawn = nothing_drawn
    ) -> Iterator[Judged]:
        """Has `batches` judged by `at_once` processes at most, and the batches that `drawn` makes of points as they are drawn. Raises what
        a process could not do for any point, such as write the store."""
        waiting = _Waiting(batches)
        most = at_once or self.jobs
        try:
            self._workers = [self._start() for _ in range(min(most, waiting.expected()))]
            while waiting or any(worker.batch for worker in self._workers):
                busy = Counter(worker.batch.reference for worker in self._workers if worker.batch is not None)
                for worker in self._workers:
                    if worker.batch is None and (batch := waiting.next_for(worker.kernels, busy)) is not None:
                        self._give(worker, batch)
                        busy[batch.reference] += 1
                yield from self._collect(waiting, drawn)
        finally:
            self._end()

    def _start(self) -> _Worker:
        lost = 0
        while True:
            ours, theirs = socket.socketpair()
            try:
                with theirs:
                    process = start(__name__, theirs.fileno())
                break
            except OSError as error:  # what starts processes was killed, by chance or because it cannot begin
                ours.close()
                lost += 1
                if lost == LOST_AT_START:
                    raise MinitritonError(
                        f"cannot start a process: {error}", help="what it prints says why; is there memory enough?"
                    ) from error
        connection = Connection(ours.detach())
        with contextlib.suppress(OSError):  # one that is killed at once is found when it does not answer
            connection.send(self.work)
        return _Worker(process, connection)

    def _give(self, worker: _Worker, batch: PointBatch) -> None:
        worker.batch, worker.since = batch, time.monotonic()
        worker.kernels.add(batch.reference)
        with contextlib.suppress(OSError):  # one that was killed while it had nothing to do
            worker.connection.send(batch)

    def _collect(self, waiting: _Waiting, drawn: Drawn) -> Iterator[Judged]:
        """What processes have answered."""
        busy = {worker.connection: worker for worker in self._workers if worker.batch is not None}
        ready = [one for one in wait(list(busy), timeout=_SECONDS_BETWEEN_LOOKS) if isinstance(one, Connection)]
        for worker in map(busy.pop, ready):
            try:
                answer = worker.connection.recv()
            except (EOFError, OSError):
                yield self._lost(worker, waiting, "the process ended")
                continue
            if answer == _READY:
                worker.is_ready, worker.since = True, time.monotonic()
                self._lost_at_start = 0
                continue
            assert isinstance(answer, WorkerAnswer) and worker.batch is not None
            if answer.drawn:
                waiting.put(drawn(worker.batch.reference, answer.drawn))
            if answer.more:
                continue
            if worker.batch.pipelines:
                waiting.took(worker.batch.reference, answer.seconds)
            worker.batch = None
            self.cpu_seconds += answer.seconds
            if answer.error is not None:
                raise answer.error
            yield Judged(answer.done, answer.records)
        for worker in busy.values():
            assert worker.batch is not None
            if time.monotonic() - worker.since > self.limit * worker.batch.points:
                worker.process.kill()
                yield self._lost(worker, waiting, _TOO_LONG)

    def _lost(self, worker: _Worker, waiting: _Waiting, why: str) -> Judged:
        """Replaces `worker`; gives its batch out again in single points, or records the point that ends processes."""
        batch = worker.batch
        assert batch is not None
        worker.connection.close()
        worker.process.wait()
        self._lost_at_start = 0 if worker.is_ready else self._lost_at_start + 1
        if self._lost_at_start >= LOST_AT_START:
            raise MinitritonError(
                f"the processes of the sweep end before they judge anything (exit code {worker.process.returncode})",
                help="what they print says why; is there memory and disk enough?",
            )
        fresh = self._start()
        self._workers[self._workers.index(worker)] = fresh
        if not worker.is_ready:
            waiting.put([batch])
            return Judged(0)
        if len(batch.singles()) == 1 and batch.tries >= (1 if why is _TOO_LONG else 2):
            if batch.drawing is not None:
                raise MinitritonError(
                    f"no process can draw points of {batch.reference.name}: {_reason(why, self.limit)}",
                    help="is there memory enough, and time (--limit)? What the processes print says more",
                )
            if batch.measure:
                return Judged(1)
            record = Record(batch.reference.name, batch.pipelines[0], Class.CRASHED, "", _reason(why, self.limit))
            store = Store(self.work.store, self.work.compiler)
            store.add([record])
            store.close()
            return Judged(1, [record])
        waiting.put(batch.singles())
        return Judged(0)

    def _end(self) -> None:
        for worker in self._workers:
            worker.connection.close()
            if worker.batch is not None:
                worker.process.kill()
        for worker in self._workers:
            worker.process.wait()


class _Waiting:
    """Batches not given out yet, by kernel."""

    def __init__(self, batches: Iterable[PointBatch]) -> None:
        self._by_kernel: dict[Reference, deque[PointBatch]] = {}
        self._taken: set[Reference] = set()
        self._seconds: dict[Reference, float] = {}
        """What the last batch of each kernel took."""
        self.put(batches)

    def put(self, batches: Iterable[PointBatch]) -> None:
        """Adds batches, in this order."""
        for batch in batches:
            self._by_kernel.setdefault(batch.reference, deque()).append(batch)

    def expected(self) -> int:
        """How many batches there are once all points are drawn."""
        return sum(-(-b.points // BATCH) if b.drawing else 1 for queue in self._by_kernel.values() for b in queue)

    def __bool__(self) -> bool:
        return any(self._by_kernel.values())

    def took(self, reference: Reference, seconds: float) -> None:
        """Says what a batch of a kernel has taken."""
        self._seconds[reference] = seconds

    def next_for(self, kernels: set[Reference], busy: Mapping[Reference, int]) -> PointBatch | None:
        """A batch of a kernel that the process knows, else of one that no process has begun, else of the one that will keep the
        `busy` ones longest."""
        left = {reference: len(queue) for reference, queue in self._by_kernel.items() if queue}
        known = [reference for reference in left if reference in kernels]
        fresh = [reference for reference in left if reference not in self._taken]
        chosen = known[0] if known else fresh[0] if fresh else self._most_to_do(left, busy)
        if chosen is None:
            return None
        self._taken.add(chosen)
        return self._by_kernel[chosen].popleft()

    def _most_to_do(self, left: Mapping[Reference, int], busy: Mapping[Reference, int]) -> Reference | None:
        """The kernel whose batches take the processes at it the longest."""
        seconds = {
            reference: batches * self._seconds.get(reference, 1.0) / max(1, busy.get(reference, 0))
            for reference, batches in left.items()
        }
        return max(seconds, key=seconds.__getitem__, default=None)


def progress_text(done: int, total: int, since: float) -> str:
    """`1200 of 5000 points, 5210 a minute, 44 s left`."""
    seconds = max(time.monotonic() - since, 1e-9)
    rate = done / seconds
    left = f"{(total - done) / rate:.0f} s left" if rate else "no estimate yet"
    return f"{done} of {total} points, {60 * rate:.0f} a minute, {left}"
