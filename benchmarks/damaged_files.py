"""Recordings, stores and entries of the cache, damaged at random: each is an error that names the file, or gives what it gave before.

    nice python benchmarks/damaged_files.py [--count 1000] [--seed 0] [recordings foreign stores caches]

Kinds of damage: bits flipped, bytes overwritten, a file cut, grown, emptied, deleted or replaced by a folder, a pipe, or another file; text of
JSON exchanged for other JSON. Prints how often each kind gave an error and how often the same result, and ends with exit code 1 where one gave
another result, an exception that is not minitriton's, or took more than ten seconds.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from minitriton import knobs
from minitriton.commands.kernel_files import load_kernel
from minitriton.errors import MinitritonError
from minitriton.explorer.compile_request import CompileRequest
from minitriton.explorer.program import open_program
from minitriton.lab.launches.recorded import read_launch
from minitriton.lab.launches.recorder import Recorder
from minitriton.lab.sweeping.configuration import KernelProgram
from minitriton.lab.sweeping.correctness import Class, Evaluation
from minitriton.lab.sweeping.references import of_store, references
from minitriton.lab.sweeping.store import Store
from minitriton.runtime.cache import KernelCache
from minitriton.target import CUDAOptions

LONGEST = 10

KERNEL = """
import minitriton as triton
import minitriton.language as tl

@triton.jit
def scale(x, out, n, factor, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, i < n) * factor, i < n)
"""


def damage(folder: Path, rng: random.Random) -> str:
    """Damages one file below `folder`. Says how."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    path, other = rng.choice(files), rng.choice(files)
    content = bytearray(path.read_bytes())
    kind = rng.choice(
        (
            "bits",
            "bits",
            "bytes",
            "zeros",
            "cut",
            "grown",
            "emptied",
            "deleted",
            "folder",
            "pipe",
            "swapped",
            "json",
            "link",
        )
    )
    match kind:
        case "bits":
            for _ in range(rng.choice((1, 1, 5))):
                if content:
                    content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
            path.write_bytes(content)
        case "bytes" | "zeros":
            at = rng.randrange(max(1, len(content)))
            size = rng.choice((1, 8, 512))
            content[at : at + size] = bytes(size) if kind == "zeros" else rng.randbytes(size)
            path.write_bytes(content)
        case "cut" | "emptied":
            path.write_bytes(content[: rng.randrange(max(1, len(content))) if kind == "cut" else 0])
        case "grown":
            path.write_bytes(content + rng.randbytes(rng.choice((1, 100, 5000))))
        case "swapped":
            path.write_bytes(other.read_bytes())
        case "json":
            path.write_bytes(
                rng.choice((b"[" * 100_000, b"{}", b"null", b"3", b'{"format": 2}', b'"' + b"a" * 1000 + b'"', b"\xff"))
            )
        case _:
            path.unlink()
            if kind == "folder":
                path.mkdir()
            elif kind == "pipe":
                os.mkfifo(path)
            elif kind == "link":
                path.symlink_to("/dev/zero")
    return kind


class Recordings:
    """A recorded launch, opened as `run` does."""

    def __init__(self, root: Path) -> None:
        (root / "kernels.py").write_text(KERNEL)
        kernel = load_kernel(f"{root / 'kernels.py'}:scale")
        with Recorder(root / "recorded"):
            kernel[(1,)](np.arange(100, dtype=np.float32), np.zeros(100, np.float32), 100, 2.5, BLOCK=128)
        self.whole = root / "recorded"

    def read(self, folder: Path) -> object:
        launch = read_launch(folder)
        program = open_program(CompileRequest(launch.reference, launch=str(launch.folder)))
        values = program.launch().arguments.values
        text = str(program.source.make_ir(program.target, program.options, _context()))
        return [np.asarray(one).tolist() for one in values], launch.grid, str(program.options), "mulf" in text


class ForeignRecordings(Recordings):
    """The same for another user, who gets the IR that was recorded."""

    def read(self, folder: Path) -> object:
        with knobs.cache.scope():
            knobs.cache.key_file = str(self.whole.parent / "another user's key")
            return super().read(folder)


