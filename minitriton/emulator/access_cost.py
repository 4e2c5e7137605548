"""What one access costs: 32-byte sectors in global memory, passes over the 32 banks of shared memory.

32 lanes, consecutive words        →   4 sectors, 1 wavefront
32 lanes, words 128 bytes apart    →   32 sectors, 32 wavefronts (31 conflicts)
"""

from __future__ import annotations

import numpy as np

SECTOR = 32


def sectors(offset: np.ndarray, size: int, warp: np.ndarray) -> int:
    """Distinct sectors, counted per warp."""
    first = offset // SECTOR
    key = warp * (1 << 40) + first
    if size > SECTOR:
        key = (key[:, None] + np.arange(size // SECTOR)).ravel()
    return int(np.unique(key).size)


def wavefronts(offset: np.ndarray, size: int, warp: np.ndarray, lane: np.ndarray) -> tuple[int, int]:
    """Passes needed, and how many more than without conflicts. 8- and 16-byte accesses go by half and quarter warps."""
    words = max(1, size // 4)
    phase = warp * words + lane * words // 32
    word = offset // 4
    if words > 1:
        word = word[:, None] + np.arange(words)
        phase = np.broadcast_to(phase[:, None], word.shape)
    key = np.unique((phase * (1 << 32) + (word % 32) * (1 << 26) + word // 32).ravel())
    bank = key >> 26
    _, counts = np.unique(bank, return_counts=True)
    phases = np.unique(bank)[:] >> 6
    start = np.nonzero(np.diff(phases, prepend=-1))[0]
    worst = np.maximum.reduceat(counts, start)
    total = int(worst.sum())
    return total, total - len(worst)
