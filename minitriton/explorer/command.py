"""`minitriton diff`: what each pass does to a kernel, in the terminal; `minitriton explore`: the same on a page.

minitriton diff minitriton_kernels/softmax.py:softmax --signature '...'                            the passes, and how much each changed
minitriton diff minitriton_kernels/softmax.py:softmax --signature '...' --pass tritongpu-coalesce   that pass, before and after
minitriton explore minitriton_kernels/softmax.py:softmax --signature '...' --html softmax.html
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from minitriton.commands.shared_options import add_arch, add_races, count_from, is_launch
from minitriton.errors import MinitritonError
from minitriton.explorer.compile_request import add_program_arguments, asked_of
from minitriton.explorer.start_page import require_program
from minitriton.host.subcommands import Subcommands, check_writable, write_output

if TYPE_CHECKING:
    from minitriton.explorer.compile_request import CompileRequest
    from minitriton.explorer.program import RequestedProgram
    from minitriton.explorer.recording import Recording


def add_explorer_commands(commands: Subcommands) -> None:
    """Adds the subcommands to an `argparse` set of them."""
    diff = commands.add_parser("diff", help="what each pass changes, op by op")
    diff.add_argument("--pass", dest="pass_name", metavar="NAME[:N]", help="one pass before and after (its N-th run)")
    diff.add_argument("--all", action="store_true", help="list passes that changed nothing, too")
    diff.add_argument(
        "--context", type=count_from(0), default=2, metavar="N", help="lines around a change (default: %(default)s)"
    )
    diff.add_argument("--json", action="store_true", help="machine-readable")
    add_program_arguments(diff)
    diff.set_defaults(run=run_diff)
    explore = commands.add_parser(
        "explore", help="every pass of a compile in the browser: before, after, why, what it costs, and what if"
    )
    explore.add_argument(
        "--html", type=Path, metavar="OUT.html", help="write a file that needs neither server nor network"
    )
    explore.add_argument(
        "--port", type=int, default=8753, help="of the server, on 127.0.0.1 (default: %(default)s; 0: any)"
    )
    explore.add_argument("--no-browser", action="store_true", help="say the address, open nothing")
    explore.add_argument("--json", action="store_true", help="machine-readable: the address, or what was written")
    explore.add_argument(
        "--against",
        action="append",
        default=[],
        metavar="ARGUMENTS",
        help="compare with the same kernel compiled with these arguments too, e.g. '--option num_stages=1' or '--arch 80'",
    )
    add_program_arguments(explore, many=True)
    explore.set_defaults(run=run_explore)

    explain = commands.add_parser(
        "explain",
        help="what the compiler knows of a line of a kernel, why, and what to do; of a kernel: registers, spills, shared memory, instructions",
    )
    explain.add_argument("--triton", action="store_true", help="of a kernel: next to what Triton's wheel makes of it")
    explain.add_argument(
        "--kernel", metavar="NAME", help="the kernel to compile, where the line is in none or in a function it calls"
    )
    explain.add_argument(
        "--in-flight", action="store_true", help="which dots and copies are in flight at each op of the kernel's TTGIR"
    )
    explain.add_argument("--json", action="store_true", help="machine-readable")
    add_program_arguments(explain, what="FILE.py:LINE, or a kernel: FILE.py:kernel, a name of `minitriton corpus`")
    explain.set_defaults(run=run_explain)
    run = commands.add_parser("run", help="compile a kernel, run it on the emulator, and show what each line cost")
    run.add_argument("--gpu", action="store_true", help="run it on the GPU instead, which gives numbers and no counts")
    run.add_argument("--json", action="store_true", help="machine-readable")
    poison = "find what depends on lanes that a mask turns off (a load without other=)"
    run.add_argument("--poison", action="store_true", help=poison)
    add_races(run, "error")
    add_program_arguments(run)
    run.set_defaults(run=run_run)
    _add_layout_command(commands)


def _add_layout_command(commands: Subcommands) -> None:
    layout = commands.add_parser("layout", help="a picture of a layout, its banks, and what a conversion costs")
    layout.add_argument(
        "encoding",
        help="as the IR writes it: '#ttg.blocked<{...}>', or without '#ttg.'; or as Gluon does: 'BlockedLayout(...)'",
    )
    layout.add_argument("--shape", required=True, metavar="MxN", help="of the tensor or buffer, e.g. 32x64")
    layout.add_argument(
        "--to", metavar="ENCODING", help="the layout to convert to, or the buffer to store to and load from"
    )
    layout.add_argument(
        "--type", default="f32", metavar="TYPE", help="of an element: its bits count (default: %(default)s)"
    )
    layout.add_argument(
        "--by", choices=("thread", "warp", "lane", "register", "bank", "offset"), help="what stands in each cell"
    )
    add_arch(layout)
    layout.add_argument("--json", action="store_true", help="machine-readable")
    layout.set_defaults(run=run_layout)


def run_layout(given: argparse.Namespace) -> int:
    """`minitriton layout`."""
    from minitriton.explorer import layout_command

    return layout_command.run_layout(given)


def run_explain(given: argparse.Namespace) -> int:
    """`minitriton explain`: of a line, or of a kernel."""
    from minitriton.explorer import explain_command, resources_command

    path, _, line = str(given.source or "").rpartition(":")
    if path and line.isdigit():
        return explain_command.run_explain(given)
    if given.in_flight:
        help = "write FILE.py:LINE"
        raise MinitritonError(f"{given.source!r} names no line, whose ops --in-flight lists", help=help)
    return resources_command.run_resources(*recording_of(given), given)


def run_run(given: argparse.Namespace) -> int:
    """`minitriton run`."""
    from minitriton.explorer import run_command

    return run_command.run_run(given)


def run_diff(given: argparse.Namespace) -> int:
    """Prints the table, or one difference. 1 if a pass failed, else 0."""
    from minitriton.explorer.terminal import difference_text, is_coloured, pass_table

    _, recording = recording_of(given)
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
        print(json.dumps({"pass": recording.steps[index].text, "rows": [row._asdict() for row in difference.rows]}))
    elif not recording.steps[index].changed:
        print(f"{recording.steps[index].text} changed nothing")
    else:
        print(difference_text(difference, colour=is_coloured(), context=given.context))
    return 0


def run_explore(given: argparse.Namespace) -> int:
    """Serves the page until Ctrl-C, or writes it: then 1 if a pass failed, which the page shows, else 0."""
    sources: list[str | None] = _opened_folders(given.source) or [None]
    is_start = sources == [None] and given.state is None and given.launch is None and given.html is None
    asked = [] if is_start else [asked_of(argparse.Namespace(**vars(given)), source) for source in sources]
    asked += _compared(given, sources[0])
    for one in asked:
        require_program(one)
    if given.html is None:
        if not 0 <= given.port < 1 << 16:
            raise MinitritonError(f"{given.port} is not a port", help="give --port from 0 (any) to 65535")
        from minitriton.explorer.server import serve

        return serve(asked, port=given.port, browser=not given.no_browser, as_json=given.json)
    return _write_page(given.html, [one.with_own_launch() for one in asked], as_json=given.json)


def _compared(given: argparse.Namespace, source: str | None) -> list[CompileRequest]:
    """`source` again, once for each `--against`, with what that says in addition."""
    found: list[CompileRequest] = []
    for text in given.against:
        parser = argparse.ArgumentParser("--against", exit_on_error=False)
        add_program_arguments(parser)
        try:
            more = parser.parse_args(shlex.split(text), argparse.Namespace(**{**vars(given), "source": None}))
        except (argparse.ArgumentError, SystemExit, ValueError) as error:
            raise MinitritonError(
                f"--against takes arguments of explore, not {text!r}: {error}",
                help="for example --against '--option num_stages=1'",
            ) from None
        found.append(asked_of(more, more.source or source))
    return found


def _opened_folders(sources: list[str]) -> list[str | None]:
    """`sources`, with a folder's kernels in its place."""
    found: list[str | None] = []
    for source in sources:
        if not Path(source).is_dir() or is_launch(source):
            found.append(source)
            continue
        from minitriton.explorer.program import MOST_KERNELS, kernels_in
        from minitriton.lab.launches.recorded import launches_in

        launches = launches_in(Path(source))
        kernels = launches or kernels_in(Path(source))
        if len(kernels) > MOST_KERNELS:
            which = "first" if launches else "newest"
            print(f"{source}: {len(kernels)} kernels; the {which} {MOST_KERNELS} are opened", file=sys.stderr)
        found += [str(path) for path in kernels[:MOST_KERNELS]]
    return found


