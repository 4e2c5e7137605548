"""Kernel speed on a GPU, side by side in one run: minitriton, Triton, torch.

    python benchmarks/speed.py [SUBSTRING ...] [--json FILE]

For each workload: bytes over the median time in GB/s, and minitriton's speed as a ratio to Triton's. Rounds alternate
between the compilers, so that clock drift hits both; results are compared before anything is timed.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))

from cases import load_kernels
from workloads import Workload, workloads

ROUNDS = 5


def median_milliseconds(run: Any) -> float:
    from triton.testing import do_bench

    return do_bench(run, warmup=15, rep=60, return_mode="median")


def measure(workload: Workload) -> dict[str, Any]:
    """GB/s of each contender, the ratio to Triton, and the largest relative difference of the results."""
    import torch

    tensors = workload.make(torch)
    kernels = {c: getattr(load_kernels(workload.file, c), workload.kernel) for c in ("minitriton", "triton")}
    results: dict[str, Any] = {}
    for compiler, kernel in kernels.items():
        tensors[workload.result].fill_(float("nan"))
        workload.launch(kernel, tensors)
        results[compiler] = tensors[workload.result].float().clone()
    reference = workload.library(tensors).float()
    scale = reference.abs().max().item()
    difference = (results["minitriton"] - reference).abs().max().item() / scale
    times: dict[str, list[float]] = {c: [] for c in (*kernels, "torch")}
    for _ in range(ROUNDS):
        for compiler, kernel in kernels.items():
            times[compiler].append(median_milliseconds(lambda k=kernel: workload.launch(k, tensors)))
        times["torch"].append(median_milliseconds(lambda: workload.library(tensors)))
    moved = workload.bytes_moved(tensors) / 1e6
    found: dict[str, Any] = {"name": workload.name, "difference": difference}
    for contender, seconds in times.items():
        found[contender] = moved / statistics.median(seconds)
    found["ratio"] = statistics.median(t / m for m, t in zip(times["minitriton"], times["triton"], strict=True))
    found["equal"] = bool(torch.equal(results["minitriton"], results["triton"]))
    return found


def copy_limit() -> float:
    """GB/s of a device-to-device copy, bytes read plus bytes written."""
    import torch

    source = torch.empty(1 << 30, dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    return 2 * source.numel() / 1e6 / median_milliseconds(lambda: target.copy_(source))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("names", nargs="*", help="only workloads whose name contains one of these")
    parser.add_argument("--json", help="also write the figures to this file")
    arguments = parser.parse_args()
    limit = copy_limit()
    print(f"copy limit {limit:.0f} GB/s\n")
    print(f"{'workload':34} {'minitriton':>10} {'Triton':>8} {'torch':>8}  GB/s   {'ratio':>6}  of copy  equal")
    rows: list[dict[str, Any]] = []
    for workload in workloads():
        if arguments.names and not any(n in workload.name for n in arguments.names):
            continue
        try:
            row = measure(workload)
        except Exception as error:
            print(f"{workload.name:34} failed: {type(error).__name__}: {error}"[:400])
            continue
        rows.append(row)
        print(
            f"{row['name']:34} {row['minitriton']:10.0f} {row['triton']:8.0f} {row['torch']:8.0f}         "
            f"{row['ratio']:6.3f}  {row['minitriton'] / limit:7.3f}  {row['equal']}  {row['difference']:.1e}",
            flush=True,
        )
    if arguments.json:
        Path(arguments.json).write_text(json.dumps({"copy": limit, "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
