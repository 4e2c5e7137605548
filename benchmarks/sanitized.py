"""NVIDIA's compute-sanitizer on every kernel of `matmul.py` and `attention.py`, forward and backward.

    python benchmarks/sanitized.py [SUBSTRING ...] [--tools memcheck racecheck synccheck] [--compiler triton] [--without PASS[,PASS]]
        [--jobs N] [--within SECONDS] [--log FOLDER]

The tiles, warps and stages are those of the benchmarks, attention's forward kernels with each of their tiles; matrices and sequences are short
(`LONGEST`), since a tool takes a thousand times as long as a launch. A process for each kernel and tool, which also compares what the kernel
leaves with what torch makes of it on the CPU: racecheck stumbles over kernels of cuBLAS. Torch's kernels are not watched. A line for each that
has something to report, and one for each tool. With `--compiler triton` it is Triton's kernels that are watched. Exit code 1 where anything was
reported, a result was wrong or a process ended otherwise. Needs `compute-sanitizer` (of the CUDA toolkit) on the path or in /usr/local/cuda/bin.
"""

from __future__ import annotations

import argparse
import functools
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

from attention import TOLERANCE
from attention_cases import TILES, Attention, Tile, small_cases
from contest import largest_difference
from matmul_cases import Matmul, matmuls
from requirements_here import need_gpu

from minitriton_kernels.cases import load_kernels

LONGEST = 512
MATMUL_TOLERANCE = 1e-2
TOOLS = {
    "memcheck": (),
    "racecheck": ("--racecheck-report", "all", "--racecheck-detect-level", "warn"),
    "synccheck": (),
}
WATCHED = ("matmul", "attention", "row_products")
"""What is in the names of the kernels that are watched."""

EQUAL = "equal to torch's result"
_SILENT = ("COMPUTE-SANITIZER", "ERROR SUMMARY: 0 errors", "RACECHECK SUMMARY: 0 hazards displayed")


Options = dict[str, Any]


def launches() -> dict[str, Callable[[str, Options], float]]:
    """By name, what launches a kernel of a compiler with options and says how far off its result is, to how far it may be."""
    found: dict[str, Callable[[str, Options], float]] = {}
    for matmul in matmuls(LONGEST):
        found[matmul.name] = functools.partial(_matmul, matmul)
    for case in small_cases(LONGEST):
        if case.backward:
            found[case.name] = functools.partial(_backward, case)
        else:
            for tile in TILES[case.width]:
                found[f"{case.name} {tile}"] = functools.partial(_forward, case, tile)
    return found


def _matmul(matmul: Matmul, compiler: str, options: Options) -> float:
    import torch

    tensors = matmul.make()
    tensors["c"].fill_(-7)
    matmul.launch(load_kernels("matmul", compiler), tensors, **options)
    torch.cuda.synchronize()
    pairs = tensors.get("pairs") or [(tensors["a"], tensors["b"])]
    wanted = torch.cat([(a.cpu().double() @ b.cpu().double()).flatten() for a, b in pairs])
    return largest_difference(tensors["c"].cpu().flatten(), wanted) / MATMUL_TOLERANCE


def _forward(case: Attention, tile: Tile, compiler: str, options: Options) -> float:
    import torch

    tensors = case.make()
    case.forward(load_kernels("attention", compiler), tensors, tile, **options)
    torch.cuda.synchronize()
    return largest_difference(tensors["o"].cpu(), _attended(case, *_inputs(tensors))) / TOLERANCE


def _backward(case: Attention, compiler: str, options: Options) -> float:
    import torch

    tensors, kernels = case.make(), load_kernels("attention", compiler)
    case.forward(kernels, tensors, TILES[case.width][0], **options)
    case.gradients(kernels, tensors, **options)
    torch.cuda.synchronize()
    inputs = [each.requires_grad_() for each in _inputs(tensors)]
    wanted = torch.autograd.grad(_attended(case, *inputs), inputs, tensors["do"].cpu().double())
    names = ("dq", "dk", "dv")
    return max(largest_difference(tensors[n].cpu(), w) for n, w in zip(names, wanted, strict=True)) / TOLERANCE


def _inputs(tensors: dict[str, Any]) -> list[Any]:
    return [tensors[name].cpu().double() for name in ("q", "k", "v")]


def _attended(case: Attention, q: Any, k: Any, v: Any) -> Any:
    import torch

    return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=case.causal)


def launch(name: str, compiler: str, without: str) -> None:
    """What runs under a tool."""
    options = {"without": without} if without else {}
    print(EQUAL if launches()[name](compiler, options) < 1 else "WRONG", flush=True)


@dataclass(frozen=True)
class Watched:
    """What became of a kernel under a tool: what it printed, and what of that is a report or another failure."""

    tool: str
    name: str
    output: str
    reports: list[str]


def watched(tool: str, name: str, arguments: list[str], deadline: float) -> Watched:
    """Runs a kernel under a tool."""
    filters = [part for text in WATCHED for part in ("--kernel-name", f"kns={text}")]
    command = [
        _sanitizer(),
        "--tool",
        tool,
        *TOOLS[tool],
        *filters,
        sys.executable,
        __file__,
        "--launch",
        name,
        *arguments,
    ]
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
    parser.add_argument("--compiler", choices=("minitriton", "triton"), default="minitriton")
    parser.add_argument("--without", default="", metavar="PASS[,PASS]", help="passes to leave out")
    parser.add_argument("--jobs", type=int, default=4, help="processes at once (default: %(default)s)")
    parser.add_argument(
        "--within", type=float, default=1800.0, metavar="SECONDS", help="for all (default: %(default)s)"
    )
    parser.add_argument("--log", type=Path, metavar="FOLDER", help="what the tools print, whole")
    parser.add_argument("--launch", metavar="NAME", help=argparse.SUPPRESS)
    given = parser.parse_args()
    need_gpu()
    if given.launch:
        launch(given.launch, given.compiler, given.without)
        return 0
    chosen = [n for n in launches() if not given.names or any(part in n for part in given.names)]
    arguments = ["--compiler", given.compiler, "--without", given.without]
    deadline = time.monotonic() + given.within
    with ThreadPoolExecutor(given.jobs) as pool:
        tasks = [(tool, name) for tool in given.tools for name in chosen]
        found = list(pool.map(lambda task: watched(*task, arguments, deadline), tasks))
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
