"""Bulk copies by single threads: to shared memory, completing on an mbarrier, and from it, in groups that a thread waits for.

cp.async.bulk.shared::cluster.global... [dst], [src], 4096, [bar]   →   4096 bytes, there once a wait sees the phase end
cp.async.bulk.global.shared::cta.bulk_group [dst], [src], 4096      →   the source must stay until wait_group.read,
                                                                          the data is there after wait_group

Stores and reductions into shared memory complete on an mbarrier too, mostly that of another CTA of the cluster. Reductions are atomic: several at an address do
not race with each other.

st.async....mbarrier::complete_tx::bytes.b32 [%r1], %r2, [%r3]        →   4 bytes, there once a wait sees the phase of [%r3] end
red.async....mbarrier::complete_tx::bytes.add.u32 [%r1], %r2, [%r3]   →   likewise, added to what is there
cp.reduce.async.bulk.shared::cluster.shared::cta....add.u32           →   likewise, for every word of the source
"""

from dataclasses import dataclass

import numpy as np

from minitriton.emulator.arithmetic import small_floats as sf
from minitriton.emulator.lanes import Lanes
from minitriton.emulator.machine import Machine
from minitriton.emulator.memory import access_cost
from minitriton.emulator.memory import device as global_memory
from minitriton.emulator.operations import atomic as atomic_operations
from minitriton.emulator.operations import memory as memory_operations
from minitriton.emulator.operations import proxy_fences
from minitriton.emulator.operations.mbarrier import Arriving, find_barrier, publish
from minitriton.emulator.report import Traffic
from minitriton.emulator.threads import Mask

LANE_OF_COPIES = -3
"""Stands for the copy and dot units among the lanes of a warp: a thread's own accesses are not ordered with theirs."""


@dataclass(frozen=True)
class Delivery:
    """How data reaches shared memory: `what` brings it, what it is combined with (""; else an operation on `element`s)."""

    what: str = "a bulk copy"
    operation: str = ""
    element: str = ""
    by_copy_unit: bool = True
    """By the async proxy, which does not see what threads wrote without a fence after."""


_PLAIN = Delivery()
LANE_OF_REDUCTIONS = -4
"""Likewise for reductions, which are atomic and so do not race with each other."""


def active_threads(x: Machine, mask: Mask) -> list[int]:
    """The threads that act, one after the other."""
    chosen = x.mask(mask)
    return (x.index[x.alive] if chosen is None else np.nonzero(chosen)[0]).tolist()


def shared_range(x: Machine, site: int, thread: int, address: int, size: int, align: int = 16) -> int | None:
    """Where `size` bytes at a shared address begin in the buffer; None, and a finding, if they cannot be there."""
    offset, base = (int(v) for v in x.shared_offsets(np.asarray(address, np.int64), thread))
    if address % align:
        x.find("misaligned", site, np.array([thread]), f"the shared address {address:#x} is not a multiple of {align}")
    elif offset < 0 or offset + size > x.shared.size:
        text = f"{size} bytes at byte {offset} of {x.shared.size} bytes of shared memory"
        x.find("out-of-bounds", site, np.array([thread]), text)
    else:
        return offset + base
    return None


def global_inside(
    x: Machine, site: int, thread: int, offset: np.ndarray, inside: np.ndarray | None, item: int
) -> np.ndarray | None:
    """Of the elements to copy (None: all), those that are in an allocation; None if all do."""
    chosen = offset if inside is None else offset[inside]
    if x.memory.trace is not None:
        x.memory.trace.note(site, "the address", [chosen])
    if not chosen.size or (good := x.memory.inside(chosen, item)) is None:
        return inside
    bad = int(chosen[~good][0])
    x.find("out-of-bounds", site, np.array([thread]), f"a bulk copy at {x.memory.describe(bad)}")
    if inside is None:
        return good
    inside = inside.copy()
    inside[inside] = good
    return inside


