"""What of a wave's accesses to one memory is complete, and what other waves know of it."""

from __future__ import annotations

import numpy as np

from minitriton.emulator.memory.ordering import Clocks


class WaveClocks(Clocks):
    """The accesses of each wave to one memory, counted: access `t` of wave `v` has time `t`, and is complete once `done[v] >= t`.

    The lanes of a wave act together and its accesses come in order, so a wave knows its own. A barrier tells the others of the complete
    ones only: a store that no `s_waitcnt` has covered may not have come to memory yet.
    """

    in_order = True

    def __init__(self, groups: int, warps: int, enabled: bool, most: int = 63) -> None:
        super().__init__(groups, warps, enabled)
        self.most = most
        """Accesses that may be under way, as many as the counter counts; the next one waits for the first."""
        self.done = np.zeros(groups * warps, np.int32)
        self.issued = np.zeros(groups * warps, np.int32)
        self.released = self.done
        """What each wave has complete as far as a barrier knows."""

    def issue(self, waves: np.ndarray) -> None:
        """An access by the given waves is in order."""
        self.issued[waves] += 1
        self.done[waves] = np.maximum(self.done[waves], self.issued[waves] - self.most)
        self.synchronize_warps(waves)

    def barrier(self, groups: np.ndarray) -> None:
        """All waves of the given workgroups pass a barrier."""
        if not self.enabled:
            return
        own = np.arange(self.warps)
        every = self.known.reshape(self.groups, self.warps, self.warps)
        known = every[groups]
        mine = known[:, own, own]
        known[:, own, own] = self.released.reshape(self.groups, self.warps)[groups]
        after = np.repeat(known.max(1)[:, np.newaxis], self.warps, 1)
        after[:, own, own] = mine
        every[groups] = after

    def release(self, members: np.ndarray) -> np.ndarray:
        """What the given waves know, their own complete accesses included."""
        known = self.known[members]
        known[np.arange(len(members)), members % self.warps] = self.done[members]
        return known.max(0)


class Counter(WaveClocks):
    """The loads, or the stores, of each wave where each have a counter of their own, which are times of the clock of both.

    times[w, n % 64]: when access `n` of wave `w` was made.
    """

    def __init__(self, groups: int, warps: int) -> None:
        super().__init__(groups, warps, False)
        self.times = np.zeros((groups * warps, self.most + 1), np.int32)

    def issue_at(self, waves: np.ndarray, times: np.ndarray) -> None:
        """An access by the given waves."""
        self.issued[waves] += 1
        self.done[waves] = np.maximum(self.done[waves], self.issued[waves] - self.most)
        self.times[waves, self.issued[waves] % (self.most + 1)] = times[waves]

    def first_incomplete(self, waves: np.ndarray) -> np.ndarray:
        """The time of the first access that may be under way; beyond all times if there is none."""
        after = self.done[waves] + 1
        times = self.times[waves, after % (self.most + 1)]
        return np.where(after <= self.issued[waves], times, np.iinfo(np.int32).max)
