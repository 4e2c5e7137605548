"""What each kernel of the corpus takes of an AMD GPU, compiled by minitriton and by Triton. Needs no GPU.

    python benchmarks/amd_beside_triton.py [SUBSTRING ...] [--arch gfx942] [--run] [--json FILE]

Instructions, VGPRs, SGPRs and bytes of LDS of the assembly; with `--run` also what it does on the AMDGCN emulator: instructions that waves issue,
bytes of global memory in sectors of 32, passes over LDS and how many of them are bank conflicts. For each figure the geometric mean of
minitriton's over Triton's, how many kernels have more and less, and those with over 1.10 of Triton's.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
from pathlib import Path

import numpy as np
from amd_emulated import assembly, passed

from minitriton.emulator import amdgcn
from minitriton.lab import corpus
from minitriton_kernels.cases import Case

MORE = 1.10
_INSTRUCTION = re.compile(r"^\s+([a-z]+_[a-z0-9_]+)\b", re.MULTILINE)
_RESOURCES = {
    "VGPRs": r"\.vgpr_count:\s+(\d+)",
    "SGPRs": r"\.sgpr_count:\s+(\d+)",
    "spilled": r"\.vgpr_spill_count:\s+(\d+)",
}


def resources(text: str, shared: int) -> dict[str, int]:
    """Of the assembly. LDS is what a launch asks for: Triton's, too, is dynamic."""
    found = {name: int(match[1]) if (match := re.search(pattern, text)) else 0 for name, pattern in _RESOURCES.items()}
    return {"instructions": len(_INSTRUCTION.findall(text)), **found, "LDS": shared}


def executed(case: Case, text: str, shared: int, seconds: float) -> dict[str, int]:
    """What the case's launch does on the emulator."""
    given = passed(case, case.inputs(np.random.default_rng(0)))
    report = amdgcn.run(text, None, case.grid, given, shared_bytes=shared, seconds=seconds)
    traffic = report.traffic.values()
    return {
        "issued": int(report.warps.sum()),
        "global bytes": 32 * sum(each.sectors for each in traffic),
        "LDS passes": sum(each.wavefronts for each in traffic),
        "conflicts": sum(each.conflicts for each in traffic),
    }


def measure(case: Case, arch: str, seconds: float | None) -> dict[str, dict[str, int]]:
    """By compiler its figures."""
    found: dict[str, dict[str, int]] = {}
    for compiler in ("minitriton", "triton"):
        text, shared = assembly(case, arch, compiler)
        found[compiler] = resources(text, shared)
        if seconds is not None:
            found[compiler].update(executed(case, text, shared, seconds))
    return found


def report(rows: dict[str, dict[str, dict[str, int]]]) -> None:
    columns = list(dict.fromkeys(name for row in rows.values() for name in row["minitriton"]))
    print(
        f"\n{'':14}{'kernels':>8}{'mean':>8}{'in total':>10}{'more':>7}{'less':>7}   geometric mean where both have some; in total over all"
    )
    for column in columns:
        pairs = [(row["minitriton"][column], row["triton"][column]) for row in rows.values() if column in row["triton"]]
        ratios = [ours / theirs for ours, theirs in pairs if ours and theirs]
        whole = sum(o for o, _ in pairs) / max(sum(t for _, t in pairs), 1)
        mean = statistics.geometric_mean(ratios) if ratios else 1.0
        more, less = sum(o > t for o, t in pairs), sum(o < t for o, t in pairs)
        print(f"{column:14}{len(ratios):8}{mean:8.3f}{whole:10.3f}{more:7}{less:7}")
    for column in columns:
        far = [(name, row["minitriton"][column], row["triton"][column]) for name, row in rows.items()]
        far = sorted((each for each in far if each[1] > MORE * each[2]), key=lambda each: each[2] / each[1])
        print(f"\n{column}, over {MORE:.2f} of Triton's: {len(far)}")
        for name, ours, theirs in far:
            print(f"  {name:48} {ours:9} {theirs:9} {ours / theirs if theirs else float('inf'):7.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="SUBSTRING")
    parser.add_argument("--arch", default="gfx942")
    parser.add_argument("--run", action="store_true", help="also on the emulator")
    parser.add_argument("--seconds", type=float, default=60.0, help="of one run on the emulator")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    arguments = parser.parse_args()
    rows: dict[str, dict[str, dict[str, int]]] = {}
    for case in corpus.cases():
        label = f"{Path(case.file).name}.{case.name}"
        if case.num_ctas > 1 or (arguments.names and not any(name in label for name in arguments.names)):
            continue
        try:
            rows[label] = measure(case, arguments.arch, arguments.seconds if arguments.run else None)
        except Exception as error:  # compilers' errors have no common class
            print(f"{label}: {type(error).__name__}: {str(error).strip().splitlines()[0][:120]}", flush=True)
    report(rows)
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
