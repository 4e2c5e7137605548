"""Sweeps over a Dask cluster: real workers in processes of their own, some of them killed."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from minitriton import lab
from minitriton.errors import MinitritonError
from minitriton.lab import corpus
from minitriton.lab.sweeping import cluster

distributed = pytest.importorskip("distributed")

KERNEL = "running_product"


@pytest.fixture(scope="module", autouse=True)
def byte_code() -> None:
    """Of what workers import is there: where Python is told to write none, each of them would compile Dask anew (3 s of a processor)."""
    program = f"import distributed; from minitriton import lab; lab.sweep([{KERNEL!r}], count=1)"
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.fixture
def client() -> Iterator[Any]:
    """Of a cluster of two workers for each test: one that was killed at its start is not started again by Dask."""
    import dask  # pyright: ignore[reportMissingImports]

    before = dict(os.environ)
    settings = {
        "distributed.scheduler.allowed-failures": 2,
        "distributed.worker.daemon": False,
        "distributed.worker.profile.enabled": False,
    }
    with (
        dask.config.set(settings),
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as local,
        distributed.Client(local) as client,
    ):
        yield client
    for name in os.environ.keys() - before.keys():
        del os.environ[name]


def test_a_cluster_gives_the_records_that_processes_give(client: Any, tmp_path: Path) -> None:
    here = lab.sweep([KERNEL], count=8, seed=5, metrics=["registers"])
    there = lab.sweep([KERNEL], count=8, seed=5, metrics=["registers"], client=client, store=tmp_path / "s.db")

    def told(table: lab.Table) -> list[Any]:
        return [
            (r.pipeline, r.result, r.program, r.metrics["instructions"], r.metrics["registers"]) for r in table.records
        ]

    assert told(there) == told(here)
    again = lab.sweep([KERNEL], count=8, seed=5, client=client, store=tmp_path / "s.db")
    assert again.evaluated == 0


def test_workers_that_are_killed_lose_and_double_nothing(client: Any, tmp_path: Path) -> None:
    over, rng = threading.Event(), random.Random(0)

    def kill_some() -> None:
        for _ in range(2):
            if over.wait(rng.uniform(1.0, 2.0)):
                return
            workers = client.run(os.getpid)
            if workers:
                os.kill(rng.choice(list(workers.values())), signal.SIGKILL)

    killer = threading.Thread(target=kill_some)
    killer.start()
    table = lab.sweep([KERNEL, "running_sums"], count=60, seed=1, client=client, store=tmp_path / "s.db")
    over.set()
    killer.join()
    configurations = [(r.kernel, r.pipeline) for r in table.records]
    assert len(configurations) == len(set(configurations)) == 120
    assert table.counts() == {"right": 120}


def test_a_point_that_ends_workers_is_recorded_and_the_rest_goes_on(client: Any, tmp_path: Path) -> None:
    file = tmp_path / "ending.py"
    file.write_text(
        "import os\nfrom dataclasses import dataclass\nfrom minitriton.pipeline.pass_registry import Pass, register_pass\n"
        "@register_pass\n@dataclass(frozen=True)\nclass Ends(Pass):\n    '''Ends its process.'''\n"
        "    name = 'test-ends-a-worker'\n    def apply(self, ctx, op):\n        os._exit(7)\n"
    )
    base = str(corpus.task(KERNEL).pipeline())
    bad = base.replace("inline,", "inline,test-ends-a-worker,", 1)
    reference = lab.Reference(KERNEL, loads=(str(file),))
    table = lab.sweep([reference], [base, bad], client=client, store=tmp_path / "s.db")
    assert sorted(str(r.result) for r in table.records) == ["crashed", "right"]


def test_times_need_a_worker_with_a_gpu(client: Any) -> None:
    with pytest.raises(MinitritonError, match="resource GPU"):
        lab.sweep([KERNEL], count=1, metrics=["time"], client=client)


def test_a_cluster_without_workers_is_an_error_and_no_wait_for_ever(
    client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "SECONDS_WITHOUT_WORKERS", 1.0)
    client.cluster.scale(0)
    while client.scheduler_info()["workers"]:
        time.sleep(0.1)
    with pytest.raises(MinitritonError, match="the cluster has had no worker for 1 seconds") as error:
        lab.sweep([KERNEL], count=2, client=client, store=tmp_path / "s.db")
    assert "start workers and sweep again" in str(error.value)
