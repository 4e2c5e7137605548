"""Assembly for AMD's GPUs of the corpus's kernels, by either compiler, on the AMDGCN emulator, results compared with NumPy. Needs no GPU.

    python benchmarks/amd_emulated.py [SUBSTRING ...] [--arch gfx942] [--compiler triton] [--seconds 60] [--failed]

A row for each kernel: instructions that waves issued, processor time of the run, the largest error relative to what the case allows, and what was
found. `--failed` prints those only that disagree, have findings or do not run. Kernels of clusters are left out: AMD's GPUs lack them.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from minitriton.emulator import amdgcn
from minitriton.errors import MinitritonError
from minitriton.lab import corpus
from minitriton.target.amd import ARCHITECTURES
from minitriton_kernels.cases import Case, load_kernels

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "parity"))
from building import source_parts


@dataclass(frozen=True)
class Outcome:
    """`state` is `agrees`, `differs`, `found`, `unknown` (the emulator refuses it) or `no assembly`."""

    case: Case
    state: str
    instructions: int = 0
    seconds: float = 0.0
    error: float = 0.0
    text: str = ""


def assembly(case: Case, arch: str, compiler: str) -> tuple[str, int]:
    """By "triton" or "minitriton", and the bytes of LDS."""
    kernel = getattr(load_kernels(case.file, compiler), case.kernel)
    lanes = ARCHITECTURES[arch].warp_size
    if compiler == "minitriton":
        from minitriton.compiler import ASTSource as OwnSource
        from minitriton.compiler import compile
        from minitriton.target import GPUTarget as OwnTarget

        made = compile(OwnSource(kernel, *source_parts(case)), OwnTarget("hip", arch, lanes), case.launch_options)
        return made.asm["amdgcn"], made.metadata.shared
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    source = ASTSource(kernel, *source_parts(case))
    compiled = triton.compile(source, target=GPUTarget("hip", arch, lanes), options=case.launch_options)
    return compiled.asm["amdgcn"], compiled.metadata.shared


def worst(actual: np.ndarray, wanted: np.ndarray, tolerance: float) -> float:
    """The largest error as a part of what the tolerance allows; NaN must meet NaN."""
    actual, wanted = actual.astype(np.float64), np.asarray(wanted, np.float64)
    equal = (actual == wanted) | (np.isnan(actual) & np.isnan(wanted))
    with np.errstate(all="ignore"):
        part = np.abs(actual - wanted) / (tolerance + tolerance * np.abs(wanted))
    return float(np.where(equal, 0, np.nan_to_num(part, nan=np.inf)).max(initial=0))


def passed(case: Case, arguments: Sequence[Any]) -> list[Any]:
    """Those of a case's arguments that a launch passes: the others are constexprs."""
    given = [a for a in arguments if isinstance(a, np.ndarray | int | float | np.generic)]
    return [a for a, kind in zip(given, source_parts(case)[0].values(), strict=False) if kind != "constexpr"]


def run(case: Case, text: str, shared: int, seconds: float) -> Outcome:
    """One kernel on the emulator."""
    arguments = case.inputs(np.random.default_rng(0))
    expected = case.expected(*(a.copy() if isinstance(a, np.ndarray) else a for a in arguments))
    given = passed(case, arguments)
    begun = time.process_time()
    try:
        report = amdgcn.run(text, None, case.grid, given, shared_bytes=shared, seconds=seconds)
    except MinitritonError as error:
        return Outcome(
            case, "unknown", text=f"{error.location}: {error}".splitlines()[0] + f" {getattr(error, 'source_line', '')}"
        )
    spent = time.process_time() - begun
    error = max(worst(np.asarray(arguments[n]), np.asarray(e), case.tolerance) for n, e in expected.items())
    state = "found" if report.findings else "agrees" if error <= 1 else "differs"
    return Outcome(case, state, int(report.warps.sum()), spent, error, "; ".join(map(str, report.findings[:2])))


def main() -> None:
    """Runs the kernels whose names have one of the substrings."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--compiler", default="triton", choices=("triton", "minitriton"))
    parser.add_argument("--arch", default="gfx942")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--failed", action="store_true")
    options = parser.parse_args()
    outcomes: list[Outcome] = []
    print(f"{'kernel':44} {'state':10} {'wave instr.':>11} {'s':>6} {'error':>8}")
    for case in corpus.cases():
        label = f"{Path(case.file).name}.{case.name}"
        if case.num_ctas > 1 or not (not options.names or any(n in label for n in options.names)):
            continue
        try:
            text, shared = assembly(case, options.arch, options.compiler)
        except Exception as error:  # compilers' errors have no common class
            outcome = Outcome(case, "no assembly", text=str(error).splitlines()[0][:100])
        else:
            outcome = run(case, text, shared, options.seconds)
        outcomes.append(outcome)
        if not options.failed or outcome.state != "agrees":
            row = f"{label:44} {outcome.state:10} {outcome.instructions:11} {outcome.seconds:6.2f} {outcome.error:8.2g} {outcome.text[:240]}"
            print(row.replace("\n", " "), flush=True)
    states = [o.state for o in outcomes]
    counts = ", ".join(f"{states.count(s)} {s}" for s in dict.fromkeys(states))
    total = sum(o.instructions for o in outcomes)
    print(
        f"{len(outcomes)} kernels for {options.arch} by {options.compiler}: {counts}; {total} instructions of waves in {sum(o.seconds for o in outcomes):.0f} s"
    )


if __name__ == "__main__":
    main()
