"""Compile time, cache cold and process warm, side by side with Triton, by stage. Needs no GPU.

    python benchmarks/compile_time.py [NAME ...] [--dots] [--arch ARCH] [--rounds N] [--least] [--json FILE]

Each compiler has a process of its own, as in programs. Each kernel is compiled once to warm it up, then `rounds` times; in every
round each kernel by both compilers in turn, the other one first in every second round. Medians count; with `--least` the least of each
figure, which is what the work takes where other programs use the same processors. Stages and `total` are wall time, Triton's stages from its compilation
listener; `cpu` is processor time, children included (Triton runs `ptxas` as one), which other programs disturb less. The ratio is that of `cpu`.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import multiprocessing
import os
import resource
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from dot_sources import Source, dot_sources
from scratch import scratch

from minitriton.runtime.launching.arguments import specialize
from minitriton_kernels.cases import CASES, Case, load_kernels

COMPILERS = ("minitriton", "triton")
COLUMNS = ("frontend", "ttir", "ttgir", "llir", "assembly", "machine code", "total", "cpu")
NAMED = {"ptx": "assembly", "amdgcn": "assembly", "cubin": "machine code", "hsaco": "machine code"}
"""The stages that each target names in its own way."""


def processor_seconds() -> float:
    """User and system time of this process and of its finished children."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def signature_of(case: Case) -> tuple[dict[str, str], dict[str, Any], dict[tuple[int, ...], Any]]:
    """Signature, constexprs and attributes that a launch of `case` on aligned arrays has."""
    arguments = case.inputs(np.random.default_rng(0))
    names = list(load_kernels(case.file, "minitriton").__dict__[case.kernel].arg_names)
    signature: dict[str, str] = {}
    constexprs: dict[str, Any] = dict(case.constexprs)
    attrs: dict[tuple[int, ...], Any] = {}
    for index, (name, value) in enumerate(zip(names, arguments, strict=False)):
        kind, key = specialize(value, False, True, True)
        signature[name] = kind
        if kind == "constexpr":
            constexprs[name] = value
        elif key == "D" or kind.startswith("*"):
            attrs[(index,)] = [["tt.divisibility", 16]]
    for name in names[len(arguments) :]:
        signature[name] = "constexpr"
    return signature, constexprs, attrs


def source_of(name: str) -> Source:
    """What is compiled under that name."""
    case = next((c for c in CASES if c.name == name), None)
    if case is None:
        return dot_sources()[name]
    signature, constexprs, attributes = signature_of(case)
    aligned = tuple(list(signature)[place] for (place,) in attributes)
    return Source(case.file, case.kernel, signature, constexprs, {"num_warps": case.num_warps}, aligned)


def compile_once(name: str, compiler: str, arch: str) -> dict[str, float]:
    """Seconds of each of `COLUMNS` that one compile of the case or source `name` with an empty cache took."""
    source = source_of(name)
    signature, constexprs, attrs = source.signature, source.constexprs_of(compiler), source.attributes
    kernel = getattr(load_kernels(source.file, compiler), source.kernel)
    folder = tempfile.mkdtemp()
    os.environ["TRITON_CACHE_DIR"] = folder
    run = _ours if compiler == "minitriton" else _triton
    try:
        wall, processor = time.perf_counter(), processor_seconds()
        stages = run(kernel, signature, constexprs, attrs, source.options, arch)
        return {
            **{NAMED.get(stage, stage): seconds for stage, seconds in stages.items()},
            "total": time.perf_counter() - wall,
            "cpu": processor_seconds() - processor,
        }
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _target(arch: str) -> tuple[str, int | str, int]:
    """Back end, architecture and threads of a warp of `sm_90`, `gfx942`, ..."""
    if arch.startswith("gfx"):
        return "hip", arch, 64 if arch.startswith("gfx9") else 32
    return "cuda", int(arch.removeprefix("sm_")), 32


