"""Matrix products on a GPU, side by side in one run: minitriton, Triton, torch.

    python benchmarks/matmul.py [SUBSTRING ...] [--json FILE]

Random data. The results of both compilers are compared with torch's before anything is timed; a wrong one is an error. For each
case: TFLOP/s of the three, minitriton's speed as a ratio to Triton's (the median of rounds that begin with another contender each),
and registers, spilled registers and bytes of shared memory of both kernels. About 2 minutes on an H200; exit code 1 if a case failed.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
import traceback
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))

from cases import load_kernels
from matmul_cases import Product, products
from requirements_here import need_gpu

ROUNDS = 3


def median_milliseconds(run: Any) -> float:
    from triton.testing import do_bench

    return do_bench(run, warmup=10, rep=40, return_mode="median")


def largest_difference(got: Any, wanted: Any) -> float:
    """The largest difference of two tensors, relative to the largest number; infinite for a NaN."""
    apart = (got.float() - wanted.float()).abs().max().item()
    return math.inf if math.isnan(apart) else apart / max(wanted.float().abs().max().item(), 1e-30)


def resources(kernel: Any) -> str:
    """Registers, spilled registers and bytes of shared memory of a compiled kernel."""
    return f"{kernel.n_regs}/{kernel.n_spills}/{kernel.metadata.shared}"


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
    times: dict[str, list[float]] = {name: [] for name in runs}
    order = list(runs)
    for turn in range(ROUNDS):
        for name in order[turn:] + order[:turn]:
            times[name].append(median_milliseconds(runs[name]))
    for name, milliseconds in times.items():
        found[name] = product.operations / statistics.median(milliseconds) / 1e9
    found["ratio"] = statistics.median(t / m for m, t in zip(times["minitriton"], times["triton"], strict=True))
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
    rows: list[dict[str, Any]] = []
    failed = False
    for product in products():
        if arguments.names and not any(name in product.name for name in arguments.names):
            continue
        try:
            row = measure(product)
        except Exception as error:
            failed = True
            traceback.print_exc(limit=-3)
            print(f"{product.name:40} {type(error).__name__}: {str(error).splitlines()[0][:120] if str(error) else ''}")
            rows.append({"name": product.name, "error": f"{type(error).__name__}: {error}"})
            continue
        rows.append(row)
        print(
            f"{row['name']:40} {row['minitriton']:10.1f} {row['triton']:8.1f} {row['torch']:8.1f}          {row['ratio']:6.3f}"
            f"   {row['minitriton resources']}, {row['triton resources']}",
            flush=True,
        )
    ratios = [row["ratio"] for row in rows if "ratio" in row]
    if ratios:
        mean = math.exp(statistics.fmean(map(math.log, ratios)))
        print(f"\ngeometric mean of the ratios {mean:.3f}, least {min(ratios):.3f}, of {len(ratios)} cases")
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(rows, indent=1) + "\n")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