def check_global_read(x: Machine, site: int, thread: int, offset: np.ndarray, item: int) -> None:
    """Races and uninitialised bytes of what a copy reads from global memory."""
    if len(offset):
        memory_operations.check_global_read(x, site, offset, item, np.full(len(offset), thread), "a bulk copy reads")


def check_global_write(x: Machine, site: int, thread: int, offset: np.ndarray, item: int) -> None:
    """Races of what a copy writes to global memory, and arrays that are read-only."""
    who, same = np.full(len(offset), thread), np.zeros(len(offset), np.bool_)
    memory_operations.check_global_write(x, site, offset, item, who, same, None, "a bulk copy writes")


def count_traffic(x: Machine, site: int, thread: int, offset: np.ndarray, item: int) -> None:
    """Counts one copy: a request of as many sectors and lines as its 16-byte parts are in."""
    traffic = x.report.traffic.setdefault(site, Traffic("global"))
    traffic.requests += 1
    traffic.threads += 1
    traffic.bytes += len(offset) * item
    sectors = np.unique(offset[:: max(1, 16 // item)] // access_cost.SECTOR)
    traffic.sectors += len(sectors)
    traffic.lines += len(np.unique(sectors // (access_cost.LINE // access_cost.SECTOR)))
    memory_operations.note_reach(x, site, sectors * access_cost.SECTOR, 1, np.full(len(sectors), thread))


def deliver_later(
    x: Machine, site: int, thread: int, barrier_offset: int, start: int, size: int, offsets: np.ndarray, values: np.ndarray,
    how: Delivery = _PLAIN, sources: np.ndarray | None = None,
) -> None:  # fmt: skip
    """Counts a copy's bytes at the mbarrier at `barrier_offset`; the data appears when a wait sees the phase end.

    `start` and `size` are the bytes of shared memory that the elements `values` at the byte offsets `offsets` fill; `sources` are what
    `GlobalShadow.copy_begins` gave.
    """
    shared = x.shared
    barrier = find_barrier(x, site, thread, barrier_offset)
    if barrier is None:
        return
    width = values.dtype.itemsize
    warp, stamp = int(x.warp[thread]), 0
    low, high = start // shared.granule, (start + size) // shared.granule
    if shared.shadowed:
        meets = shared.range_conflicts(low, high, warp, LANE_OF_REDUCTIONS if how.operation else None)
        if meets or (not how.operation and shared.pending[low:high].any()):
            text = f"{how.what} writes shared memory that other threads still use"
            x.find("shared-race", site, np.array([thread]), text)
        if shared.reading_count and shared.reading[low:high].any():
            text = f"{how.what} writes what an asynchronous copy or dot still reads"
            x.find("async-write", site, np.array([thread]), text)
        if how.operation and not shared.initialised[low:high].all():
            text = f"{how.what} is combined with shared memory that nothing has written"
            x.find("uninitialised", site, np.array([thread]), text)
        if how.by_copy_unit:
            proxy_fences.check(x, site, thread, slice(low, high), f"{how.what} overwrites")
        shared.pending[low:high] += 1
        shared.pending_count += 1
        stamp = int(shared.clock[warp])

    def deliver() -> None:
        if sources is not None and x.memory.shadow is not None:
            x.memory.shadow.copy_ends(sources)
        memory, where = shared.views[width], offsets // width
        memory[where] = combine(how.operation, how.element, memory[where], values) if how.operation else values
        if shared.shadowed:
            shared.pending[low:high] -= 1
            shared.pending_count -= 1
            lane = LANE_OF_REDUCTIONS if how.operation else LANE_OF_COPIES
            shared.range_written(low, high, warp, lane, stamp)

    publish(x, barrier, thread)
    if x.trace is not None:
        x.trace.note(
            x.program.kernel.instructions[site], [thread], bytes=size, barrier=barrier_offset, phase=barrier.number
        )
    barrier.incoming.append(Arriving(site, thread, deliver))
    barrier.transactions -= size
    barrier.settle(x)


def check_source(x: Machine, site: int, thread: int, start: int, size: int) -> None:
    """Faults of a copy's reads from shared memory at the time it is issued."""
    shared = x.shared
    if not shared.shadowed:
        return
    low, high = start // shared.granule, (start + size) // shared.granule
    race, fresh, early = shared.range_read(low, high, int(x.warp[thread]), int(x.lane[thread]))
    for kind, wrong, text in (
        ("shared-race", race, "a bulk copy reads what another thread writes without a barrier between"),
        ("uninitialised", fresh, "a bulk copy reads shared memory that nothing has written"),
        ("async-read", early, "a bulk copy reads what an asynchronous copy writes before the wait that covers it"),
    ):
        if wrong:
            x.find(kind, site, np.array([thread]), text)
    proxy_fences.check(x, site, thread, slice(low, high), "a bulk copy reads")


@dataclass
class Outgoing:
    """A copy from shared memory that its thread has not waited for: granules `low` to `high` are being read, those of global memory `written`."""

    site: int
    thread: int
    group: int
    low: int
    high: int
    written: np.ndarray | None


@dataclass
class OutgoingCopies:
    """Copies under way, those that have read their source, and the number of groups every thread has committed."""

    pending: list[Outgoing]
    arriving: list[Outgoing]
    committed: np.ndarray


def _outgoing(x: Machine) -> OutgoingCopies:
    return x.kept(OutgoingCopies, lambda: OutgoingCopies([], [], np.zeros(x.count, np.int64)), check_end)


def read_until_wait(x: Machine, site: int, thread: int, start: int, size: int, offset: np.ndarray, item: int) -> None:
    """Marks shared bytes as being read, and elements of global memory as being written, until the thread waits for the group of this copy."""
    shared = x.shared
    if x.trace is not None:
        x.trace.note(x.program.kernel.instructions[site], [thread], bytes=size)
    if not shared.shadowed:
        return
    state = _outgoing(x)
    low, high = start // shared.granule, (start + size) // shared.granule
    shadow = x.memory.shadow
    written = None if shadow is None else shadow.store_begins(offset, item)
    state.pending.append(Outgoing(site, thread, int(state.committed[thread]), low, high, written))
    shared.reading[low:high] += 1
    shared.reading_count += 1


def commit(x: Machine, mask: Mask) -> None:
    """`cp.async.bulk.commit_group`."""
    mask = x.mask(mask)
    state = _outgoing(x)
    state.committed[slice(None) if mask is None else mask] += 1


def wait(x: Machine, allowed: int, only_sources: bool, mask: Mask) -> None:
    """`cp.async.bulk.wait_group N`: all but a thread's last N groups have read their sources and, but for `.read`, written their data."""
    mask = x.mask(mask)
    state, shared = _outgoing(x), x.shared

    def is_over(one: Outgoing) -> bool:
        return bool((mask is None or mask[one.thread]) and one.group < state.committed[one.thread] - allowed)

    for one in filter(is_over, state.pending):
        shared.reading[one.low : one.high] -= 1
        shared.reading_count -= 1
        shared.range_read(one.low, one.high, int(x.warp[one.thread]), int(x.lane[one.thread]))
        state.arriving.append(one)
    state.pending = [one for one in state.pending if not is_over(one)]
    if not only_sources:
        _arrive(x, list(filter(is_over, state.arriving)))
        state.arriving = [one for one in state.arriving if not is_over(one)]


def _arrive(x: Machine, copies: list[Outgoing]) -> None:
    for one in copies:
        if one.written is not None and x.memory.shadow is not None:
            x.memory.shadow.store_ends(one.written)


def check_end(x: Machine) -> None:
    """At the end of a batch: copies whose source went with the CTA before it was read. What they write is there for later ones."""
    state = _outgoing(x)
    _arrive(x, [*state.pending, *state.arriving])
    for one in state.pending:
        text = "the thread ends before it waits for this copy to have read its source"
        x.find("async-write", one.site, np.array([one.thread]), text)


def load_bulk(
    x: Machine, site: int, target: Lanes, source: Lanes, size: Lanes, barrier: Lanes, ranks: Lanes | None, mask: Mask
) -> None:
    """`cp.async.bulk` from global to shared memory, of every CTA in the mask `ranks` if there is one."""
    targets, sources, sizes, barriers = (x.spread(v).astype(np.int64) for v in (target, source, size, barrier))
    chosen = None if ranks is None else x.spread(ranks)
    for thread in active_threads(x, mask):
        count = int(sizes[thread])
        offset = int(sources[thread]) - global_memory.BASE + 4 * np.arange(count // 4, dtype=np.int64)
        if not is_whole(x, site, thread, int(sources[thread]), count):
            continue
        inside = global_inside(x, site, thread, offset, None, 4)
        values = x.memory.views[4].take(offset // 4 if inside is None else np.where(inside, offset // 4, 0))
        if x.check:
            check_global_read(x, site, thread, offset if inside is None else offset[inside], 4)
            count_traffic(x, site, thread, offset, 4)
        for to, bar in destinations(x, thread, int(targets[thread]), int(barriers[thread]), chosen):
            _to_shared(x, site, thread, to, bar, values, copy_begins(x, offset, inside, 4))


def destinations(x: Machine, thread: int, target: int, barrier: int, ranks: np.ndarray | None) -> list[tuple[int, int]]:
    """Shared addresses of a copy and its mbarrier, in every CTA that a multicast mask names."""
    if ranks is None:
        return [(target, barrier)]
    word = int(ranks[thread])
    here = range(x.cluster)
    return [(x.at_rank(target, r), x.at_rank(barrier, r)) for r in here if word >> r & 1]


def copy_begins(x: Machine, offset: np.ndarray, inside: np.ndarray | None, item: int) -> np.ndarray | None:
    """Marks the elements that a copy reads from global memory until it is delivered."""
    if x.memory.shadow is None:
        return None
    return x.memory.shadow.copy_begins(offset if inside is None else offset[inside], item)


def _to_shared(
    x: Machine, site: int, thread: int, target: int, barrier: int, values: np.ndarray, sources: np.ndarray | None = None
) -> None:
    start = shared_range(x, site, thread, target, values.nbytes)
    barrier_offset = shared_range(x, site, thread, barrier, 8, 8)
    if start is not None and barrier_offset is not None:
        where = start + values.itemsize * np.arange(len(values))
        deliver_later(x, site, thread, barrier_offset, start, values.nbytes, where, values, sources=sources)


def copy_to_cluster(
    x: Machine, site: int, target: Lanes, source: Lanes, size: Lanes, barrier: Lanes, mask: Mask
) -> None:
    """`cp.async.bulk` from the CTA's own shared memory to that of another CTA of the cluster."""
    targets, sources, sizes, barriers = (x.spread(v).astype(np.int64) for v in (target, source, size, barrier))
    for thread in active_threads(x, mask):
        count = int(sizes[thread])
        start = shared_range(x, site, thread, int(sources[thread]), count)
        if start is None or not is_whole(x, site, thread, start, count):
            continue
        check_source(x, site, thread, start, count)
        _to_shared(
            x, site, thread, int(targets[thread]), int(barriers[thread]), x.shared.views[4][start // 4 :][: count // 4]
        )


def store_bulk(
    x: Machine, site: int, target: Lanes, source: Lanes, size: Lanes, operation: str, element: str, mask: Mask
) -> None:
    """`cp.async.bulk` and `cp.reduce.async.bulk` from shared to global memory."""
    targets, sources, sizes = (x.spread(v).astype(np.int64) for v in (target, source, size))
    for thread in active_threads(x, mask):
        count, goal = int(sizes[thread]), int(targets[thread])
        start = shared_range(x, site, thread, int(sources[thread]), count)
        if start is None or not is_whole(x, site, thread, goal, count):
            continue
        item = int(element.lstrip("bfsu")) // 8 if operation else 4
        offset = goal - global_memory.BASE + item * np.arange(count // item, dtype=np.int64)
        inside = global_inside(x, site, thread, offset, None, item)
        values = x.shared.views[item][start // item :][: count // item]
        if inside is not None:
            offset, values = offset[inside], values[inside]
        check_source(x, site, thread, start, count)
        write_global(x, site, thread, offset, values, operation, element)
        read_until_wait(x, site, thread, start, count, offset, item)


def write_global(
    x: Machine, site: int, thread: int, offset: np.ndarray, values: np.ndarray, operation: str, element: str
) -> None:
    """Stores distinct elements at byte offsets, or combines them with what is there."""
    item = values.itemsize
    if not x.memory.may_be_written(offset).all():
        x.find("read-only", site, np.array([thread]), "a bulk copy writes an array that the host keeps read-only")
        return
    memory, where = x.memory.views[item], offset // item
    if x.memory.trace is not None:
        x.memory.trace.note(site, "what is stored", [offset, values])
    if operation:
        values = combine(operation, element, memory[where], values)
    memory[where] = values
    if x.check and len(offset):
        count_traffic(x, site, thread, offset, item)
        if not operation:
            check_global_write(x, site, thread, offset, item)


def combine(operation: str, element: str, old: np.ndarray, new: np.ndarray) -> np.ndarray:
    """What a reduction leaves, as unsigned words."""
    if element in ("f16", "bf16"):
        return sf.narrow(operation, element, old, new)
    dtype = np.dtype({"f": "f", "s": "i"}.get(element[0], "u") + str(old.itemsize))
    return atomic_operations.OPERATIONS[operation](old.view(dtype), new.view(dtype)).view(old.dtype)


def is_whole(x: Machine, site: int, thread: int, address: int, size: int) -> bool:
    """Whether address and size are multiples of 16."""
    if address % 16 == 0 and size % 16 == 0:
        return True
    text = f"a bulk copy of {size} bytes at {address:#x}: both must be multiples of 16"
    x.find("misaligned", site, np.array([thread]), text)
    return False


def store_async(
    x: Machine, site: int, target: Lanes, values: list[Lanes], operation: str, element: str, barrier: Lanes, mask: Mask
) -> None:
    """`st.async` (no `operation`) and `red.async`: the elements of `values` from every active thread."""
    targets, barriers = (x.spread(v).astype(np.int64) for v in (target, barrier))
    words = np.stack([x.spread(v) for v in values], axis=-1)
    size: int = words.shape[1] * words.itemsize
    for thread in active_threads(x, mask):
        start = shared_range(x, site, thread, int(targets[thread]), size, size)
        bar = shared_range(x, site, thread, int(barriers[thread]), 8, 8)
        if start is not None and bar is not None:
            where = np.arange(start, start + size, words.itemsize)
            new = words[thread].copy()
            how = Delivery("an asynchronous store", operation, element, by_copy_unit=False)
            deliver_later(x, site, thread, bar, start, size, where, new, how)


def reduce_into_cluster(
    x: Machine,
    site: int,
    target: Lanes,
    source: Lanes,
    size: Lanes,
    barrier: Lanes,
    operation: str,
    element: str,
    mask: Mask,
) -> None:
    """`cp.reduce.async.bulk` from the CTA's own shared memory to that of a CTA of the cluster."""
    targets, sources, sizes, barriers = (x.spread(v).astype(np.int64) for v in (target, source, size, barrier))
    item = int(element.lstrip("bsu")) // 8
    for thread in active_threads(x, mask):
        count = int(sizes[thread])
        start = shared_range(x, site, thread, int(sources[thread]), count)
        goal = shared_range(x, site, thread, int(targets[thread]), count)
        bar = shared_range(x, site, thread, int(barriers[thread]), 8, 8)
        if start is None or goal is None or bar is None or not is_whole(x, site, thread, start, count):
            continue
        check_source(x, site, thread, start, count)
        values = x.shared.views[item][start // item :][: count // item].copy()
        where = goal + item * np.arange(len(values))
        how = Delivery("a bulk reduction", operation, element)
        deliver_later(x, site, thread, bar, goal, count, where, values, how)
