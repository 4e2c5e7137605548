"""Processes of a sweep: a kernel stays with the process that has its states, others help where it is worth it, and nothing is lost with one."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from minitriton import lab
from minitriton.lab.sweeping import serving, workers
from minitriton.lab.sweeping.references import Reference, references
from minitriton.lab.sweeping.serving import ConfigurationBatch, Drawing
from minitriton.lab.sweeping.space import Space
from minitriton.lab.sweeping.workers import ONE_THREAD, WorkerProcesses, _Waiting

KERNEL = "running_product"
ONE, OTHER = Reference("one"), Reference("other")


def results(table: lab.Table) -> list[tuple[str, str, str, dict[str, float]]]:
    return [(r.pipeline, str(r.result), r.program, r.metrics) for r in table.records]


def test_processes_that_help_find_what_one_process_finds(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(workers, "WORTH_HELP", 0.0)
    helped = lab.sweep(KERNEL, count=120, jobs=3, run=False, store=tmp_path / "s.db")
    assert results(helped) == results(lab.sweep(KERNEL, count=120, jobs=1, run=False))
    assert len(helped) == 120


def test_processes_may_be_killed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    rng, killed = random.Random(5), list[int]()

    class Killing(WorkerProcesses):
        def _hand_out(self, waiting: _Waiting, most: int) -> None:
            super()._hand_out(waiting, most)
            evaluating = [
                w.pid for w in self._workers if w.pid is not None and w.batch is not None and w.batch.pipelines
            ]
            if len(killed) < 3 and evaluating:
                killed.append(rng.choice(evaluating))
                os.kill(killed[-1], signal.SIGKILL)

    monkeypatch.setattr(workers, "WORTH_HELP", 0.0)
    with monkeypatch.context() as patched:
        patched.setattr("minitriton.lab.sweeping.sweep.WorkerProcesses", Killing)
        table = lab.sweep(KERNEL, count=100, jobs=2, run=False, store=tmp_path / "s.db")
    assert len(killed) == 3
    assert results(table) == results(lab.sweep(KERNEL, count=100, run=False))


def test_a_process_that_cannot_be_started_is_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    real, failing = workers.ProcessPoolExecutor.submit, [EOFError("unexpected EOF"), OSError("refused")]

    def submit(self: workers.ProcessPoolExecutor, function: Any, *given: Any) -> Any:
        if function is os.getpid and failing:
            raise failing.pop()  # as where what starts processes was killed
        return real(self, function, *given)

    monkeypatch.setattr(workers.ProcessPoolExecutor, "submit", submit)
    assert len(lab.sweep("masked_copy", count=2, run=False)) == 2
    assert not failing


WITHOUT_GUARD = """
print("begun", flush=True)
from minitriton import lab
print(len(lab.sweep("masked_copy", count=3, run=False)))
"""


def test_a_program_that_sweeps_needs_no_guard_of_its_main_part(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(WITHOUT_GUARD)
    done = subprocess.run([sys.executable, str(tmp_path / "program.py")], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["begun", "3"]


KILLED = """
import os, signal
from minitriton import lab
from minitriton.lab.sweeping import sweep
from minitriton.lab.sweeping.workers import WorkerProcesses
class Ending(WorkerProcesses):
    def _collect(self, waiting, drawn):
        if pids := [worker.pid for worker in self._workers if worker.pid is not None]:
            print(*pids, flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
        return super()._collect(waiting, drawn)
sweep.WorkerProcesses = Ending
lab.sweep("masked_copy", count=50, run=False)
"""


def test_processes_end_with_the_program_that_is_killed() -> None:
    done = subprocess.run([sys.executable, "-c", KILLED], capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    for pid in map(int, done.stdout.split()):
        until = time.monotonic() + 60
        while Path(f"/proc/{pid}").exists() and time.monotonic() < until:
            time.sleep(0.05)
        assert not Path(f"/proc/{pid}").exists()


def test_a_kernel_goes_to_who_knows_it_then_one_that_nobody_has_begun() -> None:
    drawing = Drawing(Space(), 100)
    left = _Waiting(
        [ConfigurationBatch(ONE, ("a",)), ConfigurationBatch(ONE, ("b",)), ConfigurationBatch(OTHER, drawing=drawing)]
    )
    left.seconds[ONE] = 0.01
    assert left.next_for({OTHER}, Counter([ONE])) == ConfigurationBatch(OTHER, drawing=drawing)
    assert left.next_for(set(), Counter([ONE])) is None
    assert left.next_for({ONE}, Counter([ONE])) == ConfigurationBatch(ONE, ("a",))
    assert left.next_for(set(), Counter()) == ConfigurationBatch(ONE, ("b",))


def test_measuring_needs_no_states_and_is_anyones() -> None:
    left = _Waiting([ConfigurationBatch(ONE, ("a",), measure="machine")])
    assert left.next_for(set(), Counter([ONE])) == ConfigurationBatch(ONE, ("a",), measure="machine")


def test_help_goes_where_most_is_left_and_not_where_it_is_not_worth_it() -> None:
    left = _Waiting([ConfigurationBatch(one, (text,)) for one in (ONE, OTHER) for text in "abcd"])
    left.seconds |= {ONE: 0.2, OTHER: 2.0}
    assert left.next_for(set(), Counter([ONE, OTHER])) == ConfigurationBatch(OTHER, ("a",))
    assert left.next_for(set(), Counter({ONE: 1, OTHER: 12})) is None
    left.seconds[OTHER] = 0.2
    assert left.next_for(set(), Counter([ONE, OTHER])) is None


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


def test_what_is_forked_has_neither_a_gpu_nor_threads() -> None:
    assert references([serving.SMALL])
    ran = subprocess.run(
        [sys.executable, "-c", PREPARED], env={**os.environ, **ONE_THREAD}, capture_output=True, text=True, check=True
    )
    assert ran.stdout.strip() == "[] 1"
