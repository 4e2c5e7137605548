"""Sweeps killed with -9 at random moments, and resumed: nothing lost, nothing twice, nothing wrong.

    nice python benchmarks/killed_sweeps.py [--kills 50] [--workers] [--jobs 1]

Without `--workers` whole sweeps are killed, always one of two that write the same store at once; with it, processes of one sweep. Two kills
of three fall at any moment of a sweep's life, its start included (a life is twice what a sweep takes to write its first configurations, of a
process the same without the parent's start, as measured first); every third falls while the store is being written. A store that has all
configurations is compared with a sweep that nobody killed, and the next one is begun.

With more `--jobs` than there are kernels (12), several processes evaluate configurations of one kernel.

Prints how many configurations were there after each kill, and in the end how many stores were filled, and whether each had every configuration once with
what the undisturbed sweep found.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from minitriton import lab
from minitriton.lab.sweeping.store import Store, compiler_name

KERNELS = (
    "suffix_sums", "segmented_sums", "product", "log_sum_exp", "distance", "split_pairs", "outer_product", "masked_copy",
    "every_third", "embedding", "swiglu", "convolution",
)  # fmt: skip
"""Small ones: a kill costs what a start costs, and their configurations little beside that."""

LONGEST_WAIT = 30.0
"""Seconds after which a kill falls although the store has not been written."""

Results = list[tuple[str, str, str, str, dict[str, float]]]
"""Of every configuration: kernel, pipeline, class, program and what was counted."""


def results_of(table: lab.Table) -> Results:
    """What two sweeps of the same configurations have to agree on."""
    return [(r.kernel, r.pipeline, str(r.result), r.program, r.metrics) for r in table.records]


@dataclass
class Trial:
    """Sweeps of `count` configurations a kernel by `jobs` processes into one store after the other, in `folder`."""

    folder: Path
    count: int
    jobs: int
    expected: Results
    rng: random.Random
    life: float = 0.0
    """Seconds of a sweep or a process in which it is killed."""
    filled: int = 0
    """Stores that had all their configurations, each once and none wrong."""
    running: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def store(self) -> Path:
        """Of the sweeps that run."""
        return self.folder / f"{self.filled}.db"

    def start(self) -> None:
        """One sweep more, in a process of its own."""
        options = ["--count", str(self.count), "--jobs", str(self.jobs), "--store", str(self.store)]
        command = [sys.executable, "-m", "minitriton", "sweep", *KERNELS, *options]
        self.running.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))

    def keep_running(self, count: int) -> None:
        """Begins sweeps anew until so many run. Those that have ended had nothing left to do: their store is looked at."""
        if any(process.poll() is not None for process in self.running):
            self.end()
        while len(self.running) < count:
            self.start()

    def end(self) -> None:
        """Lets what runs come to its end, and compares the store. Raises `SystemExit` where a configuration is missing or another one."""
        for process in self.running:
            if process.wait() != 0:
                raise SystemExit(f"a sweep ended with exit code {process.returncode}")
        self.running.clear()
        complete = self.configurations() == len(self.expected)
        resumed = lab.sweep(KERNELS, count=self.count, store=self.store)
        if not complete or results_of(resumed) != self.expected:
            raise SystemExit(f"{self.store} is NOT that of a sweep that nobody killed")
        self.filled += 1
        print(
            f"store {self.filled}: {len(resumed)} configurations, each once, equal to those of a sweep that nobody killed"
        )

    def measure_life(self, started: Callable[[Trial], bool]) -> None:
        """How long it takes from when something has `started` to the first configurations, times two."""
        self.keep_running(1)
        while not started(self):
            time.sleep(0.02)
        start = time.monotonic()
        while not self.configurations():
            time.sleep(0.02)
        self.life = 2 * (time.monotonic() - start)

    def wait(self, number: int) -> None:
        """Until the moment of kill `number`."""
        if number % 3:
            time.sleep(self.rng.uniform(0.0, self.life))
            return
        before, since = self.written(), time.monotonic()
        while self.written() == before and time.monotonic() - since < LONGEST_WAIT:
            if all(process.poll() is not None for process in self.running):
                return
            time.sleep(0.0005)

    def written(self) -> tuple[int, int]:
        """What changes while a transaction is written: time and size of SQLite's log."""
        try:
            found = os.stat(f"{self.store}-wal")
        except FileNotFoundError:
            return 0, 0
        return found.st_mtime_ns, found.st_size

    def configurations(self) -> int:
        """How many configurations are in the store."""
        if not self.store.exists():
            return 0
        store = Store(self.store, compiler_name())
        try:
            return sum(len(store.known(name)) for name in KERNELS)
        finally:
            store.close()


def kill_sweep(trial: Trial) -> bool:
    """Kills one of two sweeps; its processes end by themselves."""
    victim = trial.rng.choice(trial.running)
    if victim.poll() is not None:
        return False
    victim.send_signal(signal.SIGKILL)
    victim.wait()
    trial.running.remove(victim)
    return True


def kill_worker(trial: Trial) -> bool:
    """Kills a process of the sweep."""
    workers = children_of(trial.running[0].pid)
    if workers:
        os.kill(trial.rng.choice(workers), signal.SIGKILL)
    return bool(workers)


def children_of(pid: int) -> list[int]:
    """The processes that `pid` started, and those that they did: the one that starts workers, and workers."""
    try:
        own = [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except FileNotFoundError:
        return []
    return [*own, *(one for child in own for one in children_of(child))]


def run(trial: Trial, kills: int, sweeps: int, kill: Callable[[Trial], bool], started: Callable[[Trial], bool]) -> None:
    """`kills` times: so many sweeps run, and one of them, or a process of it, is killed."""
    trial.measure_life(started)
    print(f"first configurations after {trial.life / 2:.1f} s", flush=True)
    done = 0
    while done < kills:
        trial.keep_running(sweeps)
        trial.wait(done)
        if kill(trial):
            done += 1
            print(f"kill {done}: {trial.configurations()} configurations of {len(trial.expected)}", flush=True)
    trial.keep_running(sweeps)
    trial.end()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--count", type=int, default=100, help="a kernel (default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=1, help="processes of a sweep (default: %(default)s)")
    parser.add_argument("--workers", action="store_true", help="kill processes of a sweep, not the sweep")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    expected = results_of(lab.sweep(KERNELS, count=given.count))
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        trial = Trial(Path(folder), given.count, given.jobs, expected, random.Random(given.seed))
        if given.workers:
            run(trial, given.kills, 1, kill_worker, lambda t: bool(children_of(t.running[0].pid)))
        else:
            run(trial, given.kills, 2, kill_sweep, lambda t: True)
    print(
        f"{given.kills} kills in {time.monotonic() - start:.0f} s: {trial.filled} stores of {len(expected)} configurations, each once, none wrong"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
