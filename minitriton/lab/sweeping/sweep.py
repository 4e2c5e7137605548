"""Many pipelines of many kernels over many processes, into one store.

    table = sweep(["running_sums", "log_sum_exp"], Space(), count=500, jobs=2, store="sweep.db")
    print(table.text())

A sweep that was stopped goes on where it was: configurations that the store has are not evaluated again.
"""

import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from minitriton.errors import MinitritonError
from minitriton.lab.sweeping.cluster import ClusterWorkers, check_client
from minitriton.lab.sweeping.configuration import Configuration
from minitriton.lab.sweeping.correctness import Evaluation
from minitriton.lab.sweeping.measuring import add_groups, check_possible
from minitriton.lab.sweeping.metrics import LATER, groups_of
from minitriton.lab.sweeping.references import Inputs, Reference, references_of
from minitriton.lab.sweeping.serving import BATCH, ConfigurationBatch, Drawing, Work
from minitriton.lab.sweeping.space import Space
from minitriton.lab.sweeping.store import Store, compiler_name
from minitriton.lab.sweeping.table import Table
from minitriton.lab.sweeping.workers import WorkerProcesses, progress_text
from minitriton.pipeline.pass_manager import Pipeline


def sweep(
    kernels: object,
    space: Space | Configuration | Pipeline | str | Iterable[Configuration | Pipeline | str] | None = None,
    *,
    count: int = 100,
    seed: int = 0,
    jobs: int = 1,
    store: str | Path | None = None,
    run: bool = True,
    neighbours: bool = False,
    limit: float = 60.0,
    metrics: str | Sequence[str] = (),
    client: Any = None,
    progress: Callable[[str], None] | None = None,
    inputs: Inputs | None = None,
    grid: tuple[int, ...] = (1,),
) -> Table:
    """Evaluates `count` configurations drawn from `space` for each kernel (or the configurations given), its own among them.

    `kernels` are names of the corpus, `@family`, `all`, `FILE.py:kernel`, `Reference`s, or `@jit` functions, called with `inputs` on `grid`. `neighbours` adds every configuration that is one change away.
    Without `run` nothing is executed: only whether it compiles, and what the text says. `metrics`: what is measured in addition to text,
    counts and seconds, by name or group (`metrics.METRICS`). `limit`: seconds for one configuration. `client`: a `dask.distributed.Client`,
    whose workers evaluate in place of `jobs` processes. Without `store` the records live as long as the table.
    Raises `MinitritonError` for what names no kernel and for metrics that cannot be measured here.
    """
    space = [space] if isinstance(space, (Configuration, Pipeline, str)) else space
    groups = groups_of([metrics] if isinstance(metrics, str) else metrics)
    if "counts" in groups and not run:
        raise MinitritonError("what a run counts is not measured without running", help="leave out --compile-only")
    if jobs < 1 or count < 0 or not limit > 0:
        raise MinitritonError(
            f"cannot sweep {count} configurations with {jobs} jobs and {limit:g} s for a configuration",
            help="count: at least 0 (the kernel's own configuration alone); jobs: at least 1; seconds: more than 0",
        )
    found = [replace(one, run=run) for one in references_of(kernels, inputs, grid)]
    if not found:
        raise MinitritonError(
            "nothing to sweep", help="name kernels: a name of the corpus, @family, all, FILE.py:kernel"
        )
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(store) if store is not None else Path(scratch) / "sweep.db"
        plan = _Plan(found, space, count, seed, neighbours)
        work = Work(path, compiler_name(), run)
        if client is not None:
            check_client(client)
            check_possible(set(groups) - {"time"})
            return _evaluated(plan, work, groups, ClusterWorkers(work, client, limit), progress)
        check_possible(groups)
        return _evaluated(plan, work, groups, WorkerProcesses(work, jobs, limit), progress)


