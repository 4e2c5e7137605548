"""`minitriton fuzz`: random kernels by every oracle, compared.

minitriton fuzz --count 20000 --seed 1 --jobs 16 --out fuzz-findings
minitriton fuzz --kind control-flow --count 100000 --seed 1        loops, branches and short dots against plain Python
minitriton fuzz --seed 1 --only 1742                               one kernel of that run again: its source and its numbers
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from minitriton import knobs
from minitriton.commands.shared_options import add_arch, add_json, add_time_limit, count_from, seconds_of, time_limit
from minitriton.errors import MinitritonError
from minitriton.host.subcommands import Subcommands
from minitriton.host.whole_file import write_whole
from minitriton.target import target_named

if TYPE_CHECKING:
    from minitriton.fuzz.kinds import FuzzKind
    from minitriton.fuzz.running.campaign import Summary

MOST_SHRUNK = 10
"""Findings that are made smaller at the end of a run."""


def add_fuzz_command(commands: Subcommands) -> None:
    """Adds the subcommand to an `argparse` set of them."""
    fuzz = commands.add_parser("fuzz", help="run random kernels by every oracle and compare what they compute")
    fuzz.add_argument(
        "--kind", choices=("tiles", "control-flow", "gluon"), default="tiles", help="of kernels (default: %(default)s)"
    )
    add_campaign_arguments(fuzz, "kernel", 100)
    fuzz.add_argument(
        "--oracles",
        help="of interpreter, ttir, ttgir, emulator, emulator-sm80, gpu; of tiles also triton, of control flow also python "
        "(default: interpreter,ttir,ttgir,emulator,triton; python,interpreter,ttir,emulator,emulator-sm80)",
    )
    add_arch(fuzz)
    fuzz.add_argument(
        "--shrink-seconds", type=float, default=30.0, help="to make one finding smaller (default: %(default)s)"
    )
    add_time_limit(fuzz, 20.0)
    fuzz.set_defaults(run=run)


def add_campaign_arguments(parser: argparse.ArgumentParser, what: str, count: int, least_jobs: int = 0) -> None:
    """What says which runs of a seed there are, over how many processes, for how long, and where the account goes."""
    parser.add_argument("--count", type=count_from(1), default=count, help=f"{what}s (default: %(default)s)")
    parser.add_argument("--first", type=count_from(0), default=0, help=f"number of the first {what}")
    parser.add_argument("--seed", type=int, default=0, help=f"of the run; {what} K of a seed is always the same")
    parser.add_argument(
        "--only",
        type=count_from(0),
        metavar="K",
        help=f"run {what} K by itself, in this process, and print what it says",
    )
    here = "" if least_jobs else "; 0: none but this, which waits for ever for what hangs"
    parser.add_argument(
        "--jobs",
        type=count_from(least_jobs),
        default=os.cpu_count() or 1,
        help=f"processes{here} (default: %(default)s)",
    )
    parser.add_argument(
        "--seconds", type=seconds_of, metavar="S", help="end the run after this time, whatever the count"
    )
    parser.add_argument("--out", type=Path, metavar="DIR", help="where summary.json goes, and a file for each finding")
    add_json(parser)


def run(given: argparse.Namespace) -> int:
    """Runs the kernels and prints the account. 0 if nothing was found, else 1."""
    with knobs.runtime.scope():
        if given.arch is not None:
            knobs.runtime.override_arch = target_named(given.arch).arch_option
        return _run(given)


def _run(given: argparse.Namespace) -> int:
    from minitriton.fuzz.kinds import fuzz_kernel, kind_named
    from minitriton.fuzz.running import campaign
    from minitriton.fuzz.running.campaign import as_json, as_text

    if given.out is not None:
        make_folder(given.out)
    kind = kind_named(given.kind)
    oracles = chosen_oracles(",".join(kind.default) if given.oracles is None else given.oracles, kind.oracles)
    if given.only is not None and given.json:
        given.first, given.count = given.only, 1
    elif given.only is not None:
        return kind.compare(given.seed, given.only, oracles)
    found: list[campaign.KernelReport] = []
    done: set[int] = set()

    def watch(report: campaign.KernelReport) -> None:
        done.add(report.number)
        if report.findings:
            found.append(report)
            for finding in report.findings:
                print(f"kernel {report.number}: {finding.kind}: {finding.signature}", file=sys.stderr)
        if len(done) % 1000 == 0:
            print(f"{len(done)} of {given.count} kernels, {len(found)} with findings", file=sys.stderr)

    numbers = range(given.first, given.first + given.count)
    with time_limit(given.emulator_seconds):
        summary = campaign.run(
            given.seed,
            numbers,
            oracles,
            given.jobs,
            watch,
            most_seconds=given.seconds,
            work=functools.partial(fuzz_kernel, kind.name),
        )
    print(json.dumps(as_json(summary))) if given.json else print(as_text(summary))
    if given.out is not None:
        write_whole(given.out / "summary.json", json.dumps(as_json(summary), indent=1) + "\n")
        _shrink_findings(given, kind, summary, oracles)
    left = next((number for number in numbers if number not in done), None)
    if left is not None:
        print(f"ended early: go on with --first {left} --count {numbers.stop - left}", file=sys.stderr)
    if not summary.compared:
        print(f"nothing was compared: none of {summary.count} kernels by two oracles", file=sys.stderr)
    return 0 if summary.ok and summary.compared else 1


def make_folder(path: Path) -> None:
    """Makes the folder of `--out`, before a run has taken its time. Raises `MinitritonError` where it cannot be written."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            pass
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise MinitritonError(
            f"cannot write to {path}: {why}", help="--out takes a folder that can be written"
        ) from None


def chosen_oracles(text: str, known: Sequence[str]) -> list[str]:
    """The oracles named, without those that cannot run here, which are said. Raises `MinitritonError` for one that is not `known`."""
    from minitriton.fuzz.running.oracles import available

    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in known:
            raise MinitritonError(f"no oracle {name!r}", help="known: " + ", ".join(known))
    absent = [name for name in names if not available(name)]
    if absent:
        print(f"not here: {', '.join(absent)}", file=sys.stderr)
    names = [name for name in names if name not in absent]
    if len(names) < 2:
        raise MinitritonError("nothing to compare", help="name two oracles at least of: " + ", ".join(known))
    return names


def _shrink_findings(given: argparse.Namespace, kind: FuzzKind[Any], summary: Summary, oracles: list[str]) -> None:
    """Writes a reproducer for the first kernel of each finding."""
    for finding, numbers in list(summary.findings.items())[:MOST_SHRUNK]:
        if finding.kind in ("crash", "timeout"):
            continue
        path = kind.reproduce(given.out, finding, given.seed, numbers[0], oracles, given.shrink_seconds)
        print(f"{finding.kind}: {finding.signature}: {path}", file=sys.stderr if given.json else sys.stdout)
