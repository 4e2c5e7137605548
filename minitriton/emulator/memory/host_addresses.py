"""Where arrays lie on the host and on the device, for kernels that take addresses out of arrays.

    the array at 0x55d0_0000..0x55d0_0100 of the host is at 0x7f00_0000_1000   →   the word 0x55d0_0010 becomes 0x7f00_0000_1010

A launch's 8-byte words that are addresses of its arrays are translated on the way in; on the way out the words that the kernel has
written.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np


@dataclass
class HostAddresses:
    """Spans of bytes: `low` to `high` on the host, from `start` on the device."""

    spans: list[tuple[int, int, int]] = field(default_factory=list[tuple[int, int, int]])

    def to_device(self, words: np.ndarray) -> np.ndarray:
        """`words` (uint64) with the host's addresses made the device's."""
        return _moved(words, [(low, high, start - low) for low, high, start in self.spans])

    def to_host(self, words: np.ndarray, kept: np.ndarray, brought: np.ndarray) -> np.ndarray:
        """What the host gets of `words`: `kept` where they still are what was `brought` to the device."""
        moved = _moved(words, [(start, start + high - low, low - start) for low, high, start in self.spans])
        return np.where(words == brought, kept, moved)


def _moved(words: np.ndarray, spans: list[tuple[int, int, int]]) -> np.ndarray:
    moved = words.copy()
    for low, high, distance in spans:
        inside = (words >= np.uint64(low)) & (words < np.uint64(high))
        moved[inside] = words[inside] + np.uint64(distance % (1 << 64))
    return moved
