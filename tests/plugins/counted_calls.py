"""Work counted in calls, which are the same on a busy machine."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def calls_in(run: Callable[[], Any]) -> int:
    """How many functions are called while `run` runs, those of extensions included."""
    count = 0

    def tick(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal count
        if event in ("call", "c_call"):
            count += 1

    before = sys.getprofile()
    gc.collect()
    gc.disable()  # what other tests left may be taken apart by calls
    sys.setprofile(tick)
    try:
        run()
    finally:
        sys.setprofile(before)
        gc.enable()
    return count
