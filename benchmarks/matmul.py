"""Matrix products on a GPU, side by side in one run: minitriton, Triton, torch.

    python benchmarks/matmul.py [SUBSTRING ...] [--json FILE]

Random data. The results of both compilers are compared with torch's before anything is timed; a wrong one is an error. For each
case: TFLOP/s of the three, minitriton's speed as a ratio to Triton's (the median of rounds that begin with another contender each),
and registers, spilled registers and bytes of shared memory of both kernels. About 2 minutes on an H200; exit code 1 if a case failed.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))

from cases import load_kernels
from contest import Row, largest_difference, print_table, ratio, resources, time_in_turns
from matmul_cases import Product, products
from requirements_here import need_gpu


def measure(product: Product) -> dict[str, Any]:
    """TFLOP/s of each contender, the ratio to Triton, what both kernels take. Raises `AssertionError` for a wrong result."""
    tensors = product.make()
    modules = {compiler: load_kernels("matmul", compiler) for compiler in ("minitriton", "triton")}
    wanted = product.library(tensors)
    found: dict[str, Any] = {"name": product.name}
    for compiler, kernels in modules.items():
        tensors["c"].fill_(-7)
        kernel = product.launch(kernels, tensors)
        found[f"{compiler} resources"] = resources(kernel)
        apart = largest_difference(tensors["c"], wanted)
        assert apart < product.tolerance, f"{compiler} is wrong: {apart:.3g} of the largest number"
        found[f"{compiler} difference"] = apart
    runs = {name: (lambda kernels=kernels: product.launch(kernels, tensors)) for name, kernels in modules.items()}
    runs["torch"] = lambda: product.library(tensors)
    times = time_in_turns(runs)
    for name, milliseconds in times.items():
        found[name] = product.operations / statistics.median(milliseconds) / 1e9
    found["ratio"] = ratio(times, "triton")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("names", nargs="*", help="only cases whose name contains one of these")
    parser.add_argument("--json", help="also write the figures to this file")
    arguments = parser.parse_args()
    need_gpu()
    import torch

    torch.backends.cuda.matmul.allow_tf32 = True
    head = f"{'product':40} {'minitriton':>10} {'Triton':>8} {'torch':>8}  TFLOP/s {'ratio':>6}"
    print(head + "   registers/spills/shared: minitriton, Triton", flush=True)
    chosen = [each for each in products() if not arguments.names or any(name in each.name for name in arguments.names)]
    return print_table(chosen, measure, _line, arguments.json)


def _line(row: Row) -> str:
    return (
        f"{row['name']:40} {row['minitriton']:10.1f} {row['triton']:8.1f} {row['torch']:8.1f}          {row['ratio']:6.3f}"
        f"   {row['minitriton resources']}, {row['triton resources']}"
    )


if __name__ == "__main__":
    sys.exit(main())
