"""Clusters of CTAs: their barrier, addresses in each other's shared memory, and whether that is there yet, or still.

The address of a CTA's own shared memory carries its rank, so it means the same address everywhere in the cluster:

    mapa.shared::cluster.u32 %r2, %r1, 3   →   r2 = r1 with the rank bits set to 3
"""

from dataclasses import dataclass

import numpy as np

from minitriton.emulator.lanes import Lanes
from minitriton.emulator.machine import Machine, Outcome
from minitriton.emulator.memory.shared import RANK_SHIFT
from minitriton.emulator.ptx.control_flow import Block
from minitriton.emulator.threads import Mask

_RANK_BITS = 0xFF << RANK_SHIFT


@dataclass
class ClusterBarrier:
    """How often each thread has arrived and waited; what the warps that arrived for phase n of a cluster knew."""

    arrived: np.ndarray
    waited: np.ndarray
    published: dict[tuple[int, int], np.ndarray]


def _state(x: Machine) -> ClusterBarrier:
    return x.kept(ClusterBarrier, lambda: ClusterBarrier(np.zeros(x.count, np.int64), np.zeros(x.count, np.int64), {}))


def _rows(x: Machine, value: np.ndarray) -> np.ndarray:
    return value.reshape(x.count // (x.cluster * x.lanes_per_cta), -1)


def arrive(x: Machine, release: bool, mask: Mask) -> None:
    """`barrier.cluster.arrive`; `release` publishes what the threads' warps did before."""
    mask = x.mask(mask)
    state = _state(x)
    active = x.alive if mask is None else mask
    if release and x.clocks.enabled:
        for group in np.nonzero(_rows(x, active).any(1))[0].tolist():
            here = _rows(x, active)[group]
            phase = int(_rows(x, state.arrived)[group][here].max())
            warps = np.unique(_rows(x, x.warp)[group][here])
            known = x.clocks.release(warps)
            old = state.published.get((group, phase))
            state.published[(group, phase)] = known if old is None else np.maximum(old, known)
    state.arrived[active] += 1
    x.changes += 1


def wait() -> Outcome:
    """`barrier.cluster.wait`: threads stay until every thread of the cluster that has not ended has arrived as often."""

    def act(x: Machine, ready: dict[int, Mask], block: Block, mask: Mask) -> None:
        state = _state(x)
        active = x.alive if mask is None else mask
        least = np.where(_rows(x, x.alive), _rows(x, state.arrived), np.iinfo(np.int64).max).min(1)
        turn = state.waited + 1
        passed = active & (np.repeat(least, x.count // len(least)) >= turn)
        if passed.any():
            if x.clocks.enabled:
                for group in np.nonzero(_rows(x, passed).any(1))[0].tolist():
                    here = _rows(x, passed)[group]
                    phase = int(_rows(x, state.waited)[group][here].max())
                    if (known := state.published.get((group, phase))) is not None:
                        x.clocks.acquire(np.unique(_rows(x, x.warp)[group][here]), known)
            state.waited[passed] += 1
            x.go(ready, block.next, None if passed.all() else passed)
        stays = active & ~passed
        if stays.any():
            old = x.parked.get(block.index)
            x.parked[block.index] = stays if old is None else old | stays

    return act


def map_address(address: Lanes, rank: Lanes) -> Lanes:
    """`mapa`: the same address in the shared memory of another CTA of the cluster."""
    kept = address & address.dtype.type(~np.uint64(_RANK_BITS) & np.uint64(np.iinfo(address.dtype).max))
    return kept | (rank.astype(address.dtype) << address.dtype.type(RANK_SHIFT))


def rank_of(address: Lanes) -> Lanes:
    """`getctarank`: the CTA whose shared memory an address is in."""
    return ((address & address.dtype.type(_RANK_BITS)) >> address.dtype.type(RANK_SHIFT)).astype(np.uint32)


# Whether the memory is there ------------------------------------------------------------------------------------------


@dataclass
class Reaches:
    """By CTA of the batch, where and by which threads other CTAs last reached into its shared memory."""

    last: dict[int, tuple[int, np.ndarray]]


def note_reach(x: Machine, site: int, base: np.ndarray, mask: Mask) -> None:
    """Looks after accesses at `base`, where a CTA's window begins, by threads of others.

    The shared memory of a CTA is there from when it begins to when it ends (CUDA programming guide, "Distributed Shared Memory"). That it
    has begun a thread knows after any barrier of the cluster, or by what a thread of that CTA released.
    """
    remote = base != x.cta_offset
    if mask is not None:
        remote &= mask
    lanes = np.nonzero(remote)[0]
    if not lanes.size:
        return
    owner = base[lanes] // x.shared.stride
    known = x.shared.known[x.warp[lanes]].reshape(len(lanes), x.cluster, -1).max(2)
    begun = (_state(x).waited[lanes] > 0) | (known[np.arange(len(lanes)), owner % x.cluster] > 0)
    if not begun.all():
        x.find("cta-lifetime", site, lanes[~begun], "reaches into the shared memory of a CTA that may not have begun")
    reaches = x.kept(Reaches, lambda: Reaches({}), _check_ends)
    for cta in np.unique(owner).tolist():
        reaches.last[cta] = (site, lanes[owner == cta])


def _check_ends(x: Machine) -> None:
    """No CTA may have ended before what others read or wrote in its memory: something must order that before its end."""
    shared = x.shared
    granules, warps = shared.stride // shared.granule, shared.warps // x.cluster
    for cta, (site, lanes) in x.kept(Reaches, lambda: Reaches({})).last.items():
        window = slice(cta * granules, (cta + 1) * granules)
        known = shared.known[cta * warps : (cta + 1) * warps].max(0)
        own = slice(cta % x.cluster * warps, (cta % x.cluster + 1) * warps)
        reads = shared.read_time[window] > known
        reads[:, own] = False
        writer = shared.write_warp[window]
        writes = (shared.write_time[window] > known[writer]) & (writer // warps != cta % x.cluster)
        if reads.any() or writes.any():
            x.find("cta-lifetime", site, lanes, "reaches into the shared memory of a CTA that may have ended")
