"""What launches on host arrays cost: instructions for the autotuner, an estimate of time for `do_bench` without a GPU.

instructions_issued(lambda: kernel[grid](x, 4096, BLOCK=128), (0.5,))    →    [1536.0]
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Generator, Sequence
from typing import TYPE_CHECKING

from minitriton import knobs
from minitriton.target.architectures import H100_MULTIPROCESSORS

if TYPE_CHECKING:
    from minitriton.emulator import Report

CLOCK = 1_755_000
"""kHz of its multiprocessors (H100 white paper)."""
MEMORY_CLOCK, MEMORY_BUS = 2_619_000, 5120
"""kHz and bits of its memory: 3352 GB/s, at two bits a clock and line."""
ISSUES_A_MILLISECOND = H100_MULTIPROCESSORS * 4 * CLOCK
"""Warp-level instructions: 4 schedulers each."""
BYTES_A_MILLISECOND = 3.35e9
"""Of its memory."""
LAUNCH = 0.002
"""Milliseconds of a launch, at least."""


def estimated_milliseconds(report: Report) -> float:
    """A lower bound of the time on a GPU: what issuing the instructions takes, or moving the sectors, whichever is longer."""
    moved = 32.0 * report.total("global").sectors
    longer = max(float(report.warps.sum()) / ISSUES_A_MILLISECOND, moved / BYTES_A_MILLISECOND)
    return LAUNCH + longer / report.share


class Timing:
    """A clock that launches on the emulator advance by their estimate; the wall clock for what is not launched there."""

    def __init__(self) -> None:
        self.by_count = False
        """Whether programs that ask for times get these."""
        self.launches = 0
        self.milliseconds = 0.0
        self.programs = 0
        """Where only the time of launches counts, how many of their programs run; 0: all."""

    def note(self, report: Report) -> None:
        """A launch has run."""
        self.launches += 1
        self.milliseconds += estimated_milliseconds(report)

    def now(self) -> float:
        """Milliseconds that launches have taken so far."""
        return self.milliseconds


TIMING = Timing()


@contextlib.contextmanager
def _timed() -> Generator[None]:
    """Counts what launches cost; of large grids, in programs that were written for a GPU, from a part of their programs."""
    with knobs.emulator.scope():
        knobs.emulator.check = "1"
        TIMING.programs = knobs.emulator.timed_programs if TIMING.by_count else 0
        try:
            yield
        finally:
            TIMING.programs = 0


def estimated_time(call: Callable[[], object]) -> float:
    """Milliseconds of the launches that `call()` makes, by the emulator's counts; by the wall clock if it makes none."""
    launches, before, start = TIMING.launches, TIMING.milliseconds, time.perf_counter()
    with _timed():
        call()
    if TIMING.launches == launches:
        return 1e3 * (time.perf_counter() - start)
    return TIMING.milliseconds - before


def instructions_issued(call: Callable[[], object], quantiles: Sequence[float]) -> list[float]:
    """Warp-level instructions of the kernel that `call()` launches once and returns, for every quantile; 0 where it was not
    the emulator that ran it."""
    with _timed():
        kernel = call()
    report = getattr(kernel, "last_report", None)
    return [float(report.warps.sum()) / report.share if report is not None else 0.0] * len(quantiles)
