"""`wgmma`: dots of a warpgroup on tiles in shared memory, by descriptor, or A in registers.

A descriptor holds the start, two byte offsets and a swizzle. With a swizzle of S bytes, element (row, byte b) of an operand
whose rows run along K is at `start + row // 8 * stride + row % 8 * S + b`, its 16-byte chunk then swizzled by address.

    m64n128k16, 128-byte swizzle   →   A: 64 rows of 32 bytes each, 8 rows in 1024 bytes
"""

import functools
from dataclasses import dataclass

import numpy as np

from minitriton.emulator.arithmetic.floats import bits16, bits32
from minitriton.emulator.lanes import Lanes
from minitriton.emulator.machine import Machine
from minitriton.emulator.memory.shared import WINDOW
from minitriton.emulator.operations import proxy_fences, tensor_core
from minitriton.emulator.operations.bulk_copies import LANE_OF_COPIES
from minitriton.emulator.operations.tensor_copy import swizzled
from minitriton.emulator.operations.tensor_core import ACCUMULATORS, decode, fragment_a
from minitriton.emulator.threads import Mask

_ITEM = {"f16": 2, "bf16": 2, "tf32": 4, "e4m3": 1, "e5m2": 1, "s8": 1, "u8": 1}
_SWIZZLE = {0: (16, 0), 1: (128, 3), 2: (64, 2), 3: (32, 1)}
"""Mode of a matrix descriptor to its bytes and the mode of `swizzled`."""
_LAYOUT_BITS = 0xC0003FFF3FFF3FFF
"""Bits of a descriptor that say where its elements are."""


@functools.lru_cache(maxsize=512)
def tile_addresses(descriptor: int, rows: int, depth: int, item: int, transposed: bool) -> np.ndarray:
    """Shared addresses of a tile's elements, [rows, depth]; `transposed` tiles run along their rows (M or N)."""
    start, leading, stride = ((descriptor >> s & 0x3FFF) << 4 for s in (0, 16, 32))
    span, mode = _SWIZZLE[descriptor >> 62]
    i, k = np.arange(rows, dtype=np.int64)[:, None], np.arange(depth, dtype=np.int64)[None, :]
    if not transposed:
        byte = k * item
        linear = i // 8 * stride + i % 8 * span + byte % span + byte // span * leading
    else:
        byte = i * item
        chunk, group = (stride, leading) if mode == 0 else (leading, stride)
        linear = byte // span * chunk + byte % span + k // 8 * group + k % 8 * span
    return swizzled(start + linear, mode)


