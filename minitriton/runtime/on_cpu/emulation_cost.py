"""What launches on host arrays cost: instructions for the autotuner, an estimate of time for `do_bench` without a GPU.

instructions_issued(lambda: kernel[grid](x, 4096, BLOCK=128), (0.5,))    →    [1536.0]
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from minitriton import knobs

if TYPE_CHECKING:
    from minitriton.emulator import Report

ISSUES_A_MILLISECOND = 132 * 4 * 1.755e6
"""Warp-level instructions of an H100: 132 multiprocessors, 4 schedulers each, 1.755 GHz (H100 white paper)."""
BYTES_A_MILLISECOND = 3.35e9
"""Of its memory."""
LAUNCH = 0.002
"""Milliseconds of a launch, at least."""


def estimated_milliseconds(report: Report) -> float:
    """A lower bound of the time on a GPU: what issuing the instructions takes, or moving the sectors, whichever is longer."""
    moved = 32.0 * report.total("global").sectors
    return LAUNCH + max(float(report.warps.sum()) / ISSUES_A_MILLISECOND, moved / BYTES_A_MILLISECOND)


class Timing:
    """A clock that launches on the emulator advance by their estimate; the wall clock for what is not launched there."""

    def __init__(self) -> None:
        self.by_count = False
        """Whether programs that ask for times get these."""
        self.launches = 0
        self.milliseconds = 0.0

    def note(self, report: Report) -> None:
        """A launch has run."""
        self.launches += 1
        self.milliseconds += estimated_milliseconds(report)

    def now(self) -> float:
        """Milliseconds that launches have taken so far."""
        return self.milliseconds


TIMING = Timing()


def estimated_time(call: Callable[[], object]) -> float:
    """Milliseconds of the launches that `call()` makes, by the emulator's counts; by the wall clock if it makes none."""
    with knobs.emulator.scope():
        knobs.emulator.check = "1"
        launches, before, start = TIMING.launches, TIMING.milliseconds, time.perf_counter()
        call()
    if TIMING.launches == launches:
        return 1e3 * (time.perf_counter() - start)
    return TIMING.milliseconds - before


def instructions_issued(call: Callable[[], object], quantiles: Sequence[float]) -> list[float]:
    """Warp-level instructions of the kernel that `call()` launches once and returns, for every quantile; 0 where it was not
    the emulator that ran it."""
    with knobs.emulator.scope():
        knobs.emulator.check = "1"
        kernel = call()
    report = getattr(kernel, "last_report", None)
    return [float(report.warps.sum()) if report is not None else 0.0] * len(quantiles)
