"""Microseconds of host time for one launch of a kernel with three tensor arguments, beside Triton's. Needs a GPU.

    python benchmarks/launch_overhead.py

Launches are enqueued in batches small enough that the driver's queue never fills, so what is timed is the host's work.
"""

from __future__ import annotations

import statistics
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))

from cases import load_kernels
from requirements_here import need_gpu

BATCH, BATCHES = 200, 200


def microseconds_per_launch(kernel: Any, arguments: tuple[Any, ...]) -> float:
    import torch

    for _ in range(BATCH):
        kernel[(1,)](*arguments)
    times: list[float] = []
    for _ in range(BATCHES):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(BATCH):
            kernel[(1,)](*arguments)
        times.append((time.perf_counter() - start) / BATCH)
    return statistics.median(times) * 1e6


def main() -> None:
    need_gpu()
    import torch

    x, y, out = (torch.zeros(32, device="cuda") for _ in range(3))
    for compiler in ("minitriton", "triton"):
        kernel = load_kernels("three_arguments", compiler).three_arguments
        print(f"{compiler:12} {microseconds_per_launch(kernel, (x, y, out)):.2f} µs a launch")


if __name__ == "__main__":
    main()
