"""Processes that judge points: each keeps the states of the kernels it has seen, so a kernel goes back to the process that knows it, and
who helps there is a copy of that process.

In: batches of one kernel's points, or what to draw them from. Out: each batch's records, written to the store by the process that made
them; points that were drawn come back, `BATCH` at a time, to be given out as batches to whoever is free. A process that dies, or takes
longer than `limit` seconds over a point, is replaced; its batch is given out again point by point, and a point that ends two processes by
itself, or takes too long by itself, is recorded as crashed.
"""

from __future__ import annotations

import contextlib
import socket
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.reduction import send_handle

from minitriton.errors import MinitritonError
from minitriton.lab.sweeping import serving
from minitriton.lab.sweeping.batches import Drawn, Judged, PointBatch, Work, WorkerAnswer, nothing_drawn
from minitriton.lab.sweeping.fork_server import ForkedProcess, start
from minitriton.lab.sweeping.judging import Class, Record
from minitriton.lab.sweeping.references import Reference
from minitriton.lab.sweeping.store import Store
from minitriton.lab.sweeping.waiting import Waiting

LOST_AT_START = 5
"""Processes in a row that may end before they can take a batch: killed by chance, before something is wrong with all."""

_TOO_LONG = "no answer within"
"""Why a process was ended."""

_SECONDS_BETWEEN_LOOKS = 0.2
"""For processes that take too long."""


@dataclass
class _Worker:
    """A process; or, as long as `process` is None, a copy that was asked of `source` and has not said its pid yet."""

    connection: Connection
    process: ForkedProcess | None = None
    source: _Worker | None = None
    batch: PointBatch | None = None
    since: float = 0.0
    judged: set[Reference] = field(default_factory=set[Reference])
    """The kernels whose states it has, or makes."""
    drawn: set[Reference] = field(default_factory=set[Reference])
    """Those whose points it has drawn."""
    helps: Reference | None = None
    """What it is to be a copy for."""
    is_ready: bool = False


def _reason(why: str, limit: float) -> str:
    return f"{why} {limit:g} s" if why is _TOO_LONG else why


