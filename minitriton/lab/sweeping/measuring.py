"""What is measured of programs once all configurations are evaluated: each different program once, however many configurations it is of.

    measure("sweep.db", ["time"])          everything in the store that lacks it, on this machine

A store may be filled on one machine and measured on another: it holds the PTX, and how each kernel's inputs are made.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from minitriton.errors import MinitritonError
from minitriton.lab.sweeping import metrics
from minitriton.lab.sweeping.cluster import ClusterWorkers
from minitriton.lab.sweeping.correctness import Class, Evaluation
from minitriton.lab.sweeping.metrics import check_assembler
from minitriton.lab.sweeping.references import Reference, of_store
from minitriton.lab.sweeping.serving import ConfigurationBatch, Work
from minitriton.lab.sweeping.store import Store
from minitriton.lab.sweeping.table import Table
from minitriton.lab.sweeping.workers import WorkerProcesses, progress_text

ASSEMBLED_AT_ONCE = 10
TIMED_AT_ONCE = 48
"""Programs that are timed in one set of rounds, the kernel's own besides."""

MEASURED = (Class.RIGHT, Class.COMPILED, Class.UNSOUND, Class.UNEVALUATED)
"""Configurations whose programs are measured."""


def check_possible(groups: Iterable[str]) -> None:
    """Raises `MinitritonError` for a group that cannot be measured on this machine."""
    from minitriton.lab.sweeping.timing import check_gpu

    wanted = set(groups)
    if wanted & {"machine", "sass", "time"}:
        check_assembler()
    if "time" in wanted:
        check_gpu()


def measure(
    store: str | Path,
    names: Sequence[str],
    *,
    kernels: Sequence[str] | None = None,
    jobs: int = 1,
    limit: float = 60.0,
    compiler: str | None = None,
    again: bool = False,
    progress: Callable[[str], None] | None = None,
) -> Table:
    """Adds the metrics `names` to every right program of a store that lacks them, or that are to be measured `again`.

    `compiler`: whose records, by their name in the store (default: this minitriton's, else the last one there). Raises
    `MinitritonError` for a metric that this machine cannot measure, a file that is no store, and a kernel that it does not have.
    """
    groups = [g for g in metrics.groups_of(names) if g in metrics.LATER]
    check_possible(groups)
    first = Store.of_file(Path(store), compiler)
    known = of_store(first)
    for kernel in kernels or ():
        if kernel not in known:
            raise MinitritonError(f"{store} lacks kernel {kernel!r}", help="it has: " + ", ".join(known))
    wanted = {k: reference for k, reference in known.items() if kernels is None or k in kernels}
    start = time.monotonic()
    workers = WorkerProcesses(Work(Path(store), first.compiler), jobs, limit)
    add_groups(first, workers, wanted, groups, None, progress, again=again)
    records = [record for kernel in wanted for record in first.records(kernel)]
    first.close()
    if not _programs_of(records, None):
        raise MinitritonError(
            f"{store} holds no program to measure: none of its {len(records)} configurations compiles",
            help="fill it by `minitriton sweep KERNEL --store` first",
        )
    return Table(sorted(records, key=lambda r: (r.kernel, r.pipeline)), time.monotonic() - start)


def add_groups(
    store: Store,
    workers: WorkerProcesses | ClusterWorkers,
    kernels: Mapping[str, Reference],
    groups: Sequence[str],
    configurations: Mapping[str, set[str]] | None,
    progress: Callable[[str], None] | None,
    *,
    again: bool = False,
) -> None:
    """Measures `groups` of the programs of `kernels` that lack them, of `configurations` where given. GPU times are taken by one process."""
    for group in groups:
        batches: list[ConfigurationBatch] = []
        for name, reference in kernels.items():
            wanted = _programs_of(store.records(name), None if configurations is None else configurations[name])
            known = set[str]() if again else store.measured(name, group)
            left = [digest for digest in wanted if digest not in known]
            size = TIMED_AT_ONCE if group == "time" else ASSEMBLED_AT_ONCE
            batches += [
                ConfigurationBatch(reference, tuple(left[at : at + size]), 0, group) for at in range(0, len(left), size)
            ]
        total, done, since = sum(len(b.pipelines) for b in batches), 0, time.monotonic()
        if batches:
            for evaluated in workers.evaluate(batches, at_once=1 if group == "time" else None):
                done += evaluated.done
                if progress is not None:
                    progress(f"{group}: {progress_text(done, total, since)}")


def _programs_of(records: Iterable[Evaluation], configurations: set[str] | None) -> list[str]:
    """The different programs of right configurations, in the order of their text."""
    found = [
        r
        for r in records
        if r.program and r.result in MEASURED and (configurations is None or r.pipeline in configurations)
    ]
    return list(dict.fromkeys(r.program for r in sorted(found, key=lambda r: r.pipeline)))
