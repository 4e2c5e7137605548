"""Searches that keep what they evaluate: killed, they go on where they were."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from minitriton import lab
from minitriton.errors import MinitritonError
from minitriton.lab.sweeping.evaluation import Evaluator
from minitriton.lab.sweeping.store import Store, compiler_name

KERNEL = "running_product"


def test_a_search_that_was_killed_goes_on_and_evaluates_nothing_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "s.db"
    command = [sys.executable, "-m", "minitriton", "search", KERNEL, "--objective", "registers", "--budget", "40"]
    running = subprocess.Popen([*command, "--store", str(path)], stdout=subprocess.DEVNULL)
    while running.poll() is None and not (path.exists() and pipelines_in(path)):
        time.sleep(0.05)
    running.send_signal(signal.SIGKILL)
    running.wait()
    kept = pipelines_in(path)
    assert kept
    evaluated: list[str] = []
    asked = Evaluator.__call__

    def noted(self: Evaluator, configuration: lab.Configuration) -> object:
        evaluated.append(str(configuration))
        return asked(self, configuration)

    monkeypatch.setattr(Evaluator, "__call__", noted)
    found = lab.search(KERNEL, objective="registers", budget=40, store=path)
    assert not kept & set(evaluated)
    assert len(evaluated) == len(set(evaluated))
    assert pipelines_in(path) == kept | set(evaluated) == {r.pipeline for r in found.records}
    alone = lab.search(KERNEL, objective="registers", budget=40)
    assert (found.best.pipeline, found.convergence()) == (alone.best.pipeline, alone.convergence())
    assert len(lab.sweep(KERNEL, found.best.pipeline, metrics="registers", store=path)) == 1


def pipelines_in(path: Path) -> set[str]:
    """The configurations that are there."""
    try:
        store = Store(path, compiler_name())
    except MinitritonError:
        return set()
    found = {r.pipeline for r in store.records(KERNEL) if r.result != "right" or "registers" in r.metrics}
    store.close()
    return found


def test_a_search_by_time_keeps_no_store(tmp_path: Path) -> None:
    with pytest.raises(MinitritonError, match="times compare within rounds"):
        lab.search(KERNEL, objective="microseconds", store=tmp_path / "s.db")
