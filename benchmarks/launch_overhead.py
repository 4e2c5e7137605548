"""Microseconds of host time of a launch, for every kind of argument and kernel, next to Triton's. Needs a GPU.

    python benchmarks/launch_overhead.py                 every kind
    python benchmarks/launch_overhead.py tuple autotuned   those whose name has one of these words in it

Launches are enqueued in batches small enough that the driver's queue never fills, so what is timed is the host's work. The compilers take turns,
kind by kind; each figure is a median of batches. The first line is a call of `cuLaunchKernelEx` alone, which both contain.
"""

from __future__ import annotations

import contextlib
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType

from requirements_here import need_gpu

from minitriton_kernels.cases import load_kernels

BATCH, BATCHES, TURNS = 100, 40, 3
KINDS = Path(__file__).parent / "launch_kinds"
COMPILERS = ("minitriton", "triton")


def batch_times(launch: Callable[[], object]) -> list[float]:
    """Microseconds a launch of each batch."""
    import torch

    times: list[float] = []
    for _ in range(BATCHES):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(BATCH):
            launch()
        times.append((time.perf_counter() - start) / BATCH * 1e6)
    return times


def compare(kind: str, launches: dict[str, Callable[[], object]], modules: dict[str, ModuleType]) -> dict[str, float]:
    """The median of each compiler that takes such a launch. Each is warmed up before it is timed."""
    for compiler in [c for c in launches if not takes(launches[c])]:
        del launches[compiler]
    times: dict[str, list[float]] = {compiler: [] for compiler in launches}
    for _ in range(TURNS):
        for compiler, launch in launches.items():
            with modules[compiler].AROUND.get(kind, contextlib.nullcontext)():
                for _ in range(BATCH // 2):
                    launch()
                times[compiler] += batch_times(launch)
    return {compiler: statistics.median(found) for compiler, found in times.items()}


def takes(launch: Callable[[], object]) -> bool:
    """Whether the compiler takes such arguments; Triton takes no integer of NumPy's and no descriptor in a tuple."""
    try:
        launch()
    except (TypeError, AssertionError):
        return False
    return True


def driver_alone(launches: dict[str, Callable[[], object]]) -> float:
    """The call of the driver that a launch with three arguments makes, without anything before it."""
    launch = launches["three arguments"]().loaded().positional(())
    return statistics.median(batch_times(lambda: launch(1, 1, 1, 0, 0, 0, 0)))


def main(wanted: Sequence[str]) -> None:
    need_gpu()
    import torch

    def tensor(dtype: str, *shape: int) -> object:
        return torch.zeros(shape, dtype=getattr(torch, dtype), device="cuda")

    modules = {compiler: load_kernels(str(KINDS), compiler) for compiler in COMPILERS}
    launches = {compiler: module.kinds(tensor) for compiler, module in modules.items()}
    print(f"cuLaunchKernelEx {driver_alone(launches['minitriton']):.2f} µs")
    print(f"{'kind':28} {'minitriton':>10} {'triton':>10} {'ratio':>6}")
    for kind in launches["minitriton"]:
        if wanted and not any(word in kind for word in wanted):
            continue
        found = compare(kind, {c: launches[c][kind] for c in COMPILERS}, modules)
        ours, theirs = (found.get(compiler, float("nan")) for compiler in COMPILERS)
        print(f"{kind:28} {ours:10.2f} {theirs:10.2f} {ours / theirs:6.2f}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
