"""What one access costs: 32-byte sectors in global memory, passes over the 32 banks of shared memory.

32 lanes, consecutive words        →   4 sectors, 1 wavefront
32 lanes, words 128 bytes apart    →   32 sectors, 32 wavefronts (31 conflicts)

Loops repeat their patterns of addresses, so that costs are remembered by pattern.
"""

import functools

import numpy as np
from numpy import ma as ma  # np.unique would while a kernel runs, when the process may fork

SECTOR = 32
BANKS = 32
"""Of shared memory, words of 4 bytes wide."""
LINE = 128
"""Bytes that one tag of the L1 cache is of: four sectors."""


def sectors_and_lines(offset: np.ndarray, size: int, warp: np.ndarray) -> tuple[int, int]:
    """Distinct sectors, and distinct lines of 128 bytes, counted per warp."""
    relative = offset - (offset[0] // LINE * LINE)
    return _sectors_and_lines(relative.tobytes(), size, warp.tobytes())


@functools.lru_cache(maxsize=256)
def _sectors_and_lines(offsets: bytes, size: int, warps: bytes) -> tuple[int, int]:
    first = np.frombuffer(offsets, np.int64) // SECTOR
    key = np.frombuffer(warps, np.int64) * (1 << 40) + first
    if size > SECTOR:
        key = (key[:, None] + np.arange(size // SECTOR)).ravel()
    found = np.unique(key)
    return int(found.size), int(np.count_nonzero(np.diff(found // (LINE // SECTOR), prepend=-(1 << 60))))


def wavefronts(offset: np.ndarray, size: int, warp: np.ndarray, lane: np.ndarray) -> tuple[int, int]:
    """Passes needed, and how many more than without conflicts. 8- and 16-byte accesses go by half and quarter warps of 32 lanes; `warp` counts those."""
    return _wavefronts(offset.tobytes(), size, warp.tobytes(), lane.tobytes())


@functools.lru_cache(maxsize=256)
def _wavefronts(offsets: bytes, size: int, warps: bytes, lanes: bytes) -> tuple[int, int]:
    offset, warp, lane = (np.frombuffer(v, np.int64) for v in (offsets, warps, lanes))
    words = max(1, size // 4)
    phase = warp * words + lane * words // 32
    word = offset // 4
    if words > 1:
        word = word[:, None] + np.arange(words)
        phase = np.broadcast_to(phase[:, None], word.shape)
    key = np.unique((phase * (1 << 32) + (word % 32) * (1 << 26) + word // 32).ravel())
    bank, counts = np.unique(key >> 26, return_counts=True)
    start = np.nonzero(np.diff(bank >> 6, prepend=-1))[0]
    worst = np.maximum.reduceat(counts, start)
    total = int(worst.sum())
    return total, total - len(worst)


# How much of global memory each CTA reaches, however often it asks for it: distinct sectors and lines.
#
# two loads of a warp, each of every other word of a line    →   2 lines touched by requests (`Traffic.lines`), 1 line reached
#
# What requests touch again is near the SM by then; what a CTA reaches has to come from memory or the L2 cache.

_KEPT = 1 << 18
"""Sectors that are noted before they are made distinct."""
_CTA = 1 << 40


class Reach:
    """Sectors of 32 bytes and lines of 128 that CTAs read and wrote, each counted once a CTA."""

    def __init__(self) -> None:
        self.read_sectors = self.read_lines = self.written_sectors = self.written_lines = 0
        self._noted: dict[bool, list[np.ndarray]] = {False: [], True: []}
        self._count = 0

    def note(self, offset: np.ndarray, size: int, cta: np.ndarray, *, written: bool) -> None:
        """An access of `size` bytes at each of `offset` [threads] by threads of `cta` [threads]."""
        sector = cta * _CTA + offset // SECTOR
        if size > SECTOR:
            sector = (sector[:, None] + np.arange(size // SECTOR)).ravel()
        self._noted[written].append(np.unique(sector))
        self._count += len(self._noted[written][-1])
        if self._count > _KEPT:
            self._make_distinct()

    def _make_distinct(self) -> None:
        for written, noted in self._noted.items():
            if noted:
                self._noted[written] = [np.unique(np.concatenate(noted))]
        self._count = 0

    def finish(self) -> None:
        """Counts what was noted, and keeps the counts."""
        self._make_distinct()
        read, written = (
            self._noted[which][0] if self._noted[which] else np.zeros(0, np.int64) for which in (False, True)
        )
        sectors_of_line = LINE // SECTOR
        self.read_sectors, self.read_lines = len(read), len(np.unique(read // sectors_of_line))
        self.written_sectors, self.written_lines = len(written), len(np.unique(written // sectors_of_line))
        self._noted = {False: [], True: []}