def _ours(
    kernel: Any, signature: Any, constexprs: Any, attrs: Any, options: dict[str, int], arch: str
) -> dict[str, float]:
    import minitriton
    from minitriton.compiler import ASTSource
    from minitriton.target import GPUTarget

    compiled = minitriton.compile(ASTSource(kernel, signature, constexprs, attrs), GPUTarget(*_target(arch)), options)
    compiled.asm["hsaco" if arch.startswith("gfx") else "cubin"]
    return compiled.stage_seconds


def _triton(
    kernel: Any, signature: Any, constexprs: Any, attrs: Any, options: dict[str, int], arch: str
) -> dict[str, float]:
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    found: dict[str, float] = {}

    def listener(src: Any, metadata: Any, metadata_group: Any, times: Any, cache_hit: bool) -> None:
        found["frontend"] = times.ir_initialization / 1e6
        for stage, microseconds in times.lowering_stages:
            found[stage] = microseconds / 1e6

    triton.knobs.compilation.listener = listener
    triton.compile(
        ASTSource(kernel, signature, constexprs, attrs),
        target=GPUTarget(*_target(arch)),
        options=options,
    )
    return found


def measure(
    names: list[str], rounds: int, middle: Callable[[list[float]], float] = statistics.median, arch: str = "sm_90"
) -> list[dict[str, Any]]:
    """Per kernel its name and, by compiler, the seconds of each of `COLUMNS`: `middle` of the rounds."""
    runs: dict[str, dict[str, list[dict[str, float]]]] = {name: {each: [] for each in COMPILERS} for name in names}
    with contextlib.ExitStack() as stack:
        stack.enter_context(scratch())
        context = multiprocessing.get_context("spawn")
        processes = {each: stack.enter_context(ProcessPoolExecutor(1, context)) for each in COMPILERS}
        for round in range(rounds + 1):
            for name in names:
                for compiler in COMPILERS if round % 2 else reversed(COMPILERS):
                    times = processes[compiler].submit(compile_once, name, compiler, arch).result()
                    if round:
                        runs[name][compiler].append(times)
    return [
        {"name": name, **{compiler: _summary(times, middle) for compiler, times in of_kernel.items()}}
        for name, of_kernel in runs.items()
    ]


def _summary(runs: list[dict[str, float]], middle: Callable[[list[float]], float]) -> dict[str, float]:
    return {column: middle([run.get(column, 0.0) for run in runs]) for column in COLUMNS}


def report(rows: list[dict[str, Any]]) -> float:
    """Prints the table; returns the ratio of the sums of processor time."""
    print(f"{'kernel':16} {'':10}" + "".join(f"{c:>10}" for c in COLUMNS) + "  ratio   (ms)")
    sums = {compiler: {c: sum(row[compiler][c] for row in rows) for c in COLUMNS} for compiler in COMPILERS}
    total = {"name": "in total", **sums}
    for row in [*rows, total]:
        for compiler in COMPILERS:
            name, shown = (row["name"], f"  {_ratio(row):.2f}") if compiler == "minitriton" else ("", "")
            print(f"{name:16} {compiler:10}" + "".join(f"{row[compiler][c] * 1e3:13.1f}" for c in COLUMNS) + shown)
    wall = sums["minitriton"]["total"] / sums["triton"]["total"]
    print(f"\nratio of wall time {wall:.2f}, of processor time {_ratio(total):.2f}")
    return _ratio(total)


def _ratio(row: dict[str, Any]) -> float:
    return row["minitriton"]["cpu"] / row["triton"]["cpu"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("names", nargs="*", help="only cases whose name contains one of these")
    parser.add_argument("--dots", action="store_true", help="the kernels of dot_sources.py, which have dots")
    parser.add_argument("--arch", default="sm_90", help="sm_80, sm_90, gfx942, ...")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--least", action="store_true", help="the least of the rounds in place of the median")
    parser.add_argument("--json", help="also write the figures to this file")
    arguments = parser.parse_args()
    known = list(dot_sources()) if arguments.dots else [case.name for case in CASES]
    wanted = [n for n in known if not arguments.names or any(part in n for part in arguments.names)]
    rows = measure(wanted, arguments.rounds, min if arguments.least else statistics.median, arguments.arch)
    ratio = report(rows)
    if arguments.json:
        Path(arguments.json).write_text(json.dumps({"ratio": ratio, "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
