"""Lists of tile sizes next to the model's: which share of the best of an exhaustive search their best entry reaches, by recorded times.

    python benchmarks/tile_lists.py --measured SEARCH.jsonl                                        the tutorial's list, FlagGems', the model alone and its first four
    python benchmarks/tile_lists.py --measured SEARCH.jsonl --heuristics /elsewhere/bin/python     also `nvidia-matmul-heuristics`, asked by an interpreter that has it

`SEARCH.jsonl` is a file of `tile_search.py`; nothing runs on a GPU. An entry counts as the recorded configuration of the same tiles whose warps, then
stages, are nearest. Entries whose tiles were not recorded are left out and counted: a list is judged by the others.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tile_search import DEFAULT, add_recording_option, best_of, key_of, nothing_measured, problem_of_case, rows_of
from tile_search_cases import TUTORIAL, Case, cases

from minitriton.runtime.tuning.ranking import rank
from minitriton.target import GPUTarget

Entry = tuple[int, int, int, int, int]
"""BM, BN, BK, warps, stages."""
Times = Mapping[Entry, float]

GEMS_MM: tuple[Entry, ...] = (
    (64, 64, 64, 4, 5), (64, 128, 64, 4, 3), (64, 64, 128, 8, 4), (64, 128, 128, 8, 4), (64, 64, 64, 4, 4), (64, 64, 128, 4, 3),
    (64, 128, 64, 4, 4), (128, 128, 32, 8, 5), (128, 128, 32, 8, 4), (32, 64, 256, 4, 4), (16, 64, 256, 4, 4), (16, 64, 64, 2, 5),
    (16, 64, 128, 2, 4), (128, 128, 64, 8, 3),
)  # fmt: skip
GEMS_BMM: tuple[Entry, ...] = tuple(
    (m, n, 32, 4, stages)
    for stages in (2, 3)
    for m, n in ((32, 32), (64, 32), (64, 64), (128, 32), (128, 64), (128, 128))
)
"""FlagGems' configurations of `mm` and of `bmm` for NVIDIA GPUs: `src/flag_gems/runtime/backend/_nvidia/tune_configs.yaml` of FlagOpen/FlagGems at
532ff438 (2025-11-21)."""

PRECISIONS = {"fp16": "HSH", "bf16": "TST", "fp32": "SFS", "fp8e4nv": "QSH", "i8": "BII"}
TARGETS = ("CUTLASS3", "TRITON")
ASKED = 8
"""Configurations that the heuristics are asked for."""

_ASK = """
import json, sys
import nvMatmulHeuristics.nvMatmulHeuristics as h
found = []
for target in %r:
    asked = h.NvMatmulHeuristicsInterfaceEx(
        backend=h.NvMatmulHeuristicsTarget[target], flags=h.NvMatmulHeuristicsFlags.PERF_MODEL_BASED_AUTO_TUNING, gpu=h.NvMatmulHeuristicsNvidiaGpu.H200_SXM)
    for name, precision, layout, m, n, k, batch in json.load(sys.stdin):
        problem = asked.makeNvMatmulHeuristicsProblem(m, n, k, h.NvMatmulHeuristicsMatmulLayout[layout], batch)
        for each in asked.get(problem, %d, precision):
            c = each["kernel"] if isinstance(each, dict) else each
            warps = (c.cta_tile_m // c.warp_tile_m) * (c.cta_tile_n // c.warp_tile_n)
            found.append([target, name, [c.cta_tile_m, c.cta_tile_n, c.cta_tile_k, warps, c.stages], c.split_k, c.cluster_m * c.cluster_n])
print(json.dumps(found))
"""


def times_of(row: Mapping[str, Any]) -> dict[Entry, float]:
    """The recorded microseconds of a matmul."""
    return {
        (c["kwargs"]["BM"], c["kwargs"]["BN"], c["kwargs"]["BK"], c["warps"], c["stages"]): c["us"]
        for c in row["configs"]
        if "us" in c
    }


def nearest(entry: Entry, times: Times) -> Entry | None:
    """The recorded configuration of the same tiles with the nearest warps, then stages."""
    same = [key for key in times if key[:3] == entry[:3]]
    return min(same, key=lambda key: (abs(math.log2(key[3] / entry[3])), abs(key[4] - entry[4])), default=None)


def best_share(entries: Sequence[Entry], times: Times) -> tuple[float | None, int]:
    """The share of the best that the best entry reaches, None where none was recorded; how many entries were not."""
    found = [near for entry in entries if (near := nearest(entry, times)) is not None]
    share = min(times.values()) / min(times[key] for key in found) if found else None
    return share, len(entries) - len(found)


def ask(python: str, chosen: Sequence[Case]) -> dict[tuple[str, str], list[Entry]]:
    """By target and case, what `nvidia-matmul-heuristics` lists, the best first; entries that split K or span CTAs are asked for without that."""
    problems: list[list[Any]] = []
    for case in chosen:
        kind = case.name.split()[1]
        m, n, k = (v for v in case.arguments[3:6] if isinstance(v, int))
        batch = case.arguments[0].shape[0] if case.given["BATCHED"] else 1  # pyright: ignore[reportAttributeAccessIssue]
        layout = "NT_ROW_MAJOR" if kind in ("fp8e4nv", "i8") else "NN_ROW_MAJOR"
        problems.append([case.name, PRECISIONS[kind], layout, m, n, k, batch])
    done = subprocess.run(
        [python, "-c", _ASK % (TARGETS, ASKED)], input=json.dumps(problems), check=True, capture_output=True, text=True
    )
    found: dict[tuple[str, str], list[Entry]] = {}
    for target, name, entry, _, _ in json.loads(done.stdout.splitlines()[-1]):
        found.setdefault((target, name), []).append(tuple(entry))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measured", type=Path, required=True)
    parser.add_argument("--heuristics", metavar="PYTHON", help="an interpreter with nvidia-matmul-heuristics")
    add_recording_option(parser)
    arguments = parser.parse_args()
    by_name = {case.name: case for case in cases()}
    rows = [r for r in rows_of([arguments.measured]) if r["case"].startswith("matmul ") and "fatal" not in r]
    chosen = [by_name[row["case"]] for row in rows]
    asked = ask(arguments.heuristics, chosen) if arguments.heuristics else {}
    shares: dict[str, list[float]] = {}
    absent: dict[str, list[int]] = {}
    lines: list[str] = []
    for row, case in zip(rows, chosen, strict=True):
        times = times_of(row)
        problem = problem_of_case(case, GPUTarget("cuda", row["target"]))
        ranking = rank(problem, DEFAULT, nothing_measured(problem))
        keyed = {
            key_of(c.config): (
                *(c.config.kwargs[n] for n in ("BM", "BN", "BK")),
                c.config.num_warps,
                c.config.num_stages,
            )
            for c in ranking
        }
        known = {key: times[entry] for key, entry in keyed.items() if entry in times}
        ours = [keyed[key_of(c.config)] for c in ranking if key_of(c.config) in known][:1]
        lists: dict[str, Sequence[Entry]] = {
            "the model alone": ours,
            "its first four": [keyed[key_of(config)] for config in best_of(ranking, known)],
            "tutorial (16)": TUTORIAL,
            "FlagGems (mm 14, bmm 12)": GEMS_BMM if case.given["BATCHED"] else GEMS_MM,
        }
        for target in TARGETS if asked else ():
            entries = list(dict.fromkeys(asked.get((target, case.name), [])))
            for count in (1, 4, ASKED):
                lists[f"nvidia-matmul-heuristics, {target}, first {count}"] = entries[:count]
        found = {name: best_share(entries, times) for name, entries in lists.items()}
        for name, (share, missing) in found.items():
            absent.setdefault(name, []).append(missing)
            shares.setdefault(name, []).append(math.nan if share is None else share)
        lines.append(f"{case.name:40}" + " ".join("   -  " if s is None else f"{s:6.3f}" for s, _ in found.values()))
    print("\n".join(lines))
    complete = [i for i in range(len(rows)) if all(not math.isnan(values[i]) for values in shares.values())]
    print(
        f"{len(rows)} matmuls; {len(complete)} of which every list has an entry that was recorded: geometric means of these, and of all that a list has"
    )
    for name, values in shares.items():
        own = [value for value in values if not math.isnan(value)]
        both = [values[i] for i in complete]
        print(
            f"{name:48} {_mean(both):.3f}   {_mean(own):.3f} of {len(own)}, worst {min(own):.3f}, median {statistics.median(own):.3f}; "
            f"{sum(absent[name])} entries not recorded"
        )
    return 0


def _mean(values: Sequence[float]) -> float:
    return math.exp(statistics.fmean(math.log(value) for value in values))


if __name__ == "__main__":
    sys.exit(main())
