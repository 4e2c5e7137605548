"""Attention on a GPU, forward and backward, side by side in one run: minitriton, Triton, torch.

    python benchmarks/attention.py [SUBSTRING ...] [--without PASS[,PASS]] [--json FILE]

Random data. The results of both compilers are compared with torch's before anything is timed; a wrong one is an error. The tile of the
forward kernel is the fastest of `attention_cases.TILES` for Triton at 4,096 rows; both compilers run that one. For each case: TFLOP/s of
the three, minitriton's speed as a ratio to Triton's (the median of rounds in balanced orders), with `--without` also
to minitriton's without these passes, and registers, spilled registers and bytes of shared memory of both kernels. About 4 minutes on an
H200; exit code 1 if a case failed.
"""

from __future__ import annotations

import argparse
import functools
import math
import statistics
import sys
from typing import Any

from attention_cases import TILES, Attention, Tile, cases
from contest import Row, largest_difference, median_milliseconds, print_table, ratio, resources, time_in_turns
from requirements_here import need_gpu

from minitriton_kernels.cases import load_kernels

TOLERANCE = 2e-2


@functools.cache
def best_tile(width: int, causal: bool) -> Tile:
    """The tile with which Triton's kernel is fastest."""
    case = Attention("float16", width, 4096, causal, False)
    tensors, kernels = case.make(), load_kernels("attention", "triton")
    times = {tile: median_milliseconds(lambda tile=tile: case.forward(kernels, tensors, tile)) for tile in TILES[width]}
    return min(times, key=lambda tile: times[tile])


def check(case: Attention, compiler: str, tensors: dict[str, Any], wanted: dict[str, Any]) -> None:
    """Raises `AssertionError` where what the kernel left is not torch's result."""
    for name, expected in wanted.items():
        apart = largest_difference(tensors[name], expected)
        assert apart < TOLERANCE, f"{compiler}: {name} is wrong by {apart:.3g} of the largest number"


def measure(case: Attention, without: str) -> dict[str, Any]:
    """TFLOP/s of each contender, ratios, what both kernels take. Raises `AssertionError` for a wrong result."""
    tensors, tile = case.make(), best_tile(case.width, case.causal)
    contenders = {"minitriton": ("minitriton", {}), "triton": ("triton", {})}
    if without:
        contenders["without"] = ("minitriton", {"without": without})
    result, gradients = case.library(tensors)
    wanted = {"o": result()}
    found: dict[str, Any] = {"name": case.name, "tile": "128x32 4w 5s" if case.backward else str(tile)}
    runs: dict[str, Any] = {"torch": gradients or result}
    for name, (compiler, options) in contenders.items():
        kernels = load_kernels("attention", compiler)
        tensors["o"].fill_(-7)
        kernel = case.forward(kernels, tensors, tile, **options)
        check(case, name, tensors, wanted)
        runs[name] = functools.partial(case.forward, kernels, tensors, tile, **options)
        if gradients is not None:
            kernel = case.gradients(kernels, tensors, **options)
            check(case, name, tensors, dict(zip(("dq", "dk", "dv"), gradients(), strict=True)))
            runs[name] = functools.partial(case.gradients, kernels, tensors, **options)
        found[f"{name} resources"] = resources(kernel)
    times = time_in_turns(runs)
    for name, milliseconds in times.items():
        found[name] = case.operations / statistics.median(milliseconds) / 1e9
    for key, other in (("ratio", "triton"), ("gain", "without")):
        if other in times:
            found[key] = ratio(times, other)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("names", nargs="*", help="only cases whose name contains all of these")
    parser.add_argument("--without", default="", help="passes to leave out in a fourth contender")
    parser.add_argument("--json", help="also write the figures to this file")
    arguments = parser.parse_args()
    need_gpu()
    head = f"{'attention':36} {'minitriton':>10} {'Triton':>7} {'torch':>7}  TFLOP/s {'ratio':>6} {'gain':>6}"
    print(head + "   tile, registers/spills/shared: minitriton, Triton", flush=True)
    chosen = [case for case in cases() if all(name in case.name for name in arguments.names)]
    return print_table(chosen, functools.partial(measure, without=arguments.without), _line, arguments.json)


def _line(row: Row) -> str:
    return (
        f"{row['name']:36} {row['minitriton']:10.1f} {row['triton']:7.1f} {row['torch']:7.1f}          "
        f"{row['ratio']:6.3f} {row.get('gain', math.nan):6.3f}"
        f"   {row['tile']}, {row['minitriton resources']}, {row['triton resources']}"
    )


if __name__ == "__main__":
    sys.exit(main())
