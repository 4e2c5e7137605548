"""`minitriton mutate`: mutated IR, PTX and command lines, each run in a bounded child process.

minitriton mutate --count 5000 --kinds ttir,ttgir,llir --jobs 2
minitriton mutate --kinds ptx --only 1742 --keep k.ptx             one mutant of that run: its text, its command, what it says
"""

from __future__ import annotations

import argparse
import functools
import json
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from minitriton.commands.shared_options import add_time_limit, time_limit
from minitriton.errors import MinitritonError
from minitriton.fuzz.command import add_campaign_arguments, make_folder
from minitriton.host.subcommands import Subcommands
from minitriton.host.whole_file import write_whole

if TYPE_CHECKING:
    from minitriton.fuzz.mutation.verdict import Tools
    from minitriton.fuzz.running.campaign import Summary

MOST_SECONDS_OF_A_RUN = 5.0
"""For one run of a mutant on the emulator or the interpreter, where loops were changed to never end."""


def add_mutate_command(commands: Subcommands, tools: Tools) -> None:
    """Adds the subcommand to an `argparse` set of them; `tools` are the commands that mutants are given to."""
    mutate = commands.add_parser(
        "mutate", help="run mutated IR, PTX and command lines: each must end in a located error or a result"
    )
    add_campaign_arguments(mutate, "mutant", 200, least_jobs=1)
    mutate.add_argument("--keep", type=Path, metavar="FILE", help="with --only: where to write its text")
    mutate.add_argument(
        "--kinds", default="", help="of ttir, ttgir, llir, ptx, command, pipeline, signature (default: all)"
    )
    add_time_limit(mutate, MOST_SECONDS_OF_A_RUN)
    mutate.set_defaults(run=functools.partial(run, tools=tools))


def run(given: argparse.Namespace, tools: Tools) -> int:
    """Runs the mutants and prints the account. 0 if nothing was found, else 1."""
    from minitriton.fuzz.mutation.verdict import evaluate
    from minitriton.fuzz.running import campaign

    if given.out is not None:
        make_folder(given.out)
    kinds = chosen_kinds(given.kinds)
    if given.only is not None and given.json:
        given.first, given.count = given.only, 1
    elif given.only is not None:
        with time_limit(given.emulator_seconds):
            return _run_one(given, kinds, tools)

    def watch(report: campaign.KernelReport) -> None:
        for finding in report.findings:
            print(f"mutant {report.number}: {finding.kind}: {finding.signature}", file=sys.stderr)

    numbers = range(given.first, given.first + given.count)
    with time_limit(given.emulator_seconds):
        summary = campaign.run(
            given.seed,
            numbers,
            kinds,
            given.jobs,
            watch,
            most_seconds=given.seconds,
            work=functools.partial(evaluate, tools=tools),
        )
    print(json.dumps(as_json(summary))) if given.json else print(account(summary))
    if given.out is not None:
        write_whole(given.out / "summary.json", json.dumps(as_json(summary), indent=1) + "\n")
    if not summary.count:
        print(f"nothing was run in {given.seconds:g} s", file=sys.stderr)
    return 0 if summary.ok and summary.count else 1


def chosen_kinds(text: str) -> list[str]:
    """The kinds named, all for none. Raises `MinitritonError` for an unknown one."""
    from minitriton.fuzz.mutation.mutants import KINDS

    names = [name.strip() for name in text.split(",") if name.strip()] or list(KINDS)
    for name in names:
        if name not in KINDS:
            raise MinitritonError(f"no kind of mutant {name!r}", help="known: " + ", ".join(KINDS))
    return names


def account(summary: Summary) -> str:
    """What became of the mutants by kind, and the findings with the first mutant that shows each."""
    lines = [f"{summary.count} mutants of seed {summary.seed} in {summary.seconds:.0f} s"]
    lines += [f"  {n:6}  {name}" for name, n in sorted(summary.features.items())]
    lines.append(f"findings: {sum(map(len, summary.findings.values()))} of {len(summary.findings)} kinds")
    for finding, numbers in sorted(summary.findings.items(), key=lambda item: -len(item[1])):
        lines.append(
            f"  {len(numbers):6}  {finding.kind}: {finding.signature}: mutants {', '.join(map(str, sorted(numbers)[:6]))}"
        )
    return "\n".join(lines)


def as_json(summary: Summary) -> dict[str, object]:
    """Plain values."""
    return {
        "seed": summary.seed, "count": summary.count, "kinds": list(summary.oracles), "seconds": round(summary.seconds, 1),
        "outcomes": dict(sorted(summary.features.items())),
        "findings": [
            {"kind": f.kind, "signature": f.signature, "mutants": sorted(numbers), "text": f.text}
            for f, numbers in summary.findings.items()
        ],
    }  # fmt: skip


def _run_one(given: argparse.Namespace, kinds: list[str], tools: Tools) -> int:
    from minitriton.fuzz.mutation.mutants import mutant
    from minitriton.fuzz.mutation.verdict import evaluate

    with tempfile.TemporaryDirectory() as folder:
        number: int = given.only
        made = mutant(kinds[number % len(kinds)], given.seed, number, Path(folder))
        if made.path is not None and given.keep is not None:
            write_whole(given.keep, made.path.read_bytes())
        print(made.tool, *made.arguments)
    report = evaluate(given.seed, given.only, kinds, tools=tools)
    for finding in report.findings:
        print(f"{finding.kind}: {finding.signature}\n{finding.text}")
    print(*report.features)
    return 1 if report.findings else 0
