"""How well registers and shared memory of a configuration are predicted: what the model says next to what our compiler and its assembler make of it.

    python benchmarks/tile_resources.py --out FILE.jsonl --count 400 --seed 1     compiles configurations at random, a line each; run again it goes on
    python benchmarks/tile_resources.py --out FILE.jsonl --report                 the figures of what is compiled, predicted anew; no compiling
    python benchmarks/tile_resources.py --measured SEARCH.jsonl --report          the same of a file of `tile_search.py`

Needs no GPU. Configurations are drawn from the whole space of each kind of kernel (types, alignment; `tile_search_cases.py`), kinds in turns, and are
compiled as a launch does. A line has what the assembler took, and under which limits of registers it tried.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tile_search import add_recording_option, grouped, problem_of_case
from tile_search_cases import Case, cases

from minitriton.codegen.cubin_resources import kernel_resources
from minitriton.errors import MinitritonError
from minitriton.runtime.compiling import compile
from minitriton.runtime.tuning.problem import Problem
from minitriton.runtime.tuning.resources import resources
from minitriton.runtime.tuning.space import Fit, configurations
from minitriton.target import CUDAOptions, GPUTarget
from minitriton.target.architectures import architecture_named

MOST_REGISTERS = 255
NEAR = 0.1
SCHEDULE = 8
"""Of constants that take nothing of an SM, but parts of K."""

Row = dict[str, Any]


def drawn(target: GPUTarget, seed: int, only: str) -> Iterator[tuple[Case, Problem, Fit]]:
    """Configurations at random, kinds in turns, without end."""
    rng = random.Random(seed)
    kinds = [group[0] for group in grouped([case for case in cases() if only in case.name], target)]
    while True:
        for case, problem in kinds:
            yield case, problem, rng.choice(configurations(problem).kept)


def compiled(case: Case, problem: Problem, fit: Fit) -> Row:
    """One configuration as a launch compiles it."""
    schedule = dict.fromkeys(problem.roles.group, SCHEDULE) | dict.fromkeys(problem.roles.split_k, 1)
    schedule |= dict.fromkeys(problem.roles.programs, problem.multiprocessors)
    free = {name: value for name, value in schedule.items() if name not in problem.given}
    config = fit.config
    row: Row = {
        "case": case.name, "target": problem.target.arch, "kwargs": {**config.kwargs, **free}, "warps": config.num_warps, "stages": config.num_stages,
    }  # fmt: skip
    options = {**CUDAOptions.LAUNCHED, "num_warps": config.num_warps, "num_stages": config.num_stages}
    try:
        kernel = compile(problem.source_of(row["kwargs"]), problem.target, options)
    except MinitritonError as error:
        return row | {"error": error.message}
    cubin = kernel.asm["cubin"]
    taken = kernel_resources(cubin, kernel.metadata.name)
    attempts = [[a.limit, a.registers, a.spilled_bytes, a.assembler] for a in getattr(cubin, "attempts", ())]
    return row | {
        "shared": kernel.metadata.shared, "registers": taken.registers, "spills": taken.local_bytes, "attempts": attempts,
    }  # fmt: skip


def rows_of_search(file: Path) -> Iterator[Row]:
    """The configurations of a file of `tile_search.py`, each as a line of this program's."""
    for line in file.read_text().splitlines():
        row = json.loads(line)
        for config in row["configs"]:
            if "shared" in config:
                yield {**config, "case": row["case"], "target": row["target"]}


def predicted(rows: Iterable[Row]) -> Iterator[tuple[Row, str, int, int]]:
    """Each configuration that was compiled with its kind, and the bytes of shared memory and the registers that the model expects now."""
    by_name = {case.name: case for case in cases()}
    problems: dict[tuple[str, int], Problem] = {}
    for row in rows:
        key = row["case"], row["target"]
        if "error" in row or row["case"] not in by_name:
            continue
        if key not in problems:
            problems[key] = problem_of_case(by_name[row["case"]], GPUTarget("cuda", row["target"]))
        problem = problems[key]
        values = {**problem.given, **row["kwargs"]}
        taken = resources(
            problem.roles, values, row["warps"], row["stages"], architecture_named(problem.target.ttg_target)
        )
        family = " ".join(row["case"].split()[:2]) if row["case"].startswith("matmul") else row["case"]
        described = "described" if taken.is_described else taken.instruction or "no dot"
        yield row, f"{family}, {described}", taken.shared_bytes, taken.registers


def is_near(registers: int, expected: int) -> bool:
    """Whether an expectation is within 10 %, or says all where all are taken."""
    expected = min(expected, MOST_REGISTERS)
    return abs(expected - registers) <= NEAR * registers or expected >= MOST_REGISTERS <= registers


def report(rows: Sequence[Row], verbose: bool) -> None:
    """A line a kind, and the sum; what is not exact."""
    kinds: dict[str, list[tuple[bool, bool]]] = {}
    for row, kind, shared, registers in predicted(rows):
        near = is_near(row["registers"], registers)
        kinds.setdefault(kind, []).append((row["shared"] == shared, near))
        if row["shared"] != shared or (verbose and not near):
            print(
                f"    {row['case']} {row['kwargs']}, {row['warps']} warps, {row['stages']} stages: shared {row['shared']} (expected {shared}), "
                f"registers {row['registers']} (expected {registers})"
            )
    every = [pair for pairs in kinds.values() for pair in pairs]
    for kind, pairs in (*sorted(kinds.items()), ("all", every)):
        exact, near = (sum(pair[i] for pair in pairs) for i in range(2))
        share = 100 * near / max(len(pairs), 1)
        print(
            f"{kind:40} {len(pairs):6}   shared memory exact {exact:6}   registers within 10 % {near:6} ({share:.1f} %)"
        )
    errors = [row for row in rows if "error" in row]
    if errors:
        print(
            f"{len(errors)} could not be compiled, such as {errors[0]['case']} {errors[0]['kwargs']}: {errors[0]['error']}"
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="a file of JSON lines, to which configurations are added")
    parser.add_argument("--measured", type=Path, help="a file of `tile_search.py`")
    parser.add_argument("--count", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=3600, help="after these no other configuration is compiled")
    parser.add_argument("--arch", type=int, default=90)
    parser.add_argument("--only", default="", help="cases whose name has this")
    parser.add_argument("--report", action="store_true", help="compiles nothing")
    parser.add_argument(
        "--verbose", action="store_true", help="also each configuration whose registers are not within 10 %%"
    )
    add_recording_option(parser)
    arguments = parser.parse_args()
    lines = arguments.out.read_text().splitlines() if arguments.out and arguments.out.exists() else []
    rows: list[Row] = [json.loads(line) for line in lines]
    if not arguments.report:
        end = time.monotonic() + arguments.seconds
        for number, chosen in enumerate(drawn(GPUTarget("cuda", arguments.arch), arguments.seed, arguments.only)):
            if number >= arguments.count or time.monotonic() > end:
                break
            if number < len(lines):
                continue
            rows.append(compiled(*chosen))
            if arguments.out:
                with arguments.out.open("a") as file:
                    file.write(json.dumps(rows[-1]) + "\n")
    if arguments.measured:
        rows += rows_of_search(arguments.measured)
    report(rows, arguments.verbose)
    return 0


if __name__ == "__main__":
    sys.exit(main())
