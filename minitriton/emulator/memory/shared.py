"""Shared memory of a batch of CTAs, and the shadow that finds races, uninitialised reads and early async reads.

Every granule has its last writer and, per warp, its last reader, with the times of the warps' clocks (`ordering.py`).
"""

import numpy as np

from minitriton.emulator.memory.ordering import Clocks
from minitriton.emulator.memory.proxy_fences import ProxyFences

WINDOW = 1024
"""Shared addresses begin here, as the first kilobyte is the system's."""
RANK_SHIFT = 24
"""Bits of a shared address above which the rank of its CTA in the cluster stands (as in `mapa` of sm_90)."""
MANY = -2


class SharedMemory:
    """`bytes` holds the CTAs' windows one after the other, `stride` bytes each."""

    def __init__(
        self, ctas: int, size: int, clocks: Clocks, granule: int, cluster: int = 1, async_proxy: bool = False
    ) -> None:
        self.groups, self.size, self.granule = ctas // cluster, size, granule
        self.warps = clocks.warps
        """Of a cluster; there are `groups` of them: those that know of each other."""
        self.stride = -(-max(size, 16) // 128) * 128
        self.bytes = np.full(ctas * self.stride, 0xA5, np.uint8)
        self.views = {s: self.bytes.view(f"u{s}") for s in (1, 2, 4, 8)}
        self.shadowed = clocks.enabled and size > 0
        self.pending_count = 0
        self.reading_count = 0
        self.proxies: ProxyFences | None = None
        if self.shadowed:
            count = ctas * self.stride // granule
            warps = clocks.warps
            self.clock, self.known = clocks.clock, clocks.known
            self.write_time = np.zeros(count, np.int32)
            self.write_warp = np.zeros(count, np.int32)
            self.write_lane = np.full(count, -1, np.int32)
            self.read_time = np.zeros((count, warps), np.int32)
            self.read_lane = np.full((count, warps), -1, np.int32)
            self.initialised = np.zeros(count, np.bool_)
            self.pending = np.zeros(count, np.int32)
            """Asynchronous copies under way that will write the granule."""
            self.reading = np.zeros(count, np.int32)
            """Asynchronous copies and dots under way that read the granule."""
            if async_proxy:
                self.proxies = ProxyFences(count, self.known)

    def granules(self, offset: np.ndarray, size: int) -> np.ndarray:
        """Granules that accesses touch: [accesses, granules of one]."""
        first = (offset // self.granule)[:, None]
        return first if size <= self.granule else first + np.arange(size // self.granule)

    def read_by(
        self, offset: np.ndarray, size: int, warp: np.ndarray, lane: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Notes readers; which accesses race with a write, read uninitialised bytes, read what async copies will write."""
        g = self.granules(offset, size)
        local = (warp % self.warps)[:, None]
        writer = self.write_warp[g]
        late = self.write_time[g] > self.known[warp[:, None], writer]
        race = late & ~((writer == local) & (self.write_lane[g] == lane[:, None]))
        now = self.clock[warp][:, None]
        again = (self.read_time[g, local] == now) & (self.read_lane[g, local] != lane[:, None])
        self.read_time[g, local] = now
        self.read_lane[g, local] = np.where(again, MANY, lane[:, None])
        clash = self.read_lane[g, local] != np.where(again, MANY, lane[:, None])
        if clash.any():
            where = np.nonzero(clash)
            self.read_lane[g[where], np.broadcast_to(local, g.shape)[where]] = MANY
        some = np.logical_or.reduce
        pending = some(self.pending[g], axis=1) if self.pending_count else np.zeros(len(offset), np.bool_)
        return some(race, axis=1), some(~self.initialised[g], axis=1) & ~pending, pending

    def written_by(
        self, offset: np.ndarray, size: int, warp: np.ndarray, lane: np.ndarray, same: np.ndarray
    ) -> np.ndarray:
        """Notes writers; which accesses race. `same` marks those that write what is there already: two such do not."""
        g = self.granules(offset, size)
        race = self.conflicts(g, warp, lane, same)
        self.mark_written(g, warp, lane)
        return race

    def mark_written(self, g: np.ndarray, warp: np.ndarray, lane: np.ndarray) -> None:
        """Notes writers of granules."""
        self.write_time[g] = self.clock[warp][:, None]
        self.write_warp[g] = (warp % self.warps)[:, None]
        self.write_lane[g] = lane[:, None]
        self.initialised[g] = True

    def range_read(self, low: int, high: int, warp: int, lane: int) -> tuple[bool, bool, bool]:
        """`read_by` for one reader of granules `low` to `high`: whether it races, reads fresh bytes, reads too early."""
        local, span = warp % self.warps, slice(low, high)
        writer = self.write_warp[span]
        late = self.write_time[span] > self.known[warp, writer]
        if late.any():
            late &= (writer != local) | (self.write_lane[span] != lane)
        pending = self.pending[span] > 0 if self.pending_count else np.zeros(high - low, np.bool_)
        now = self.clock[warp]
        times, lanes = self.read_time[span, local], self.read_lane[span, local]
        lanes[:] = np.where((times == now) & (lanes != lane), MANY, lane)
        times[:] = now
        return bool(late.any()), bool((~self.initialised[span] & ~pending).any()), bool(pending.any())

    def range_written(self, low: int, high: int, warp: int, lane: int, time: int) -> None:
        """Notes a writer of granules `low` to `high`."""
        self.write_time[low:high] = time
        self.write_warp[low:high] = warp % self.warps
        self.write_lane[low:high] = lane
        self.initialised[low:high] = True
        if self.proxies is not None:
            self.proxies.overwritten(slice(low, high))

    def range_conflicts(self, low: int, high: int, warp: int, harmless: int | None = None) -> bool:
        """Whether a copy that a warp issues into granules `low` to `high` meets accesses that are not over.

        Writes by the lane `harmless` are none.
        """
        known = self.known[warp]
        late = self.write_time[low:high] > known[self.write_warp[low:high]]
        if harmless is not None:
            late &= self.write_lane[low:high] != harmless
        if late.any():
            return True
        return bool((self.read_time[low:high] > known).any())

    def conflicts(self, g: np.ndarray, warp: np.ndarray, lane: np.ndarray, same: np.ndarray) -> np.ndarray:
        """Which writes of granules `g` race with earlier reads or writes."""
        late = self.overwrites(g, warp, lane) & ~same[:, None]
        return np.asarray(late.any(1) | (self.overwrites_read(g, warp, lane) & ~same[:, None]).any(1))

    def overwrites(self, g: np.ndarray, warp: np.ndarray, lane: np.ndarray) -> np.ndarray:
        """Which granules hold what another thread wrote, with nothing between: [accesses, granules of one]."""
        writer = self.write_warp[g]
        own = (writer == (warp % self.warps)[:, None]) & (self.write_lane[g] == lane[:, None])
        return np.asarray((self.write_time[g] > self.known[warp[:, None], writer]) & ~own)

    def overwrites_read(self, g: np.ndarray, warp: np.ndarray, lane: np.ndarray) -> np.ndarray:
        """Which granules another thread reads, with nothing between: [accesses, granules of one]."""
        unseen = self.read_time[g] > self.known[warp][:, None, :]
        mine = (np.arange(self.warps) == (warp % self.warps)[:, None, None]) & (
            self.read_lane[g] == lane[:, None, None]
        )
        return np.asarray((unseen & ~mine).any(2))
