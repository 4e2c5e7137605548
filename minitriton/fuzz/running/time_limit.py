"""A limit of processor time for what nothing in the process can interrupt, as a pass of a compiler in C++ that does not end.

The process is ended by `SIGPROF`, and whoever started it sees that in its exit code. Outside processes that ask for it there is no limit.
"""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Generator

ENDED = -signal.SIGPROF
"""The exit code of a process that was ended."""

_seconds = 0.0


def end_this_process_after(seconds: float) -> None:
    """From now on, whatever runs `limited` and takes more than `seconds` of processor time ends this process."""
    global _seconds
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    _seconds = seconds


@contextlib.contextmanager
def limited() -> Generator[None]:
    """What is run within may take the seconds that this process was given, if it was given any."""
    signal.setitimer(signal.ITIMER_PROF, _seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
