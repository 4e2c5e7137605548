"""What each warp of one CTA executed, in its order, with what its copies and mbarriers had to do with each other.

trace.streams[3][17]      Executed(cp.async.bulk.tensor..., bytes=8192, barrier=64, phase=2)

A model of time replays it (`minitriton.explorer.timeline`): the emulator itself has no clock. The CTA is the first of the launch.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from minitriton.emulator.ptx.program import Instruction

MOST = 400_000
"""Instructions that are recorded, of all warps together."""

CONDITIONAL = (
    "cp.async.bulk.tensor", "cp.async.bulk.shared", "cp.async.bulk.global", "cp.reduce.async", "cp.async.ca", "cp.async.cg", "mbarrier.arrive", "mbarrier.expect_tx", "mbarrier.try_wait",
    "mbarrier.test_wait", "bar.", "barrier.",
)  # fmt: skip
"""Instructions that a warp has executed only where something was noted of it: one of its threads is elected for them, or it tries again."""


class Executed(NamedTuple):
    """One instruction of a warp. Of copies: `bytes`. Of mbarriers and copies that arrive there: the byte offset of the `barrier`, the `phase`
    that it counts for, or, of a wait, the one that it saw the end of (-1: it waited for nothing). Of a CTA's barrier: its number as `barrier`, `expected` threads."""

    instruction: Instruction
    bytes: int = 0
    barrier: int = -1
    phase: int = -1
    expected: int = 0


@dataclass
class WarpTrace:
    """Of the CTA with threads 0 to `lanes`."""

    lanes: int = 0
    warp_size: int = 1
    streams: list[list[Executed]] = field(default_factory=list[list[Executed]])
    is_partial: bool = False
    """Whether the kernel executed more than is recorded."""
    _noted: dict[tuple[int, int], Executed] = field(default_factory=dict[tuple[int, int], Executed])
    _count: int = 0

    def begin(self, lanes: int, warp_size: int) -> None:
        """A CTA of so many threads."""
        self.lanes, self.warp_size = lanes, warp_size
        self.streams = [[] for _ in range(lanes // warp_size)]

    def note(self, instruction: Instruction, threads: Sequence[int] | np.ndarray, **what: int) -> None:
        """What is known of `instruction` as the warps of `threads` execute it; bytes of several threads are added up."""
        for thread in threads:
            if thread < self.lanes:
                key = instruction.index, int(thread) // self.warp_size
                before = self._noted.get(key)
                one = Executed(instruction, **what)
                self._noted[key] = one._replace(bytes=one.bytes + before.bytes) if before is not None else one

    def block(self, instructions: Sequence[Instruction], mask: np.ndarray | None) -> None:
        """The threads of `mask` (None: all) have executed a block."""
        if self.is_partial:
            return
        here = None if mask is None else np.asarray(mask[: self.lanes].reshape(-1, self.warp_size).any(1))
        for warp, stream in enumerate(self.streams):
            if here is None or here[warp]:
                self._append(stream, instructions, warp)
        self._noted.clear()
        self.is_partial = self._count > MOST

    def _append(self, stream: list[Executed], instructions: Sequence[Instruction], warp: int) -> None:
        for instruction in instructions:
            noted = self._noted.get((instruction.index, warp))
            if noted is None and instruction.opcode.startswith(CONDITIONAL):
                continue
            stream.append(noted or Executed(instruction))
            self._count += 1