class WorkerProcesses:
    """`jobs` processes. `judge(batches)` yields what is `Judged` as each batch ends."""

    def __init__(self, work: Work, jobs: int, limit: float = 60.0) -> None:
        self.work, self.jobs, self.limit = work, jobs, limit
        self.cpu_seconds = 0.0
        self._workers: list[_Worker] = []
        self._let_go: list[ForkedProcess] = []
        """Those in whose place there are copies of others: they end by themselves."""
        self._lost_at_start = self._copies_lost = 0

    def judge(
        self, batches: Iterable[PointBatch], at_once: int | None = None, drawn: Drawn = nothing_drawn
    ) -> Iterator[Judged]:
        """Has `batches` judged by `at_once` processes at most, and the batches that `drawn` makes of points as they are drawn. Raises what
        a process could not do for any point, such as write the store."""
        waiting = Waiting(batches)
        try:
            while waiting or any(worker.batch for worker in self._workers):
                self._hand_out(waiting, at_once or self.jobs)
                yield from self._collect(waiting, drawn)
        finally:
            self._end()

    def _hand_out(self, waiting: Waiting, most: int) -> None:
        """Gives batches to processes that have none, then begins others, until there are `most` or nothing is left for them."""
        for worker in self._idle():
            batch = waiting.next_for(worker.judged, worker.drawn, self._begun())
            if batch is not None:
                self._give(worker, batch)
        while waiting and len(self._workers) - len(idle := self._idle()) < most:
            batch = waiting.next_for(set(), set(), self._begun())
            if batch is None and (helped := self._to_help(waiting)) is not None:
                source = self._source(helped)
                if source is not None:
                    if len(self._workers) == most:
                        self._let_one_go(idle)
                    self._workers.append(self._copy_of(source, helped))
                    continue
                batch = waiting.take(helped) if self._copies_lost >= LOST_AT_START else None
            if batch is None:
                return
            if not idle:
                self._workers.append(worker := self._start())
                idle = [worker]
            self._give(idle[0], batch)

    def _idle(self) -> list[_Worker]:
        return [worker for worker in self._workers if worker.process is not None and worker.batch is None]

    def _begun(self) -> set[Reference]:
        return {reference for worker in self._workers for reference in worker.judged}

    def _to_help(self, waiting: Waiting) -> Reference | None:
        """The kernel at which another process ends the sweep sooner."""
        coming = Counter(worker.helps for worker in self._workers if worker.process is None and worker.helps)
        judging = Counter(worker.batch.reference for worker in self._workers if worker.batch is not None)
        return waiting.to_help(judging + coming, coming)

    def _source(self, reference: Reference) -> _Worker | None:
        """The process to be copied for a kernel: of those that have its states, the one of which the fewest copies are asked."""
        asked = Counter(id(worker.source) for worker in self._workers if worker.process is None)
        able = [w for w in self._workers if w.process is not None and w.is_ready and reference in w.judged]
        if self._copies_lost >= LOST_AT_START:
            return None
        return min(able, key=lambda worker: asked[id(worker)], default=None)

    def _copy_of(self, source: _Worker, reference: Reference) -> _Worker:
        """Asks `source` for a copy, which says its pid once it is there; where it cannot be, the connection closes."""
        assert source.process is not None
        ours, theirs = socket.socketpair()
        with theirs, contextlib.suppress(OSError):  # a source that was killed
            source.connection.send(serving.COPY)
            send_handle(source.connection, theirs.fileno(), source.process.pid)
        return _Worker(Connection(ours.detach()), source=source, judged=set(source.judged), helps=reference)

    def _let_one_go(self, idle: list[_Worker]) -> None:
        """Ends a process that has nothing to do."""
        worker = idle[0]
        assert worker.process is not None
        worker.connection.close()
        self._let_go.append(worker.process)
        self._workers.remove(worker)

    def _start(self) -> _Worker:
        lost = 0
        while True:
            ours, theirs = socket.socketpair()
            try:
                with theirs:
                    process = start(serving.__name__, theirs.fileno())
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
        return _Worker(connection, process)

    def _give(self, worker: _Worker, batch: PointBatch) -> None:
        worker.batch, worker.since = batch, time.monotonic()
        (worker.judged if batch.drawing is None else worker.drawn).add(batch.reference)
        with contextlib.suppress(OSError):  # one that was killed while it had nothing to do
            worker.connection.send(batch)

    def _collect(self, waiting: Waiting, drawn: Drawn) -> Iterator[Judged]:
        """What processes have answered."""
        asked = {w.connection: w for w in self._workers if w.batch is not None or w.process is None}
        ready = [one for one in wait(list(asked), timeout=_SECONDS_BETWEEN_LOOKS) if isinstance(one, Connection)]
        for worker in map(asked.pop, ready):
            if worker.process is None:
                self._arrived(worker)
                continue
            try:
                answer = worker.connection.recv()
            except (EOFError, OSError):
                yield self._lost(worker, waiting, "the process ended")
                continue
            if answer == serving.READY:
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
        for worker in asked.values():
            if worker.batch is None or time.monotonic() - worker.since <= self.limit * worker.batch.points:
                continue
            assert worker.process is not None
            worker.process.kill()
            yield self._lost(worker, waiting, _TOO_LONG)

    def _arrived(self, worker: _Worker) -> None:
        """A copy is there, or it is known that it will not be."""
        assert worker.source is not None and worker.source.process is not None
        try:
            worker.process = ForkedProcess(worker.connection.recv(), worker.source.process.server)
        except (EOFError, OSError):
            worker.connection.close()
            self._workers.remove(worker)
            self._copies_lost += 1
            return
        worker.source, worker.is_ready, self._copies_lost = None, True, 0

    def _lost(self, worker: _Worker, waiting: Waiting, why: str) -> Judged:
        """Lets `worker` go; gives its batch out again in single points, or records the point that ends processes."""
        batch = worker.batch
        assert batch is not None and worker.process is not None
        worker.connection.close()
        worker.process.wait()
        self._workers.remove(worker)
        self._lost_at_start = 0 if worker.is_ready else self._lost_at_start + 1
        if self._lost_at_start >= LOST_AT_START:
            raise MinitritonError(
                f"the processes of the sweep end before they judge anything (exit code {worker.process.returncode})",
                help="what they print says why; is there memory and disk enough?",
            )
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
        """Ends what is left of processes, and waits for all."""
        coming = [worker for worker in self._workers if worker.process is None]
        for worker in self._workers:
            if worker.process is not None:
                worker.connection.close()
                if worker.batch is not None:
                    worker.process.kill()
                self._let_go.append(worker.process)
        for process in self._let_go:
            process.wait()
        for worker in coming:  # no process is left that a copy could be made of
            self._arrived(worker)
            worker.connection.close()
            if worker.process is not None:
                worker.process.wait()
        self._workers.clear()
        self._let_go.clear()


def progress_text(done: int, total: int, since: float) -> str:
    """`1200 of 5000 points, 5210 a minute, 44 s left`."""
    seconds = max(time.monotonic() - since, 1e-9)
    rate = done / seconds
    left = f"{(total - done) / rate:.0f} s left" if rate else "no estimate yet"
    return f"{done} of {total} points, {60 * rate:.0f} a minute, {left}"
