"""Which bytes of shared memory threads have written without a `fence.proxy.async` after: copies and dots do not see them yet.

Threads access memory by the generic proxy, bulk copies and `wgmma` by the async proxy. A fence must be from a store to
them (PTX ISA, "Async proxy" and "Causality order"): of the thread that wrote, before the barrier that orders the two, or of the
thread that starts the copy, after that barrier.

    st.shared; bar.sync; cp.async.bulk...                                      →   the copy may read what was there before
    st.shared; fence.proxy.async; bar.sync; cp.async.bulk...                   →   sound
    st.shared; bar.sync; fence.proxy.async and cp.async.bulk of one thread     →   sound

The other direction needs no fence: the completion that a wait observes is one. What `cp.async` writes counts as stored when its wait
completes it where `fences_copies`, else as fenced, as compilers of `tl` take it (docs/emulator.md).
"""

import numpy as np

from minitriton.target.architectures import WARP_SIZE

ASYNC_PROXY = ("cp.async.bulk", "cp.reduce.async.bulk", "wgmma.mma_async")
"""Instructions that access shared memory by the async proxy."""
NO_STORE = -1


class ProxyFences:
    """Of every granule: the last store to it by a thread, and when that thread has executed a fence after.

    Of every warp: what it knew of other warps' past at its last fence. Times are those of the warps' clocks (`shared_memory`).
    """

    def __init__(self, granules: int, known: np.ndarray) -> None:
        self.site = np.full(granules, NO_STORE, np.int32)
        """The instruction that stored; `NO_STORE` if no thread did, or a copy has overwritten it."""
        self.thread = np.zeros(granules, np.int32)
        self.time = np.zeros(granules, np.int32)
        self.unfenced = np.zeros(granules, np.bool_)
        self.fence_time = np.zeros(granules, np.int32)
        self.known_at_fence = np.zeros_like(known)
        self.first, self.last = granules, -1
        """Of those that threads have ever stored to."""
        self.fences_copies = False
        self.took_part = np.zeros(WARP_SIZE * len(known), np.bool_)
        """Which threads were active at the last fence of their warp."""

    def stored(self, site: int, granules: np.ndarray, threads: np.ndarray, clock: np.ndarray) -> None:
        """Threads (one a row of granules) write by the generic proxy."""
        self.time[granules] = clock[threads // WARP_SIZE][:, None]
        self.first, self.last = min(self.first, int(granules.min())), max(self.last, int(granules.max()))
        self.site[granules] = site
        self.thread[granules] = threads[:, None]
        self.unfenced[granules] = True

    def overwritten(self, granules: np.ndarray | slice) -> None:
        """Copies have written granules."""
        self.site[granules] = NO_STORE
        self.unfenced[granules] = False

    def fence(self, mask: np.ndarray | None, clock: np.ndarray, known: np.ndarray) -> None:
        """The threads of `mask` (None: all) execute the fence; `clock` is that of every warp."""
        granules = np.flatnonzero(self.unfenced)
        if mask is None:
            self.known_at_fence[:] = known
            self.took_part[:] = True
        else:
            granules = granules[mask[self.thread[granules]]]
            lanes = mask.reshape(-1, WARP_SIZE)
            here = lanes.any(1)
            self.known_at_fence[here] = known[here]
            self.took_part.reshape(-1, WARP_SIZE)[here] = lanes[here]
        self.fence_time[granules] = clock[self.thread[granules] // WARP_SIZE]
        self.unfenced[granules] = False
