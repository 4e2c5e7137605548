"""What a walk of the tour is: a kernel, stop by stop. A stop is a view of the explorer and what to see in it.

A stop names what it shows: `step`, a pass (or `level`, the last state of a representation), `op`, text of the op to click at the right, `line`,
text of the kernel's line to mark, `tab`, the tab below.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

from minitriton.explorer.compile_request import CompileRequest
from minitriton.explorer.wire import WalkJson


@dataclass(frozen=True)
class Stop:
    """One view."""

    title: str
    text: str
    step: str = ""
    level: str = ""
    op: str = ""
    line: str = ""
    tab: str = "facts"


@dataclass(frozen=True)
class Walk:
    """One kernel, stop by stop."""

    name: str
    title: str
    asked: CompileRequest
    stops: tuple[Stop, ...]

    def plain(self) -> WalkJson:
        """As JSON can hold it."""
        return {**asdict(self), "asked": self.asked.plain()}
