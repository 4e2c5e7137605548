"""Who wrote and read each address of global memory, and which accesses are unordered.

Per granule: the last writer with its time, and the readers since. Threads of one cluster are ordered by its clocks (`ordering.py`), CTAs of
different clusters by atomics that release and acquire. Two accesses race if one writes, nothing orders them and they are not both atomic
(or volatile, relaxed, ...). No race: a store of the value that is there already, by whatever thread; reads by the instruction by which the
storing thread has read the address too, if it alone stores there, as happens to a tile that is smaller than the CTA:

    x = tl.load(p); tl.store(p, x + 1)     →   128 threads load the word, one of them stores it: the others are copies of that one

Most arrays are only read, or only written. Reads of an array are followed from its first write on; an array that is written after it was read has the
launch begun anew (`Rerun`) with its reads followed from the start.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from minitriton.emulator.memory.ordering import Clocks

NOBODY, SEVERAL = -1, -2
MANY = -2
"""Stands for several lanes of a warp."""


class Rerun(Exception):
    """An array that was read is written: the launch is to begin anew with the reads of `allocations` followed."""

    def __init__(self, allocations: set[int]) -> None:
        self.allocations = allocations
        super().__init__("an array is read and then written")


@dataclass(frozen=True)
class Access:
    """One execution of an instruction: byte offsets [threads], bytes of each, threads of the batch, whether they are atomic or volatile."""

    offset: np.ndarray
    size: int
    lanes: np.ndarray
    site: int
    strong: bool = False


@dataclass(frozen=True)
class Races:
    """Which accesses race with a thread of the same cluster, and which with another CTA."""

    within: np.ndarray
    between: np.ndarray


class Readers:
    """Rows for granules that several threads of a cluster read unordered: per warp when, by which lane and instruction."""

    def __init__(self, warps: int) -> None:
        self.count = 1
        self.time = np.zeros((64, warps), np.int32)
        self.lane = np.zeros((64, warps), np.int32)
        self.site = np.zeros((64, warps), np.int32)
        self.group = np.full(64, NOBODY, np.int32)
        """The cluster whose readers a row holds: the last."""

    def add(self, count: int) -> np.ndarray:
        """New rows."""
        first, self.count = self.count, self.count + count
        while self.count > len(self.time):
            self.time, self.lane, self.site = (
                np.concatenate([t, np.zeros_like(t)]) for t in (self.time, self.lane, self.site)
            )
            self.group = np.concatenate([self.group, np.full_like(self.group, NOBODY)])
        return np.arange(first, self.count)

    def note(
        self, rows: np.ndarray, group: np.ndarray, warp: np.ndarray, lane: np.ndarray, now: np.ndarray, site: int
    ) -> None:
        """Reads, one an element, by a warp of a cluster."""
        other = self.group[rows] != group
        if other.any():
            self.time[rows[other]] = 0
            self.group[rows] = group
            mine = self.group[rows] == group
            rows, warp, lane, now = rows[mine], warp[mine], lane[mine], now[mine]
        again = self.time[rows, warp] == now
        several = again & (self.lane[rows, warp] != lane)
        mixed = again & (self.site[rows, warp] != site)
        self.time[rows, warp] = now
        self.lane[rows, warp] = named = np.where(several, MANY, lane)
        self.site[rows, warp] = np.where(mixed, SEVERAL, site)
        clash = self.lane[rows, warp] != named
        self.lane[rows[clash], warp[clash]] = MANY


class GlobalShadow:
    """The shadow of a launch's global memory. `begin` says which batch of CTAs runs."""

    def __init__(
        self, size: int, granule: int, starts: list[int], followed: set[int], group_lanes: int, warp_size: int
    ) -> None:
        self.granule, self.starts, self.group_lanes, self.warp_size = granule, starts, group_lanes, warp_size
        self.warps = group_lanes // warp_size
        count = -(-size // granule)
        self.followed = np.zeros(len(starts) + 1, np.bool_)
        self.followed[list(followed)] = True
        self.following = bool(followed)
        self.touched = np.zeros(len(starts) + 1, np.bool_)
        # One more than the thread, so that untouched pages of the shadow stay zero.
        self.writer = np.zeros(count, np.int32)
        self.write_time = np.zeros(count, np.int32)
        """Twice the time, and 1 for an atomic."""
        self.reader = np.zeros(count, np.int32)
        self.read_time = np.zeros(count, np.int32)
        self.read_site = np.zeros(count, np.int32)
        self.reader_group = np.zeros(count, np.int32)
        self.row = np.zeros(count, np.int32)
        self.rows = Readers(self.warps)
        self.fresh: np.ndarray | None = None
        self.copied = np.zeros(count, np.int32)
        """Asynchronous copies under way that read the granule, in arrays that are followed."""
        self.copies = 0
        self.arriving: np.ndarray | None = None
        """Bulk stores that write the granule and that nothing has waited for."""
        self.clocks: Clocks
        self.first = 0
        self.seen: dict[int, dict[int, int]] = {}
        """By cluster: the others whose releases it has acquired, and up to which."""
        self.releases: dict[int, list[np.ndarray]] = {}
        """By cluster: what each of its releases covers, as times of its warps."""
        self.released: dict[int, dict[int, int]] = {}
        """By address: what a release there has published."""
        self.fenced: set[int] = set()
        """Clusters that have executed a fence: their relaxed atomics release and acquire."""
        self.observed: dict[int, dict[int, int]] = {}
        """By cluster: what its relaxed reads saw published, which its next fence acquires."""

    def begin(self, clocks: Clocks, first: int) -> None:
        """A batch whose first thread has the number `first` in the launch."""
        self.clocks, self.first = clocks, first

    def mark_fresh(self, start: int, end: int) -> None:
        """Bytes that nothing has written."""
        if self.fresh is None:
            self.fresh = np.zeros(len(self.writer), np.bool_)
        self.fresh[start // self.granule : end // self.granule] = True

    def mark_written(self, start: int, end: int) -> None:
        """Bytes written by what no thread is asked about."""
        if self.fresh is not None:
            self.fresh[start // self.granule : end // self.granule] = False

    def granules(self, offset: np.ndarray, size: int) -> np.ndarray:
        """Granules that accesses touch: [accesses, granules of one]."""
        first = (offset // self.granule)[:, None]
        return first if size <= self.granule else first + np.arange(size // self.granule)

    def uninitialised(self, offset: np.ndarray, size: int) -> np.ndarray | None:
        """Which accesses read bytes that nothing has written."""
        return None if self.fresh is None else np.asarray(self.fresh[self.granules(offset, size)].any(1))

    def _arrays(self, offset: np.ndarray) -> np.ndarray | int:
        """The allocations that accesses are in: one number if they share it."""
        low, high = bisect_right(self.starts, int(offset.min())) - 1, bisect_right(self.starts, int(offset.max())) - 1
        return low if low == high else np.searchsorted(self.starts, offset, "right") - 1

    def read_by(self, a: Access) -> Races | None:
        """Notes readers; which of them race with a write."""
        arrays = self._arrays(a.offset)
        follow = self.followed[arrays]
        self.touched[arrays] = True
        if not np.any(follow):
            return None
        if not np.all(follow):
            chosen = np.nonzero(follow)[0]
            found = self.read_by(Access(a.offset[chosen], a.size, a.lanes[chosen], a.site, a.strong))
            return None if found is None else _spread(found, chosen, len(a.lanes))
        g = self.granules(a.offset, a.size)
        me = (a.lanes + self.first).astype(np.int32)[:, None]
        writer, time = self.writer[g] - 1, self.write_time[g]
        others = (writer != me) & (writer >= 0)
        if a.strong:
            others &= (time & 1) == 0
        races = self._unordered(writer, time >> 1, a.lanes, me, others) if others.any() else None
        if not a.strong:
            self._note_readers(g, a, me)
        return races

    def _note_readers(self, g: np.ndarray, a: Access, me: np.ndarray) -> None:
        group = me // self.group_lanes + 1
        before = self.reader_group[g]
        named = np.where((before == 0) | (before == group), group, SEVERAL)
        self.reader_group[g] = named
        clash = self.reader_group[g] != named
        if clash.any():
            self.reader_group[g[clash]] = SEVERAL
        warp = a.lanes // self.warp_size
        now = self.clocks.clock[warp][:, None]
        old = self.reader[g] - 1
        over = (old == me) | (old < 0) | (old // self.group_lanes + 1 != group)
        if not over.all():
            over |= self.read_time[g] <= self.clocks.known[warp[:, None], old // self.warp_size % self.warps]
        simple = over & (self.row[g] == 0)
        if simple.all():
            self.reader[g], self.read_time[g], self.read_site[g] = me + 1, now, a.site
        else:
            at = g[simple]
            self.reader[at] = (np.broadcast_to(me, g.shape)[simple]) + 1
            self.read_time[at], self.read_site[at] = np.broadcast_to(now, g.shape)[simple], a.site
        rest = ~simple | (self.reader[g] != me + 1)
        if not rest.any():
            return
        at = g[rest]
        lanes = np.broadcast_to(a.lanes[:, None], g.shape)[rest]
        self._give_rows(at)
        warps, groups = lanes // self.warp_size, (lanes + self.first) // self.group_lanes
        self.rows.note(
            self.row[at], groups, warps % self.warps, lanes % self.warp_size, self.clocks.clock[warps], a.site
        )

    def _give_rows(self, granules: np.ndarray) -> None:
        """Rows for granules that have none yet, with the reader that each has."""
        wanted = np.unique(granules[self.row[granules] == 0])
        if not wanted.size:
            return
        rows = self.row[wanted] = self.rows.add(len(wanted))
        reader = self.reader[wanted] - 1
        some = reader >= 0
        rows, reader, at = rows[some], reader[some], wanted[some]
        warp = reader // self.warp_size % self.warps
        self.rows.group[rows] = reader // self.group_lanes
        self.rows.time[rows, warp], self.rows.lane[rows, warp] = self.read_time[at], reader % self.warp_size
        self.rows.site[rows, warp] = self.read_site[at]

    def copy_begins(self, offset: np.ndarray, size: int) -> np.ndarray | None:
        """An asynchronous copy reads until `copy_ends`, which takes what this returns; None if nothing is to be remembered."""
        if not self.following or not offset.size or not np.any(self.followed[self._arrays(offset)]):
            return None
        g = self.granules(offset, size)
        np.add.at(self.copied, g, 1)
        self.copies += 1
        return g

    def copy_ends(self, granules: np.ndarray | None) -> None:
        """The copy, or part of it, is over."""
        if granules is not None:
            np.subtract.at(self.copied, granules, 1)

    def still_copied(self, offset: np.ndarray, size: int) -> np.ndarray | None:
        """Which accesses touch what an asynchronous copy may still read."""
        if not self.copies:
            return None
        return np.asarray((self.copied[self.granules(offset, size)] > 0).any(1))

    def store_begins(self, offset: np.ndarray, size: int) -> np.ndarray:
        """A bulk store is under way until `store_ends`, which takes what this returns."""
        if self.arriving is None:
            self.arriving = np.zeros(len(self.writer), np.int32)
        g = self.granules(offset, size)
        np.add.at(self.arriving, g, 1)
        return g

    def store_ends(self, granules: np.ndarray) -> None:
        assert self.arriving is not None
        np.subtract.at(self.arriving, granules, 1)

    def still_arriving(self, offset: np.ndarray, size: int) -> np.ndarray | None:
        """Which accesses touch what a bulk store may not have written yet."""
        return None if self.arriving is None else np.asarray((self.arriving[self.granules(offset, size)] > 0).any(1))

    def written_by(self, a: Access, same: np.ndarray, lost: np.ndarray | None) -> Races | None:
        """Notes writers; which of them race. `same` marks those that write what is there already, `lost` those whose
        value another thread of the same instruction has overwritten with another one."""
        arrays = self._arrays(a.offset)
        unfollowed = np.unique(arrays)[~self.followed[np.unique(arrays)]]
        if unfollowed.size:
            if self.touched[unfollowed].any():
                raise Rerun(set(unfollowed[self.touched[unfollowed]].tolist()))
            self.followed[unfollowed] = self.following = True
        g = self.granules(a.offset, a.size)
        me = (a.lanes + self.first).astype(np.int32)[:, None]
        warp = a.lanes // self.warp_size
        before = self.writer[g], self.write_time[g]
        self.writer[g] = me + 1
        races = self._races_of_write(a, g, me, *before, same)
        self.write_time[g] = self.clocks.clock[warp][:, None] * 2 + a.strong
        self.reader[g] = 0
        self.reader_group[g] = 0
        if self.rows.count > 1:
            self.rows.time[self.row[g]] = 0
        if self.fresh is not None:
            self.fresh[g] = False
        if lost is not None and lost.any():
            group = me // self.group_lanes
            outside = lost & ((self.writer[g] - 1) // self.group_lanes != group).any(1)
            inside = lost & ~outside
            races = Races(inside, outside) if races is None else Races(races.within | inside, races.between | outside)
        return races

    def _races_of_write(
        self, a: Access, g: np.ndarray, me: np.ndarray, writer: np.ndarray, time: np.ndarray, same: np.ndarray
    ) -> Races | None:
        changes, warp, writer = ~same[:, None], a.lanes // self.warp_size, writer - 1
        others = (writer != me) & (writer >= 0) & changes
        if a.strong:
            others &= (time & 1) == 0
        found = self._unordered(writer, time >> 1, a.lanes, me, others) if others.any() else None
        group = me // self.group_lanes + 1
        foreign = self.reader_group[g]
        foreign = (foreign != 0) & (foreign != group) & changes
        between = np.asarray(self._not_seen(self.reader_group[g] - 1, me, foreign)) if foreign.any() else None
        reader = self.reader[g] - 1
        known = self.clocks.known
        late = (reader != me) & (reader // self.group_lanes + 1 == group) & (reader >= 0) & changes
        row = self.row[g] if self.rows.count > 1 else None
        if late.any():
            times, theirs = self.read_time[g], reader // self.warp_size % self.warps
            late &= times > known[warp[:, None], theirs]
            late &= (theirs != (warp % self.warps)[:, None]) | (times > self.clocks.exchanged[warp][:, None])
            if row is not None:
                late &= row == 0
        if row is not None and (row > 0).any():
            alone = self.writer[g] == me + 1
            if not alone.all():
                shared = np.isin(g, g[~alone])
                alone &= ~shared
            late |= self._read_in_rows(row, a.lanes, me[:, 0] // self.group_lanes, alone) & changes
        within = late.any(1)
        outside = np.zeros(len(g), np.bool_) if between is None else np.asarray(between.any(1))
        if found is not None:
            within, outside = within | found.within, outside | found.between
        return Races(within, outside) if within.any() or outside.any() else None

    def _read_in_rows(self, row: np.ndarray, lanes: np.ndarray, group: np.ndarray, alone: np.ndarray) -> np.ndarray:
        """Which granules with rows have readers that nothing orders before a write. Those that one thread writes `alone` may have been read
        by copies of it."""
        found = np.zeros(row.shape, np.bool_)
        at, k = np.nonzero(row > 0)
        r, w, lane = row[at, k], lanes[at] // self.warp_size, lanes[at] % self.warp_size
        local = w % self.warps
        times, known = self.rows.time[r], self.clocks.known[w]
        unseen = (times > known) & (self.rows.group[r] == group[at])[:, None]
        index = np.arange(len(r))
        own_lane = self.rows.lane[r, local]
        seen_by_own = (times > 0) & (self.rows.group[r] == group[at])[:, None] if self.clocks.in_order else unseen
        own = seen_by_own[index, local] & ((own_lane == lane) | (own_lane == MANY)) & alone[at, k]
        unseen[index, local] &= (own_lane != lane) & (times[index, local] > self.clocks.exchanged[w])
        copies = own & np.all(~unseen | (self.rows.site[r] == self.rows.site[r, local][:, None]), axis=1)
        found[at, k] = unseen.any(1) & ~copies
        return found

    def _unordered(
        self, other: np.ndarray, time: np.ndarray, lanes: np.ndarray, me: np.ndarray, candidates: np.ndarray
    ) -> Races | None:
        """Which `candidates` among earlier accesses by threads `other` nothing orders before those of `me`."""
        group = me // self.group_lanes
        near = other // self.group_lanes == group
        within = candidates & near
        if within.any():
            within &= time > self.clocks.known[(lanes // self.warp_size)[:, None], other // self.warp_size % self.warps]
        far = candidates & ~near
        if far.any() and self.seen:
            for i, k in zip(*np.nonzero(far), strict=True):
                thread = int(other[i, k])
                cluster = thread // self.group_lanes
                upto = self.seen.get(int(group[i, 0]), {}).get(cluster)
                if upto is not None:
                    far[i, k] = time[i, k] > self.releases[cluster][upto][thread // self.warp_size % self.warps]
        inside, outside = within.any(1), far.any(1)
        return Races(inside, outside) if inside.any() or outside.any() else None

    def _not_seen(self, groups: np.ndarray, me: np.ndarray, candidates: np.ndarray) -> np.ndarray:
        """Which reads by other clusters no release and acquire order before a write."""
        if not self.seen:
            return candidates
        found = candidates.copy()
        for i, k in zip(*np.nonzero(candidates), strict=True):
            other = int(groups[i, k])
            found[i, k] = other >= 0 and other not in self.seen.get(int(me[i, 0]) // self.group_lanes, {})
        return found

    def fence(self, lanes: np.ndarray) -> None:
        """Threads execute a fence: what relaxed reads of their clusters have seen before it is acquired."""
        for group in np.unique((lanes + self.first) // self.group_lanes).tolist():
            _merge(self.seen.setdefault(group, {}), self.observed.pop(group, {}))

    def synchronize(self, lane: int, address: int, acquire: bool, release: bool) -> None:
        """An atomic of a thread at an address, with acquire or release semantics. What one thread acquires its whole cluster knows."""
        group = (lane + self.first) // self.group_lanes
        if address in self.released:
            _merge(self.observed.setdefault(group, {}), self.released[address])
        if acquire and address in self.released:
            _merge(self.seen.setdefault(group, {}), self.released[address])
        if release:
            covered = self.clocks.release(np.array([lane // self.warp_size]))
            own = self.releases.setdefault(group, [])
            own.append(np.maximum(own[-1], covered) if own else covered)
            published = self.released.setdefault(address, {})
            _merge(published, self.seen.get(group, {}))
            published[group] = len(own) - 1


def _merge(into: dict[int, int], other: dict[int, int]) -> None:
    for key, value in other.items():
        if value > into.get(key, -1):
            into[key] = value


def _spread(found: Races, chosen: np.ndarray, count: int) -> Races:
    def whole(part: np.ndarray) -> np.ndarray:
        out = np.zeros(count, np.bool_)
        out[chosen] = part
        return out

    return Races(whole(found.within), whole(found.between))
