"""Processes that evaluate configurations: each is a pool of one (`concurrent.futures`), so that a kernel goes back to the process that
has its states, and a process that ends takes no work of others with it.

In: batches of one kernel's configurations, or what to draw them from. Out: each batch's records, written to the store by the process
that made them; drawn configurations become batches that any process may take. A process that ends, or takes longer than `limit` seconds
over one configuration, is replaced. Its batch is given out again one by one. What ends two processes alone, or takes too long alone, is
recorded as crashed.
"""

import contextlib
import functools
import multiprocessing
import os
import signal
import sys
import time
from collections import Counter, deque
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import forkserver, resource_tracker
from multiprocessing.context import BaseContext
from types import ModuleType
from typing import Any

from minitriton.errors import MinitritonError
from minitriton.host.interrupts import held_back
from minitriton.lab.sweeping import serving
from minitriton.lab.sweeping.correctness import Class, Evaluation
from minitriton.lab.sweeping.references import Reference
from minitriton.lab.sweeping.serving import BatchProgress, ConfigurationBatch, Drawn, Work, WorkerAnswer, nothing_drawn
from minitriton.lab.sweeping.store import Store

ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
"""Of a worker's linear algebra, where the user asks for no other number: the processors have a worker each."""

LOST_AT_START = 5
"""Processes in a row that may end before they can take a batch: killed by chance, before something is wrong with all."""

WORTH_HELP = 1.0
"""Seconds of work left at a kernel for each process at it, from which another one makes the kernel's states anew to help."""

_SECONDS_BETWEEN_LOOKS = 0.2
"""For processes that take too long."""


@functools.cache
def _context() -> BaseContext:
    """How processes are started: by forks of one that has imported the compiler (`preloaded`)."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([f"{__package__}.preloaded"])
    resource_tracker.ensure_running()  # lets Ctrl-C through again when it has started
    before = dict(os.environ)
    os.environ.update({**ONE_THREAD, **before, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))})
    try:
        with held_back():  # Ctrl-C while it starts would end it
            forkserver.ensure_running()
    finally:
        os.environ.clear()
        os.environ.update(before)
    return context


@contextlib.contextmanager
def _without_main() -> Generator[None]:
    """Started inside the `with`, a process does not run the program's main file again: it needs nothing of it."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


class _Worker:
    """A process, and the batch that it has or is to get."""

    def __init__(self, work: Work, batch: ConfigurationBatch) -> None:
        self._pool = ProcessPoolExecutor(
            1, mp_context=_context(), initializer=serving.begin, initargs=(work, dict(os.environ), os.getcwd())
        )
        try:
            with _without_main(), held_back():
                self._started = self._pool.submit(os.getpid)
        except (EOFError, OSError) as error:  # what starts processes was killed, by chance or because it cannot begin
            self._started = Future[int]()
            self._started.set_exception(BrokenProcessPool(f"cannot start a process: {error}"))
        self.answer: Future[WorkerAnswer] | None = None
        self.batch: ConfigurationBatch | None = batch
        self.kernels: set[Reference] = set()
        """Those whose states it has, or makes."""
        self.since = 0.0
        self.too_long = False

    @property
    def awaited(self) -> Future[Any]:
        """What ends next here: its start, or its batch."""
        return self.answer or self._started

    @property
    def pid(self) -> int | None:
        """None before it can take a batch."""
        done = self._started.done() and self._started.exception() is None
        return self._started.result() if done else None

    def give(self, batch: ConfigurationBatch) -> None:
        """Has the process evaluate a batch."""
        self.batch, self.since = batch, time.monotonic()
        self.kernels.add(batch.reference)
        try:
            self.answer = self._pool.submit(serving.answer, batch)
        except BrokenProcessPool as error:  # it was killed while it had nothing to do
            self.answer = Future()
            self.answer.set_exception(error)

    def kill(self) -> None:
        """Ends the process at once."""
        if self.pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)

    def end(self) -> None:
        """Ends the process, at once where it has a batch, and waits for it."""
        if self.batch is not None:
            self.kill()
        self._pool.shutdown(cancel_futures=True)


class _Waiting:
    """Batches that are not given out yet, by kernel."""

    def __init__(self, batches: Iterable[ConfigurationBatch]) -> None:
        self._by_kernel: dict[Reference, deque[ConfigurationBatch]] = {}
        self.seconds: dict[Reference, float] = {}
        """What the last batch of each kernel took."""
        self.put(batches)

    def put(self, batches: Iterable[ConfigurationBatch]) -> None:
        """Adds batches, in this order."""
        for batch in batches:
            self._by_kernel.setdefault(batch.reference, deque()).append(batch)

    def __bool__(self) -> bool:
        return any(self._by_kernel.values())

    def next_for(self, kernels: set[Reference], begun: Counter[Reference]) -> ConfigurationBatch | None:
        """A batch for a process that has the states of `kernels`: of one of these, else of one that no process has `begun` or that needs
        no states, else of the one at which help saves most. None where a process more saves nothing."""
        left = {reference: queue[0] for reference, queue in self._by_kernel.items() if queue}
        known = [reference for reference in left if reference in kernels]
        fresh = [one for one, batch in left.items() if batch.drawing or batch.measure or not begun[one]]
        chosen = next(iter((*known, *fresh)), None) or max(left, key=lambda one: self._left(one, begun), default=None)
        if chosen is None or (not known and not fresh and self._left(chosen, begun) < WORTH_HELP):
            return None
        return self._by_kernel[chosen].popleft()

    def _left(self, reference: Reference, begun: Counter[Reference]) -> float:
        """Seconds of work at a kernel for each process that is at it."""
        return len(self._by_kernel[reference]) * self.seconds.get(reference, 1.0) / max(1, begun[reference])


