"""How long a run on the CPU may take: a kernel whose loop never ends must not hang what runs it.

deadline = Deadline(5.0); while not deadline.passed(): ...
"""

from __future__ import annotations

import time


class Deadline:
    """The end of `seconds` from now; of no seconds, never."""

    def __init__(self, seconds: float = 0.0) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds if seconds else None

    def passed(self) -> bool:
        """Whether it is later."""
        return self._end is not None and time.monotonic() > self._end

    @property
    def text(self) -> str:
        """What to say of a run that is not at its end by then."""
        return f"no end after {self.seconds:g} s (MINITRITON_EMULATOR_SECONDS or --emulator-seconds allows more)"
