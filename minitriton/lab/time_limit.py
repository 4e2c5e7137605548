"""The option that bounds how long one run on the emulator or the interpreter may take.

minitriton check add.ptx --emulator-seconds 5        a loop that never ends is an error at its line, after 5 s at most
"""

from __future__ import annotations

import contextlib
from argparse import ArgumentParser
from collections.abc import Generator

from minitriton import knobs
from minitriton.errors import MinitritonError


def add_time_limit(parser: ArgumentParser, seconds: float | None = None) -> None:
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
