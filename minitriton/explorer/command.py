"""`minitriton diff`: what each pass does to a kernel, in the terminal; `minitriton explore`: the same on a page.

minitriton diff examples/kernels/softmax.py:softmax --signature '...'                            the passes, and how much each changed
minitriton diff examples/kernels/softmax.py:softmax --signature '...' --pass tritongpu-coalesce   that pass, before and after
minitriton explore examples/kernels/softmax.py:softmax --signature '...' --html softmax.html
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from minitriton.errors import MinitritonError
from minitriton.target import known_architectures

if TYPE_CHECKING:
    from minitriton.explorer.recording import Recording


def add_explorer_commands(commands: Any) -> None:
    """Adds the subcommands to an `argparse` set of them."""
    diff = commands.add_parser("diff", help="what each pass changes, op by op")
    diff.add_argument("--pass", dest="pass_name", metavar="NAME[:N]", help="one pass before and after (its N-th run)")
    diff.add_argument("--all", action="store_true", help="list passes that changed nothing, too")
    diff.add_argument(
        "--context", type=int, default=2, metavar="N", help="lines around a change (default: %(default)s)"
    )
    diff.add_argument("--json", action="store_true", help="machine-readable")
    _add_program_arguments(diff)
    diff.set_defaults(run=run_diff)
    explore = commands.add_parser(
        "explore", help="every pass of a compile on a page: before, after, and the source beside it"
    )
    explore.add_argument(
        "--html", type=Path, required=True, metavar="OUT.html", help="the file to write; it needs no network"
    )
    _add_program_arguments(explore)
    explore.set_defaults(run=run_explore)


def _add_program_arguments(parser: argparse.ArgumentParser) -> None:
    """What is compiled, and how."""
    parser.add_argument("source", help="FILE.py:kernel, a .ttir or .ttgir file, or a name of the corpus")
    parser.add_argument("--signature", default="", help="argument types, as of `minitriton compile`")
    parser.add_argument("--arch", type=int, default=90, help=f"compute capability times ten ({known_architectures()})")
    parser.add_argument("--option", action="append", default=[], metavar="NAME=VALUE", help="compile option")
    parser.add_argument("--pipeline", help="a textual pipeline that replaces the target's own")
    parser.add_argument("--load", action="append", metavar="FILE.py", help="a file that registers more passes")


def run_diff(given: argparse.Namespace) -> int:
    """Prints the table, or one difference. 1 if a pass failed, else 0."""
    from minitriton.explorer.terminal import difference_text, pass_table

    recording = recording_of(given)
    if given.pass_name is None:
        print(json.dumps(_plain(recording)) if given.json else pass_table(recording, changed_only=not given.all))
        return 1 if recording.steps[-1].error else 0
    name, _, occurrence = given.pass_name.partition(":")
    try:
        index = recording.find(name, int(occurrence or 1))
    except ValueError:
        raise MinitritonError(f"--pass takes NAME or NAME:N, not {given.pass_name!r}") from None
    difference = recording.difference(index)
    if given.json:
        print(json.dumps({"pass": recording.steps[index].text, "rows": [asdict(row) for row in difference.rows]}))
    elif not recording.steps[index].changed:
        print(f"{recording.steps[index].text} changed nothing")
    else:
        print(difference_text(difference, colour=_is_coloured(), context=given.context))
    return 0


def run_explore(given: argparse.Namespace) -> int:
    """Writes the page. 1 if a pass failed, which the page shows, else 0."""
    from minitriton.explorer.page_file import html

    recording = recording_of(given)
    try:
        given.html.write_text(html(recording))
    except OSError as error:
        raise MinitritonError(
            f"cannot write {given.html}: {error.strerror}", help="name a file in a folder that is there"
        ) from None
    print(f"{given.html}: {len(recording.steps) - 1} passes, {given.html.stat().st_size / 1e6:.1f} MB")
    return 1 if recording.steps[-1].error else 0


def recording_of(given: argparse.Namespace) -> Recording:
    """The compile that the command line asks for."""
    import minitriton.codegen.all_passes
    import minitriton.passes.all_passes  # noqa: F401
    from minitriton.explorer.recording import record
    from minitriton.lab.command import named
    from minitriton.pass_manager import Pipeline
    from minitriton.target import CUDAOptions, GPUTarget

    target = GPUTarget("cuda", given.arch, 32)
    options = named(given.option)
    source, known = _source(given)
    options = CUDAOptions.for_target(target, **{**known, **options, **source.parse_options()})
    return record(source, target, options, Pipeline.parse(given.pipeline) if given.pipeline else None)


def _source(given: argparse.Namespace) -> tuple[Any, dict[str, Any]]:
    """The program, and the options that it is known to want."""
    from minitriton.cli import ast_source, load_kernel
    from minitriton.compilation.ir_source import IRSource
    from minitriton.dialects.context import make_context
    from minitriton.lab import corpus
    from minitriton.lab.sweeping.references import Reference

    if given.source.endswith((".ttir", ".ttgir")):
        return IRSource(given.source, make_context()), {}
    if ".py" in given.source:
        return ast_source(load_kernel(given.source), given.signature), {}
    case = corpus.find(given.source)
    return Reference(case.name, arch=given.arch).subject().source, dict(case.launch_options)


def _plain(recording: Recording) -> list[dict[str, Any]]:
    return [
        {
            "pass": step.text, "milliseconds": step.milliseconds, "ops": step.after.ops, "level": step.after.level,
            "changed": step.changed, "error": step.error,
            "lines": recording.difference(index).counts() if index and step.changed else {},
        }
        for index, step in enumerate(recording.steps)
    ]  # fmt: skip


def _is_coloured() -> bool:
    """Colour on a terminal, unless NO_COLOR is set (https://no-color.org)."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")
