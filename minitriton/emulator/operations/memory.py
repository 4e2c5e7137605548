"""Loads, stores and atomics as generated code calls them, with their checks.

In: the machine, the instruction's site, addresses, the threads that act. Out: one array per vector element, zeros for
threads that do not act.

    load(x, 7, "shared", r1, p2, D_u32, 2)   →   [array, array]
"""

import numpy as np

from minitriton.emulator.batch import LOCAL_WINDOW, SHARED_WINDOW
from minitriton.emulator.lanes import Lanes
from minitriton.emulator.machine import Machine
from minitriton.emulator.memory import access_cost
from minitriton.emulator.memory import device as global_memory
from minitriton.emulator.memory.device_shadow import Access, Races
from minitriton.emulator.operations import cluster as cluster_operations
from minitriton.emulator.operations import proxy_fences
from minitriton.emulator.report import Traffic
from minitriton.emulator.threads import Mask, Threads


def both(first: Mask, second: np.ndarray) -> Mask:
    """Threads in both masks."""
    return second if first is None else first & second


def locate(
    x: Threads, site: int, space: str, address: Lanes, mask: Mask, size: int, alignment: int = 0
) -> tuple[np.ndarray, Mask]:
    """Byte offsets into the space's buffer, and the threads whose access is in bounds and aligned: to its size, unless `alignment` says to what."""
    alignment = alignment or size
    signed = x.spread(address).astype(np.int64)
    base = np.zeros(1, np.int64)
    if space == "shared":
        offset, base = x.shared_offsets(signed)
        limit = x.shared.size
    elif space == "local":
        offset, limit = signed, x.local_size
    else:
        offset, limit = signed - global_memory.BASE, 0
    active = offset if mask is None else offset[mask]
    if x.memory.trace is not None and space == "global":
        x.memory.trace.note(site, "the address", [x.numbers, signed], mask)
    if active.size:
        if (active & (alignment - 1)).any():
            wrong = (offset & (alignment - 1)) != 0
            lanes = np.nonzero(wrong if mask is None else wrong & mask)[0]
            x.find(
                "misaligned", site, lanes, f"the address {int(signed[lanes[0]]):#x} is not a multiple of {alignment}"
            )
            mask = both(mask, ~wrong)
            active = offset[mask]
        if space in ("shared", "local"):
            outside = active.size and (active.min() < 0 or active.max() + size > limit)
            good = (offset >= 0) & (offset + size <= limit) if outside else None
        else:
            inside = x.memory.inside(active, size) if active.size else None
            if inside is None:
                good = None
            elif mask is None:
                good = inside
            else:
                good = np.zeros(x.count, np.bool_)
                good[mask] = inside
        if good is not None:
            lanes = np.nonzero(~good if mask is None else ~good & mask)[0]
            where = (
                x.memory.describe(int(offset[lanes[0]]))
                if space == "global"
                else f"byte {int(offset[lanes[0]])} of {limit} bytes of {space} memory"
            )
            x.find("out-of-bounds", site, lanes, f"{size} bytes at {where}")
            mask = both(mask, good)
    if mask is not None:
        offset = np.where(mask, offset, 0)
    if space == "shared":
        if x.cluster > 1 and x.shared.shadowed and isinstance(x, Machine):
            cluster_operations.note_reach(x, site, base, mask)
        offset = offset + base
    elif space == "local":
        offset = offset + x.index * max(x.local_size, 16)
    return offset, mask


def locate_to_write(
    x: Threads, site: int, space: str, address: Lanes, mask: Mask, size: int, alignment: int = 0
) -> tuple[np.ndarray, Mask]:
    """As `locate`, less the threads that would write an array which the host keeps read-only."""
    offset, mask = locate(x, site, space, address, mask, size, alignment)
    if space == "global" and x.memory.read_only:
        good = x.memory.may_be_written(offset)
        lanes = np.nonzero(~good if mask is None else ~good & mask)[0]
        if lanes.size:
            array = x.memory.describe(int(offset[lanes[0]]))
            x.find("read-only", site, lanes, f"writes {array}, which the host keeps read-only")
            mask = both(mask, good)
    return offset, mask


def by_space(x: Machine, address: Lanes, mask: Mask) -> list[tuple[str, np.ndarray, Mask]]:
    """Generic addresses by the state space they are in."""
    address = x.spread(address)
    found: list[tuple[str, np.ndarray, Mask]] = []
    for space, start in (("shared", SHARED_WINDOW), ("local", LOCAL_WINDOW)):
        here = x.in_space(address, space)
        if here.any():
            found.append((space, address - np.uint64(start), both(mask, here)))
            mask = both(mask, ~here)
    if not found or mask is None or mask.any():
        found.append(("global", address, mask))
    return found


