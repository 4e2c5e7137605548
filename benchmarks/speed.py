"""Kernel speed on a GPU, side by side in one run: minitriton, Triton, torch.

    python benchmarks/speed.py [SUBSTRING ...] [--variant OPTION=VALUE ...] [--json FILE]

For each workload: bytes over the median time in GB/s, and minitriton's speed as a ratio to Triton's. Contenders take turns
in balanced orders, so that clock drift and what ran before hit all alike; results are compared before anything is timed. `--variant` adds
minitriton compiled with other options, and how much faster it is without them: `--variant without=minitriton` shows what
the passes gain that Triton does not have, `--variant maxnreg=64` what a limit of registers costs.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

from contest import time_in_turns
from requirements_here import need_gpu
from workload import Tensors, WithOptions, Workload
from workloads import workloads

from minitriton_kernels.cases import load_kernels

ROUNDS = 5


def median_milliseconds(run: Any) -> float:
    from triton.testing import do_bench

    return do_bench(run, warmup=15, rep=60, return_mode="median")


def contenders(file: str, variant: dict[str, Any]) -> dict[str, Any]:
    """The kernels of a file from each compiler, and from minitriton with other options."""
    found = {compiler: load_kernels(file, compiler) for compiler in ("minitriton", "triton")}
    if variant:
        found["variant"] = WithOptions(found["minitriton"], variant)
    return found


def bits(tensor: Any) -> Any:
    """The bytes of a tensor, which compare where numbers would not (NaN, 8-bit floats)."""
    import torch

    return tensor.view(torch.uint8)


def results_of(workload: Workload, kernels: Any, tensors: Tensors) -> dict[str, Any]:
    """What one run leaves in the results, from results that were all ones (NaN, -1) before."""
    for key in workload.results:
        bits(tensors[key]).fill_(0xFF)
    workload.launch(kernels, tensors)
    return {key: tensors[key].clone() for key in workload.results}


def difference(workload: Workload, tensors: Tensors, results: dict[str, Any]) -> float:
    """How far results are from torch's, relative to the largest number of each; what is left in `tensors` is checked if torch cannot."""
    if workload.check is not None:
        return workload.check(tensors)
    reference = workload.library(tensors)
    references = reference if isinstance(reference, tuple) else (reference,)
    worst = 0.0
    for key, wanted in zip(workload.results, references, strict=True):
        apart = (results[key].float() - wanted.float()).abs().max().item()
        worst = max(worst, apart / max(wanted.float().abs().max().item(), 1e-30))
    return worst


def measure(workload: Workload, variant: dict[str, Any]) -> dict[str, Any]:
    """GB/s of each contender, the ratio to Triton, and the largest relative difference of the results."""
    import torch

    tensors = workload.make(torch)
    modules = contenders(workload.file, variant)
    results = {name: results_of(workload, kernels, tensors) for name, kernels in reversed(modules.items())}
    found: dict[str, Any] = {
        "name": workload.name,
        "difference": difference(workload, tensors, results["minitriton"]),
        "equal": all(
            torch.equal(bits(results[name][key]), bits(results["minitriton"][key]))
            for name in modules
            for key in workload.results
        ),
    }
    runs: dict[str, Callable[[], Any]] = {
        name: (lambda kernels=kernels: workload.launch(kernels, tensors)) for name, kernels in modules.items()
    }
    runs["torch"] = lambda: workload.library(tensors)
    times = time_in_turns(runs, median_milliseconds, ROUNDS)
    moved = workload.bytes_moved(tensors) / 1e6
    for name, seconds in times.items():
        found[name] = moved / statistics.median(seconds)
    for name, key in (("ratio", "triton"), ("gain", "variant")):
        if key in times:
            found[name] = statistics.median(t / m for m, t in zip(times["minitriton"], times[key], strict=True))
    return found


def option_of(text: str) -> tuple[str, Any]:
    """A compile option from `name=value`."""
    name, _, value = text.partition("=")
    return name, int(value) if value.isdigit() else value


def copy_limit() -> float:
    """GB/s of a device-to-device copy, bytes read plus bytes written."""
    import torch

    source = torch.empty(1 << 30, dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    return 2 * source.numel() / 1e6 / median_milliseconds(lambda: target.copy_(source))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("names", nargs="*", help="only workloads whose name contains one of these")
    parser.add_argument("--variant", action="append", default=[], help="also measure minitriton with this option")
    parser.add_argument("--json", help="also write the figures to this file")
    arguments = parser.parse_args()
    need_gpu()
    variant = dict(option_of(text) for text in arguments.variant)
    limit = copy_limit()
    print(f"copy limit {limit:.0f} GB/s\n")
    gain = f"{'gain':>7}" if variant else ""
    print(f"{'workload':40} {'minitriton':>10} {'Triton':>8} {'torch':>8}  GB/s   {'ratio':>6}{gain}  of copy  equal")
    rows: list[dict[str, Any]] = []
    for workload in workloads():
        if arguments.names and not any(n in workload.name for n in arguments.names):
            continue
        try:
            row = measure(workload, variant)
        except Exception as error:
            print(f"{workload.name:40} failed: {type(error).__name__}: {error}"[:400], flush=True)
            continue
        rows.append(row)
        gain = f"{row['gain']:7.3f}" if variant else ""
        print(
            f"{row['name']:40} {row['minitriton']:10.0f} {row['triton']:8.0f} {row['torch']:8.0f}         "
            f"{row['ratio']:6.3f}{gain}  {row['minitriton'] / limit:7.3f}  {row['equal']}  {row['difference']:.1e}",
            flush=True,
        )
        if arguments.json:
            Path(arguments.json).write_text(json.dumps({"copy": limit, "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
