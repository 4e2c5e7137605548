"""Programs that write, killed with -9 at random moments: what is there afterwards is whole, and the same program then ends as if nobody had.

    nice python benchmarks/killed_commands.py [--kills 50] [--seed 0] [record search compile autotune]

`record` writes recordings, `search` a store, `compile` and `autotune` the cache of kernels. After every kill what was written is read: each
recording opens, the store is sound and has no fewer records than before, each entry of the cache is whole. At the end the program runs through,
and its result is compared with that of one that nobody killed; no name that begins with a dot may be left but those of the last kills, which the
next program removes after an hour.

Every third kill falls at any moment of a program's life, the others while it writes, or up to half a second after. The compiler's sources must
not change meanwhile: they are part of the keys.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from minitriton.explorer.compile_request import CompileRequest
from minitriton.explorer.program import open_program
from minitriton.lab.launches.recorded import launches_in, read_launch
from minitriton.lab.sweeping.store import Store, compiler_name
from minitriton.runtime.cache import KernelCache

RECORDED = """
import sys
import numpy as np
import triton
import triton.language as tl

@triton.jit
def scale(x, n, factor, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, tl.load(x + i, i < n) * factor, i < n)

for n in range(1, 13):
    scale[(1,)](np.arange(100_000, dtype=np.float32) + n, n, 2.5, BLOCK=1024)
"""

COMPILED = """
import numpy as np
import triton
import triton.language as tl

@triton.jit
def scale(x, n, FACTOR: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, tl.load(x + i, i < n) * FACTOR, i < n)

for factor in range(2, 8):
    scale.warmup(np.zeros(1024, np.float32), 100, factor, BLOCK=1024, grid=(1,)).asm["ptx"]
"""

AUTOTUNED = """
import numpy as np
import triton
import triton.language as tl

def timed(call, quantiles):
    call()
    return [1.0, 1.0, 1.0]

@triton.autotune([triton.Config({"BLOCK": size}, num_warps=4) for size in (64, 128, 256, 512)], key=["n"], do_bench=timed, cache_results=True)
@triton.jit
def scale(x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + i, tl.load(x + i, i < n) * 2, i < n)