def _buffer(x: Machine, space: str, width: int) -> np.ndarray:
    if space == "global":
        return x.memory.views[width]
    return x.shared.views[width] if space == "shared" else x.local.view(f"u{width}")


def load(
    x: Machine, site: int, space: str, address: Lanes, mask: Mask, dtype: np.dtype, count: int
) -> list[np.ndarray]:
    """Loads `count` consecutive elements of `dtype` per thread."""
    mask = x.mask(mask)
    if space == "generic":
        parts = [(m, load(x, site, s, a, m, dtype, count)) for s, a, m in by_space(x, address, mask)]
        if len(parts) == 1:
            return parts[0][1]
        return [
            np.sum([np.where(True if m is None else m, p[k], 0) for m, p in parts], axis=0).astype(dtype)
            for k in range(count)
        ]
    width = dtype.itemsize
    size = width * count
    offset, mask = locate(x, site, space, address, mask, size)
    if x.check:
        lanes = None if mask is None else np.nonzero(mask)[0]
        if lanes is None or lanes.size:
            first, end = x.program.read_elements(site) if count > 1 and space == "shared" else (0, 0)
            end = end or count  # what is loaded for nothing is checked whole
            check_read(x, site, space, offset + first * width, lanes, (end - first) * width)
            if space == "global":
                pass_order(x, site, offset, x.index if lanes is None else lanes, acquire=True, release=False)
            measure(x, site, space, offset, lanes, size)
    index = offset // width
    buffer = _buffer(x, space, width).view(dtype)
    if mask is None:
        return [buffer.take(index + k if k else index) for k in range(count)]
    return [np.where(mask, buffer.take(index + k if k else index), dtype.type(0)) for k in range(count)]


def store(x: Machine, site: int, space: str, address: Lanes, mask: Mask, values: list[Lanes], dtype: np.dtype) -> None:
    """Stores the elements of `values` per thread; of threads that write one address, the last in order wins."""
    mask = x.mask(mask)
    if space == "generic":
        for s, a, m in by_space(x, address, mask):
            store(x, site, s, a, m, values, dtype)
        return
    width = dtype.itemsize
    size = width * len(values)
    offset, mask = locate_to_write(x, site, space, address, mask, size)
    lanes = None if mask is None else np.nonzero(mask)[0]
    if lanes is not None and not lanes.size:
        return
    if space == "global":
        x.polls = 0
    arrays = [x.spread(v) for v in values]
    if x.memory.trace is not None and space == "global":
        x.memory.trace.note(site, "what is stored", [x.numbers, offset, *arrays], mask)
    offsets = offset if lanes is None else offset[lanes]
    chosen = arrays if lanes is None else [a[lanes] for a in arrays]
    index = offsets // width
    buffer = _buffer(x, space, width).view(dtype)
    if not x.check or space == "local":
        for k, value in enumerate(chosen):
            buffer[index + k if k else index] = value
        return
    measure(x, site, space, offset, lanes, size)
    if space == "global":
        pass_order(x, site, offset, x.index if lanes is None else lanes, acquire=False, release=True)
    same = np.ones(len(index), np.bool_)
    for k, value in enumerate(chosen):
        same &= buffer.take(index + k) == value
        buffer[index + k] = value
    lost = np.zeros(len(index), np.bool_)
    for k, value in enumerate(chosen):
        lost |= buffer.take(index + k) != value
    check_write(x, site, space, offsets, x.index if lanes is None else lanes, size, same, lost)


MOST_LOCKS = 64
"""Threads of one atomic instruction that may pass order between CTAs: locks and counters are taken by a thread of a CTA each."""


def pass_order(x: Threads, site: int, offset: np.ndarray, who: np.ndarray, *, acquire: bool, release: bool) -> None:
    """What an atomic, volatile or ordered access of threads to global memory may acquire or release, it does.

    A relaxed one releases once its CTA has executed a fence, and acquires once it has or executes the next one.
    """
    shadow = x.memory.shadow
    if shadow is None or not x.is_strong(site):
        return
    parts = x.instruction(site).parts
    if len(who) > MOST_LOCKS:
        if parts[0] in ("atom", "red") or "volatile" in parts or not (release or shadow.released):
            return
        _, first = np.unique(offset[who].astype(np.int64) * len(x.warp) + x.warp[who], return_index=True)
        who = who[first]
    acquires = acquire and ("acquire" in parts or "acq_rel" in parts)
    releases = release and ("release" in parts or "acq_rel" in parts)
    for thread in who.tolist():
        fenced = x.cta_number[thread] in shadow.fenced if shadow.fenced else False
        if acquire or releases or fenced:
            shadow.synchronize(
                thread, int(offset[thread]), acquires or (acquire and fenced), releases or (release and fenced)
            )


