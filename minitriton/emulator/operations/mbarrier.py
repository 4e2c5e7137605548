"""Barriers in shared memory (`mbarrier`), which threads and bulk copies arrive at.

init count 1; arrive.expect_tx 4096; a copy of 4096 bytes completes   →   the phase flips, waiters of parity 0 go on
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from minitriton.emulator.lanes import Lanes, same
from minitriton.emulator.machine import Machine, Outcome
from minitriton.emulator.operations import asynchronous as async_operations
from minitriton.emulator.operations.memory import locate
from minitriton.emulator.ptx.control_flow import Block
from minitriton.emulator.threads import Mask


@dataclass(frozen=True)
class Arriving:
    """A bulk copy that a thread has issued; `deliver` writes its data."""

    site: int
    thread: int
    deliver: Callable[[], None]


@dataclass
class Mbarrier:
    """`pending` arrivals and `transactions` bytes are missing in the current phase; `phase` is its parity."""

    count: int
    pending: int
    known: np.ndarray
    transactions: int = 0
    phase: int = 0
    number: int = 0
    """A number of the current phase that no other phase has, of another mbarrier in the same bytes neither."""
    published: np.ndarray | None = None
    """What the warps that arrived in the phases over by now knew."""
    incoming: list[Arriving] = field(default_factory=list[Arriving])
    landed: list[Arriving] = field(default_factory=list[Arriving])
    """Bulk copies whose phase is over: delivered at the first wait that sees it."""
    made_by: tuple[int, int] = (0, 0)
    """The warp that initialised it, and when."""
    seen: set[int] = field(default_factory=set[int])
    """Warps that have used it in this phase, and may."""

    def settle(self, x: Machine) -> None:
        """Ends the phase if nothing is missing."""
        if self.pending == 0 and self.transactions == 0:
            self.phase ^= 1
            self.number += 1
            self.pending = self.count
            self.published = self.known.copy()
            self.landed += self.incoming
            self.incoming = []
            self.seen = set()
            x.changes += 1

    def lacks(self, offset: int) -> str:
        """What the current phase misses."""
        found = f"the mbarrier at byte {offset}, in a phase of parity {self.phase}, lacks {self.pending} of {self.count} arrivals"
        if self.transactions:
            found += (
                f" and {self.transactions} bytes"
                if self.transactions > 0
                else f", and got {-self.transactions} bytes too many"
            )
        return found


class Mbarriers(dict[int, Mbarrier]):
    """Those of a batch, by their byte offset in its shared memory."""

    initialised: int = 0


_PHASES = 1 << 20
"""Numbers of phases that each has."""


def _table(x: Machine) -> Mbarriers:
    return x.kept(Mbarriers, Mbarriers, check_end)


def check_end(x: Machine) -> None:
    """At the end of a batch: copies that write shared memory when its CTA may have ended."""
    for barrier in _table(x).values():
        for copy in (*barrier.incoming, *barrier.landed) if x.check else ():
            text = "the CTA ends before a wait for this copy to have written its shared memory"
            x.find("async-write", copy.site, np.array([copy.thread]), text)


def thread_offsets(x: Machine, site: int, address: Lanes, mask: Mask) -> list[tuple[int, int]]:
    """(thread, byte offset) of every active thread."""
    offset, mask = locate(x, site, "shared", address, x.mask(mask), 8)
    lanes = x.index if mask is None else np.nonzero(mask)[0]
    return list(zip(lanes.tolist(), offset[lanes].tolist(), strict=True))


def find_barrier(x: Machine, site: int, thread: int, offset: int) -> Mbarrier | None:
    """The barrier at an address; reports if nothing initialised one."""
    found = _table(x).get(offset)
    if found is None:
        x.find("uninitialised", site, np.array([thread]), "uses an mbarrier that nothing has initialised")
    elif x.shared.shadowed and int(x.warp[thread]) not in found.seen:
        found.seen.add(int(x.warp[thread]))
        _check_initialised(x, site, thread, offset, found)
    return found


def _check_initialised(x: Machine, site: int, thread: int, offset: int, barrier: Mbarrier) -> None:
    """Reports a use that no barrier orders after the initialisation, and one after something else was written there."""
    granule = offset // x.shared.granule
    writer, time = int(x.shared.write_warp[granule]), int(x.shared.write_time[granule])
    by_itself = writer == x.warp[thread] % x.shared.warps and x.shared.write_lane[granule] == x.lane[thread]
    if (writer, time) != barrier.made_by:
        x.find("uninitialised", site, np.array([thread]), "uses an mbarrier where something else was written since")
    elif time > x.shared.known[x.warp[thread], writer] and not by_itself:
        text = "uses an mbarrier that another thread initialises, and no barrier orders the two"
        x.find("shared-race", site, np.array([thread]), text)


def initialise(x: Machine, site: int, address: Lanes, count: Lanes, mask: Mask) -> None:
    """`mbarrier.init`."""
    counts = x.spread(count)
    for thread, offset in thread_offsets(x, site, address, mask):
        number = int(counts[thread])
        made = _table(x)[offset] = Mbarrier(number, number, np.zeros(x.shared.warps, np.int32))
        made.number = _table(x).initialised * _PHASES
        _table(x).initialised += 1
        if x.shared.shadowed:
            warp, lane = x.warp[[thread]], x.lane[[thread]]
            if x.shared.written_by(np.array([offset]), 8, warp, lane, np.zeros(1, np.bool_)).any():
                x.find(
                    "shared-race",
                    site,
                    np.array([thread]),
                    "initialises an mbarrier in bytes that other threads still use",
                )
            made.made_by = int(warp[0]) % x.shared.warps, int(x.shared.clock[warp[0]])


def invalidate(x: Machine, site: int, address: Lanes, mask: Mask) -> None:
    """`mbarrier.inval`."""
    for thread, offset in thread_offsets(x, site, address, mask):
        barrier = _table(x).pop(offset, None)
        if barrier is None:
            find_barrier(x, site, thread, offset)
        elif barrier.incoming or barrier.landed:
            x.find(
                "async-write",
                site,
                np.array([thread]),
                "ends an mbarrier before the wait for a copy that arrives there",
            )


def publish(x: Machine, barrier: Mbarrier, thread: int) -> None:
    """What the thread's warp knows passes to those that wait for the barrier."""
    if x.shared.shadowed:
        barrier.known = np.maximum(barrier.known, x.clocks.release(x.warp[[thread]]))


