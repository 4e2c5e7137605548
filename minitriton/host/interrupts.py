"""Ctrl-C of a command with helper processes: it is for the command, which ends them.

with held_back():
    subprocess.Popen(...)       never sees Ctrl-C: neither while it imports nor when it works
"""

import contextlib
import os
import signal
import time
from collections.abc import Generator
from typing import Protocol


class Startable(Protocol):
    """A process of `multiprocessing`."""

    def start(self) -> None: ...


def start(process: Startable) -> None:
    """Starts a process, and what starts processes for it, so that neither sees Ctrl-C."""
    if os.name == "posix":
        from multiprocessing import resource_tracker

        resource_tracker.ensure_running()  # lets Ctrl-C through again when it has started
    with held_back():
        process.start()


@contextlib.contextmanager
def held_back() -> Generator[None]:
    """Ctrl-C comes at the end of the block. Processes that are started in it inherit that it is blocked, and so do theirs."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


# How long a run on the CPU may take: a kernel whose loop never ends must not hang what runs it.
#
# deadline = Deadline(5.0); while not deadline.passed(): ...


class Deadline:
    """Reached when this process has worked for `seconds` (of no seconds: never). It is processor time: what other programs take of the
    machine does not make a kernel endless."""

    def __init__(self, seconds: float = 0.0) -> None:
        self.seconds = seconds
        self._end = time.process_time() + seconds if seconds else None

    def passed(self) -> bool:
        """Whether that much has been worked."""
        return self._end is not None and time.process_time() > self._end

    @property
    def text(self) -> str:
        """What to say of a run that is not at its end by then."""
        return f"no end after {self.seconds:g} s of processor time (MINITRITON_EMULATOR_SECONDS or --emulator-seconds allows more)"
