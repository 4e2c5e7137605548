"""Asynchronous copies to shared memory: their data appears when a wait covers the group they were committed in.

cp.async A; commit; cp.async B; commit; wait_group 1   →   A is there, B is not
"""

from dataclasses import dataclass

import numpy as np

from minitriton.emulator.lanes import Lanes
from minitriton.emulator.machine import Machine
from minitriton.emulator.operations.memory import both, check_read, check_still_read, locate, measure, measure_banks
from minitriton.emulator.threads import Mask


@dataclass
class ExecutedCopy:
    """One executed `cp.async`: data of `lanes`, each for its address; `group` counts commits of the thread before it."""

    site: int
    lanes: np.ndarray
    offsets: np.ndarray
    data: np.ndarray
    group: np.ndarray
    sources: np.ndarray | None = None
    """Granules of global memory that are read, a row for each lane; None if nothing writes there."""


@dataclass
class Copies:
    """Copies under way and the number of groups every thread has committed."""

    pending: list[ExecutedCopy]
    committed: np.ndarray


def _state(x: Machine) -> Copies:
    return x.kept(Copies, lambda: Copies([], np.zeros(x.count, np.int64)))


def copy_async(x: Machine, site: int, target: Lanes, source: Lanes, size: int, valid: Lanes, mask: Mask) -> None:
    """`cp.async`: `size` bytes to shared memory, where `valid` come from global memory and the rest are zero."""
    mask = x.mask(mask)
    valid = x.spread(valid).astype(np.int64)
    offsets, mask = locate(x, site, "shared", target, mask, size)
    lanes = x.index if mask is None else np.nonzero(mask)[0]
    if not lanes.size:
        return
    data = np.zeros((len(lanes), size), np.uint8)
    sources: np.ndarray | None = None
    counts = valid[lanes]
    for amount in np.unique(counts[counts > 0]).tolist():
        exact = amount & (amount - 1) == 0
        wants: Mask = both(mask, valid == amount)
        offset, got = locate(x, site, "global", source, wants, amount if exact else 1)
        chosen = x.index if got is None else np.nonzero(got)[0]
        if not chosen.size:
            continue
        if x.check:
            check_read(x, site, "global", offset, chosen, amount)
            measure(x, site, "global", offset, chosen, amount)
        if amount == size and len(chosen) == len(lanes) and x.memory.shadow is not None:
            sources = x.memory.shadow.copy_begins(offset[chosen], amount)
        data[np.searchsorted(lanes, chosen), :amount] = x.memory.bytes[offset[chosen][:, None] + np.arange(amount)]
    if x.check:
        measure_banks(x, site, offsets[lanes], size, lanes)
    if x.trace is not None:
        x.trace.note(x.program.kernel.instructions[site], lanes[valid[lanes] > 0], bytes=size)
        x.trace.note(x.program.kernel.instructions[site], lanes[valid[lanes] == 0])
    state = _state(x)
    state.pending.append(ExecutedCopy(site, lanes, offsets[lanes], data, state.committed[lanes], sources))
    shared = x.shared
    shared.pending_count += 1
    if shared.shadowed:
        g = shared.granules(offsets[lanes], size)
        race = shared.conflicts(g, x.warp[lanes], x.lane[lanes], np.zeros(len(lanes), np.bool_))
        if race.any():
            x.find("shared-race", site, lanes[race], "an asynchronous copy writes what another thread still uses")
        check_still_read(x, site, offsets[lanes], lanes, size)
        np.add.at(shared.pending, g, 1)


def commit_group(x: Machine, mask: Mask) -> None:
    """`cp.async.commit_group`."""
    mask = x.mask(mask)
    state = _state(x)
    if mask is None:
        state.committed += 1
    else:
        state.committed[mask] += 1


def wait_group(x: Machine, allowed: int | None, mask: Mask) -> None:
    """`cp.async.wait_group N` (`allowed`), or `wait_all` (None): completes the copies of all but the last N groups."""
    mask = x.mask(mask)
    state = _state(x)
    kept: list[ExecutedCopy] = []
    for copy in state.pending:
        done = (
            np.ones(len(copy.lanes), np.bool_)
            if allowed is None
            else copy.group < state.committed[copy.lanes] - allowed
        )
        if mask is not None:
            done &= mask[copy.lanes]
        if done.any():
            _complete(x, copy, done)
        if not done.all():
            rest = ~done
            sources = None if copy.sources is None else copy.sources[rest]
            kept.append(
                ExecutedCopy(
                    copy.site, copy.lanes[rest], copy.offsets[rest], copy.data[rest], copy.group[rest], sources
                )
            )
    x.shared.pending_count += len(kept) - len(state.pending)
    state.pending = kept


def _complete(x: Machine, copy: ExecutedCopy, done: np.ndarray) -> None:
    size = copy.data.shape[1]
    offsets, lanes = copy.offsets[done], copy.lanes[done]
    x.shared.bytes[offsets[:, None] + np.arange(size)] = copy.data[done]
    if copy.sources is not None and x.memory.shadow is not None:
        x.memory.shadow.copy_ends(copy.sources[done])
    if x.shared.shadowed:
        g = x.shared.granules(offsets, size)
        np.subtract.at(x.shared.pending, g, 1)
        x.shared.written_by(offsets, size, x.warp[lanes], x.lane[lanes], np.ones(len(lanes), np.bool_))
        proxies = x.shared.proxies
        if proxies is not None and proxies.fences_copies:
            proxies.stored(copy.site, g, lanes, x.shared.clock)
        elif proxies is not None:
            proxies.overwritten(g)
