"""What a process of a sweep does: takes batches, writes their records, answers, and copies itself where another one is to help.

batch ─▶ records in the store ─▶ answer        until the other end closes
COPY, a socket ─▶ a copy with all states that this process has made, which says its pid on that socket and takes batches from there
"""

from __future__ import annotations

import contextlib
import gc
import itertools
import os
import sys
import time
from dataclasses import replace
from multiprocessing.connection import Connection
from multiprocessing.reduction import recv_handle

from minitriton.lab import corpus
from minitriton.lab.sweeping.batches import BATCH, PointBatch, Work, WorkerAnswer
from minitriton.lab.sweeping.bench import Bench
from minitriton.lab.sweeping.drawing import Drawing
from minitriton.lab.sweeping.fork_server import copied
from minitriton.lab.sweeping.judging import Record
from minitriton.lab.sweeping.references import Reference
from minitriton.lab.sweeping.space import Space
from minitriton.lab.sweeping.store import Store
from minitriton.pass_registry import load_own_passes
from minitriton.runtime.driver import has_gpu

READY = "ready"
"""What a process says once it can take batches."""

COPY = "copy yourself"
"""What it is told, with a socket behind it: at the end of its batch, or of a point when it has been at the batch for long."""

_SMALL = "masked_copy"
"""A kernel of the corpus that costs little."""

_LONG = 1.0
"""Processor seconds at a batch after which a process copies itself in its midst: most new states are made at the first points."""


class _IsCopyError(BaseException):
    """Raised in a copy, to leave what the process that was copied is about."""


def prepare() -> None:
    """What every process needs, before it is one: called once, by the process that is copied. One point of a small kernel loads and makes
    what the first point of any kernel would, in each process anew: 0.15 s of it."""
    load_own_passes()
    corpus.names()
    with contextlib.suppress(Exception):  # what is wrong here is wrong with the kernel asked for, which says so
        bench, batch = Bench(run=True), PointBatch(Reference(_SMALL), drawing=Drawing(Space(), 2))
        points = tuple(bench.drawn(batch))
        bench.judged(replace(batch, pipelines=points), set())


def serve(descriptor: int) -> None:
    """Takes `Work`, then batches until the other end closes, and answers each. It ends without taking apart what it holds, which takes
    longer than a batch: all that it made is in the store."""
    connection = Connection(descriptor)
    with contextlib.suppress(EOFError, OSError):
        _Serving(connection.recv(), connection).run()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


class _Serving:
    """A process, and what it has: the store, and the judges of kernels."""

    def __init__(self, work: Work, connection: Connection) -> None:
        self._connection = connection
        self._store = Store(work.store, work.compiler)
        self._bench = Bench(work.run)
        self._since = 0.0
        """Processor seconds at the batch's start."""

    def run(self) -> None:
        """Answers until the other end closes: then raises `EOFError` or `OSError`."""
        self._connection.send(READY)
        while True:
            try:
                message = self._connection.recv()
                if message == COPY:
                    self._copy()
                else:
                    self._answer(message)
            except _IsCopyError:
                self._connection.send(os.getpid())

    def _answer(self, batch: PointBatch) -> None:
        start = self._since = time.process_time()
        try:
            records = self._draw(batch) if batch.drawing is not None else self._judge(batch)
            answer = WorkerAnswer(len(batch.pipelines), records, time.process_time() - start)
        except Exception as error:
            if batch.measure == "time" and has_gpu():
                raise  # a fault on the device leaves its process without one
            answer = WorkerAnswer(0, (), time.process_time() - start, error)
        self._connection.send(answer)

    def _draw(self, batch: PointBatch) -> list[Record]:
        """Tells the points as they are drawn."""
        self._claim(batch)
        points = self._bench.drawn(batch)
        while drawn := tuple(itertools.islice(points, BATCH)):
            self._connection.send(WorkerAnswer(drawn=drawn, more=True))
        return []

    def _judge(self, batch: PointBatch) -> list[Record]:
        """Writes what becomes of a batch: the records that are new."""
        name = batch.reference.name
        if batch.measure:
            self._store.add_metrics(name, batch.measure, self._bench.measured(batch, self._store))
            return []
        self._claim(batch)
        known = self._store.known_of(name, batch.pipelines)
        records, programs = self._bench.judged(batch, known, self._between_points)
        self._store.add(records, programs)
        return records

    def _claim(self, batch: PointBatch) -> None:
        """Makes the kernel's records in the store those of the batch's reference, before the first is written. Raises `MinitritonError`
        where they are of another kernel of this name already."""
        reference, bench = batch.reference, self._bench
        if reference not in bench.claimed:
            made = bench.made(reference)
            self._store.add_kernel(reference.name, made.text(), bench.own_point(reference), made.is_that_of)
            bench.claimed.add(reference)

    def _between_points(self) -> None:
        while time.process_time() - self._since > _LONG and self._connection.poll():
            assert self._connection.recv() == COPY
            self._copy()

    def _copy(self) -> None:
        """Copies this process: the copy raises `_IsCopyError`. Where there is none, the other end of the socket closes."""
        descriptor = recv_handle(self._connection)
        self._store.close()
        try:
            is_copy = copied()
        except OSError:  # too many processes
            is_copy = False
        self._store.reopen()
        if not is_copy:
            os.close(descriptor)
            return
        self._connection.close()
        self._connection = Connection(descriptor)
        gc.freeze()  # what is here is not looked through again, nor a page of it copied for that
        raise _IsCopyError
