"""Microseconds of host time for one launch of a kernel with three tensor arguments, and with three tensor descriptors made for the launch,
beside Triton's. Needs a GPU.

    python benchmarks/launch_overhead.py

Launches are enqueued in batches small enough that the driver's queue never fills, so what is timed is the host's work.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))

from cases import load_kernels
from matmul_cases import Tile, product_by_descriptors
from requirements_here import need_gpu

BATCH, BATCHES = 200, 200


def microseconds_per_launch(launch: Callable[[], object]) -> float:
    import torch

    for _ in range(BATCH):
        launch()
    times: list[float] = []
    for _ in range(BATCHES):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(BATCH):
            launch()
        times.append((time.perf_counter() - start) / BATCH)
    return statistics.median(times) * 1e6


def main() -> None:
    need_gpu()
    import torch

    x, y, out = (torch.zeros(32, device="cuda") for _ in range(3))
    product = product_by_descriptors("float16", 128, 128, 64, Tile(128, 128, 64))
    tensors = product.make()
    for compiler in ("minitriton", "triton"):
        kernel = load_kernels("three_arguments", compiler).three_arguments
        by_pointers = microseconds_per_launch(lambda kernel=kernel: kernel[(1,)](x, y, out))
        products = load_kernels("matmul", compiler)
        by_descriptors = microseconds_per_launch(lambda products=products: product.launch(products, tensors))
        print(f"{compiler:12} {by_pointers:.2f} µs a launch, {by_descriptors:.2f} with three descriptors made for it")


if __name__ == "__main__":
    main()
