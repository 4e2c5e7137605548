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

    def __init__(self, groups: int, warps: int, enabled: bool) -> None:
        super().__init__(groups, warps, enabled)
        self.done = np.zeros(groups * warps, np.int32)
        self.issued = np.zeros(groups * warps, np.int32)

    def issue(self, waves: np.ndarray) -> None:
        """An access by the given waves is in order."""
        self.issued[waves] += 1
        self.synchronize_warps(waves)

    def barrier(self, groups: np.ndarray) -> None:
        """All waves of the given workgroups pass a barrier."""
        if not self.enabled:
            return
        own = np.arange(self.warps)
        every = self.known.reshape(self.groups, self.warps, self.warps)
        known = every[groups]
        mine = known[:, own, own]
        known[:, own, own] = self.done.reshape(self.groups, self.warps)[groups]
        after = np.repeat(known.max(1)[:, np.newaxis], self.warps, 1)
        after[:, own, own] = mine
        every[groups] = after

    def release(self, members: np.ndarray) -> np.ndarray:
        """What the given waves know, their own complete accesses included."""
        known = self.known[members]
        known[np.arange(len(members)), members % self.warps] = self.done[members]
        return known.max(0)