def fence(x: Threads, mask: Mask) -> None:
    """`fence` and `membar` of the device or the system."""
    shadow = x.memory.shadow
    if shadow is not None:
        mask = x.mask(mask)
        shadow.fenced.update(np.unique(x.cta_number if mask is None else x.cta_number[mask]).tolist())
        shadow.fence(x.index if mask is None else np.nonzero(mask)[0])


def check_read(x: Threads, site: int, space: str, offset: np.ndarray, lanes: np.ndarray | None, size: int) -> None:
    """Races, uninitialised bytes, results of async copies that no wait has covered."""
    who = x.index if lanes is None else lanes
    offsets = offset if lanes is None else offset[lanes]
    if space == "shared" and x.shared.shadowed:
        race, fresh, early = x.shared.read_by(offsets, size, x.warp[who], x.lane[who])
        found = [
            ("shared-race", race, "reads what another thread writes without a barrier between"),
            ("uninitialised", fresh, "reads shared memory that nothing has written"),
            ("async-read", early, "reads what an asynchronous copy writes before the wait that covers it"),
        ]
    elif space == "global":
        check_global_read(x, site, offsets, size, who)
        return
    else:
        return
    for kind, wrong, text in found:
        if wrong.any():
            bad = np.nonzero(wrong)[0]
            x.find(kind, site, who[bad], f"{text}, at {_where(x, space, int(offsets[bad[0]]))}")


def check_global_read(
    x: Threads, site: int, offsets: np.ndarray, size: int, who: np.ndarray, what: str = "reads"
) -> None:
    """Races, uninitialised bytes and results of bulk stores under way in reads from global memory; `what` reads ("a bulk copy reads")."""
    shadow = x.memory.shadow
    assert shadow is not None
    fresh = shadow.uninitialised(offsets, size)
    if fresh is not None and fresh.any():
        bad = np.nonzero(fresh)[0]
        text = f"{what} global memory that nothing has written, at {_where(x, 'global', int(offsets[bad[0]]))}"
        x.find("uninitialised", site, who[bad], text)
    early = shadow.still_arriving(offsets, size)
    if early is not None and early.any():
        bad = np.nonzero(early)[0]
        where = _where(x, "global", int(offsets[bad[0]]))
        text = f"{what} what a bulk store writes, before a cp.async.bulk.wait_group (without .read) that covers it, at {where}"
        x.find("async-read", site, who[bad], text)
    _report_races(
        x, site, offsets, who, shadow.read_by(Access(offsets, size, who, site, x.is_strong(site))), what, "writes"
    )


def check_global_write(
    x: Threads, site: int, offsets: np.ndarray, size: int, who: np.ndarray, same: np.ndarray, lost: np.ndarray | None,
    what: str = "writes",
) -> None:  # fmt: skip
    """Races of writes to global memory; `same` and `lost` as for `GlobalShadow.written_by`."""
    shadow = x.memory.shadow
    assert shadow is not None
    early = shadow.still_copied(offsets, size)
    if early is not None and (early := early & ~same).any():
        bad = np.nonzero(early)[0]
        text = f"{what} what an asynchronous copy reads, before the wait that covers it, at {_where(x, 'global', int(offsets[bad[0]]))}"
        x.find("async-write", site, who[bad], text)
    races = shadow.written_by(Access(offsets, size, who, site, x.is_strong(site)), same, lost)
    _report_races(x, site, offsets, who, races, what, "reads or writes")


def _report_races(
    x: Threads, site: int, offsets: np.ndarray, who: np.ndarray, races: Races | None, what: str, other: str
) -> None:
    if races is None:
        return
    for kind, wrong, text in (
        ("thread-race", races.within, f"{what} what another thread of the CTA {other}, and no barrier orders the two"),
        ("global-race", races.between, f"{what} what another CTA {other}"),
    ):
        if wrong.any():
            bad = np.nonzero(wrong)[0]
            x.find(kind, site, who[bad], f"{text}, at {_where(x, 'global', int(offsets[bad[0]]))}")


def _where(x: Threads, space: str, offset: int) -> str:
    return x.memory.describe(offset) if space == "global" else f"byte {offset % x.shared.stride} of shared memory"


