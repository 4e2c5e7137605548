"""How long a run on the CPU may take: a kernel whose loop never ends must not hang what runs it.

deadline = Deadline(5.0); while not deadline.passed(): ...
"""

from __future__ import annotations

import time


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
