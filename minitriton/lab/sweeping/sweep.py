"""Many pipelines of many kernels over many processes, into one store.

    table = sweep(["running_sums", "softmax_rows"], Space(), orders=500, jobs=2, store="orders.db")
    print(table.text())

A sweep that was stopped goes on where it was: points that the store has are not judged again.
"""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from minitriton.errors import MinitritonError
from minitriton.lab.sweeping.candidates import Candidates
from minitriton.lab.sweeping.cluster import ClusterWorkers
from minitriton.lab.sweeping.judging import Record
from minitriton.lab.sweeping.measuring import add_groups, check_possible
from minitriton.lab.sweeping.metrics import LATER, groups_of
from minitriton.lab.sweeping.point import Point
from minitriton.lab.sweeping.references import Reference, references_of
from minitriton.lab.sweeping.space import Space
from minitriton.lab.sweeping.store import Store, compiler_name
from minitriton.lab.sweeping.table import Table
from minitriton.lab.sweeping.workers import PointBatch, Work, WorkerProcesses, progress_text
from minitriton.pass_manager import Pipeline

BATCH = 50
"""Points a process is given at once, and at most loses when it is killed."""


def sweep(
    kernels: Sequence[str | Reference],
    space: Space | Iterable[Point | Pipeline | str] | None = None,
    *,
    orders: int = 100,
    seed: int = 0,
    jobs: int = 1,
    store: str | Path | None = None,
    run: bool = True,
    neighbours: bool = False,
    limit: float = 60.0,
    metrics: Sequence[str] = (),
    client: Any = None,
    progress: Callable[[str], None] | None = None,
) -> Table:
    """Judges `orders` points drawn from `space` for each kernel (or the points given), its own among them.

    `kernels` are names of the corpus, `@family`, `all`, or `Reference`s. `neighbours` adds every point that is one change away.
    Without `run` nothing is executed: only whether it compiles, and what the text says. `metrics`: what is measured beside text,
    counts and seconds, by name or group (`metrics.METRICS`). `limit`: seconds for one point. `client`: a `dask.distributed.Client`,
    whose workers judge in place of `jobs` processes. Without `store` the records live as long as the table.
    Raises `MinitritonError` for what names no kernel and for metrics that cannot be measured here.
    """
    groups = groups_of(metrics)
    if "counts" in groups and not run:
        raise MinitritonError("what a run counts is not measured without running", help="leave out --compile-only")
    if jobs < 1 or orders < 0:
        raise MinitritonError(f"cannot sweep {orders} orders with {jobs} jobs", help="give numbers of at least 1")
    found = references_of(kernels)
    if not found:
        raise MinitritonError(
            "nothing to sweep", help="name kernels: a name of the corpus, @family, all, FILE.py:kernel"
        )
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(store) if store is not None else Path(scratch) / "sweep.db"
        plan = _Plan(found, space, orders, seed, neighbours)
        work = Work(path, compiler_name(), run)
        if client is not None:
            check_possible(set(groups) - {"time"})
            return _judged(plan, work, groups, ClusterWorkers(work, client, limit), progress)
        check_possible(groups)
        return _judged(plan, work, groups, WorkerProcesses(work, jobs, limit), progress)


@dataclass(frozen=True)
class _Plan:
    """What is to be tried."""

    kernels: list[Reference]
    space: Space | Iterable[Point | Pipeline | str] | None
    orders: int
    seed: int
    neighbours: bool

    def points(self, reference: Reference) -> list[str]:
        """The points of one kernel as text, its own first, each once."""
        if self.space is not None and not isinstance(self.space, Space):
            return list(dict.fromkeys(str(p) for p in self.space))
        candidates = Candidates(self.space or Space(), reference.subject())
        rng = random.Random(f"{self.seed} {reference.name}")
        found = {str(candidates.first): None}
        if self.neighbours:
            found.update(dict.fromkeys(map(str, candidates.neighbours())))
        first = len(found)
        tries = 0
        while len(found) < first + self.orders - 1 and tries < 20 * self.orders:
            found.setdefault(str(candidates.sample(rng)))
            tries += 1
        return list(found)


def _judged(
    plan: _Plan,
    work: Work,
    groups: Sequence[str],
    workers: WorkerProcesses | ClusterWorkers,
    progress: Callable[[str], None] | None,
) -> Table:
    store = Store(work.store, work.compiler)
    wanted: dict[str, set[str]] = {}
    total = 0

    def batches() -> Iterator[list[PointBatch]]:
        """What is to be judged, kernel by kernel: points are drawn while others are judged."""
        nonlocal total
        for reference in plan.kernels:
            points = plan.points(reference)
            wanted[reference.name] = set(points)
            known = store.known(reference.name)
            left = [text for text in points if text not in known]
            total += len(left)
            yield [PointBatch(reference, tuple(left[at : at + BATCH])) for at in range(0, len(left), BATCH)]

    done, since = 0, time.monotonic()
    for count in workers.judge(batches()):
        done += count
        if progress is not None:
            share = len(wanted) / len(plan.kernels)
            progress(progress_text(done, round(total / share), since))
    seconds = time.monotonic() - since
    later = [group for group in groups if group in LATER]
    kernels = {reference.name: reference for reference in plan.kernels}
    add_groups(store, workers, kernels, later, wanted, progress)
    records = [r for name, points in wanted.items() for r in store.records(name) if r.pipeline in points]
    own = {name: point for name, (_, point) in store.kernels().items() if name in wanted}
    store.close()
    return Table(_ordered(records, wanted), seconds, total, own)


def _ordered(records: list[Record], wanted: dict[str, set[str]]) -> list[Record]:
    place = {name: index for index, name in enumerate(wanted)}
    return sorted(records, key=lambda r: (place[r.kernel], r.pipeline))