x = np.ones(512, np.float32)
scale[lambda at: (triton.cdiv(512, at["BLOCK"]),)](x, 512)
"""


class Broken(Exception):
    """Something that a kill left."""


class Trial:
    """A program that writes below `folder`; `command` runs it."""

    def __init__(self, folder: Path, text: str = "") -> None:
        self.folder = folder
        self.written = folder / "written"
        self.program = folder / "program.py"
        self.program.write_text(text)
        self.environment = {
            **os.environ, "TRITON_CACHE_DIR": str(folder / "cache"), "MINITRITON_KEY_FILE": str(folder / "key"),
            "PYTHONPATH": str(Path(__file__).parents[1]),
        }  # fmt: skip
        os.environ["MINITRITON_KEY_FILE"] = str(folder / "key")

    def command(self) -> list[str]:
        return ["-m", "minitriton.run_as_triton", str(self.program)]

    def start(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, *self.command()], env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True
        )  # fmt: skip

    def count(self) -> int:
        """How much was written, all of it looked at. Raises `Broken`."""
        raise NotImplementedError

    def result(self) -> object:
        """What a run that went through has to agree on."""
        raise NotImplementedError

    def forget(self) -> None:
        """Takes what was written away, for the next kills."""
        shutil.rmtree(self.written, ignore_errors=True)


class Record(Trial):
    def __init__(self, folder: Path) -> None:
        super().__init__(folder, RECORDED)

    def command(self) -> list[str]:
        return ["-m", "minitriton", "record", "--cpu", "--out", str(self.written), str(self.program)]

    def count(self) -> int:
        there = list(self.written.glob("[!.]*"))
        found = launches_in(self.written)
        for folder in found:
            launch = read_launch(folder)
            values = open_program(CompileRequest(launch.reference, launch=str(folder))).launch().arguments.values
            if np.asarray(values[0]).size != 100_000:
                raise Broken(f"{folder} has other arrays")
        if broken := [path for path in there if path not in found]:
            raise Broken(f"no recordings: {broken}")
        return len(found)

    def result(self) -> object:
        return [
            (read_launch(folder).kernel, folder.name, read_launch(folder).digests["kernel.ttir"])
            for folder in launches_in(self.written)
        ]


class Search(Trial):
    def command(self) -> list[str]:
        store = str(self.written / "s.db")
        return [
            "-m",
            "minitriton",
            "search",
            "embedding",
            "--objective",
            "ptx_instructions",
            "--budget",
            "40",
            "--seed",
            "3",
            "--store",
            store,
        ]

    def start(self) -> subprocess.Popen[bytes]:
        self.written.mkdir(exist_ok=True)
        return super().start()

    def records(self) -> list[tuple[object, ...]]:
        if not (self.written / "s.db").exists():
            return []
        store = Store(self.written / "s.db", compiler_name(), whole=True)
        try:
            return sorted((r.pipeline, str(r.result), r.program, repr(r.metrics)) for r in store.records())
        finally:
            store.close()

    def count(self) -> int:
        return len(self.records())

    def result(self) -> object:
        return self.records()


class Compile(Trial):
    def __init__(self, folder: Path, text: str = COMPILED) -> None:
        super().__init__(folder, text)
        self.written = folder / "cache"

    def count(self) -> int:
        folders = [path for path in self.written.glob("*") if len(path.name) == 64]
        for folder in folders:
            if KernelCache(self.written).load(folder.name) is None:
                raise Broken(f"{folder} is not whole")
        return len(folders)

    def result(self) -> object:
        return sorted(path.name for path in self.written.glob("*") if len(path.name) == 64)


class Autotune(Compile):
    def __init__(self, folder: Path) -> None:
        super().__init__(folder, AUTOTUNED)

    def result(self) -> object:
        timings = self.written.glob("[!.]*/*.autotune.json")
        return super().result(), [file.name for file in timings]


def through(trial: Trial) -> float:
    """Runs the program to its end. Its seconds."""
    start = time.monotonic()
    running = trial.start()
    said = running.communicate()[1]
    if running.returncode:
        raise Broken(f"exit code {running.returncode}: {said.decode()[-2000:]}")
    return time.monotonic() - start


def first_write(trial: Trial) -> float:
    """Seconds until the program has written something."""
    start = time.monotonic()
    running = trial.start()
    while running.poll() is None and not (trial.written.exists() and trial.count()):
        time.sleep(0.02)
    took = time.monotonic() - start
    running.communicate()
    return took


def wait_for_changes(trial: Trial, running: subprocess.Popen[bytes], count: int) -> None:
    """Until something has changed `count` times in the folder that is written to, or the program ends."""
    before = changes(trial.written)
    while count and running.poll() is None:
        now = changes(trial.written)
        count -= now != before
        before = now
        time.sleep(0.0005)


def changes(folder: Path) -> int:
    """Differs after a file or a folder was made, written or renamed."""
    try:
        return hash(tuple((one.name, one.stat().st_mtime_ns, one.stat().st_size) for one in os.scandir(folder)))
    except FileNotFoundError:
        return 0


def campaign(kind: type[Trial], kills: int, rng: random.Random) -> None:
    with tempfile.TemporaryDirectory() as root:
        trial = kind(Path(root))
        began = first_write(trial)
        expected, whole = trial.result(), trial.count()
        trial.forget()
        before, done, ended = 0, 0, 0
        while done < kills:
            running = trial.start()
            if done % 3:
                wait_for_changes(trial, running, rng.randrange(1, 20))
                time.sleep(rng.choice((0.0, rng.uniform(0.0, 0.02), rng.uniform(0.0, 0.5))))
            else:
                time.sleep(rng.uniform(0.0, 1.5 * began))
            if running.poll() is None:
                os.killpg(running.pid, signal.SIGKILL)
                done += 1
            else:
                ended += 1
            running.communicate()
            found = trial.count() if trial.written.exists() else 0
            # A recording that is made again is away for the moment between two renames.
            if found < before - (kind is Record):
                raise Broken(f"{found} are there, where {before} were")
            before = found
            print(f"{kind.__name__}: kill {done} of {kills}, {found} of {whole} written", flush=True)
            if found == whole:  # nothing left to be written: begin again
                if kind is not Record and trial.result() != expected:
                    raise Broken(
                        f"another result than that of a program that nobody killed: {trial.result()} for {expected}"
                    )
                trial.forget()
                before = 0
        through(trial)
        if trial.result() != expected:
            raise Broken(f"another result than that of a program that nobody killed: {trial.result()} for {expected}")
        trial.count()
        print(
            f"{kind.__name__}: {kills} kills ({ended} were too late), nothing lost, nothing broken; {whole} written in the end",
            flush=True,
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="*", default=[], help="record, search, compile, autotune (default: all)")
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    kinds: dict[str, type[Trial]] = {"record": Record, "search": Search, "compile": Compile, "autotune": Autotune}
    for name in given.kinds or kinds:
        start = time.monotonic()
        try:
            campaign(kinds[name], given.kills, random.Random(given.seed))
        except Broken as error:
            print(f"{name}: BROKEN: {error}")
            return 1
        print(f"  {time.monotonic() - start:.0f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
