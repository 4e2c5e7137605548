"""Matrix matmuls on a GPU, side by side in one run: minitriton, Triton, torch.

    python benchmarks/matmul.py [SUBSTRING ...] [--without PASS[,PASS]] [--instead 'PASS{OPTIONS}' ...] [--json FILE]

Random data. The results of both compilers are compared with torch's before anything is timed; a wrong one is an error. For each
case: TFLOP/s of the three, minitriton's speed as a ratio to Triton's (the median of rounds in balanced orders), with `--without` or
`--instead` also to minitriton's own without these passes, or with a pass as given instead, and registers, spilled registers and bytes of
shared memory of both kernels. About 2 minutes on an H200; exit code 1 if a case failed.
"""

from __future__ import annotations

import argparse
import functools
import math
import statistics
import sys
from collections.abc import Callable, Sequence
from typing import Any

from contest import Row, largest_difference, print_table, ratio, resources, time_in_turns
from matmul_cases import Matmul, Tile, matmuls
from requirements_here import need_gpu

from minitriton.pipeline.pipelines import pipeline_for
from minitriton.target import CUDAOptions, GPUTarget
from minitriton_kernels.cases import load_kernels


def changed_options(tile: Tile, without: str, instead: Sequence[str]) -> dict[str, Any]:
    """Options of a kernel of `tile` that is compiled without some passes, or with passes as given instead of those of their names."""
    if not instead:
        return {"without": without} if without else {}
    options = CUDAOptions(num_warps=tile.warps, num_stages=tile.stages)
    pipeline = pipeline_for(GPUTarget("cuda", 90, 32), options)
    for step in instead:
        pipeline = pipeline.replace(step.partition("{")[0], step)
    return {"pipeline": str(pipeline)}


def measure(matmul: Matmul, without: str, instead: Sequence[str]) -> dict[str, Any]:
    """TFLOP/s of each contender, ratios, what both kernels take. Raises `AssertionError` for a wrong result."""
    tensors = matmul.make()
    contenders: dict[str, tuple[str, dict[str, Any]]] = {"minitriton": ("minitriton", {}), "triton": ("triton", {})}
    if changed := changed_options(matmul.tile, without, instead):
        contenders["changed"] = ("minitriton", changed)
    wanted = matmul.library(tensors)
    found: dict[str, Any] = {"name": matmul.name}
    runs: dict[str, Callable[[], Any]] = {"torch": functools.partial(matmul.library, tensors)}
    for name, (compiler, options) in contenders.items():
        runs[name] = functools.partial(matmul.launch, load_kernels("matmul", compiler), tensors, **options)
        tensors["c"].fill_(-7)
        found[f"{name} resources"] = resources(runs[name]())
        apart = largest_difference(tensors["c"], wanted)
        assert apart < matmul.tolerance, f"{name} is wrong: {apart:.3g} of the largest number"
        found[f"{name} difference"] = apart
    found["milliseconds by round"] = times = time_in_turns(runs)
    for name, milliseconds in times.items():
        found[name] = matmul.operations / statistics.median(milliseconds) / 1e9
    for key, other in (("ratio", "triton"), ("gain", "changed")):
        if other in times:
            found[key] = ratio(times, other)
    return found


def arguments_of(line: Sequence[str] | None = None) -> argparse.Namespace:
    """What is asked for on a command line, or on that of the process."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("names", nargs="*", help="only cases whose name contains one of these")
    parser.add_argument("--without", default="", help="passes to leave out in a fourth contender")
    help = "a pass and its options, for the one of its name in a fourth contender; may be given again"
    parser.add_argument("--instead", action="append", default=[], help=help)
    parser.add_argument("--json", help="also write the figures to this file")
    return parser.parse_args(line)


def main() -> int:
    arguments = arguments_of()
    need_gpu()
    import torch

    torch.backends.cuda.matmul.allow_tf32 = True
    head = f"{'matmul':40} {'minitriton':>10} {'Triton':>8} {'torch':>8}  TFLOP/s {'ratio':>6} {'gain':>6}"
    print(head + "   registers/spills/shared: minitriton, Triton", flush=True)
    chosen = [each for each in matmuls() if not arguments.names or any(name in each.name for name in arguments.names)]
    measured = functools.partial(measure, without=arguments.without, instead=arguments.instead)
    return print_table(chosen, measured, _line, arguments.json)


def _line(row: Row) -> str:
    return (
        f"{row['name']:40} {row['minitriton']:10.1f} {row['triton']:8.1f} {row['torch']:8.1f}          "
        f"{row['ratio']:6.3f} {row.get('gain', math.nan):6.3f}"
        f"   {row['minitriton resources']}, {row['triton resources']}"
    )


if __name__ == "__main__":
    sys.exit(main())
