"""A Dask cluster with a worker that has a GPU beside workers that have none."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from minitriton import lab

distributed = pytest.importorskip("distributed")

KERNELS = ("bench_softmax", "bench_transpose")
ORDERS = 6
HIDDEN = {"CUDA_VISIBLE_DEVICES": ""}


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """Of three workers, of which `gpu` has the resource; the others cannot see a GPU."""

    def worker(options: dict[str, Any]) -> dict[str, Any]:
        return {"cls": distributed.Nanny, "options": {"nthreads": 1, **options}}

    workers = {
        "gpu": worker({"resources": {"GPU": 1}}),
        "first": worker({"env": HIDDEN}),
        "second": worker({"env": HIDDEN}),
    }
    scheduler = {"cls": distributed.Scheduler, "options": {"dashboard_address": None, "port": 0}}
    with distributed.SpecCluster(workers, scheduler) as cluster, distributed.Client(cluster) as client:
        client.wait_for_workers(3)
        yield client


def test_times_are_taken_by_the_worker_with_a_gpu_while_others_evaluate_and_one_is_killed(
    client: Any, tmp_path: Path
) -> None:
    assert sorted(client.run(_devices).values()) == ["", "", "seen"]
    killed = threading.Timer(8.0, lambda: os.kill(_pid_of(client, "first"), signal.SIGKILL))
    killed.start()
    store = tmp_path / "s.db"
    table = lab.sweep(KERNELS, count=ORDERS, seed=3, metrics=["time", "registers"], client=client, store=store)
    killed.join()
    configurations = [(record.kernel, record.pipeline) for record in table.records]
    assert len(configurations) == len(set(configurations)) == len(KERNELS) * ORDERS
    for record in table.records:
        assert str(record.result) == "right"
        assert record.all_metrics["microseconds"] > 0 and record.all_metrics["registers"] > 0
    again = lab.sweep(KERNELS, count=ORDERS, seed=3, metrics=["time"], client=client, store=store)
    assert again.evaluated == 0


def _devices() -> str:
    return os.environ.get("CUDA_VISIBLE_DEVICES", "seen")


def _pid_of(client: Any, name: str) -> int:
    addresses = {worker["name"]: address for address, worker in client.scheduler_info(n_workers=-1)["workers"].items()}
    return client.run(os.getpid, workers=[addresses[name]])[addresses[name]]