def arrive(x: Machine, site: int, address: Lanes, count: Lanes, expected: Lanes, mask: Mask) -> np.ndarray:
    """`mbarrier.arrive`: `count` arrivals after `expected` more bytes are awaited. Returns the phase as token."""
    counts, bytes_ = x.spread(count), x.spread(expected)
    token = np.zeros(x.count, np.uint64)
    for thread, offset in thread_offsets(x, site, address, mask):
        barrier = find_barrier(x, site, thread, offset)
        if barrier is None:
            continue
        token[thread] = barrier.phase
        publish(x, barrier, thread)
        if x.trace is not None:
            x.trace.note(x.program.kernel.instructions[site], [thread], barrier=offset, phase=barrier.number)
        barrier.transactions += int(bytes_[thread])
        if counts[thread] > barrier.pending:
            text = f"arrives {int(counts[thread])} times at an mbarrier whose phase lacks {barrier.pending} of {barrier.count} arrivals"
            x.find("barrier", site, np.array([thread]), text)
        barrier.pending -= min(int(counts[thread]), barrier.pending)
        barrier.settle(x)
    return token


def arrive_after_copies(x: Machine, site: int, address: Lanes, counted: bool, mask: Mask) -> None:
    """`cp.async.mbarrier.arrive`: arrives once the thread's earlier `cp.async` are done; `counted` is `.noinc`."""
    async_operations.wait_group(x, None, mask)
    arrive(x, site, address, same(np.uint32(1 if counted else 0)), same(np.uint32(0)), mask)


def wait(site: int, address: Lanes, parity: Lanes) -> Outcome:
    """`mbarrier.try_wait`: threads stay until the phase of that parity is over."""

    def act(x: Machine, ready: dict[int, Mask], block: Block, mask: Mask) -> None:
        parities = x.spread(parity)
        passed = np.zeros(x.count, np.bool_)
        for thread, offset in thread_offsets(x, site, address, mask):
            barrier = find_barrier(x, site, thread, offset)
            if barrier is not None and barrier.phase == int(parities[thread]) & 1:
                x.lacks[block.index] = functools.partial(barrier.lacks, offset % x.shared.stride)
                continue
            passed[thread] = True
            if x.trace is not None and barrier is not None:
                over = barrier.number - 1 if barrier.number % _PHASES else -1
                x.trace.note(x.program.kernel.instructions[site], [thread], barrier=offset, phase=over)
            if barrier is not None:
                for copy in barrier.landed:
                    copy.deliver()
                barrier.landed = []
                if x.shared.shadowed and barrier.published is not None:
                    x.clocks.acquire(x.warp[[thread]], barrier.published)
        stays = (x.alive if mask is None else mask) & ~passed
        if passed.any():
            x.go(ready, block.next, None if passed.all() else passed)
        if stays.any():
            old = x.parked.get(block.index)
            x.parked[block.index] = stays if old is None else old | stays

    return act
