"""How much faster than its own launch and pipeline each kernel of a half of the benchmark becomes by searching.

    python benchmarks/search_quality.py                                     on a GPU: the test half by time, in about 6 minutes
    python benchmarks/search_quality.py --singles                           every option by itself, then the best together
    python benchmarks/search_quality.py --objective cycles --jobs 2         without one: by the cost model's estimate

Every kernel is searched by each sampler, in processes of their own: `--budget` configurations of its launches, layouts, cache hints and pass orders.
Programs of which the cost model expects more than `--prune` times the best are compiled and evaluated, and not timed. Times are taken by one
process after another; the winner is timed once more beside the own program, in three times as many rounds, and is the own one if it is
not faster by more than the spread. After `--seconds` no further search begins. A line a search, then a table by kernel; `--out` has all of
it as JSON, the configurations' texts among it.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path

from search_singles import Singles, singles

from minitriton import lab
from minitriton.errors import MinitritonError
from minitriton.lab.sweeping.references import HALVES
from minitriton.lab.sweeping.search import difference

FASTER = 0.03
"""By how much a configuration must be better to count."""


@dataclass(frozen=True)
class Task:
    """One search."""

    kernel: str
    sampler: str
    objective: str
    budget: int
    prune: float | None
    seed: int


@dataclass(frozen=True)
class Result:
    """What it found: the objective of the own configuration and of the best, and the spread of the rounds that confirmed it."""

    kernel: str
    sampler: str
    own: float
    best: float
    speedup: float
    spread: float
    configurations: int
    pruned: int
    seconds: float
    configuration: str
    changes: tuple[str, ...]

    @property
    def is_faster(self) -> bool:
        """By more than `FASTER`, and more than the spread."""
        return self.speedup > 1 + max(FASTER, self.spread)

    def __str__(self) -> str:
        pruned = f", {self.pruned} not timed" if self.pruned else ""
        return (
            f"{self.kernel:26} {self.sampler:13} {self.own:9.2f} -> {self.best:9.2f}  x{self.speedup:.3f}"
            f"  ({self.configurations} configurations{pruned}, {self.seconds:.0f} s)"
        )


def searched(task: Task, deadline: float) -> Result | str:
    """What a process does; text where the search was not made, and why."""
    if time.time() > deadline:
        return f"{task.kernel} {task.sampler}: not begun, the time is over"
    start = time.monotonic()
    space = lab.Space(constants=True, layouts=True, memory=True)
    try:
        found = lab.search(
            task.kernel, space, task.objective, sampler=task.sampler, budget=task.budget, seed=task.seed, prune=task.prune
        )  # fmt: skip
    except MinitritonError as error:
        return f"{task.kernel} {task.sampler}: {error}"
    own, best = (record.all_metrics[task.objective] for record in (found.first, found.best))
    numbers = found.best.all_metrics
    changed = found.best is not found.first
    return Result(
        task.kernel, task.sampler, own, best, numbers.get("speedup", own / best) if changed else 1.0, numbers.get("spread", 0.0),
        len(found.records), found.pruned, time.monotonic() - start, found.best.pipeline,
        tuple(difference(found.first.pipeline, found.best.pipeline)),
    )  # fmt: skip


def table(results: Iterable[Result]) -> str:
    """The best of each kernel, and how many are faster."""
    best: dict[str, Result] = {}
    for one in results:
        if one.kernel not in best or one.speedup > best[one.kernel].speedup:
            best[one.kernel] = one
    rows = [
        f"| {one.kernel} | {one.sampler} | {one.own:.2f} | {one.best:.2f} | {one.speedup:.3f} |"
        for one in best.values()
    ]
    faster = sum(one.is_faster for one in best.values())
    slower = sum(one.speedup < 1 - one.spread for one in best.values())
    head = ["| kernel | by | own | best | times as fast |", "|---|---|---|---|---|"]
    return "\n".join(
        [*head, *sorted(rows), "", f"{faster} of {len(best)} faster by more than 3 % and the spread, {slower} slower"]
    )


def singles_table(results: Iterable[Singles]) -> str:
    """The fastest of each kernel, and how many count."""
    rows, faster, cold = list[str](), 0, 0
    for one in results:
        if not one.final or "speedup" not in one.final[0].numbers:
            continue
        best = one.final[0].numbers
        counts = best["speedup"] > 1 + max(FASTER, best["spread"])
        faster, cold = faster + counts, cold + (counts and best["cold"] > 1 + FASTER)
        changes = "; ".join(change.strip() for change in one.final[0].changes)
        rows.append(f"| {one.kernel} | {best['speedup']:.3f} | {best['spread']:.3f} | {best['cold']:.3f} | {changes} |")
    head = ["| kernel | times as fast | spread | with empty caches | by |", "|---|---|---|---|---|"]
    return "\n".join(
        [
            *head,
            *sorted(rows),
            "",
            f"{faster} of {len(rows)} faster by more than 3 % and the spread, {cold} with empty caches too",
        ]
    )


def all_singles(kernels: Iterable[str], jobs: int, by_cycles: bool, out: Path | None) -> None:
    """Every option by itself, of all kernels."""
    results: list[Singles] = []
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        for future in as_completed([pool.submit(singles, kernel, by_cycles) for kernel in kernels]):
            found = future.result()
            print(found, flush=True)
            if isinstance(found, Singles):
                results.append(found)
                if out is not None:
                    out.write_text(json.dumps([asdict(one) for one in results], indent=1))
    print(singles_table(results))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", choices=sorted(HALVES), default="test")
    parser.add_argument("--kernels", nargs="+", metavar="KERNEL", help="in place of a half")
    parser.add_argument("--objective", default="microseconds", help="(default: %(default)s)")
    parser.add_argument("--samplers", default="evolutionary,tpe,random", help="(default: %(default)s)")
    parser.add_argument("--budget", type=int, default=40, help="configurations of a search (default: %(default)s)")
    parser.add_argument("--prune", type=float, default=2.0, help="0 times everything (default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seconds", type=float, default=330.0, help="(default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path)
    parser.add_argument(
        "--singles", action="store_true", help="each option by itself in place of searches, see search_singles.py"
    )
    given = parser.parse_args()
    if given.singles:
        by_cycles = given.objective != "microseconds"
        all_singles(given.kernels or HALVES[given.half], given.jobs, by_cycles, given.out)
        return
    prune = given.prune if given.objective == "microseconds" and given.prune else None
    tasks = [
        Task(kernel, sampler, given.objective, given.budget, prune, given.seed)
        for sampler in given.samplers.split(",")
        for kernel in given.kernels or HALVES[given.half]
    ]
    deadline, results = time.time() + given.seconds, list[Result]()
    with ProcessPoolExecutor(given.jobs, mp_context=get_context("spawn")) as pool:
        for future in as_completed([pool.submit(searched, task, deadline) for task in tasks]):
            found = future.result()
            print(found, flush=True)
            if isinstance(found, Result):
                results.append(found)
                if given.out is not None:
                    given.out.write_text(json.dumps([asdict(one) for one in results], indent=1))
    print(table(results))


if __name__ == "__main__":
    main()
