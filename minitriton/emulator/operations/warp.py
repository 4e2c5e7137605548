"""What the lanes of a warp do together: shuffles, votes, matches, reductions, election.

shuffle(x, 9, "bfly", value, 16, 31, ...)   →   each lane gets the value of the lane 16 away
"""

import numpy as np

from minitriton.emulator.lanes import Lanes
from minitriton.emulator.machine import Machine
from minitriton.emulator.threads import Mask
from minitriton.target.architectures import WARP_SIZE


def _rows(x: Machine, value: Lanes) -> np.ndarray:
    return x.spread(value).reshape(-1, WARP_SIZE)


def _members(x: Machine, site: int, members: Lanes, mask: Mask) -> np.ndarray | None:
    """Which threads the member mask names; None if all. Named threads that do not run are reported."""
    if x.memory.shadow is not None and x.memory.shadow.following:
        x.clocks.exchange(None if mask is None else np.flatnonzero(_rows(x, mask).any(1)))
    if members.ndim == 0 and members == 0xFFFFFFFF and mask is None:
        return None
    named: np.ndarray = (x.spread(members) >> x.lane.astype(np.uint32) & np.uint32(1)).astype(np.bool_)
    if x.check and mask is not None:
        absent = _rows(x, named & ~mask) & np.asarray(_rows(x, mask).any(1))[:, None]
        missing = (absent.ravel() & x.alive).nonzero()[0]
        if missing.size:
            x.find("inactive-lane", site, missing, "the member mask names threads that do not execute this instruction")
    return named if mask is None else named & mask


def shuffle(
    x: Machine, site: int, mode: str, value: Lanes, source: Lanes, control: Lanes, members: Lanes, mask: Mask
) -> tuple[np.ndarray, np.ndarray]:
    """`shfl.sync`: the value of another lane, and whether that lane is in the segment (else the own value)."""
    mask = x.mask(mask)
    present = _members(x, site, members, mask)
    if value.ndim == 0 and value.dtype != np.bool_ and mask is None:
        value = x.spread(value)
    b, c = source.astype(np.int64) & 31, control.astype(np.int64)
    segment, clamp = (c >> 8) & 31, c & 31
    lane = x.lane
    top = (lane & segment) | (clamp & ~segment)
    low = lane & segment
    if mode == "bfly":
        j = lane ^ b
        valid = j <= top
    elif mode == "up":
        j = lane - b
        valid = j >= top
    elif mode == "down":
        j = lane + b
        valid = j <= top
    else:
        j = low | (b & ~segment)
        valid = j <= top
    j = np.where(valid, j, lane)
    origin = x.index - lane + j
    if present is not None and x.check:
        bad = present & ~present[origin] & x.alive
        if bad.any():
            x.find("inactive-lane", site, np.nonzero(bad)[0], "shuffles from a lane that does not take part")
    return x.spread(value)[origin], np.asarray(x.spread(valid))


def vote(x: Machine, site: int, mode: str, predicate: Lanes, members: Lanes, mask: Mask) -> np.ndarray:
    """`vote.sync`: `all`, `any`, `uni` as predicates, `ballot` as a word."""
    mask = x.mask(mask)
    present = _members(x, site, members, mask)
    p = _rows(x, np.asarray(predicate))
    here = np.ones_like(p) if present is None else present.reshape(-1, WARP_SIZE)
    yes = p & here
    if mode == "ballot":
        return np.repeat(_word(yes), WARP_SIZE)
    any_, all_ = yes.any(1), (p | ~here).all(1)
    result = {"all": all_, "any": any_, "uni": all_ | ~any_}[mode]
    return np.repeat(result, WARP_SIZE)


def _word(rows: np.ndarray) -> np.ndarray:
    """Rows of 32 Booleans to words, lane 0 lowest."""
    return np.packbits(rows, axis=1, bitorder="little").view(np.uint32).ravel()


def active_mask(x: Machine, mask: Mask) -> np.ndarray:
    """`activemask`."""
    mask = x.mask(mask)
    return np.repeat(_word((x.alive if mask is None else mask).reshape(-1, WARP_SIZE)), WARP_SIZE)


def elect(x: Machine, members: Lanes, mask: Mask) -> tuple[np.ndarray, np.ndarray]:
    """`elect.sync`: the lowest lane of the member mask, and whether a thread is it."""
    members = x.spread(members)
    lowest = members & (~members + np.uint32(1))
    mine = np.uint32(1) << x.lane.astype(np.uint32)
    leader = np.log2(np.maximum(lowest, 1).astype(np.float64)).astype(np.uint32)
    return leader, lowest == mine


def match(x: Machine, site: int, mode: str, value: Lanes, members: Lanes, mask: Mask) -> tuple[np.ndarray, np.ndarray]:
    """`match.sync`: the lanes with an equal value (`all`: the member mask if all agree, else 0)."""
    mask = x.mask(mask)
    present = _members(x, site, members, mask)
    rows = _rows(x, value)
    here = np.ones(rows.shape, np.bool_) if present is None else present.reshape(-1, WARP_SIZE)
    equal = (rows[:, :, None] == rows[:, None, :]) & here[:, None, :]
    words = np.packbits(equal, axis=2, bitorder="little").view(np.uint32).reshape(-1)
    if mode == "any":
        return words, np.ones(x.count, np.bool_)
    agree = words == np.repeat(_word(here), WARP_SIZE)
    return np.where(agree, words, np.uint32(0)), agree


_REDUCE: dict[str, tuple[np.ufunc, int | None]] = {
    "add": (np.add, 0), "and": (np.bitwise_and, -1), "or": (np.bitwise_or, 0), "xor": (np.bitwise_xor, 0),
    "min": (np.minimum, None), "max": (np.maximum, None),
}  # fmt: skip


def reduce(x: Machine, site: int, operation: str, value: Lanes, members: Lanes, mask: Mask) -> np.ndarray:
    """`redux.sync`."""
    mask = x.mask(mask)
    present = _members(x, site, members, mask)
    rows = _rows(x, value)
    function, neutral = _REDUCE[operation]
    if present is not None:
        limits = np.iinfo(rows.dtype)
        if neutral is None:
            neutral = limits.max if operation == "min" else limits.min
        elif neutral == -1:
            neutral = np.array(-1).astype(rows.dtype)
        rows = np.where(present.reshape(-1, WARP_SIZE), rows, rows.dtype.type(neutral))
    return np.repeat(function.reduce(rows, axis=1, dtype=rows.dtype), WARP_SIZE)
