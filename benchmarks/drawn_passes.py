"""From a drawn launch to the pass that makes it slow: each pass of ours left out in turn, and Triton's choices throughout.

    python benchmarks/drawn_passes.py FILE.jsonl [--worst N]            the worst launches that `drawn.py` measured
    python benchmarks/drawn_passes.py attention:4 scan_rows:9 [--seed S]

For each launch a line for the kernel as it is, one for each optional pass without which its PTX is another, `minitriton` for all of them,
`describe_tiles` where a launch makes tensor maps of its pointers, and Triton: registers, bytes of spills, instructions of the GPU,
CTAs that an SM of Hopper holds. On a GPU also microseconds, in turns, and the speed next to the kernel as it is: more than 1 accuses the pass.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import statistics
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from machine_code import disassembled
from registers import facts, source_parts
from requirements_here import has_gpu
from speed_draws import drawn
from speed_families import make
from speed_shapes import Array, Launch

from minitriton.pipeline.pass_manager import Pipeline
from minitriton.pipeline.stages import assemble
from minitriton.target import GPUTarget
from minitriton_kernels.cases import load_kernels

WHOLE, TRITON = "as it is", "Triton"
ROUNDS = 4


def ours(launch: Launch, options: Mapping[str, Any]) -> Any:
    """The kernel compiled with further options."""
    import minitriton
    from minitriton.compiler import ASTSource

    parts, given = source_parts(launch, "minitriton")
    return minitriton.compile(ASTSource(*parts), GPUTarget("cuda", 90, 32), {**given, **options}, assemble=False)


def theirs(launch: Launch) -> Any:
    import triton
    from triton.backends.compiler import GPUTarget as TritonTarget
    from triton.compiler import ASTSource

    parts, options = source_parts(launch, "triton")
    return triton.compile(ASTSource(*parts), TritonTarget("cuda", 90, 32), options)


def optional_passes(compiled: Any) -> list[str]:
    """The passes of a kernel's pipeline that Triton lacks and that may be left out."""
    steps = Pipeline.parse(compiled.metadata.pipeline).steps
    return list(dict.fromkeys(step.name for step in steps if step.origin == "optional"))


def variants(launch: Launch) -> dict[str, tuple[dict[str, Any], dict[str, int]]]:
    """Of each line its options of a launch and its facts; passes without which the PTX is the same are not there."""
    whole = ours(launch, {})
    found: dict[str, tuple[dict[str, Any], dict[str, int]]] = {WHOLE: ({}, facts_of(launch, whole))}
    for name in [*optional_passes(whole), "minitriton"]:
        try:
            other = ours(launch, {"without": name})
        except Exception as error:
            print(f"  {name}: {type(error).__name__}: {str(error).strip().splitlines()[0][:100]}")
            continue
        if _code(other) != _code(whole):
            found[name] = {"without": name}, facts_of(launch, other)
    return found


def _code(compiled: Any) -> str:
    return re.sub(r"(?m)^\s*(//.*|\.loc.*|\.file.*)$", "", compiled.asm["ptx"])


def facts_of(launch: Launch, compiled: Any) -> dict[str, int]:
    ptx = compiled.asm["ptx"]
    cubin = (
        assemble(ptx, compiled.metadata.pipeline) if hasattr(compiled.metadata, "pipeline") else compiled.asm["cubin"]
    )
    threads = re.search(r"\.reqntid ([\d, ]+)", ptx)
    count = math.prod(int(n) for n in threads[1].split(",")) if threads else 32 * launch.num_warps
    found = facts(cubin, compiled.metadata.name, count, compiled.metadata.shared)
    return {**found, "instructions": sum(map(len, disassembled(cubin).values()))}


def times_of(launch: Launch, options: Mapping[str, Mapping[str, Any] | None]) -> dict[str, float]:
    """Microseconds of each line on a GPU, in turns; the options of Triton's are None."""
    import torch
    from triton.testing import do_bench

    torch.manual_seed(0)
    inputs = [make(a, torch) if isinstance(a, Array) else a for a in launch.arguments]

    def launcher(given: Mapping[str, Any] | None) -> Any:
        kernel = getattr(load_kernels(launch.file, "triton" if given is None else "minitriton"), launch.kernel)
        return lambda: kernel[launch.grid](*inputs, num_warps=launch.num_warps, **launch.constexprs, **(given or {}))

    runs = {name: launcher(given) for name, given in options.items()}
    times: dict[str, list[float]] = {name: [] for name in runs}
    for turn in range(ROUNDS + 1):
        for name in runs if turn % 2 else reversed(runs):
            times[name].append(do_bench(runs[name], warmup=3, rep=15, return_mode="median") * 1e3)
    return {name: statistics.median(each[1:]) for name, each in times.items()}


def report(launch: Launch) -> dict[str, dict[str, float]]:
    """Prints the lines of a launch; its figures."""
    print(f"\n{launch.name}")
    found = variants(launch)
    rows: dict[str, dict[str, float]] = {name: {**figures} for name, (_, figures) in found.items()}
    rows[TRITON] = {**facts_of(launch, theirs(launch))}
    if has_gpu():
        options: dict[str, Mapping[str, Any] | None] = {name: given for name, (given, _) in found.items()}
        times = times_of(launch, {**options, "describe_tiles": {"describe_tiles": False}, TRITON: None})
        for name, microseconds in times.items():
            rows.setdefault(name, {}).update(microseconds=microseconds, speed=times[WHOLE] / microseconds)
    columns = ("registers", "local", "instructions", "blocks", "microseconds", "speed")
    shown = [column for column in columns if any(column in row for row in rows.values())]
    print(f"{'  without':44}" + "".join(f"{column:>14}" for column in shown))
    for name, row in rows.items():
        cells = (
            f"{row[column]:14.2f}" if column == "speed" else f"{row[column]:14.0f}" for column in shown if column in row
        )
        print(f"  {name:42}" + ("" if "registers" in row else " " * 14 * (len(shown) - 2)) + "".join(cells))
    return rows


def chosen(what: list[str], worst: int, seed: int) -> list[Launch]:
    """The launches that are named, or the worst of a file."""
    found: list[tuple[str, int, int]] = []
    for each in what:
        if each.endswith(".jsonl"):
            rows = [row for row in map(json.loads, Path(each).read_text().splitlines()) if "ratio" in row]
            rows = sorted(rows, key=lambda row: row["ratio"])[:worst]
            found += [(row["family"], row["number"], row["seed"]) for row in rows]
        else:
            family, _, number = each.partition(":")
            found.append((family, int(number or 0), seed))
    return [drawn(*key) for key in found]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", nargs="+", metavar="FILE.jsonl | FAMILY:NUMBER")
    parser.add_argument("--worst", type=int, default=10, help="launches of a file (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of launches that are named (default: %(default)s)")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    arguments = parser.parse_args()
    figures: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TRITON_CACHE_DIR"] = folder
        for launch in chosen(arguments.what, arguments.worst, arguments.seed):
            try:
                figures[launch.name] = report(launch)
            except Exception as error:
                print(f"  {type(error).__name__}: {str(error).strip()[:200]}")
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
