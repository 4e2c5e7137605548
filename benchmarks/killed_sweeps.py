"""Sweeps killed with -9 at random moments, and resumed: nothing lost, nothing twice, nothing wrong.

    python benchmarks/killed_sweeps.py [--kills 50] [--workers]

Without `--workers` the whole sweep is killed again and again, one of two that write the same store at once; with it, processes of one sweep.
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
from pathlib import Path

from minitriton import lab
from minitriton.lab.sweeping.store import Store, compiler_name

KERNELS = ["running_product", "running_sums", "log_sum_exp"]


def children_of(pid: int) -> list[int]:
    """The processes that `pid` started."""
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True).stdout.split()
    return [int(one) for one in found]


def start(store: Path, orders: int) -> subprocess.Popen[bytes]:
    """A sweep in a process of its own."""
    command = [
        sys.executable,
        "-m",
        "minitriton",
        "sweep",
        *KERNELS,
        "--orders",
        str(orders),
        "--jobs",
        "2",
        "--store",
        str(store),
    ]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def kill_sweeps(store: Path, orders: int, kills: int, rng: random.Random) -> None:
    """Two sweeps into one store; the one that has run longer is killed."""
    running: list[subprocess.Popen[bytes]] = []
    for number in range(kills):
        running = [p for p in running if p.poll() is None]
        while len(running) < 2:
            running.append(start(store, orders))
        wait_for_more(store, running)
        time.sleep(rng.uniform(0.0, 0.5))
        victim = running.pop(0)
        victim.send_signal(signal.SIGKILL)
        victim.wait()
        print(f"kill {number + 1}: {known(store)} points", flush=True)
    for process in running:
        process.wait()


def wait_for_more(store: Path, running: list[subprocess.Popen[bytes]]) -> None:
    """Until a batch more is written, or none is any more: kills are to fall between writes, not into the start."""
    before = known(store)
    while known(store) == before and any(p.poll() is None for p in running):
        time.sleep(0.05)


def kill_workers(store: Path, orders: int, kills: int, rng: random.Random) -> None:
    """One sweep, a process of which is killed now and then; begun anew with more points where it has ended."""
    process, done = start(store, orders), 0
    while done < kills:
        if process.poll() is not None:
            orders += 200
            process = start(store, orders)
        if done % 5:  # every fifth falls anywhere, the start included
            wait_for_more(store, [process])
        time.sleep(rng.uniform(0.0, 1.0))
        if workers := children_of(process.pid):
            os.kill(rng.choice(workers), signal.SIGKILL)
            done += 1
            print(f"kill {done}: {known(store)} points of {3 * orders}", flush=True)
    if process.wait() != 0:
        print("the sweep ended with an error")


def known(store: Path) -> int:
    """How many points are in the store."""
    return sum(len(Store(store, compiler_name()).known(name)) for name in KERNELS) if store.exists() else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--orders", type=int, default=400, help="a kernel (default: %(default)s)")
    parser.add_argument("--workers", action="store_true", help="kill processes of a sweep, not the sweep")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "killed.db"
        (kill_workers if given.workers else kill_sweeps)(store, given.orders, given.kills, random.Random(given.seed))
        resumed = lab.sweep(KERNELS, lab.Space(), orders=given.orders, store=store)
        whole = lab.sweep(KERNELS, lab.Space(), orders=given.orders)
    told = [[(r.kernel, r.pipeline, r.result, r.program, r.metrics) for r in t.records] for t in (resumed, whole)]
    print(
        f"{len(resumed)} points, {len({(r.kernel, r.pipeline) for r in resumed.records})} different, {resumed.counts()}"
    )
    print("equal to a sweep that nobody killed" if told[0] == told[1] else "NOT those of a sweep that nobody killed")
    return int(told[0] != told[1])


if __name__ == "__main__":
    sys.exit(main())
