"""The warps of a kernel that wait for work: what its lowering keeps of them."""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.ir import Block, Operation


@dataclass
class WorkerWarps:
    """What one kernel's warps beyond the default ones need to know."""

    kernel: Operation
    default_warps: int
    total_warps: int
    registers: tuple[int, int, int] | None
    """At launch; of default warps while others wait; of those that wait. None if nobody hands on registers."""
    entries: list[Block] = field(default_factory=list[Block])
    """Where each partition begins, by its number."""
    returns: list[Block] = field(default_factory=list[Block])
    """Blocks that end where a partition ends; they go back to waiting."""

    @property
    def waiting(self) -> int:
        """Warps beyond the default ones."""
        return self.total_warps - self.default_warps