@dataclass(frozen=True)
class _Plan:
    """What is to be tried."""

    kernels: list[Reference]
    space: Space | Iterable[Configuration | Pipeline | str] | None
    count: int
    seed: int
    neighbours: bool

    def drawing(self) -> Drawing | None:
        """What every kernel's configurations are drawn from; None where they are given."""
        if self.space is not None and not isinstance(self.space, Space):
            return None
        return Drawing(self.space or Space(), self.count, self.seed, self.neighbours)

    def most_expensive_first(self) -> list[Reference]:
        """The kernels, those that probably take longest first: the most expensive, begun last, would keep a sweep after all others. By length of
        source `tiled_dot`, half as expensive again as any other, is the first of the 25 of `benchmarks/configurations_a_minute.py` (2026-11-25)."""
        return sorted(self.kernels, key=Reference.source_length, reverse=True)

    def given(self) -> list[str]:
        """The configurations that are given for every kernel, as text."""
        return list(map(str, self.space)) if self.space is not None and not isinstance(self.space, Space) else []


class _Evaluations:
    """The configurations of each kernel, as they are drawn."""

    def __init__(self, store: Store, kernels: Iterable[Reference]) -> None:
        self.configurations: dict[str, set[str]] = {kernel.name: set() for kernel in kernels}
        self._known = {name: store.known(name) for name in self.configurations}
        self._evaluated: dict[str, dict[str, Evaluation]] = {name: {} for name in self.configurations}
        self.left = 0
        """Configurations that the store did not have."""

    def batches(self, reference: Reference, configurations: Sequence[str]) -> list[ConfigurationBatch]:
        """What is to be evaluated of `configurations`: those that are new, here and in the store. A kernel may be drawn for twice, where a process
        was lost."""
        wanted, known = self.configurations[reference.name], self._known[reference.name]
        fresh = [text for text in dict.fromkeys(configurations) if text not in wanted]
        wanted.update(fresh)
        left = [text for text in fresh if text not in known]
        self.left += len(left)
        return [ConfigurationBatch(reference, tuple(left[at : at + BATCH])) for at in range(0, len(left), BATCH)]

    def add(self, records: Iterable[Evaluation]) -> None:
        """What was evaluated of them."""
        for record in records:
            self._evaluated[record.kernel][record.pipeline] = record

    def records(self, name: str, store: Store, more_measured: bool) -> list[Evaluation]:
        """Of all configurations of a kernel, by their text: from the store where that has others besides, or `more_measured` of these."""
        configurations, found = self.configurations[name], self._evaluated[name].values()
        if more_measured or self._known[name] or len(found) != len(configurations):
            found = (record for record in store.records(name) if record.pipeline in configurations)
        return sorted(found, key=lambda record: record.pipeline)


def _check_launches(store: Store, kernels: Iterable[Reference]) -> None:
    """Raises `MinitritonError` where the store's records of a kernel are of another launch, or of its files before an edit."""
    known = store.kernels()
    for kernel in kernels:
        if kernel.name in known and not kernel.is_that_of(known[kernel.name][0]):
            raise store.of_another(kernel.name)


def _evaluated(
    plan: _Plan,
    work: Work,
    groups: Sequence[str],
    workers: WorkerProcesses | ClusterWorkers,
    progress: Callable[[str], None] | None,
) -> Table:
    store = Store(work.store, work.compiler, whole=True)
    _check_launches(store, plan.kernels)
    wanted = _Evaluations(store, plan.kernels)
    drawing, given = plan.drawing(), plan.given()
    batches = (
        [ConfigurationBatch(reference, drawing=drawing) for reference in plan.most_expensive_first()]
        if drawing is not None
        else [batch for reference in plan.kernels for batch in wanted.batches(reference, given)]
    )
    done, since = 0, time.monotonic()
    for evaluated in workers.evaluate(batches, drawn=wanted.batches):
        done += evaluated.done
        wanted.add(evaluated.records)
        if progress is not None:
            drawn = sum(map(len, wanted.configurations.values()))
            expected = len(plan.kernels) * plan.count if drawing is not None else 0
            progress(progress_text(done, max(wanted.left, expected - drawn + wanted.left), since))
    seconds = time.monotonic() - since
    later = [group for group in groups if group in LATER]
    kernels = {reference.name: reference for reference in plan.kernels}
    add_groups(store, workers, kernels, later, wanted.configurations, progress)
    records = [record for name in wanted.configurations for record in wanted.records(name, store, bool(later))]
    own = {name: configuration for name, (_, configuration) in store.kernels().items() if name in wanted.configurations}
    store.close()
    return Table(records, seconds, wanted.left, own)
