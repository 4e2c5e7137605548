"""NVIDIA's compute-sanitizer on every kernel of `matmul.py` and `attention.py`, forward and backward.

    python benchmarks/sanitized.py [SUBSTRING ...] [--tools memcheck racecheck synccheck] [--seconds N] [--log FOLDER]

The tiles, warps and stages are those of the benchmarks, attention's forward kernels with each of their tiles; matrices and sequences are short
(`LONGEST`), since a tool takes a thousand times as long as a launch. What the kernels leave is compared with torch's result in the same
process. A line for each tool: kernels launched, what it reported. Exit code 1 where it reported anything, a result was wrong, or not all
kernels were launched within `--seconds`. Needs `compute-sanitizer` (of the CUDA toolkit) on the path or in /usr/local/cuda/bin.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))

from attention import TOLERANCE
from attention_cases import TILES, Attention, small_cases
from cases import load_kernels
from contest import largest_difference
from matmul_cases import products
from requirements_here import need_gpu

LONGEST = 512
TOOLS = {
    "memcheck": (),
    "racecheck": ("--racecheck-report", "all", "--racecheck-detect-level", "warn"),
    "synccheck": (),
}
KERNELS = ("matmul", "attention", "row_products")
"""What the names of the kernels that are watched begin with or contain: torch's are not."""

_NO_REPORT = ("COMPUTE-SANITIZER", "ERROR SUMMARY: 0 errors", "RACECHECK SUMMARY: 0 hazards displayed")


def launches() -> Iterator[tuple[str, Callable[[], float]]]:
    """Name and launch of each kernel: how far off its result is, to what it may be."""
    for product in {each.name: each for each in products(LONGEST)}.values():
        yield product.name, lambda product=product: _product(product)
    for case in small_cases(LONGEST):
        if case.backward:
            yield case.name, lambda case=case: _backward(case)
        else:
            for tile in TILES[case.width]:
                yield f"{case.name} {tile}", lambda case=case, tile=tile: _forward(case, case.make(), tile)


def _product(product: Any) -> float:
    tensors = product.make()
    tensors["c"].fill_(-7)
    product.launch(load_kernels("matmul", "minitriton"), tensors)
    return largest_difference(tensors["c"], product.library(tensors)) / product.tolerance


def _forward(case: Attention, tensors: dict[str, Any], tile: Any) -> float:
    case.forward(load_kernels("attention", "minitriton"), tensors, tile)
    result, _ = case.library(tensors)
    return largest_difference(tensors["o"], result()) / TOLERANCE


def _backward(case: Attention) -> float:
    tensors = case.make()
    apart = _forward(case, tensors, TILES[case.width][0])
    case.gradients(load_kernels("attention", "minitriton"), tensors)
    wanted = case.library(tensors)[1]()
    return max(
        apart,
        *(largest_difference(tensors[n], w) / TOLERANCE for n, w in zip(("dq", "dk", "dv"), wanted, strict=True)),
    )


def launch_all(substrings: list[str]) -> None:
    """What runs under a tool."""
    import torch

    torch.backends.cuda.matmul.allow_tf32 = True
    for name, launch in launches():
        if not substrings or any(text in name for text in substrings):
            print(f"launched {name}: {'equal' if launch() < 1 else 'WRONG'}", flush=True)


def sanitizer() -> str:
    """The path of compute-sanitizer; ends the program where there is none."""
    found = shutil.which("compute-sanitizer") or shutil.which("compute-sanitizer", path="/usr/local/cuda/bin")
    return found or sys.exit("compute-sanitizer is not there: install the CUDA toolkit, or put it on the path")


def watched(tool: str, substrings: list[str], seconds: float, log: Path | None) -> bool:
    """Runs all kernels under `tool`; whether it had nothing to say. Prints a line."""
    filters = [part for name in KERNELS for part in ("--kernel-name", f"kns={name}")]
    command = [sanitizer(), "--tool", tool, *TOOLS[tool], *filters, sys.executable, __file__, "--launch", *substrings]
    with tempfile.TemporaryFile("w+") as output:
        try:
            code = subprocess.run(command, stdout=output, stderr=output, timeout=seconds, env=_environment()).returncode
        except subprocess.TimeoutExpired:
            code = -1
        output.seek(0)
        text = output.read()
    if log is not None:
        log.mkdir(parents=True, exist_ok=True)
        (log / f"{tool}.log").write_text(text)
    launched = re.findall(r"^launched (.*): (equal|WRONG)$", text, re.M)
    wanted = sum(not substrings or any(part in name for part in substrings) for name, _ in launches())
    wrong = [name for name, result in launched if result == "WRONG"]
    reports = [
        line for line in text.splitlines() if line.startswith("=========") and not any(s in line for s in _NO_REPORT)
    ]
    print(
        f"{tool}: {len(launched)} of {wanted} kernels launched, {len(wrong)} wrong, {len(reports)} lines of reports",
        end="",
    )
    print(f" (exit code {code})" if code else "", flush=True)
    for line in [*wrong, *reports[:20], *([] if launched else text.splitlines()[-10:])]:
        print("   ", line)
    return len(launched) == wanted and not wrong and not reports and not code


def _environment() -> dict[str, str]:
    """torch keeps no memory to itself, so that what lies beside a tensor is nobody's."""
    return os.environ | {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="SUBSTRING", help="only kernels whose name contains one of these")
    parser.add_argument("--tools", nargs="+", choices=TOOLS, default=list(TOOLS))
    parser.add_argument("--seconds", type=float, default=400.0, help="for each tool (default: %(default)s)")
    parser.add_argument("--log", type=Path, metavar="FOLDER", help="what the tools print, whole")
    parser.add_argument("--launch", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    need_gpu()
    if given.launch:
        launch_all(given.names)
        return 0
    clean = [watched(tool, given.names, given.seconds, given.log) for tool in given.tools]
    return 0 if all(clean) else 1


if __name__ == "__main__":
    sys.exit(main())
