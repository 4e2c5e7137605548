"""What a launch on host arrays costs, for the autotuner: there is no time to measure, so instructions are counted.

instructions_issued(lambda: kernel[grid](x, 4096, BLOCK=128), (0.5,))    →    [1536.0]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from minitriton import knobs


def instructions_issued(call: Callable[[], Any], quantiles: Sequence[float]) -> list[float]:
    """Warp-level instructions of the kernel that `call()` launches once and returns, for every quantile; 0 where it was not
    the emulator that ran it."""
    with knobs.emulator.scope():
        knobs.emulator.check = "1"
        kernel = call()
    report = getattr(kernel, "last_report", None)
    return [float(report.warps.sum()) if report is not None else 0.0] * len(quantiles)
