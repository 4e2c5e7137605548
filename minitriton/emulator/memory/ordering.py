"""What is over before what: a clock for every warp, advanced by barriers, releases and acquires.

`known[w, v]` is the latest time of warp `v` (of the same cluster) that is over before what warp `w` does now. An access conflicts with an
earlier one by warp `v` at time `t` if `t > known[w, v]`:

    warp 0 writes word 5 at time 1; warp 1 reads it, known[1, 0] = 0       →   race
    ... both pass a barrier: known[1, 0] = 1 ...; warp 1 reads it          →   none

`known[w, w]` is when the lanes of warp `w` last synchronized among themselves. The warps of a cluster of CTAs share one numbering, as they
reach each other's memory. These are vector clocks with a component for every warp (Flanagan and Freund, "FastTrack", PLDI 2009).
"""

import numpy as np


class Clocks:
    """Of the warps of a batch: `groups` clusters of `warps` each. Does nothing unless `enabled`."""

    in_order = False
    """Whether the lanes of a warp act together and know of each other's accesses, as those of a wave of AMD's GPUs do."""

    def __init__(self, groups: int, warps: int, enabled: bool) -> None:
        self.groups, self.warps, self.enabled = groups, warps, enabled
        self.clock = np.ones(groups * warps if enabled else 0, np.int32)
        self.known = np.zeros((groups * warps if enabled else 0, warps), np.int32)
        self.exchanged = np.zeros(groups * warps if enabled else 0, np.int32)
        """When the lanes of each warp last gave each other values: what they had read before is over, not what they had written."""

    def synchronize_all(self) -> None:
        """Every warp of every CTA passes a barrier."""
        if self.enabled:
            shape = (self.groups, self.warps, self.warps)
            clock = np.broadcast_to(self.clock.reshape(self.groups, 1, self.warps), shape)
            self.known[:] = clock.reshape(-1, self.warps)
            self.clock += 1

    def synchronize(self, members: np.ndarray) -> None:
        """The given warps (of one CTA, numbered over the batch) pass a barrier together."""
        if not self.enabled:
            return
        known = self.known[members].max(0)
        local = members % self.warps
        known[local] = np.maximum(known[local], self.clock[members])
        self.known[members] = known
        self.clock[members] += 1

    def synchronize_warps(self, members: np.ndarray) -> None:
        """The lanes of each given warp synchronize among themselves."""
        if self.enabled:
            self.known[members, members % self.warps] = self.clock[members]
            self.clock[members] += 1

    def exchange(self, members: np.ndarray | None) -> None:
        """The lanes of the given warps (None: of all) shuffle values."""
        chosen = slice(None) if members is None else members
        self.exchanged[chosen] = self.clock[chosen]
        self.clock[chosen] += 1

    def release(self, members: np.ndarray) -> np.ndarray:
        """What the given warps know, their own past included; their clocks go on."""
        known = self.known[members].max(0)
        local = members % self.warps
        known[local] = np.maximum(known[local], self.clock[members])
        self.clock[members] += 1
        return known

    def acquire(self, members: np.ndarray, known: np.ndarray) -> None:
        """The given warps learn what a release published."""
        self.known[members] = np.maximum(self.known[members], known)
