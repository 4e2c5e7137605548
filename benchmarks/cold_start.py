"""How long a program takes that compiles one kernel, from the start of its process, side by side with Triton. Needs no GPU.

    python benchmarks/cold_start.py [NAME ...] [--rounds N] [--bare] [--json FILE]

For each kernel two cases: `compiled`, with an empty cache on disk, and `kept`, with the kernel in it: the program is run a second time. In every round each case is run by both
compilers in turn, the other one first in every second round. The least of the rounds counts, which is what the work takes where other programs use the same processors.
`cpu` is processor time, children included (Triton runs `ptxas` as one), `wall` the time until the process has ended. Both keep their bytecode, whatever the environment
says (a first round is not counted). `--bare` adds what the processes take that import a compiler and define a kernel.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from compile_time import COMPILERS, source_of

from minitriton_kernels.cases import KERNELS

ROOT = Path(__file__).parents[1]
PROGRAM = Path(__file__).with_name("cold_start_program.py")
NAMES = ("vector_add", "softmax", "matmul fp16", "attention d64")
CASES = ("compiled", "kept")
_BARE = json.dumps({"path": str(KERNELS / "vector_add.py"), "kernel": None})


def arguments_of(name: str) -> str:
    """What the program is told of the kernel of that name."""
    source = source_of(name)
    given = {
        "path": str(KERNELS / f"{source.file}.py"), "kernel": source.kernel, "signature": source.signature,
        "constexprs": source.constexprs, "options": source.options, "aligned": [place for (place,) in source.attributes],
    }  # fmt: skip
    return json.dumps(given)


def run(command: list[str], folder: str) -> dict[str, float]:
    """Seconds of processor time and of wall time of one process whose cache is `folder`."""
    environment = {**os.environ, "TRITON_CACHE_DIR": folder, "PYTHONPATH": os.environ.get("PYTHONPATH", str(ROOT))}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.executable, *command], env=environment, check=True, stdout=subprocess.DEVNULL)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return {"cpu": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, "wall": wall}


def measure(names: list[str], rounds: int, bare: bool) -> list[dict[str, Any]]:
    """For each kernel and case its name and, by compiler, the least of `cpu` and `wall`."""
    rows: dict[tuple[str, str], dict[str, list[dict[str, float]]]] = {}
    for round in range(rounds + 1):
        for compiler in COMPILERS if round % 2 else reversed(COMPILERS):
            if bare:
                with tempfile.TemporaryDirectory() as folder:
                    times = run([str(PROGRAM), compiler, _BARE], folder)
                rows.setdefault(("import, jit", "bare"), {each: [] for each in COMPILERS})[compiler].append(times)
            for name in names:
                with tempfile.TemporaryDirectory() as folder:
                    for case in CASES:
                        times = run([str(PROGRAM), compiler, arguments_of(name)], folder)
                        rows.setdefault((name, case), {each: [] for each in COMPILERS})[compiler].append(times)
    return [
        {
            "name": name,
            "case": case,
            **{
                compiler: {column: min(each[column] for each in runs[1:]) for column in ("cpu", "wall")}
                for compiler, runs in of_row.items()
            },
        }
        for (name, case), of_row in rows.items()
    ]


def report(rows: list[dict[str, Any]]) -> None:
    """Prints the table."""
    print(
        f"{'':27} {'cpu: minitriton':>16} {'Triton':>8} {'ratio':>6}   {'wall: minitriton':>16} {'Triton':>8} {'ratio':>6}   (ms)"
    )
    for row in sorted(rows, key=lambda row: row["case"]):
        ours, theirs = row["minitriton"], row["triton"]
        figures = "   ".join(
            f"{ours[c] * 1e3:16.0f} {theirs[c] * 1e3:8.0f} {ours[c] / theirs[c]:6.2f}" for c in ("cpu", "wall")
        )
        print(f"{row['name']:16} {row['case']:10} {figures}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("names", nargs="*", help=f"cases of compile_time.py (default: {', '.join(NAMES)})")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--bare", action="store_true", help="also processes that compile nothing")
    parser.add_argument("--json", help="also write the figures to this file")
    arguments = parser.parse_args()
    rows = measure(arguments.names or list(NAMES), arguments.rounds, arguments.bare)
    report(rows)
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
