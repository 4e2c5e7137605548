"""Options that several commands have, and standard output: its reader may leave before its end, and may be a program (`--json`).

--skip cse --move 'cse before sccp' --set 'optimize-llvm-ir{level=2}'      changes of a pipeline
--grid 4 --arg n=4000 --size x=4096       how a kernel is launched
--emulator-seconds 5        a loop that never ends is an error at its line, after 5 s at most
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import io
import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Generator
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

from minitriton import knobs
from minitriton.errors import MinitritonError, PipelineError
from minitriton.host.json_values import is_set
from minitriton.target import arch_named, known_architectures

if TYPE_CHECKING:
    from minitriton.pipeline.pass_manager import Pipeline


def add_launch_arguments(command: argparse.ArgumentParser, signature: str) -> None:
    """What a kernel is compiled by and run with; `signature` says what its types are taken from."""
    command.add_argument("--signature", default="", help=f"argument types, as of `minitriton compile`{signature}")
    command.add_argument("--option", action="append", default=[], metavar="NAME=VALUE", help="compile option")
    command.add_argument("--pipeline", help="a textual pipeline that replaces the target's own")
    anyway = "run passes in an order that their contracts refuse, to see what it breaks"
    command.add_argument("--anyway", action="store_true", help=anyway)
    command.add_argument("--load", action="append", metavar="FILE.py", help="a file that registers more passes")
    command.add_argument("--grid", help="programs along x[,y[,z]] (default: 2)")
    number = "the value of a number (default: 100 or made up)"
    command.add_argument("--arg", action="append", default=[], metavar="NAME=VALUE", help=number)
    elements = "elements of an array (default: as far as it is used)"
    command.add_argument("--size", action="append", default=[], metavar="NAME=N", help=elements)
    command.add_argument("--inputs", metavar="FILE.npz", help="arrays by parameter name, in place of made-up ones")
    command.add_argument("--seed", type=int, default=0, help="of made-up contents")


def add_arch(command: argparse.ArgumentParser, otherwise: str = "90") -> None:
    """`--arch`, what is compiled for; `otherwise` says what it is where it is not given."""
    command.add_argument(
        "--arch",
        type=arch_named,
        help=f"compute capability times ten ({known_architectures()}), or a GPU of AMD's: gfx942 (default: {otherwise})",
    )


def count_from(least: int) -> Callable[[str], int]:
    """What reads a number of things off a command line: an integer that is not less."""

    def read(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not an integer") from None
        if number < least:
            raise argparse.ArgumentTypeError(f"{number} is less than {least}")
        return number

    return read


def seconds_of(text: str) -> float:
    """A time after which something ends, of a command line."""
    try:
        seconds = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds") from None
    if not seconds > 0:
        raise argparse.ArgumentTypeError(f"{text} s is not more than 0")
    return seconds


def add_races(command: argparse.ArgumentParser, default: str) -> None:
    """`--races`: what a race between programs is."""
    help = "whether a race between programs fails the command: some programs are meant to race (default: %(default)s)"
    command.add_argument("--races", choices=("error", "warn"), default=default, help=help)


def add_pipeline_edits(command: argparse.ArgumentParser) -> None:
    """Adds the options; what they collect, in the order of the command line, is `edits`."""
    where = "PASS may be canonicalize#2, the second of its name"
    for name, form, help in (
        ("--skip", "PASS", f"leave a pass out; {where}"),
        ("--move", "'PASS before|after PASS'", "put a pass elsewhere"),
        ("--insert", "'PASS{OPTIONS} before|after PASS'", "add a pass"),
        ("--set", "'PASS{OPTIONS}'", "give a pass of the pipeline these options, the others as they are"),
    ):
        command.add_argument(name, action=_Edit, dest="edits", default=[], metavar=form, help=help)


class _Edit(argparse.Action):
    """Collects the changes of the pipeline in the order of the command line."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        namespace.edits = [*namespace.edits, ((option_string or "").removeprefix("--"), values)]


