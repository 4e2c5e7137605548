"""What the instructions of a launch do to global memory, whatever the order of the threads, as numbers that two launches can be compared by.

trace.note(7, "what is stored", [threads, addresses, values])      trace.seen[7, "what is stored"] is the sum of their hashes
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np


@dataclass
class Trace:
    """What each instruction of a launch did, whatever the order of the threads: sums of hashes by instruction, of addresses and of values stored."""

    word: int = 0
    registers: frozenset[str] = frozenset()
    """Those that have the `word`; the others are 0."""
    seen: dict[tuple[int, str], int] = field(default_factory=dict[tuple[int, str], int])

    def register(self, name: str) -> np.uint32:
        """What a register holds that stands for lanes which nobody gave a value."""
        return np.uint32(self.word if name in self.registers else 0)

    def note(self, site: int, what: str, numbers: Iterable[np.ndarray], mask: np.ndarray | None = None) -> None:
        """An instruction does something to global memory with `numbers`, of the threads of `mask`, if these are of threads."""
        total = np.zeros(1, np.uint64)
        for number in numbers:
            number = number if mask is None else number[mask]
            bits = number.view(f"u{number.dtype.itemsize}").astype(np.uint64)
            total = (total ^ bits) * np.uint64(0x9E3779B97F4A7C15)
            total ^= total >> np.uint64(29)
        self.seen[site, what] = (self.seen.get((site, what), 0) + int(total.sum(dtype=np.uint64))) & (1 << 64) - 1
