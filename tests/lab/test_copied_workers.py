"""Who helps at a kernel is a copy of a process that has its states: what is known is not made again, and nothing is lost with it."""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import sys
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from minitriton import lab
from minitriton.lab.sweeping import serving, waiting, workers
from minitriton.lab.sweeping.batches import PointBatch
from minitriton.lab.sweeping.drawing import Drawing
from minitriton.lab.sweeping.fork_server import ONE_THREAD
from minitriton.lab.sweeping.references import Reference, references
from minitriton.lab.sweeping.space import Space
from minitriton.lab.sweeping.waiting import Waiting
from minitriton.lab.sweeping.workers import WorkerProcesses

KERNEL = "running_product"
ONE, OTHER = Reference("one"), Reference("other")


@pytest.fixture(autouse=True)
def _every_copy_is_worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "WORTH_A_COPY", 0.0)


class Counted(WorkerProcesses):
    """How processes came to be."""

    started = copied = 0

    def _start(self) -> workers._Worker:
        Counted.started += 1
        return super()._start()

    def _arrived(self, worker: workers._Worker) -> None:
        super()._arrived(worker)
        Counted.copied += worker.process is not None


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> type[Counted]:
    monkeypatch.setattr("minitriton.lab.sweeping.sweep.WorkerProcesses", Counted)
    Counted.started = Counted.copied = 0
    return Counted


def told(table: lab.Table) -> list[tuple[str, str, str, dict[str, float]]]:
    return [(r.pipeline, str(r.result), r.program, r.metrics) for r in table.records]


def test_helpers_are_copies_and_find_what_one_process_finds(counted: type[Counted], tmp_path: Path) -> None:
    helped = lab.sweep(KERNEL, orders=400, jobs=4, run=False, store=tmp_path / "s.db")
    assert counted.copied >= 2
    assert counted.started <= 2  # the one that draws, and the one that judges the first points as they are drawn
    alone = lab.sweep(KERNEL, orders=400, jobs=1, run=False)
    assert told(helped) == told(alone)
    assert len(helped) == 400


def test_copies_and_their_sources_may_be_killed(counted: type[Counted], tmp_path: Path) -> None:
    rng, killed = random.Random(5), list[int]()

    class Killing(counted):
        def _arrived(self, worker: workers._Worker) -> None:
            super()._arrived(worker)
            alive = [one.process.pid for one in self._workers if one.process is not None and one.is_ready]
            if len(killed) < 6 and alive:
                killed.append(rng.choice(alive))
                os.kill(killed[-1], signal.SIGKILL)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("minitriton.lab.sweeping.sweep.WorkerProcesses", Killing)
        table = lab.sweep(KERNEL, orders=300, jobs=3, run=False, store=tmp_path / "s.db")
    assert len(killed) == 6
    assert told(table) == told(lab.sweep(KERNEL, orders=300, run=False))


def test_where_no_copy_can_be_made_processes_begin_by_themselves(counted: type[Counted]) -> None:
    class WithoutCopies(counted):
        def _copy_of(self, source: workers._Worker, reference: Reference) -> workers._Worker:
            ours, theirs = socket.socketpair()
            theirs.close()  # as when the process could not be copied
            return workers._Worker(Connection(ours.detach()), source=source, helps=reference)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("minitriton.lab.sweeping.sweep.WorkerProcesses", WithoutCopies)
        table = lab.sweep(KERNEL, orders=300, jobs=3, run=False)
    assert len(table) == 300
    assert counted.copied == 0
    assert counted.started == 3


def test_a_kernel_goes_to_who_knows_it_then_one_that_nobody_has_begun() -> None:
    drawing = Drawing(Space(), 100)
    left = Waiting([PointBatch(ONE, ("a",)), PointBatch(ONE, ("b",)), PointBatch(OTHER, drawing=drawing)])
    assert left.next_for({OTHER}, set(), {ONE}) == PointBatch(OTHER, drawing=drawing)
    assert left.next_for(set(), set(), {ONE}) is None
    assert left.next_for({ONE}, set(), {ONE}) == PointBatch(ONE, ("a",))
    assert left.next_for(set(), set(), set()) == PointBatch(ONE, ("b",))


def test_measuring_needs_no_states_and_is_anyones() -> None:
    left = Waiting([PointBatch(ONE, ("a",), measure="machine")])
    assert left.next_for(set(), set(), {ONE}) == PointBatch(ONE, ("a",), measure="machine")


def test_help_goes_where_most_is_left_and_not_where_it_is_not_worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "WORTH_A_COPY", 0.1)
    left = Waiting([PointBatch(one, (text,)) for one in (ONE, OTHER) for text in "abcd"])
    left.took(ONE, 0.02)
    left.took(OTHER, 0.2)
    assert left.to_help({ONE: 1, OTHER: 1}, {}) == OTHER
    left.took(OTHER, 0.02)
    assert left.to_help({ONE: 1, OTHER: 1}, {}) is None
    assert left.to_help({ONE: 1, OTHER: 5}, {OTHER: 4}) is None


def test_the_longest_source_is_drawn_first() -> None:
    found = {one.kernel: one.source_length() for one in references(["tiled_dot", "swiglu", "every_third"])}
    assert max(found, key=found.__getitem__) == "tiled_dot"
    assert Reference("of_a_file_that_nobody_added").source_length() == 0
    assert Reference("some.py:kernel").source_length() == 0


PREPARED = """
import ctypes, os
opened, begin = [], ctypes.CDLL.__init__
def seen(self, name, *args, **named):
    opened.append(str(name))
    begin(self, name, *args, **named)
ctypes.CDLL.__init__ = seen
from minitriton.lab.sweeping import serving
serving.prepare()
print([name for name in opened if "libcuda" in name or "nvJitLink" in name], len(os.listdir("/proc/self/task")))
"""


def test_what_is_copied_has_neither_a_gpu_nor_threads() -> None:
    assert references([serving._SMALL])
    ran = subprocess.run(
        [sys.executable, "-c", PREPARED], env={**os.environ, **ONE_THREAD}, capture_output=True, text=True, check=True
    )
    assert ran.stdout.strip() == "[] 1"
