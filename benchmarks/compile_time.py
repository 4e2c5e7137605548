"""Compile time, cache cold and process warm, side by side with Triton, by stage. Needs no GPU.

    python benchmarks/compile_time.py [--rounds N] [--json FILE]

Each kernel is compiled once to warm both compilers up, then `rounds` times; the median of each stage counts. Triton's
stages are taken from its compilation listener.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))

import numpy as np
from cases import CASES, Case, load_kernels

from minitriton.runtime.arguments import specialize

STAGES = ("frontend", "ttir", "ttgir", "llir", "ptx", "cubin")


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


def compile_once(case: Case, compiler: str) -> dict[str, float]:
    """Seconds of each stage of one compile with an empty cache."""
    signature, constexprs, attrs = signature_of(case)
    kernel = getattr(load_kernels(case.file, compiler), case.kernel)
    folder = tempfile.mkdtemp()
    os.environ["TRITON_CACHE_DIR"] = folder
    try:
        if compiler == "minitriton":
            return _ours(kernel, signature, constexprs, attrs, case)
        return _triton(kernel, signature, constexprs, attrs, case)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _ours(kernel: Any, signature: Any, constexprs: Any, attrs: Any, case: Case) -> dict[str, float]:
    import minitriton
    from minitriton.compiler import ASTSource
    from minitriton.target import GPUTarget

    start = time.perf_counter()
    compiled = minitriton.compile(
        ASTSource(kernel, signature, constexprs, attrs), GPUTarget("cuda", 90, 32), {"num_warps": case.num_warps}
    )
    compiled.asm["cubin"]
    return {**compiled.stage_seconds, "total": time.perf_counter() - start}


def _triton(kernel: Any, signature: Any, constexprs: Any, attrs: Any, case: Case) -> dict[str, float]:
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    found: dict[str, float] = {}

    def listener(src: Any, metadata: Any, metadata_group: Any, times: Any, cache_hit: bool) -> None:
        found["frontend"] = times.ir_initialization / 1e6
        for stage, microseconds in times.lowering_stages:
            found[stage] = microseconds / 1e6

    triton.knobs.compilation.listener = listener
    start = time.perf_counter()
    triton.compile(
        ASTSource(kernel, signature, constexprs, attrs),
        target=GPUTarget("cuda", 90, 32),
        options={"num_warps": case.num_warps},
    )
    found["total"] = time.perf_counter() - start
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("names", nargs="*", help="only cases whose name contains one of these")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", help="also write the figures to this file")
    arguments = parser.parse_args()
    print(f"{'kernel':16} {'':10}" + "".join(f"{s:>10}" for s in STAGES) + f"{'total':>10}  ratio   (ms)")
    sums = {"minitriton": 0.0, "triton": 0.0}
    rows: list[dict[str, Any]] = []
    for case in CASES:
        if arguments.names and not any(n in case.name for n in arguments.names):
            continue
        medians: dict[str, dict[str, float]] = {}
        runs: dict[str, list[dict[str, float]]] = {"minitriton": [], "triton": []}
        for round in range(arguments.rounds + 1):
            for compiler, collected in runs.items():
                times = compile_once(case, compiler)
                if round:
                    collected.append(times)
        for compiler, collected in runs.items():
            medians[compiler] = {s: statistics.median(r.get(s, 0.0) for r in collected) for s in (*STAGES, "total")}
            sums[compiler] += medians[compiler]["total"]
        ratio = medians["minitriton"]["total"] / medians["triton"]["total"]
        for compiler, found in medians.items():
            shown = "".join(f"{found[s] * 1e3:10.1f}" for s in (*STAGES, "total"))
            print(
                f"{case.name if compiler == 'minitriton' else '':16} {compiler:10}{shown}"
                + (f"  {ratio:.2f}" if compiler == "minitriton" else ""),
                flush=True,
            )
        rows.append({"name": case.name, "ratio": ratio, **medians})
    ratio = sums["minitriton"] / sums["triton"] if sums["triton"] else float("nan")
    print(
        f"\nin total: minitriton {sums['minitriton'] * 1e3:.0f} ms, Triton {sums['triton'] * 1e3:.0f} ms, ratio {ratio:.2f}"
    )
    if arguments.json:
        Path(arguments.json).write_text(json.dumps({"ratio": ratio, "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
