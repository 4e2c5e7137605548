"""Compile time over the kernels of Triton's own tests, ours beside Triton's, process warm and cache cold. Needs no GPU.

    TRITON_SRC=... python tests/conformance/pass_by_pass.py --harvest DIR      (once)
    python benchmarks/compile_time_of_tests.py DIR [--rounds N] [--only SUBSTRING] [--slowest N]

The two compilers take turns kernel by kernel in one process, so that whatever else the machine does hits both. Of each kernel the
fastest of `rounds` compiles counts. Beside wall time stands processor time (children included: Triton runs `ptxas` as one), which
other programs disturb less. "To PTX" leaves the assembler out. Each compile starts in an empty cache folder.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import sys
import tempfile
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "conformance"))

from scratch import scratch
from triton_steps import load_kernel

COMPILERS = ("minitriton", "triton")
WARM_UP = 12
"""Kernels compiled by both before anything counts."""


@dataclass(frozen=True)
class Times:
    """Seconds of one compile. `to_ptx` and `stages` are wall time."""

    wall: float
    processor: float
    to_ptx: float
    stages: dict[str, float]


def processor_seconds() -> float:
    """User and system time of this process and of its finished children."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def compile_once(case: Any, compiler: str) -> Times:
    """One compile of a loaded kernel to a cubin, from an empty cache."""
    folder = tempfile.mkdtemp()
    os.environ["TRITON_CACHE_DIR"] = folder
    run = _minitriton if compiler == "minitriton" else _triton
    try:
        wall, processor = time.perf_counter(), processor_seconds()
        stages = run(case)
        wall, processor = time.perf_counter() - wall, processor_seconds() - processor
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return Times(wall, processor, wall - stages.get("cubin", 0.0), stages)


def _minitriton(case: Any) -> dict[str, float]:
    import minitriton
    from minitriton.compiler import ASTSource
    from minitriton.target import GPUTarget

    source = ASTSource(case.KERNEL, case.SIGNATURE, case.CONSTANTS, case.ATTRS)
    compiled = minitriton.compile(source, GPUTarget("cuda", case.ARCH, 32), case.OPTIONS)
    compiled.asm["cubin"]
    return compiled.stage_seconds


def _triton(case: Any) -> dict[str, float]:
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    found: dict[str, float] = {}

    def listener(src: Any, metadata: Any, metadata_group: Any, times: Any, cache_hit: bool) -> None:
        found["frontend"] = times.ir_initialization / 1e6
        found.update((stage, microseconds / 1e6) for stage, microseconds in times.lowering_stages)

    triton.knobs.compilation.listener = listener
    source = ASTSource(case.KERNEL, case.SIGNATURE, case.CONSTANTS, case.ATTRS)
    triton.compile(source, target=GPUTarget("cuda", case.ARCH, 32), options=dict(case.OPTIONS))
    return found


def best(runs: list[Times]) -> Times:
    """The least of each figure; stages are those of the fastest run."""
    fastest = min(runs, key=lambda t: t.wall)
    return Times(fastest.wall, min(t.processor for t in runs), min(t.to_ptx for t in runs), fastest.stages)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="")
    parser.add_argument("--slowest", type=int, default=15, help="how many of the worst kernels to list")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    files = [f for f in sorted(arguments.folder.glob("*.py")) if arguments.only in f.stem]
    cases = {f.stem: {c: load_kernel(f, c) for c in COMPILERS} for f in files}
    runs: dict[str, dict[str, list[Times]]] = {name: {c: [] for c in COMPILERS} for name in cases}
    with scratch():
        for name in list(cases)[:: max(1, len(cases) // WARM_UP)]:
            for compiler in COMPILERS:
                compile_once(cases[name][compiler], compiler)
        for _ in range(arguments.rounds):
            for name, of_kernel in runs.items():
                for compiler, times in of_kernel.items():
                    times.append(compile_once(cases[name][compiler], compiler))
    report(
        {name: {c: best(times) for c, times in of_kernel.items()} for name, of_kernel in runs.items()},
        arguments.slowest,
    )


def report(found: dict[str, dict[str, Times]], slowest: int) -> None:
    """Prints the sums, by stage too, and the kernels with the worst ratio."""
    print(f"{len(found)} kernels, seconds in total    minitriton    Triton   ratio")
    for figure in ("wall", "processor", "to_ptx"):
        ours, theirs = (sum(getattr(t[c], figure) for t in found.values()) for c in COMPILERS)
        print(f"{figure:32} {ours:12.2f} {theirs:9.2f} {ours / theirs:7.2f}")
    for stage in ("frontend", "ttir", "ttgir", "llir", "ptx", "cubin"):
        ours, theirs = (sum(t[c].stages.get(stage, 0.0) for t in found.values()) for c in COMPILERS)
        print(f"  {stage:30} {ours:12.2f} {theirs:9.2f} {ours / max(theirs, 1e-9):7.2f}")
    worse = sorted(found, key=lambda n: found[n]["triton"].wall - found[n]["minitriton"].wall)[:slowest]
    print("\nfurthest behind (milliseconds):")
    for name in worse:
        ours, theirs = found[name]["minitriton"], found[name]["triton"]
        stages = " ".join(f"{s} {1e3 * v:.0f}" for s, v in ours.stages.items())
        print(f"  {name:45} {1e3 * ours.wall:8.1f} {1e3 * theirs.wall:8.1f}   {stages}")


if __name__ == "__main__":
    main()
