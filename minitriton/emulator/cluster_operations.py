"""Clusters of CTAs: their barrier, and addresses in each other's shared memory.

The address of a CTA's own shared memory carries its rank, so it means the same place everywhere in the cluster:

    mapa.shared::cluster.u32 %r2, %r1, 3   →   r2 = r1 with the rank bits set to 3
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from minitriton.emulator.control_flow import Block
from minitriton.emulator.machine import Machine, Mask
from minitriton.emulator.shared_memory import RANK_SHIFT

_RANK_BITS = 0xFF << RANK_SHIFT


@dataclass
class ClusterBarrier:
    """How often each thread has arrived and waited; what the warps that arrived for phase n of a cluster knew."""

    arrived: np.ndarray
    waited: np.ndarray
    published: dict[tuple[int, int], np.ndarray]


def _state(x: Machine) -> ClusterBarrier:
    found = x.async_state.get("cluster")
    if found is None:
        found = ClusterBarrier(np.zeros(x.count, np.int64), np.zeros(x.count, np.int64), {})
        x.async_state["cluster"] = found
    return found


def _rows(x: Machine, value: np.ndarray) -> np.ndarray:
    return value.reshape(x.count // (x.cluster * x.lanes_per_cta), -1)


def arrive(x: Machine, release: bool, mask: Any) -> None:
    """`barrier.cluster.arrive`; `release` publishes what the threads' warps did before."""
    mask = x.mask(mask)
    state = _state(x)
    active = x.alive if mask is None else mask
    if release and x.shared.shadowed:
        for group in np.nonzero(_rows(x, active).any(1))[0].tolist():
            here = _rows(x, active)[group]
            phase = int(_rows(x, state.arrived)[group][here].max())
            warps = np.unique(_rows(x, x.warp)[group][here])
            known = x.shared.release(warps)
            old = state.published.get((group, phase))
            state.published[(group, phase)] = known if old is None else np.maximum(old, known)
    state.arrived[active] += 1
    x.changes += 1


def wait() -> Any:
    """`barrier.cluster.wait`: threads stay until every thread of the cluster that has not ended has arrived as often."""

    def act(x: Machine, ready: dict[int, Mask], block: Block, mask: Mask) -> None:
        state = _state(x)
        active = x.alive if mask is None else mask
        least = np.where(_rows(x, x.alive), _rows(x, state.arrived), np.iinfo(np.int64).max).min(1)
        turn = state.waited + 1
        passed = active & (np.repeat(least, x.count // len(least)) >= turn)
        if passed.any():
            if x.shared.shadowed:
                for group in np.nonzero(_rows(x, passed).any(1))[0].tolist():
                    here = _rows(x, passed)[group]
                    phase = int(_rows(x, state.waited)[group][here].max())
                    if (known := state.published.get((group, phase))) is not None:
                        x.shared.acquire(np.unique(_rows(x, x.warp)[group][here]), known)
            state.waited[passed] += 1
            x.go(ready, block.next, None if passed.all() else passed)
        stays = active & ~passed
        if stays.any():
            old = x.parked.get(block.index)
            x.parked[block.index] = stays if old is None else old | stays

    return act


def map_address(address: Any, rank: Any) -> Any:
    """`mapa`: the same place in the shared memory of another CTA of the cluster."""
    kept = address & address.dtype.type(~np.uint64(_RANK_BITS) & np.uint64(np.iinfo(address.dtype).max))
    return kept | (rank.astype(address.dtype) << address.dtype.type(RANK_SHIFT))


def rank_of(address: Any) -> Any:
    """`getctarank`: the CTA whose shared memory an address lies in."""
    return ((address & address.dtype.type(_RANK_BITS)) >> address.dtype.type(RANK_SHIFT)).astype(np.uint32)