class WorkerProcesses:
    """`jobs` processes. `evaluate(batches)` yields a `BatchProgress` as each batch ends."""

    def __init__(self, work: Work, jobs: int, limit: float = 60.0) -> None:
        self.work, self.jobs, self.limit = work, jobs, limit
        self._workers: list[_Worker] = []
        self._lost_at_start = 0

    def evaluate(
        self, batches: Iterable[ConfigurationBatch], at_once: int | None = None, drawn: Drawn = nothing_drawn
    ) -> Iterator[BatchProgress]:
        """Has `batches` evaluated by `at_once` processes at most, and the batches that `drawn` makes of drawn configurations. Raises what
        a process could not do for any of them, such as write the store."""
        waiting = _Waiting(batches)
        try:
            while waiting or any(worker.batch for worker in self._workers):
                self._hand_out(waiting, at_once or self.jobs)
                yield from self._collect(waiting, drawn)
        finally:
            for worker in self._workers:
                worker.end()
            self._workers.clear()

    def _hand_out(self, waiting: _Waiting, most: int) -> None:
        """Gives batches to processes that have none, then begins others."""
        for worker in self._workers:
            if worker.batch is None and (batch := waiting.next_for(worker.kernels, self._begun())) is not None:
                worker.give(batch)
        while len(self._workers) < most and (batch := waiting.next_for(set(), self._begun())) is not None:
            self._workers.append(self._start(batch))

    def _start(self, batch: ConfigurationBatch) -> _Worker:
        return _Worker(self.work, batch)

    def _begun(self) -> Counter[Reference]:
        return Counter(worker.batch.reference for worker in self._workers if worker.batch is not None) + Counter(
            reference for worker in self._workers if worker.batch is None for reference in worker.kernels
        )

    def _collect(self, waiting: _Waiting, drawn: Drawn) -> Iterator[BatchProgress]:
        """What processes have answered."""
        busy = [worker for worker in self._workers if worker.batch is not None]
        done, _ = wait([w.awaited for w in busy], timeout=_SECONDS_BETWEEN_LOOKS, return_when=FIRST_COMPLETED)
        for worker in busy:
            batch = worker.batch
            assert batch is not None
            if worker.awaited not in done:
                if (
                    worker.answer is not None
                    and time.monotonic() - worker.since > self.limit * batch.num_configurations
                ):
                    worker.too_long = True
                    worker.kill()
            elif isinstance(worker.awaited.exception(), BrokenProcessPool):
                yield self._lost(worker, batch, waiting)
            elif worker.answer is None:
                worker.awaited.result()  # raises what no start would get past
                self._lost_at_start = 0
                worker.give(batch)
            else:
                answer = worker.answer.result()
                worker.batch = None
                if answer.error is not None:
                    raise answer.error
                if batch.pipelines:
                    waiting.seconds[batch.reference] = answer.seconds
                waiting.put(drawn(batch.reference, answer.drawn) if answer.drawn else ())
                yield BatchProgress(answer.done, answer.records)

    def _lost(self, worker: _Worker, batch: ConfigurationBatch, waiting: _Waiting) -> BatchProgress:
        """Lets `worker` go; gives its batch out again one by one, or records what ends processes."""
        worker.end()
        self._workers.remove(worker)
        if worker.answer is None:
            self._lost_at_start += 1
            if self._lost_at_start >= LOST_AT_START:
                raise MinitritonError(
                    "the processes of the sweep end before they evaluate anything",
                    help="what they print says why; is there memory and disk enough?",
                )
            time.sleep(_SECONDS_BETWEEN_LOOKS)  # until it is known that what starts processes has ended, too
            waiting.put([batch])
            return BatchProgress(0)
        if len(batch.singles()) > 1 or batch.tries < (1 if worker.too_long else 2):
            waiting.put(batch.singles())
            return BatchProgress(0)
        reason = f"no answer within {self.limit:g} s" if worker.too_long else "the process ended"
        if batch.drawing is not None:
            raise MinitritonError(
                f"no process can draw configurations of {batch.reference.name}: {reason}",
                help="is there memory enough, and time (--limit)? What the processes print says more",
            )
        if batch.measure:
            return BatchProgress(1)
        record = Evaluation(batch.reference.name, batch.pipelines[0], Class.CRASHED, "", reason)
        store = Store(self.work.store, self.work.compiler)
        store.add([record])
        store.close()
        return BatchProgress(1, [record])


def progress_text(done: int, total: int, since: float) -> str:
    """`1200 of 5000 configurations, 5210 a minute, 44 s left`."""
    seconds = max(time.monotonic() - since, 1e-9)
    rate = done / seconds
    left = f"{(total - done) / rate:.0f} s left" if rate else "no estimate yet"
    return f"{done} of {total} configurations, {60 * rate:.0f} a minute, {left}"
