"""How much of global memory each CTA reaches, however often it asks for it: distinct sectors and lines.

two loads of a warp, each of every other word of a line    →   2 lines touched by requests (`Traffic.lines`), 1 line reached

What requests touch again is near the SM by then; what a CTA reaches has to come from memory or the L2 cache.
"""

from __future__ import annotations

import numpy as np

from minitriton.emulator.memory.access_cost import LINE, SECTOR

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
