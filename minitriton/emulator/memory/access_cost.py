"""What one access costs: 32-byte sectors in global memory, passes over the 32 banks of shared memory.

32 lanes, consecutive words        →   4 sectors, 1 wavefront
32 lanes, words 128 bytes apart    →   32 sectors, 32 wavefronts (31 conflicts)

Loops repeat their patterns of addresses, so that costs are remembered by pattern.
"""

from __future__ import annotations

import functools

import numpy as np
from numpy import ma as ma  # np.unique would while a kernel runs, when the process may fork

SECTOR = 32
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
    """Passes needed, and how many more than without conflicts. 8- and 16-byte accesses go by half and quarter warps."""
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
