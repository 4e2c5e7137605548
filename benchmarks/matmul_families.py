"""Matmuls that nobody tuned, minitriton next to Triton on a GPU: tiles, warps, stages, sizes and orders drawn at random.

    python benchmarks/matmul_families.py [--count N] [--seed S] [--rounds N] [--json FILE] [--pointers]

Each drawn matmul is compiled ahead by as many processes as there are cores, run by both compilers, compared with torch's, and timed in
turns; the ratio is Triton's time over minitriton's. Printed worst first, with registers, spilled registers and bytes of shared memory. Draws
that Triton refuses too (more shared memory than there is) are left out; what it takes and minitriton does not is a row that says so.
`--pointers` also times minitriton without `minitriton-describe-tiles`.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import random
import statistics
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import repeat
from pathlib import Path
from typing import Any

from contest import largest_difference, ratio, resources, time_in_turns
from matmul_cases import Matmul, Tensors, Tile, drawn_matmul
from requirements_here import need_gpu

from minitriton_kernels.cases import load_kernels

COMPILERS = ("minitriton", "triton")
SIZES = (
    (2048, 2048, 2048),
    (4096, 4096, 1024),
    (1024, 8192, 2048),
    (2000, 3008, 2048),
    (512, 4096, 4096),
    (4096, 256, 4096),
)


def draws(count: int, seed: int) -> list[Matmul]:
    """`count` different matmuls, the same for the same seed."""
    rng = random.Random(seed)
    found: dict[str, Matmul] = {}
    while len(found) < count:
        kind = rng.choice(
            ("float16", "bfloat16", "float32", "int8", "int8 by bfloat16", "float8_e4m3fn", "descriptors")
        )
        bits = {"float32": 32, "int8": 8, "float8_e4m3fn": 8}.get(kind, 16)
        depth = rng.choice((16, 32, 64)) * (16 // bits or 1) * (2 if bits == 8 else 1)
        tile = Tile(
            rng.choice((64, 128, 256)),
            rng.choice((32, 64, 128, 256)),
            max(depth, 32),
            rng.choice((4, 8)),
            rng.choice((2, 3, 4)),
        )
        if not 4096 <= tile.m * tile.n <= 4096 * tile.warps:
            continue
        matmul = drawn_matmul(kind, *rng.choice(SIZES), tile, column_b=rng.random() < 0.5)
        label = f"{matmul.name} by {tile.m}x{tile.n}x{tile.k}, {tile.warps} warps, {tile.stages} stages"
        found[label] = replace(matmul, name=label)
    return list(found.values())


def runs_of(matmul: Matmul, tensors: Tensors, pointers: bool) -> dict[str, Callable[[], Any]]:
    """A launch by each contestant."""
    kernels = {compiler: load_kernels("matmul", compiler) for compiler in COMPILERS}
    runs = {name: partial(matmul.launch, kernels[name], tensors) for name in COMPILERS}
    if pointers:
        runs["pointers"] = partial(matmul.launch, kernels["minitriton"], tensors, describe_tiles=False)
    return runs


def compile_ahead(number: int, count: int, seed: int, pointers: bool) -> dict[str, str]:
    """Compiles a matmul with both compilers into their caches; what each refused."""
    matmul = draws(count, seed)[number]
    tensors = matmul.make()
    refused: dict[str, str] = {}
    for contestant, run in runs_of(matmul, tensors, pointers).items():
        try:
            run()
        except Exception as error:
            refused[contestant] = f"{type(error).__name__}: {error}".splitlines()[0][:200]
    return refused


def measure(matmul: Matmul, rounds: int, pointers: bool) -> dict[str, Any]:
    """The ratio, milliseconds and resources; how far either result is from torch's."""
    tensors = matmul.make()
    wanted = matmul.library(tensors)
    row: dict[str, Any] = {"name": matmul.name}
    runs = runs_of(matmul, tensors, pointers)
    for contestant, run in runs.items():
        tensors["c"].fill_(-7)
        row[f"{contestant} resources"] = resources(run())
        row[f"{contestant} apart"] = largest_difference(tensors["c"], wanted)
    times = time_in_turns(runs, _short, rounds)
    wrong = row["minitriton apart"] >= max(matmul.tolerance, 2 * row["triton apart"])
    return (
        row
        | {contestant: statistics.median(taken) for contestant, taken in times.items()}
        | (
            {"failed": f"off by {row['minitriton apart']:.3g} of the largest number"}
            if wrong
            else {"ratio": ratio(times, "triton")}
        )
    )


def _short(run: Any) -> float:
    from triton.testing import do_bench

    return do_bench(run, warmup=4, rep=16, return_mode="median")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--json", help="also write the rows to this file")
    parser.add_argument("--pointers", action="store_true", help="also minitriton without described tiles")
    arguments = parser.parse_args()
    need_gpu()
    import torch

    torch.backends.cuda.matmul.allow_tf32 = True
    drawn = draws(arguments.count, arguments.seed)
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TRITON_CACHE_DIR"] = folder
        numbers = range(len(drawn))
        given = (repeat(each) for each in (arguments.count, arguments.seed, arguments.pointers))
        with ProcessPoolExecutor(os.cpu_count(), multiprocessing.get_context("spawn")) as pool:
            refusals = list(pool.map(compile_ahead, numbers, *given))
        for matmul, refused in zip(drawn, refusals, strict=True):
            if "triton" in refused:
                continue
            if refused:
                rows.append({"name": matmul.name, "failed": next(iter(refused.values()))})
                continue
            try:
                rows.append(measure(matmul, arguments.rounds, arguments.pointers))
            except Exception as error:
                rows.append({"name": matmul.name, "failed": f"{type(error).__name__}: {error}".splitlines()[0][:200]})
    for row in sorted(rows, key=lambda row: row.get("ratio", 0)):
        said = row.get("failed") or f"{row['ratio']:6.3f}  {row['minitriton resources']}, {row['triton resources']}"
        if "pointers" in row and "ratio" in row:
            said += f", {row['pointers'] / row['minitriton']:.3f} of the speed by pointers"
        print(f"{row['name']:88} {said}", flush=True)
    ratios = [row["ratio"] for row in rows if "ratio" in row]
    if ratios:
        mean = math.exp(statistics.fmean(map(math.log, ratios)))
        below = ", ".join(f"{sum(r < bound for r in ratios)} below {bound}" for bound in (1.0, 0.98, 0.95, 0.9))
        left_out = len(drawn) - len(rows)
        print(
            f"\n{len(ratios)} matmuls: geometric mean {mean:.3f}, least {min(ratios):.3f}; {below}; {left_out} refused by Triton"
        )
        if arguments.pointers:
            gains = [math.log(row["pointers"] / row["minitriton"]) for row in rows if "ratio" in row]
            print(f"described tiles next to pointers: geometric mean {math.exp(statistics.fmean(gains)):.3f}")
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(rows, indent=1) + "\n")
    return int(any("failed" in row for row in rows))


if __name__ == "__main__":
    sys.exit(main())
