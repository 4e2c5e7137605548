"""NVIDIA's compute-sanitizer on every kernel of `matmul.py` and `attention.py`, forward and backward.

    python benchmarks/sanitized.py [SUBSTRING ...] [--tools memcheck racecheck synccheck] [--jobs N] [--within SECONDS] [--log FOLDER]

The tiles, warps and stages are those of the benchmarks, attention's forward kernels with each of their tiles; matrices and sequences are short
(`LONGEST`), since a tool takes a thousand times as long as a launch. A process for each kernel and tool, which also compares what the kernel
leaves with torch's result; torch's own kernels are not watched. A line for each that has something to report, and one for each tool. Exit
code 1 where anything was reported, a result was wrong or a process ended otherwise. Needs `compute-sanitizer` (of the CUDA toolkit) on the
path or in /usr/local/cuda/bin.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))

from attention import TOLERANCE
from attention_cases import TILES, Attention, Tile, small_cases
from cases import load_kernels
from contest import largest_difference
from matmul_cases import Product, products
from requirements_here import need_gpu

LONGEST = 512
PRODUCT_TOLERANCE = 1e-2
TOOLS = {
    "memcheck": (),
    "racecheck": ("--racecheck-report", "all", "--racecheck-detect-level", "warn"),
    "synccheck": (),
}
WATCHED = ("matmul", "attention", "row_products")
"""What is in the names of the kernels that are watched."""

EQUAL = "equal to torch's result"
_SILENT = ("COMPUTE-SANITIZER", "ERROR SUMMARY: 0 errors", "RACECHECK SUMMARY: 0 hazards displayed")


def launches() -> dict[str, Callable[[], float]]:
    """By name, what launches a kernel and says how far off its result is, to how far it may be."""
    found: dict[str, Callable[[], float]] = {}
    for product in products(LONGEST):
        found[product.name] = lambda product=product: _product(product)
    for case in small_cases(LONGEST):
        if case.backward:
            found[case.name] = lambda case=case: _backward(case)
        else:
            for tile in TILES[case.width]:
                found[f"{case.name} {tile}"] = lambda case=case, tile=tile: _forward(case, case.make(), tile)
    return found


def _product(product: Product) -> float:
    tensors = product.make()
    tensors["c"].fill_(-7)
    product.launch(load_kernels("matmul", "minitriton"), tensors)
    return largest_difference(tensors["c"], product.library(tensors)) / PRODUCT_TOLERANCE


def _forward(case: Attention, tensors: dict[str, Any], tile: Tile) -> float:
    case.forward(load_kernels("attention", "minitriton"), tensors, tile)
    result, _ = case.library(tensors)
    return largest_difference(tensors["o"], result()) / TOLERANCE


def _backward(case: Attention) -> float:
    tensors = case.make()
    apart = [_forward(case, tensors, TILES[case.width][0])]
    case.gradients(load_kernels("attention", "minitriton"), tensors)
    wanted = case.library(tensors)[1]()
    for name, gradient in zip(("dq", "dk", "dv"), wanted, strict=True):
        apart.append(largest_difference(tensors[name], gradient) / TOLERANCE)
    return max(apart)


def launch(name: str) -> None:
    """What runs under a tool."""
    import torch

    torch.backends.cuda.matmul.allow_tf32 = True
    print(EQUAL if launches()[name]() < 1 else "WRONG", flush=True)


@dataclass(frozen=True)
class Watched:
    """What became of a kernel under a tool: what it printed, and what of that is a report or another failure."""

    tool: str
    name: str
    output: str
    reports: list[str]


def watched(tool: str, name: str, deadline: float) -> Watched:
    """Runs a kernel under a tool."""
    filters = [part for text in WATCHED for part in ("--kernel-name", f"kns={text}")]
    command = [_sanitizer(), "--tool", tool, *TOOLS[tool], *filters, sys.executable, __file__, "--launch", name]
    # torch keeps no memory to itself: what lies beside a tensor is nobody's
    environment = os.environ | {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}
    code = -1
    with tempfile.TemporaryFile("w+") as output:
        if (left := deadline - time.monotonic()) > 0:
            try:
                code = subprocess.run(command, stdout=output, stderr=output, timeout=left, env=environment).returncode
            except subprocess.TimeoutExpired:
                print("it ran out of time", file=output, flush=True)
        else:
            print("not begun: it ran out of time", file=output, flush=True)
        output.seek(0)
        text = output.read()
    lines = text.splitlines()
    reports = [line for line in lines if line.startswith("=========") and not any(quiet in line for quiet in _SILENT)]
    if EQUAL not in lines:
        reports = [*reports, *lines[-3:]]
    return Watched(tool, name, text, reports or ([f"exit code {code}"] if code else []))


def _sanitizer() -> str:
    found = shutil.which("compute-sanitizer") or shutil.which("compute-sanitizer", path="/usr/local/cuda/bin")
    return found or sys.exit("compute-sanitizer is not there: install the CUDA toolkit, or put it on the path")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="SUBSTRING", help="only kernels whose name contains one of these")
    parser.add_argument("--tools", nargs="+", choices=TOOLS, default=list(TOOLS))
    parser.add_argument("--jobs", type=int, default=4, help="processes at once (default: %(default)s)")
    parser.add_argument(
        "--within", type=float, default=1800.0, metavar="SECONDS", help="for all (default: %(default)s)"
    )
    parser.add_argument("--log", type=Path, metavar="FOLDER", help="what the tools print, whole")
    parser.add_argument("--launch", metavar="NAME", help=argparse.SUPPRESS)
    given = parser.parse_args()
    need_gpu()
    if given.launch:
        launch(given.launch)
        return 0
    chosen = [n for n in launches() if not given.names or any(part in n for part in given.names)]
    deadline = time.monotonic() + given.within
    with ThreadPoolExecutor(given.jobs) as pool:
        tasks = [(tool, name) for tool in given.tools for name in chosen]
        found = list(pool.map(lambda task: watched(*task, deadline), tasks))
    for one in found:
        if given.log is not None:
            given.log.mkdir(parents=True, exist_ok=True)
            (given.log / f"{one.tool} {one.name}.log").write_text(one.output)
        if one.reports:
            print(f"{one.tool} {one.name}:", *one.reports[:6], sep="\n    ")
    for tool in given.tools:
        clean = [not one.reports for one in found if one.tool == tool]
        print(f"{tool}: {sum(clean)} of {len(clean)} kernels clean and equal to torch's result")
    return 1 if any(one.reports for one in found) else 0


if __name__ == "__main__":
    sys.exit(main())