class Stores:
    """A store of a sweep, read as `report` and `measure` do."""

    def __init__(self, root: Path) -> None:
        self.whole = root / "stores"
        self.whole.mkdir()
        store = Store(self.whole / "s.db", "one")
        store.add_kernel("k", references(["running_sums"])[0].text(), "cse")
        store.add(
            [
                Evaluation("k", f"cse,p{n}", Class.RIGHT, "", "", f"d{n % 9}", {"instructions": n % 9 + 0.5})
                for n in range(300)
            ],
            [KernelProgram("k", f"d{n}", f".version {n}\n" * 200, 90, CUDAOptions()) for n in range(9)],
        )
        store.add_metrics("k", "machine", {f"d{n}": {"registers": float(n)} for n in range(9)})
        store.add_cubins("k", {f"d{n}": bytes([n]) * 500 for n in range(9)})
        store.close()

    def read(self, folder: Path) -> object:
        store = Store.of_file(folder / "s.db", "one")
        try:
            programs = store.programs("k", [f"d{n}" for n in range(9)])
            found = sorted(store.records(), key=lambda r: r.pipeline), store.measured("k", "machine"), store.kernels()
            return repr((found, [(p, p.cubin) for p in programs], of_store(store), store.compilers()))
        finally:
            store.close()


class Caches:
    """Compiled kernels in a cache: a damaged one is compiled again."""

    def __init__(self, root: Path) -> None:
        self.whole = root / "cache"
        (root / "of_cache.py").write_text(KERNEL)
        self.kernel = load_kernel(f"{root / 'of_cache.py'}:scale")
        with knobs.cache.scope():
            knobs.cache.dir = str(self.whole)
            self.launched()
        for path in self.whole.glob(".eviction"):
            path.unlink()

    def launched(self) -> tuple[str, bytes]:
        kernels = []
        for block in (64, 128):
            compiled = self.kernel.warmup(_array(), _array(), 100, 2.5, BLOCK=block, grid=(1,))
            kernels.append((compiled.asm["ptx"], compiled.asm["ttgir"], compiled.metadata.num_warps))
        return kernels  # pyright: ignore[reportReturnType]

    def read(self, folder: Path) -> object:
        with knobs.cache.scope():
            knobs.cache.dir = str(folder)
            self.kernel.device_caches.clear()
            found = self.launched()
            keys = [path.name for path in folder.iterdir() if len(path.name) == 64]
            assert all(KernelCache(folder).load(key) is not None for key in keys), "an entry was left that is not whole"
            return found


def _array() -> np.ndarray:
    return np.zeros(128, np.float32)


def _context() -> Any:
    from minitriton.dialects.context import make_context

    return make_context()


class TooLong(BaseException):
    """A read that does not end."""


def _stop(*_: object) -> None:
    raise TooLong


def campaign(kind: Callable[[Path], Any], count: int, seed: int) -> int:
    """Damages and reads `count` copies. How many went wrong."""
    rng, outcomes, wrong = random.Random(seed), Counter[tuple[str, str]](), 0
    signal.signal(signal.SIGALRM, _stop)
    with tempfile.TemporaryDirectory() as root:
        of = kind(Path(root))
        expected = of.read(of.whole)
        for number in range(count):
            folder = Path(root) / f"damaged{number}"
            shutil.copytree(of.whole, folder)
            how = damage(folder, rng)
            signal.alarm(LONGEST)
            try:
                outcome = "same" if of.read(folder) == expected else "ANOTHER RESULT"
            except MinitritonError as error:
                outcome = "error" if str(folder) in str(error) else "ERROR WITHOUT THE FILE"
                why = str(error)
            except TooLong:
                outcome = "TOO LONG"
            except Exception:
                outcome, why = "EXCEPTION", traceback.format_exc()
            finally:
                signal.alarm(0)
            if outcome not in ("same", "error"):
                wrong += 1
                print(f"{kind.__name__} {number}, {how}: {outcome}", why if "RESULT" not in outcome else "", flush=True)
            outcomes[how, outcome] += 1
            shutil.rmtree(folder, ignore_errors=True)
    print(f"{kind.__name__}: {count} damaged, {wrong} wrong")
    for (how, outcome), times in sorted(outcomes.items()):
        print(f"  {how:8} {outcome:8} {times}")
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "kinds",
        nargs="*",
        default=[],
        help="recordings, foreign (recordings of another user), stores, caches (default: all)",
    )
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    kinds = {"recordings": Recordings, "foreign": ForeignRecordings, "stores": Stores, "caches": Caches}
    wrong = 0
    for name in given.kinds or kinds:
        start = time.monotonic()
        wrong += campaign(kinds[name], given.count, given.seed)
        print(f"  {time.monotonic() - start:.0f} s", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