def check_write(
    x: Threads, site: int, space: str, at: np.ndarray, who: np.ndarray, size: int, same: np.ndarray, lost: np.ndarray
) -> None:
    """Races of a store; `lost` marks threads whose value another thread of the same instruction overwrote."""
    if space == "shared":
        check_still_read(x, site, at, who, size)
    if space == "global":
        check_global_write(x, site, at, size, who, same, lost)
        return
    if space == "shared" and x.shared.shadowed:
        proxy_fences.note_store(x, site, x.shared.granules(at, size), who)
        race = x.shared.written_by(at, size, x.warp[who], x.lane[who], same) | lost
        if x.shared.pending_count and (early := x.shared.pending[x.shared.granules(at, size)].any(1)).any():
            bad = np.nonzero(early)[0]
            text = f"writes what an asynchronous copy writes later, before the wait that covers it, at {_where(x, space, int(at[bad[0]]))}"
            x.find("async-write", site, who[bad], text)
        kind, text = "shared-race", "writes what another thread reads or writes without a barrier between"
    else:
        return
    if race.any():
        bad = np.nonzero(race)[0]
        x.find(kind, site, who[bad], f"{text}, at {_where(x, space, int(at[bad[0]]))}")


def check_still_read(x: Threads, site: int, offsets: np.ndarray, who: np.ndarray, size: int) -> None:
    """Writes to what an asynchronous copy or dot is still reading."""
    if x.shared.shadowed and x.shared.reading_count:
        wrong = x.shared.reading[x.shared.granules(offsets, size)].any(1)
        if wrong.any():
            bad = np.nonzero(wrong)[0]
            text = "overwrites what an asynchronous copy or dot reads, before the wait that covers it, at "
            x.find("async-write", site, who[bad], text + _where(x, "shared", int(offsets[bad[0]])))


def measure(x: Threads, site: int, space: str, offset: np.ndarray, lanes: np.ndarray | None, size: int) -> None:
    """Counts sectors or bank conflicts for the report."""
    if space == "local":
        return
    traffic = x.report.traffic.get(site)
    if traffic is None:
        traffic = x.report.traffic[site] = Traffic(space)
    who = x.index if lanes is None else lanes
    offsets = offset if lanes is None else offset[lanes]
    warp = x.warp[who]
    traffic.threads += len(who)
    traffic.bytes += len(who) * size
    traffic.requests += x.count // x.warp_size if lanes is None else int(np.count_nonzero(np.diff(warp, prepend=-1)))
    if space == "global":
        sectors, lines = access_cost.sectors_and_lines(offsets, size, warp)
        traffic.sectors += sectors
        traffic.lines += lines
        note_reach(x, site, offsets, size, who)
    else:
        measure_banks(x, site, offsets, size, who)


def measure_banks(x: Threads, site: int, offsets: np.ndarray, size: int, who: np.ndarray) -> None:
    """Counts passes over the banks for what threads `who` [accesses] access at `offsets` in shared memory, also for an instruction that
    copies from global memory to it."""
    traffic = x.report.traffic.get(site)
    if traffic is not None:
        total, conflicts = access_cost.wavefronts(
            offsets % x.shared.stride, size, x.warp[who] * (x.warp_size // access_cost.BANKS), x.lane[who]
        )
        traffic.wavefronts += total
        traffic.conflicts += conflicts


def note_reach(x: Threads, site: int, offsets: np.ndarray, size: int, who: np.ndarray) -> None:
    """What the CTAs of threads `who` [accesses] reach at `offsets`, where the report is to say that. An atomic reads."""
    if x.report.reach is not None:
        opcode = x.report.kernel.instructions[site].ptx_opcode
        is_store = opcode.startswith("st.") or ".global.shared" in opcode
        x.report.reach.note(offsets, size, x.cta_number[who], written=is_store)


def load_parameter(x: Machine, site: int, offset: Lanes, mask: Mask, dtype: np.dtype, count: int) -> list[Lanes]:
    """Loads `count` elements of `dtype` from the kernel's parameters: the same for all threads, or for each from an offset of its own, where
    code has chosen between parameters by their addresses. Raises `EmulationError` for an offset outside of them."""
    size = dtype.itemsize * count
    last = x.parameters.size - size
    if not offset.ndim and offset <= last:
        start = int(offset)
        return list(x.parameters[start : start + size].view(dtype))
    chosen, offsets = x.mask(mask), x.spread(offset)
    asked = offsets if chosen is None else offsets[chosen]
    if asked.size and asked.max() > last:
        raise x.outside_of_parameters(site, int(asked.max()), size)
    starts = np.where(offsets <= last, offsets, 0).astype(np.int64)
    return list(x.parameters.take(starts[:, np.newaxis] + np.arange(size), mode="clip").view(dtype).T)