def _write_page(path: Path, asked: list[CompileRequest], *, as_json: bool) -> int:
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    from minitriton.commands.shared_options import progress
    from minitriton.explorer.kept_answers import compile_with_answers, have_lessons, lessons_with_answers
    from minitriton.explorer.packing import file_page
    from minitriton.explorer.session import ExplorerSession
    from minitriton.explorer.worker import collect_seldom

    check_writable(path)
    session = ExplorerSession()
    collect_seldom()
    with progress() as show, ProcessPoolExecutor(1, get_context("spawn")) as pool:
        making = None if have_lessons() else pool.submit(lessons_with_answers, session)
        compiles = [
            compile_with_answers(session, one, show, against=asked[0] if at else None) for at, one in enumerate(asked)
        ]
        show("the tour")
        lessons = lessons_with_answers(session) if making is None else making.result()
        show("writing")
        write_output(path, file_page(compiles, lessons))
    passes = sum(len(one["steps"]) - 1 for one in compiles)
    if as_json:
        kernels = [{"kernel": one["kernel"], "error": one["steps"][-1]["error"]} for one in compiles]
        print(json.dumps({"file": str(path), "passes": passes, "bytes": path.stat().st_size, "kernels": kernels}))
    else:
        print(f"{path}: {passes} passes, {path.stat().st_size / 1e6:.1f} MB")
    return 1 if any(one["steps"][-1]["error"] for one in compiles) else 0


def recording_of(given: argparse.Namespace, *, keep: bool = False) -> tuple[RequestedProgram, Recording]:
    """The compile that the command line asks for."""
    from minitriton.explorer.program import open_program
    from minitriton.explorer.recording import record

    asked = asked_of(given).with_own_launch()
    program = open_program(asked)
    pipeline = program.pipeline()
    return program, record(
        program.source,
        program.target,
        program.options,
        pipeline,
        states=asked.states,
        keep=keep,
        contracts=not asked.anyway,
    )


def _plain(recording: Recording) -> list[dict[str, str | float | dict[str, int] | None]]:
    return [
        {
            "pass": step.text, "milliseconds": step.milliseconds, "ops": step.after.ops, "level": step.after.level,
            "changed": step.changed, "error": step.error,
            "lines": recording.difference(index).counts() if index and step.changed else {},
        }
        for index, step in enumerate(recording.steps)
    ]  # fmt: skip
