"""Kernel speed on launches that nobody chose or tuned, minitriton next to Triton on a GPU: over thirty families, drawn at random.

    python benchmarks/drawn.py --out FILE.jsonl [--seed S] [--count N] [--seconds T] [NAME ...]     measures, a line a launch
    python benchmarks/drawn.py --out FILE.jsonl --report [--worst N]                                the figures of what is measured
    python benchmarks/drawn.py --list [--seed S] [--count N]                                        what would be drawn

`--count` launches of each family (those whose name contains NAME) are drawn by the seed, round by round; a run that goes on leaves out what FILE has. Each
batch is compiled ahead by as many processes as there are cores, then each launch is run by both compilers, compared, and timed in turns
(`speed_families.py`). The report has the mean, the least and the shares below bounds of each family and of all, and the worst with registers, spilled
registers and bytes of shared memory. `benchmarks/speed_draws.py` has the families. What Triton refuses, or neither finishes, is counted apart.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from requirements_here import need_gpu
from speed_draws import FAMILIES, REPORTED, drawn
from speed_families import Runner, compile_all

from minitriton.codegen.assemblers import ASSEMBLERS

BATCH = 64
"""Launches that are compiled before they are timed."""
BOUNDS = (1.0, 0.97, 0.95, 0.9)

Key = tuple[str, int, int]
"""Family, number, seed."""


def keys(names: list[str], count: int, seed: int) -> list[Key]:
    """Round by round, so that a run that ends early has some of each family. Those that are not drawn must be named."""
    chosen = [name for name in FAMILIES if (any(part in name for part in names) if names else name != REPORTED)]
    return [(name, number, seed) for number in range(count) for name in chosen]


def rows_of(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def measure(todo: list[Key], out: Path, end: float, rounds: int, assembler: str) -> None:
    """Compiles and times batch after batch until `end`, appending a line for each launch."""
    runner = Runner(rounds, assembler)
    try:
        for start in range(0, len(todo), BATCH):
            if time.monotonic() > end:
                return
            batch = todo[start : start + BATCH]
            with tempfile.TemporaryDirectory() as folder:
                os.environ["TRITON_CACHE_DIR"] = folder
                compile_all([drawn(*key) for key in batch], assembler)
                runner.close()  # a process has the cache of the time it began
                for name, number, seed in batch:
                    if time.monotonic() > end:
                        return
                    launch = drawn(name, number, seed)
                    row = {"family": name, "number": number, "seed": seed, "launch": launch.name, **runner.row(launch)}
                    with out.open("a") as file:
                        file.write(json.dumps(row) + "\n")
    finally:
        runner.close()


def _figures(name: str, ratios: list[float]) -> str:
    below = "  ".join(f"{sum(r < bound for r in ratios):5}" for bound in BOUNDS)
    return f"{name:20} {len(ratios):5} {math.exp(statistics.fmean(map(math.log, ratios))):7.3f} {min(ratios):7.3f}  {below}"


def report(rows: list[dict[str, Any]], worst: int) -> None:
    timed = [row for row in rows if "ratio" in row]
    if not timed:
        sys.exit("nothing was measured")
    print(f"{'family':20} {'cases':>5} {'mean':>7} {'least':>7}  " + "  ".join(f"<{bound:<4}" for bound in BOUNDS))
    families = {name: [row["ratio"] for row in timed if row["family"] == name] for name in FAMILIES}
    for name, ratios in sorted(families.items(), key=lambda item: min(item[1], default=9)):
        if ratios:
            print(_figures(name, ratios))
    print(_figures("all", [row["ratio"] for row in timed]))
    print("\nworst (registers/spilled registers/bytes of shared memory of minitriton, of Triton)")
    for row in sorted(timed, key=lambda row: row["ratio"])[:worst]:
        print(
            f"{row['ratio']:6.3f} {row['minitriton']:9.1f} µs  {row['minitriton resources']:>14} {row['triton resources']:>14}  "
            f"{row['family']} {row['number']}: {row['launch']}"
        )
    for assembler in ASSEMBLERS:
        both = [row for row in timed if assembler in row]
        if both:
            print(f"\n{assembler} next to the usual assembler, and next to Triton")
            for name in (*FAMILIES, ""):
                some = [row for row in both if name in ("", row["family"])]
                if some:
                    print(_figures(name or "all", [row["minitriton"] / row[assembler] for row in some]))
                    print(_figures("", [row["triton"] / row[assembler] for row in some]))
    apart = [row for row in timed if row["apart"] > 0.02]
    failed = [row for row in rows if "failed" in row]
    for what, some in (("results apart", apart), ("failed", failed)):
        print(f"\n{what}: {len(some)}")
        for row in some[:20]:
            print(f"  {row['family']} {row['number']}: {row['launch']}: {row.get('failed', row.get('apart'))}"[:220])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="only families whose name contains one of these")
    parser.add_argument("--out", type=Path, help="a file of JSON lines, to which launches are added")
    parser.add_argument("--count", type=int, default=50, help="of each family (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=math.inf, help="begins no launch after these")
    parser.add_argument("--rounds", type=int, default=4, help="of timing a launch (default: %(default)s)")
    parser.add_argument("--assembler", default="", choices=ASSEMBLERS, help="minitriton with this one too")
    parser.add_argument("--report", action="store_true")
    parser.add_argument("--worst", type=int, default=20)
    parser.add_argument("--list", action="store_true", help="prints what would be drawn")
    arguments = parser.parse_args()
    wanted = keys(arguments.names, arguments.count, arguments.seed)
    if arguments.list:
        print("\n".join(f"{name} {number}: {drawn(name, number, seed).name}" for name, number, seed in wanted))
        return 0
    if arguments.out is None:
        parser.error("--out names the file of the measurements")
    if not arguments.report:
        need_gpu()
        done = {(row["family"], row["number"], row["seed"]) for row in rows_of(arguments.out)}
        todo = [key for key in wanted if key not in done]
        measure(todo, arguments.out, time.monotonic() + arguments.seconds, arguments.rounds, arguments.assembler)
    report(rows_of(arguments.out), arguments.worst)
    return 0


if __name__ == "__main__":
    sys.exit(main())