@functools.lru_cache(maxsize=512)
def _tile_granules(descriptor: int, rows: int, depth: int, item: int, transposed: bool, granule: int) -> np.ndarray:
    """Granules of the CTA's shared memory that a tile covers."""
    address = tile_addresses(descriptor, rows, depth, item, transposed) - WINDOW
    return np.unique(address // granule)


@dataclass
class Reading:
    """What dots of a warpgroup read from shared memory until a wait covers group `group`."""

    warpgroup: int
    group: int
    granules: np.ndarray


@dataclass
class DotsInFlight:
    """Per warpgroup: how many groups it has committed. Which registers and tiles its dots still use."""

    committed: np.ndarray
    written: dict[int, np.ndarray]
    """By register: the group, per warpgroup, in which a dot last wrote it; -1 once waited for."""
    reading: list[Reading]
    fenced: np.ndarray
    """Whether the warpgroup has executed a fence."""
    touched: dict[int, np.ndarray]
    """By register: the warpgroups whose other instructions have written it since their last fence."""
    held: dict[int, np.ndarray]
    """As `written`, for the registers of A."""


def _dots(x: Machine) -> DotsInFlight:
    def none_yet() -> DotsInFlight:
        count = -(-x.count // 128)
        return DotsInFlight(np.zeros(count, np.int64), {}, [], np.zeros(count, np.bool_), {}, {})

    return x.kept(DotsInFlight, none_yet)


def _warpgroups(x: Machine, mask: Mask) -> np.ndarray:
    """Which warpgroups have active threads."""
    mask = x.mask(mask)
    active = x.alive if mask is None else mask
    padded = np.pad(active, (0, -x.count % 128)).reshape(-1, 128)
    return np.asarray(padded.any(1))


def _tile(
    x: Machine, site: int, thread: int, descriptor: int, rows: int, depth: int, type: str, transposed: bool
) -> np.ndarray:
    item = _ITEM[type]
    shape = (descriptor & _LAYOUT_BITS, rows, depth, item, transposed)
    address = tile_addresses(*shape) - WINDOW
    if address.min() < 0 or address.max() + item > x.shared.size:
        text = f"a matrix descriptor reaches byte {int(address.max())} of {x.shared.size} bytes of shared memory"
        x.find("out-of-bounds", site, np.array([thread]), text)
        return np.zeros((rows, depth), np.float32)
    base = int(x.cta_offset[thread])
    if x.shared.shadowed:
        granules = _tile_granules(*shape, x.shared.granule) + base // x.shared.granule
        _check_tile(x, site, thread, granules)
        state = _dots(x)
        state.reading.append(Reading(thread // 128, int(state.committed[thread // 128]), granules))
        x.shared.reading[granules] += 1
        x.shared.reading_count += 1
    data = x.shared.views[item][(address + base) // item]
    return decode(data.view(np.uint8).reshape(rows, -1), type).reshape(rows, depth)


def _check_tile(x: Machine, site: int, thread: int, granules: np.ndarray) -> None:
    """Races and early or uninitialised reads of a tile, as if the warpgroup's first warp read it."""
    race, fresh, early = _read(x, thread, granules)
    for kind, wrong, text in (
        ("shared-race", race, "wgmma reads what a thread writes without a barrier between"),
        ("uninitialised", fresh, "wgmma reads shared memory that nothing has written"),
        ("async-read", early, "wgmma reads what an asynchronous copy writes before the wait that covers it"),
    ):
        if wrong.any():
            x.find(kind, site, np.array([thread]), text)
    proxy_fences.check(x, site, thread, granules, "wgmma reads")


def _read(x: Machine, thread: int, granules: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    granule = x.shared.granule
    warp = np.full(len(granules), x.warp[thread])
    return x.shared.read_by(granules * granule, granule, warp, np.full(len(granules), LANE_OF_COPIES))


def multiply(
    x: Machine, site: int, shape: tuple[int, int], types: tuple[str, str, str], saturate: bool, a: Lanes, b: Lanes,
    d: list[Lanes], registers: list[int], held: list[int], keep: Lanes, negate: tuple[bool, bool],
    transposed: tuple[bool, bool], mask: Mask,
) -> list[np.ndarray]:  # fmt: skip
    """`wgmma.mma_async`: D = A B + D of every active warpgroup. `a` is a descriptor or a list of registers.

    `registers` are the numbers of D's registers, `held` those of A's.
    """
    columns, depth = shape
    of_d, of_a, of_b = types
    groups = np.nonzero(_warpgroups(x, mask))[0]
    fragments = fragment_a(x, a, of_a).reshape(-1, 64, depth) if isinstance(a, list) else None
    a_words = None if isinstance(a, list) else x.spread(a)
    b_words, keeps = x.spread(b), x.spread(keep)
    old = np.stack([x.spread(r) for r in d], axis=-1)
    new = np.array(old)
    if x.check:
        _check_fence(x, site, groups, (*registers, *held))
    for group in groups.tolist():
        thread = 128 * group
        if fragments is not None:
            left = fragments[group]
        else:
            assert a_words is not None
            left = _tile(x, site, thread, int(a_words[thread]), 64, depth, of_a, transposed[0])
        right = _tile(x, site, thread, int(b_words[thread]), columns, depth, of_b, transposed[1]).T
        if negate[0] != negate[1]:
            left = -left
        addend = _to_matrix(old[thread : thread + 128], of_d, columns)
        if not keeps[thread]:
            addend = np.zeros_like(addend)
        if of_d == "s32":
            total = tensor_core.multiply_accumulate_integers(left, right, addend, saturate)
        else:
            how = tensor_core.Accumulation(of_a, of_b, of_d, narrow=_ITEM[of_a] == 1)
            total = tensor_core.multiply_accumulate(left, right, addend, how)
        new[thread : thread + 128] = _to_lanes(total, of_d, columns)
    if x.check:
        state = _dots(x)
        for numbers, noted in ((registers, state.written), (held, state.held)):
            for register in numbers:
                noted.setdefault(register, np.full(len(state.committed), -1))[groups] = state.committed[groups]
    return [np.ascontiguousarray(new[:, r]) for r in range(new.shape[1])]


def _to_matrix(lanes: np.ndarray, type: str, columns: int) -> np.ndarray:
    """The accumulators of a warpgroup, [128, registers], as [64, columns]."""
    values = lanes.view(ACCUMULATORS[type])
    return values.reshape(4, 8, 4, columns // 8, 2, 2).transpose(0, 4, 1, 3, 2, 5).reshape(64, columns)


def _to_lanes(matrix: np.ndarray, type: str, columns: int) -> np.ndarray:
    fragments = matrix.reshape(4, 2, 8, columns // 8, 4, 2).transpose(0, 2, 4, 3, 1, 5)
    lanes = np.ascontiguousarray(fragments).reshape(128, -1)
    if type == "f16":
        return np.ascontiguousarray(bits16(lanes)).view(np.uint32)
    return lanes.view(np.uint32) if type == "s32" else bits32(lanes)


def fence(x: Machine, mask: Mask) -> None:
    """`wgmma.fence`: orders the warpgroup's register writes before its dots."""
    if not x.check:
        return
    state, here = _dots(x), _warpgroups(x, mask)
    state.fenced |= here
    for register in list(state.touched):
        state.touched[register] = state.touched[register] & ~here
        if not state.touched[register].any():
            del state.touched[register]


def touch(x: Machine, registers: list[int], mask: Mask) -> None:
    """Notes registers that instructions other than dots have written."""
    state, here = _dots(x), _warpgroups(x, mask)
    for register in registers:
        old = state.touched.get(register)
        state.touched[register] = here if old is None else old | here


def _check_fence(x: Machine, site: int, groups: np.ndarray, registers: tuple[int, ...]) -> None:
    state = _dots(x)
    missing = ~state.fenced[groups]
    if state.touched and not missing.any():
        for register in registers:
            if (touched := state.touched.get(register)) is not None:
                missing = missing | touched[groups]
    if missing.any():
        text = "no wgmma.fence between the last write of the dot's registers and the dot"
        x.find("wgmma-fence", site, 128 * groups[missing], text)


def commit(x: Machine, mask: Mask) -> None:
    """`wgmma.commit_group`."""
    _dots(x).committed[...] += _warpgroups(x, mask)


def wait(x: Machine, allowed: int, mask: Mask) -> None:
    """`wgmma.wait_group`: results of all but the last `allowed` groups may be read, their tiles overwritten."""
    state, here = _dots(x), _warpgroups(x, mask)
    for noted in (state.written, state.held):
        for register, group in list(noted.items()):
            group[here & (group < state.committed - allowed)] = -1
            if (group < 0).all():
                del noted[register]
    kept: list[Reading] = []
    for one in state.reading:
        if here[one.warpgroup] and one.group < state.committed[one.warpgroup] - allowed:
            x.shared.reading[one.granules] -= 1
            x.shared.reading_count -= 1
            _read(x, 128 * one.warpgroup, one.granules)
        else:
            kept.append(one)
    state.reading = kept


def check_pending(x: Machine, site: int, register: int, mask: Mask) -> None:
    """Reports a read of an accumulator that no wait has covered."""
    group = _dots(x).written.get(register)
    if group is None:
        return
    mask = x.mask(mask)
    early = np.repeat(group >= 0, 128)[: x.count] & (x.alive if mask is None else mask)
    if early.any():
        x.find("async-read", site, np.nonzero(early)[0], "reads a result of wgmma before the wait that covers it")


def check_running(x: Machine, site: int, register: int, guard: Lanes, mask: Mask) -> None:
    """Reports a write to a register of A or of the accumulator of a dot that no wait has covered."""
    state = _dots(x)
    for noted in (state.written, state.held):
        group = noted.get(register)
        if group is None:
            continue
        active = x.mask(mask)
        early = np.repeat(group >= 0, 128)[: x.count] & (x.alive if active is None else active) & guard
        if early.any():
            text = "writes a register that wgmma may still use, before the wait that covers it"
            x.find("async-write", site, np.nonzero(early)[0], text)
