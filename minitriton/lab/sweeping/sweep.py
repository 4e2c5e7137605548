"""Many pipelines of many kernels over many processes, into one store.

    table = sweep(["running_sums", "softmax_rows"], Space(), orders=500, jobs=2, store="orders.db")
    print(table.text())

A sweep that was stopped goes on where it was: points that the store has are not judged again.
"""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from minitriton.errors import MinitritonError
from minitriton.lab.sweeping.judging import Record
from minitriton.lab.sweeping.references import Reference, references
from minitriton.lab.sweeping.space import Space
from minitriton.lab.sweeping.store import Store
from minitriton.lab.sweeping.table import Table
from minitriton.lab.sweeping.workers import Batch, Work, Workers, progress_text
from minitriton.pass_manager import Pipeline

BATCH = 50
"""Points a process is given at once, and at most loses when it is killed."""


def sweep(
    kernels: Sequence[str | Reference],
    space: Space | Iterable[Pipeline | str] | None = None,
    *,
    orders: int = 100,
    seed: int = 0,
    jobs: int = 1,
    store: str | Path | None = None,
    run: bool = True,
    neighbours: bool = False,
    limit: float = 60.0,
    progress: Callable[[str], None] | None = None,
) -> Table:
    """Judges `orders` pipelines drawn from `space` for each kernel (or the pipelines given), its own among them.

    `kernels` are names of the corpus, `@family`, `all`, or `Reference`s. `neighbours` adds every single removal, swap of neighbours
    and duplication. Without `run` nothing is executed: only whether it compiles, and what the text says. `limit`: seconds for one
    point. Without `store` the records live as long as the table. Raises `MinitritonError` for what names no kernel.
    """
    if jobs < 1 or orders < 0:
        raise MinitritonError(f"cannot sweep {orders} orders with {jobs} jobs", help="give numbers of at least 1")
    found = [one for k in kernels for one in ([k] if isinstance(k, Reference) else references([k]))]
    if not found:
        raise MinitritonError(
            "nothing to sweep", help="name kernels: a name of the corpus, @family, all, FILE.py:kernel"
        )
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(store) if store is not None else Path(scratch) / "sweep.db"
        plan = _Plan(found, space, orders, seed, neighbours)
        work = Work(path, compiler_name(), run)
        return _judged(plan, work, jobs, limit, progress)


@dataclass(frozen=True)
class _Plan:
    """What is to be tried."""

    kernels: list[Reference]
    space: Space | Iterable[Pipeline | str] | None
    orders: int
    seed: int
    neighbours: bool

    def points(self, reference: Reference) -> list[str]:
        """The pipelines of one kernel as text, its own first, each once."""
        if self.space is not None and not isinstance(self.space, Space):
            return list(dict.fromkeys(str(p) for p in self.space))
        space = self.space or Space()
        subject = reference.subject()
        base, facts = subject.pipeline(), subject.facts
        rng = random.Random(f"{self.seed} {reference.name}")
        found = {str(base): None}
        if self.neighbours:
            found.update(dict.fromkeys(map(str, space.neighbours(base))))
        first = len(found)
        tries = 0
        while len(found) < first + self.orders - 1 and tries < 20 * self.orders:
            found.setdefault(str(space.sample(base, facts, rng)))
            tries += 1
        return list(found)


def _judged(plan: _Plan, work: Work, jobs: int, limit: float, progress: Callable[[str], None] | None) -> Table:
    store = Store(work.store, work.compiler)
    batches: list[Batch] = []
    wanted: dict[str, set[str]] = {}
    for reference in plan.kernels:
        points = plan.points(reference)
        wanted[reference.name] = set(points)
        known = store.known(reference.name)
        left = [text for text in points if text not in known]
        batches += [Batch(reference, tuple(left[at : at + BATCH])) for at in range(0, len(left), BATCH)]
    total, done, since = sum(len(b.pipelines) for b in batches), 0, time.monotonic()
    for count in Workers(work, jobs, limit).judge(batches) if batches else ():
        done += count
        if progress is not None:
            progress(progress_text(done, total, since))
    records = [r for name, points in wanted.items() for r in store.records(name) if r.pipeline in points]
    store.close()
    return Table(_ordered(records, wanted), time.monotonic() - since, total)


def _ordered(records: list[Record], wanted: dict[str, set[str]]) -> list[Record]:
    place = {name: index for index, name in enumerate(wanted)}
    return sorted(records, key=lambda r: (place[r.kernel], r.pipeline))


def compiler_name() -> str:
    """What tells records of different compilers apart: a digest of minitriton's own source."""
    from minitriton.runtime.cache import compiler_fingerprint

    return compiler_fingerprint()
