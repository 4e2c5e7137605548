"""Sweeps killed with -9 at random moments, and resumed: nothing lost, nothing twice, nothing wrong.

    python benchmarks/killed_sweeps.py [--kills 50] [--workers]

Without `--workers` whole sweeps are killed, always one of two that write the same store at once; with it, processes of one sweep. Two kills
of three fall at any moment of a sweep's life, its start included (a life is twice what a sweep takes to write its first points, as
measured first); every third falls while the store is being written. Where all points are there, more are asked for.

Prints how many points were there after each kill, and in the end whether the records are those of a sweep that nobody killed.
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
"""Small ones: a kill costs what a start costs, and their points little beside that."""

MORE_ORDERS = 100
LONGEST_WAIT = 120.0
"""Seconds after which a kill falls although the store has not been written."""


@dataclass
class Trial:
    """Sweeps into one store. `orders` a kernel are asked for, more once those are there."""

    store: Path
    orders: int
    rng: random.Random
    life: float = 0.0
    """Seconds of a sweep in which it is killed."""
    running: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start(self) -> None:
        """One sweep more, in a process of its own."""
        options = ["--orders", str(self.orders), "--jobs", "1", "--store", str(self.store)]
        command = [sys.executable, "-m", "minitriton", "sweep", *KERNELS, *options]
        self.running.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))

    def keep_running(self, count: int) -> None:
        """Begins sweeps anew until so many run; those that have ended had nothing left to do."""
        for process in [p for p in self.running if p.poll() is not None]:
            self.running.remove(process)
            if process.returncode:
                raise SystemExit(f"a sweep ended with exit code {process.returncode}")
            self.orders += MORE_ORDERS
        while len(self.running) < count:
            self.start()

    def measure_life(self) -> None:
        """How long a sweep takes to its first points, times two."""
        start = time.monotonic()
        self.keep_running(1)
        while not self.points():
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

    def points(self) -> int:
        """How many points are in the store."""
        if not self.store.exists():
            return 0
        store = Store(self.store, compiler_name())
        try:
            return sum(len(store.known(name)) for name in KERNELS)
        finally:
            store.close()

    def end(self) -> None:
        """Lets what runs come to its end."""
        for process in self.running:
            if process.wait() != 0:
                raise SystemExit(f"a sweep ended with exit code {process.returncode}")


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
    """The processes that `pid` started."""
    try:
        return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except FileNotFoundError:
        return []


def run(trial: Trial, kills: int, sweeps: int, kill: Callable[[Trial], bool]) -> None:
    """`kills` times: so many sweeps run, and one of them, or a process of it, is killed."""
    trial.measure_life()
    print(f"first points after {trial.life / 2:.1f} s", flush=True)
    done = 0
    while done < kills:
        trial.keep_running(sweeps)
        trial.wait(done)
        if kill(trial):
            done += 1
            print(f"kill {done}: {trial.points()} points of {len(KERNELS) * trial.orders}", flush=True)
    trial.end()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--orders", type=int, default=300, help="a kernel, at first (default: %(default)s)")
    parser.add_argument("--workers", action="store_true", help="kill processes of a sweep, not the sweep")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        trial = Trial(Path(folder) / "killed.db", given.orders, random.Random(given.seed))
        if given.workers:
            run(trial, given.kills, 1, kill_worker)
        else:
            run(trial, given.kills, 2, kill_sweep)
        resumed = lab.sweep(KERNELS, orders=trial.orders, store=trial.store)
        whole = lab.sweep(KERNELS, orders=trial.orders)
    told = [[(r.kernel, r.pipeline, r.result, r.program, r.metrics) for r in t.records] for t in (resumed, whole)]
    different = len({(r.kernel, r.pipeline) for r in resumed.records})
    print(f"{given.kills} kills in {time.monotonic() - start:.0f} s: {len(resumed)} points, {different} different")
    same = told[0] == told[1] and different == len(resumed)
    print("equal to a sweep that nobody killed" if same else "NOT those of a sweep that nobody killed")
    return int(not same)


if __name__ == "__main__":
    sys.exit(main())
