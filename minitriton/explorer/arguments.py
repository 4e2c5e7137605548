"""What commands of the explorer take: a program, how it is compiled, what it is run with."""

from __future__ import annotations

import argparse

from minitriton.commands.pipeline_edits import add_pipeline_edits
from minitriton.errors import MinitritonError
from minitriton.explorer.compile_request import CompileRequest
from minitriton.lab.launches.recorded import add_launch_option, is_launch, read_launch
from minitriton.target import known_architectures

WHAT = "FILE.py:kernel, a .ttir or .ttgir file, a name of the corpus, or the folder of a recorded launch"


def add_program_arguments(parser: argparse.ArgumentParser, *, many: bool = False, what: str = WHAT) -> None:
    """What is compiled, how, and what it is run with."""
    if many:
        parser.add_argument("source", nargs="*", help=what + "; several are shown next to each other")
    else:
        parser.add_argument("source", nargs="?", help=what)
    add_launch_option(parser)
    parser.add_argument("--signature", default="", help="argument types, as of `minitriton compile` (default: made up)")
    parser.add_argument("--arch", type=int, help=f"compute capability times ten ({known_architectures()}; default: 90)")
    parser.add_argument("--option", action="append", default=[], metavar="NAME=VALUE", help="compile option")
    parser.add_argument("--pipeline", help="a textual pipeline that replaces the target's own")
    add_pipeline_edits(parser)
    parser.add_argument(
        "--anyway",
        action="store_true",
        help="run passes in an order that their contracts refuse, to see what it breaks",
    )
    parser.add_argument("--grid", help="programs along x[,y[,z]] (default: 2)")
    parser.add_argument("--arg", action="append", default=[], metavar="NAME=VALUE", help="the value of a number")
    parser.add_argument("--size", action="append", default=[], metavar="NAME=N", help="elements of an array")
    parser.add_argument("--inputs", metavar="FILE.npz", help="arrays by parameter name, in place of made-up ones")
    parser.add_argument("--seed", type=int, default=0, help="of made-up contents")
    parser.add_argument("--load", action="append", metavar="FILE.py", help="a file that registers more passes")
    parser.add_argument("--state", metavar="CODE", help="all of these at once, as the explorer's links have it")
    parser.add_argument(
        "--trust-state",
        action="store_true",
        help="run the Python that --state holds or names, although another user made it",
    )


def asked_of(given: argparse.Namespace, source: str | None = None) -> CompileRequest:
    """What the command line asks for. Raises `MinitritonError` where it names no program."""
    if given.state is not None:
        return CompileRequest.of_code(given.state, is_trusted=given.trust_state)
    source = source or given.source
    if source and is_launch(source):
        given.launch, source = given.launch or source, None
    launch = None if given.launch is None else read_launch(given.launch)
    source = source or (launch and launch.reference)
    if not source:
        raise MinitritonError(
            "no program is named",
            help="name one as FILE.py:kernel, as a kernel of `minitriton corpus`, or a recorded launch by --launch",
        )
    return CompileRequest(
        source, given.signature, given.arch, tuple(given.option), given.pipeline, tuple(given.edits), grid=given.grid,
        numbers=tuple(given.arg), sizes=tuple(given.size), inputs=given.inputs, seed=given.seed, loads=tuple(given.load or ()),
        launch=None if launch is None else str(launch.folder), anyway=given.anyway,
    )  # fmt: skip