def edited(pipeline: Pipeline, edits: list[tuple[str, str]]) -> Pipeline:
    """`pipeline` after changes such as `("skip", "cse")` and `("move", "cse before sccp")`. Raises `PipelineError`."""
    for kind, text in edits:
        if kind == "skip":
            pipeline = pipeline.skip(text)
            continue
        if kind == "set":
            pipeline = pipeline.with_options(text)
            continue
        found = re.fullmatch(r"\s*(.*?)\s+(before|after)\s+(\S+)\s*", text)
        if found is None:
            raise PipelineError(
                f"--{kind} {text!r} says not where", help=f"write --{kind} 'PASS before PASS', or after"
            )
        change = pipeline.move if kind == "move" else pipeline.insert
        pipeline = change(found[1], **{found[2]: found[3]})
    return pipeline


def add_time_limit(parser: argparse.ArgumentParser, seconds: float | None = None) -> None:
    """Adds the option; where it is not given, `seconds`, and for None what `MINITRITON_EMULATOR_SECONDS` says."""
    default = f"{seconds:g}" if seconds is not None else "MINITRITON_EMULATOR_SECONDS, 300"
    parser.add_argument(
        "--emulator-seconds",
        type=float,
        default=seconds,
        metavar="S",
        help=f"of one run on the emulator or interpreter, before it is an error; 0: no limit (default: {default})",
    )


@contextlib.contextmanager
def time_limit(seconds: float | None) -> Generator[None]:
    """The limit of a command line, for this process and those that it starts. Raises `MinitritonError` for no length of time."""
    if seconds is None:
        yield
        return
    if not 0 <= seconds < float("inf"):
        raise MinitritonError(f"--emulator-seconds takes a number of seconds, got {seconds:g}", help="0: no limit")
    with knobs.emulator.scope():
        knobs.emulator.seconds = seconds
        yield


@contextlib.contextmanager
def until_the_reader_leaves() -> Generator[None]:
    """Lets the output end where its reader stops reading, as in `minitriton compile ... | head`; where a disk is full the command ends with an error.

    What the terminal's encoding cannot say is written as an escape.
    """
    output: object = sys.stdout
    if isinstance(output, io.TextIOWrapper):
        output.reconfigure(errors="backslashreplace")
    try:
        yield
        sys.stdout.flush()
    except OSError as error:
        # Python flushes standard output once more when it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            print(f"cannot write: {error.strerror}", file=sys.stderr)
            sys.exit(1)


def add_json(parser: argparse.ArgumentParser) -> None:
    """Adds `--json` to a command."""
    parser.add_argument("--json", action="store_true", help="machine-readable")


def print_json(value: object) -> None:
    """One line of JSON; dataclasses as objects."""
    print(json.dumps(value, default=_plain))


def print_error(error: MinitritonError, *, as_json: bool) -> None:
    """An error on standard error; `as_json`: as an object with its location on standard output too, where a program reads."""
    print(error, file=sys.stderr)
    if as_json:
        location = error.location
        where = {"file": location.file, "line": location.line, "column": location.column} if location else {}
        print_json({"error": {"message": error.message, "help": error.help, **where}})


def _plain(value: object) -> object:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value) if field.repr}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Path):
        return str(value)
    if is_set(value):
        return sorted(map(str, value))
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")


# What a command is at, on standard error, where somebody looks: a line that the next one takes the place of.
#
# with progress() as show:
#     show("checking softmax: 12 of 72 passes, cse")

_BEGIN = "\r\x1b[K"
"""To the line's begin, which is emptied."""


def show_progress(text: str) -> None:
    """Shows `text`, shortened to the terminal's width; nothing more where it is empty. Says nothing where standard error is no terminal."""
    if not sys.stderr.isatty():
        return
    room = shutil.get_terminal_size().columns - 2
    print(f"{_BEGIN}{text[:room]}…" if text else _BEGIN, end="", file=sys.stderr, flush=True)


@contextlib.contextmanager
def progress() -> Generator[Callable[[str], None]]:
    """Gives `show_progress`; the line is empty afterwards, whatever happens."""
    try:
        yield show_progress
    finally:
        show_progress("")


def add_launch_option(parser: argparse.ArgumentParser) -> None:
    """Adds `--launch` to a command that takes a program."""
    parser.add_argument(
        "--launch", metavar="DIR",
        help="a launch that `minitriton record` wrote: its kernel, types, options, grid and inputs, where nothing else is given",
    )  # fmt: skip


def is_launch(name: str) -> bool:
    """Whether a command line's `name` is the folder of a recorded launch."""
    return (Path(name) / "launch.json").exists()
