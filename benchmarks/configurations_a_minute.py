"""Configurations a minute: a sweep over 25 kernels, with every different program run and compared, and compile-only.

    python benchmarks/configurations_a_minute.py [--count 200] [--jobs 2] [--only checked|compiled] [--workers N]
    python benchmarks/configurations_a_minute.py --jobs 16,1,8,4,2      the same sweep by other numbers of processes, and what they gain

For each: configurations a minute by the clock, and by processor time, which does not count what else the machine does:
60 x jobs x configurations / (seconds of all processes). `--workers N` has N processes of a Dask cluster on this machine evaluate.
The efficiency of N processes is the seconds of one over N times theirs: of the whole sweep, and from the first answer on. Beside it stand its
causes: the processor time that N take, to that of one (what several make because the others' is not theirs, and cores that are slower
together); the share of N times the clock in which they do nothing; and what N processes of a Python loop, which share nothing, have of
N times the speed of one: more than this no sweep can have. `--on FOLDER` keeps the store there (/dev/shm: no disk).
"""

from __future__ import annotations

import argparse
import contextlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing import forkserver
from pathlib import Path
from typing import Any

from minitriton import lab
from minitriton.lab.sweeping import workers as processes

KERNELS = (
    "running_sums", "suffix_sums", "segmented_sums", "cube_sums", "extremes_with_indices", "bit_reductions", "product",
    "log_sum_exp", "distance", "centred_columns", "permute_cube", "join_and_interleave", "split_pairs", "flip_rows",
    "gather_in_rows", "outer_product", "masked_copy", "every_third", "embedding", "convolution", "cross_entropy", "swiglu",
    "adam_step", "tiled_dot", "matrix_vector",
)  # fmt: skip


def processor_seconds() -> float:
    """Of this process and of those that it started and that have ended."""
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in both)


@contextlib.contextmanager
def cluster_of(workers: int) -> Iterator[Any]:
    """A client of a Dask cluster of so many processes; None for 0."""
    if not workers:
        yield None
        return
    from distributed import Client, LocalCluster

    cluster = LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None)
    with cluster, Client(cluster) as client:
        yield client


SPIN = """
import sys, time
time.sleep(max(0, float(sys.argv[1]) - time.time()))
start = time.perf_counter()
for _ in range(20_000_000):
    pass
print(time.perf_counter() - start)
"""


def ceiling(jobs: int) -> float:
    """The speed of each of so many processes of a loop, to that of one alone."""

    def seconds(processes: int) -> float:
        at = str(time.time() + 0.1 + 0.05 * processes)
        running = [
            subprocess.Popen([sys.executable, "-c", SPIN, at], stdout=subprocess.PIPE, text=True)
            for _ in range(processes)
        ]
        return statistics.fmean(float(process.communicate()[0]) for process in running)

    return min(seconds(1) for _ in range(2)) / seconds(jobs)


@dataclass(frozen=True)
class Timed:
    """A sweep by `jobs` processes."""

    jobs: int
    seconds: float
    answering: float
    """From the first answer on."""
    used: float
    """Processor seconds of all processes."""

    def beside(self, one: Timed) -> str:
        """Its efficiency, `one` being the same sweep by one process."""
        whole, answering = (
            a / b / self.jobs for a, b in ((one.seconds, self.seconds), (one.answering, self.answering))
        )
        return (
            f"{self.jobs} processes: efficiency {whole:.2f}, from the first answer on {answering:.2f}; {self.used / one.used:.2f} times the "
            f"processor time, idle {100 * max(0.0, 1 - self.used / self.jobs / self.seconds):.0f} % (one: "
            f"{100 * max(0.0, 1 - one.used / one.seconds):.0f} %); of a loop {ceiling(self.jobs):.2f}"
        )


def run(kind: str, count: int, jobs: int, workers: int, folder: str | None) -> Timed:
    """One sweep, and a line about it."""
    before, start = processor_seconds(), time.monotonic()
    answers: list[float] = []
    with cluster_of(workers) as client, tempfile.TemporaryDirectory(dir=folder) as scratch:
        table = lab.sweep(
            KERNELS,
            count=count,
            jobs=jobs,
            run=kind == "checked",
            client=client,
            store=Path(scratch) / "sweep.db",
            progress=lambda _: answers.append(time.monotonic()),
        )
    end = time.monotonic()
    forkserver._forkserver._stop()  # whose processor time, and that of its processes, is counted once it has ended
    processes._context.cache_clear()
    used, passed, jobs = processor_seconds() - before, end - start, workers or jobs
    print(
        f"{kind}, {jobs}: {len(table)} configurations, {60 * len(table) / passed:,.0f} a minute by the clock ({passed:.1f} s, the first answer after "
        f"{answers[0] - start:.1f}), {60 * jobs * len(table) / used:,.0f} by processor time ({used:.1f} s); {table.counts()}",
        flush=True,
    )
    return Timed(jobs, passed, end - answers[0], used)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=200, help="a kernel (default: %(default)s)")
    parser.add_argument("--jobs", default="2", help="processes, or several numbers of them with commas between")
    parser.add_argument("--only", choices=("checked", "compiled"))
    parser.add_argument("--workers", type=int, default=0, help="of a Dask cluster, in place of --jobs")
    parser.add_argument("--on", metavar="FOLDER", help="where the store is (default: the folder of temporary files)")
    given = parser.parse_args()
    for kind in (given.only,) if given.only else ("checked", "compiled"):
        found: dict[int, Timed] = {}
        for jobs in given.jobs.split(","):
            last = found[int(jobs)] = run(kind, given.count, int(jobs), given.workers, given.on)
            beside = [last] if last.jobs != 1 else [other for other in found.values() if other is not last]
            for other in beside if 1 in found else ():
                print(f"{kind}, {other.beside(found[1])}", flush=True)


if __name__ == "__main__":
    main()
