"""A machine of warps, lanes, registers and banked shared memory that executes plans literally."""

import numpy as np

from minitriton.layouts import f2
from minitriton.layouts.linear_layout import LinearLayout
from minitriton.layouts.plans import (
    ConversionPlan,
    NoConversion,
    PlannedAccess,
    PlannedMemoryAccess,
    RegisterPermutation,
    SelectSwap,
    SharedMemoryRoundTrip,
    Ship,
    Shuffle,
    WarpShuffle,
)

LANES = np.arange(32)


def held_by(layout: LinearLayout) -> np.ndarray:
    """The number of the element that each `[warp, lane, register]` holds."""
    spans = [np.array(f2.span(layout.flat_bases(dim))) for dim in ("warp", "lane", "register")]
    return spans[0][:, None, None] ^ spans[1][None, :, None] ^ spans[2][None, None, :]


def stored_in(shared: LinearLayout) -> np.ndarray:
    """The number of the element at each offset of a buffer."""
    return np.array(f2.span(shared.flat_bases("offset")))


def convert(plan: ConversionPlan, values: np.ndarray) -> np.ndarray:
    """What the destination registers hold after `plan`, given what the source registers hold."""
    match plan:
        case NoConversion():
            return values
        case RegisterPermutation():
            return values[:, :, list(plan.source)]
        case WarpShuffle():
            return _shuffle(plan, values)
        case SharedMemoryRoundTrip():
            return _round_trip(plan, values)


def _shuffle(plan: WarpShuffle, values: np.ndarray) -> np.ndarray:
    x = values[:, :, list(plan.source)]
    words = x.reshape(*x.shape[:2], -1, plan.pack)
    for step in plan.steps:
        words = _step(step, words)
    return words.reshape(*x.shape)[:, :, list(plan.result)]


def _step(step: SelectSwap | Shuffle | Ship, words: np.ndarray) -> np.ndarray:
    new = words.copy()
    if isinstance(step, Shuffle):
        for w in range(words.shape[2]):
            new[:, :, w] = words[:, [step.source_lane(lane, w) for lane in LANES], w]
        return new
    on = (LANES >> step.lane_bit & 1).astype(bool)
    for lo in range(words.shape[2]):
        hi = lo | 1 << step.word_bit
        if lo == hi:
            continue
        if isinstance(step, SelectSwap):
            new[:, on, lo], new[:, on, hi] = words[:, on, hi], words[:, on, lo]
        else:
            sent = np.where(on[None, :, None], words[:, :, lo], words[:, :, hi])
            got = sent[:, LANES ^ 1 << step.lane_bit]
            new[:, :, lo] = np.where(on[None, :, None], got, words[:, :, lo])
            new[:, :, hi] = np.where(on[None, :, None], words[:, :, hi], got)
    return new


def _round_trip(plan: SharedMemoryRoundTrip, values: np.ndarray) -> np.ndarray:
    loaded = []
    for store, load in zip(plan.stores, plan.loads, strict=True):
        memory = np.full(plan.scratch_bytes * 8 // plan.bitwidth, -1)
        warps = values.shape[0]
        for access in store.accesses:
            memory[places(store, access, warps)] = values[:, :, list(access.registers)]
        loaded += [memory[places(load, access, warps)] for access in load.accesses]
    return np.concatenate(loaded, -1)[:, :, list(plan.result)]


def load(plan: PlannedMemoryAccess, memory: np.ndarray, warps: int, slice_offset: int = 0) -> np.ndarray:
    """The registers after loading from `memory`, which has an entry per element."""
    loaded = [memory[places(plan, access, warps, slice_offset)] for access in plan.accesses]
    return np.concatenate(loaded, -1)[:, :, list(plan.result)]


def store(plan: PlannedMemoryAccess, values: np.ndarray, memory: np.ndarray, slice_offset: int = 0) -> None:
    """Store registers to `memory`."""
    for access in plan.accesses:
        memory[places(plan, access, values.shape[0], slice_offset)] = values[:, :, list(access.registers)]


def addresses(plan: PlannedMemoryAccess, access: PlannedAccess, warps: int, slice_offset: int = 0) -> np.ndarray:
    """The byte address that each `[warp, lane]` gives; checks that it is aligned."""
    given = np.array([[plan.address(access, lane, warp, slice_offset) for lane in LANES] for warp in range(warps)])
    assert (given % (16 if plan.matrices else plan.vector_bytes) == 0).all()
    return given


def places(plan: PlannedMemoryAccess, access: PlannedAccess, warps: int, slice_offset: int = 0) -> np.ndarray:
    """The element of the buffer that each `[warp, lane, k]` of the access touches."""
    size = plan.bitwidth // 8
    start = addresses(plan, access, warps, slice_offset) // size
    if not plan.matrices:
        return start[:, :, None] + np.arange(plan.vector)
    per_word = 4 // size
    touched = []
    for matrix in range(plan.matrices):
        for k in range(per_word):
            if plan.transposed:
                row, column = 2 * (LANES % 4) + k, LANES // 4
            else:
                row, column = LANES // 4, LANES % 4 * per_word + k
            touched.append(start[:, 8 * matrix + row] + column)
    return np.stack(touched, -1)


def wavefronts(plan: PlannedMemoryAccess, warps: int) -> int:
    """Passes over the 32 banks of all accesses: a matrix at a time, or as many lanes as move 128 bytes."""
    size = 16 if plan.matrices else plan.vector_bytes
    group = 8 if plan.matrices else 32 // max(1, size // 4)
    total = 0
    for access in plan.accesses:
        for of_warp in addresses(plan, access, warps):
            for first in range(0, 8 * plan.matrices or 32, group):
                starts = of_warp[first : first + group]
                words = {byte // 4 for start in starts for byte in range(start, start + size)}
                total += int(np.bincount([word % 32 for word in words]).max())
    return total


def extra_wavefronts(plan: PlannedMemoryAccess, warps: int) -> float:
    """Wavefronts per group of lanes that moves 128 bytes, beyond the one that is needed; the mean over all accesses."""
    group = 32 // max(1, plan.vector_bytes // 4)
    counts = []
    for access in plan.accesses:
        for of_warp in addresses(plan, access, warps):
            for first in range(0, 32, group):
                words = {
                    byte // 4
                    for start in of_warp[first : first + group]
                    for byte in range(start, start + plan.vector_bytes)
                }
                banks = np.bincount([word % 32 for word in words], minlength=32)
                counts.append(int(banks.max()) - 1)
    return sum(counts) / len(counts)
