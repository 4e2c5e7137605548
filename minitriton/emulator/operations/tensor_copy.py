"""Tensor copies (TMA) of boxes between global and shared memory, as tensor maps describe them.

box 64 x 32 of f16 at (128, 0), 128-byte swizzle   →   32 rows of 128 bytes, 16-byte chunk c of row r at c ^ (r % 8)
"""

import functools
import math

import numpy as np

from minitriton.emulator.arithmetic.small_floats import tf32_from
from minitriton.emulator.lanes import Lanes
from minitriton.emulator.machine import Machine
from minitriton.emulator.memory import device as global_memory
from minitriton.emulator.operations import bulk_copies
from minitriton.emulator.operations.memory import check_write, locate
from minitriton.emulator.threads import Mask
from minitriton.target import tensor_map
from minitriton.target.architectures import WARP_SIZE
from minitriton.target.tensor_map import TensorMap

_SWIZZLE_MASK = (0, 0x10, 0x30, 0x70)
MAP_ALIGNMENT = 64
_SUBNORMAL = {"f32.ftz": 0x7F800000, "tf32.ftz": 0x7F800000}
"""Exponent bits of the element types whose subnormals are flushed."""


def replace_field(
    x: Machine, site: int, space: str, field: str, address: Lanes, index: int, value: Lanes, mask: Mask
) -> None:
    """`tensormap.replace` of a map in shared or global memory."""
    values = x.spread(value)
    offset, got = locate(x, site, space, address, x.mask(mask), MAP_ALIGNMENT)
    if field in _IN_GRAINS:
        _check_grain(x, site, field, values, got)
    memory = x.shared.bytes if space == "shared" else x.memory.bytes
    for thread in bulk_copies.active_threads(x, got):
        start, size = int(offset[thread]), tensor_map.SIZE
        old = memory[start : start + size].copy()
        data = tensor_map.replace_field(old.tobytes(), field, index, int(values[thread]))
        new = memory[start : start + size] = np.frombuffer(data, np.uint8)
        words = start + 4 * np.unique(np.nonzero(old != new)[0] // 4)
        if x.check and space == "shared":
            who, no = np.full(len(words), thread), np.zeros(len(words), np.bool_)
            check_write(x, site, space, words, who, 4, no, no)


_IN_GRAINS = ("global_address", "global_stride")


def _check_grain(x: Machine, site: int, field: str, values: np.ndarray, mask: Mask) -> None:
    """A finding where an address or a stride, in bytes, is none that a map can hold."""
    wrong = values % tensor_map.GRAIN != 0
    threads = np.nonzero(wrong if mask is None else wrong & mask)[0]
    if len(threads):
        number = int(values[threads[0]])
        what = f"a stride of {number} bytes" if field == "global_stride" else f"the address {number:#x}"
        text = f"a tensor map with {what}, no multiple of {tensor_map.GRAIN}"
        x.find("misaligned", site, threads, text)


def publish_descriptor(x: Machine, site: int, target: Lanes, source: Lanes, size: int, mask: Mask) -> None:
    """`tensormap.cp_fenceproxy`: copies a map from shared to global memory, once a warp."""
    chosen = x.mask(mask)
    first = (x.lane == 0) if chosen is None else chosen & (np.cumsum(chosen.reshape(-1, WARP_SIZE), 1).ravel() == 1)
    read, got = locate(x, site, "shared", source, first, 16)
    written, got = locate(x, site, "global", target, got, 16)
    for thread in bulk_copies.active_threads(x, got):
        start, end = int(written[thread]), int(read[thread])
        x.memory.bytes[start : start + size] = x.shared.bytes[end : end + size]
        if x.memory.shadow is not None:
            x.memory.shadow.mark_written(start, start + size)


@functools.lru_cache(maxsize=64)
def _decode(data: bytes) -> tuple[TensorMap, str | None]:
    """The map that 128 bytes describe, and why no copy can use it."""
    map = tensor_map.decode(data)
    return map, map.refusal()


def read_map(x: Machine, site: int, thread: int, address: int) -> TensorMap | None:
    """Decodes the map at a global or parameter address; None, and a finding, if there is none that can be used."""
    if address < len(x.parameters):
        data = x.parameters[address : address + tensor_map.SIZE].tobytes()
    else:
        offset = np.array([address - global_memory.BASE])
        if address % MAP_ALIGNMENT:
            text = f"the tensor map at {address:#x} is at no multiple of {MAP_ALIGNMENT}"
            x.find("misaligned", site, np.array([thread]), text)
            return None
        if x.memory.inside(offset, tensor_map.SIZE) is not None:
            x.find("out-of-bounds", site, np.array([thread]), f"a tensor map at {x.memory.describe(int(offset[0]))}")
            return None
        data = x.memory.bytes[int(offset[0]) :][: tensor_map.SIZE].tobytes()
    try:
        map, refusal = _decode(data)
    except ValueError as error:
        x.find("out-of-bounds", site, np.array([thread]), f"a tensor copy without a tensor map ({error})")
        return None
    if map.interleave:
        raise x.cannot(site, "interleaved tensor maps")
    if refusal is not None:
        x.find("misaligned", site, np.array([thread]), f"a tensor copy by a map that no driver makes: {refusal}")
        return None
    return map


def swizzled(address: np.ndarray, mode: int) -> np.ndarray:
    """Byte addresses in shared memory after the swizzle of a map (0 none, 1, 2, 3: 32, 64, 128 bytes)."""
    return address ^ ((address >> 3) & _SWIZZLE_MASK[mode])


@functools.lru_cache(maxsize=256)
def _shared_offsets(start: int, count: int, item: int, mode: int) -> np.ndarray:
    """Byte offsets, from `start` on, of the elements of a box whose first byte is at the address `start`."""
    return swizzled(start + np.arange(count, dtype=np.int64) * item, mode) - start


@functools.lru_cache(maxsize=256)
def _relative(map: TensorMap, unit: int) -> np.ndarray:
    """Byte offsets of the box's elements, or of parts of `unit` bytes, from its first; innermost fastest."""
    taken, strides = map.taken, (map.item, *map.strides)
    offset = np.arange(0, taken[0] * map.item, unit, dtype=np.int64)
    for d in range(1, map.rank):
        rows = np.arange(taken[d], dtype=np.int64) * (map.steps[d] * strides[d])
        offset = (rows[:, None] + offset[None, :]).ravel()
    return offset


def _inside(map: TensorMap, corner: list[int], dims: tuple[int, ...]) -> np.ndarray | None:
    """Which elements of the box are in a tensor of `dims`; None if all do."""
    last = [c + (t - 1) * s for c, t, s in zip(corner, map.taken, map.steps, strict=True)]
    if all(c >= 0 and e < n for c, e, n in zip(corner, last, dims, strict=True)):
        return None
    inside = np.array([True])
    for d in range(map.rank):
        index = corner[d] + np.arange(map.taken[d]) * (map.steps[d] if d else 1)
        inside = (((index >= 0) & (index < dims[d]))[:, None] & inside[None, :]).ravel()
    return inside


def _may_begin(x: Machine, site: int, thread: int, map: TensorMap, corner: list[int], *, stores: bool) -> bool:
    """Whether the copy unit copies a box from `corner` on; a finding if not."""
    why = tensor_map.illegal_corner(corner, map.item, stores=stores)
    if why is not None:
        kind = "out-of-bounds" if corner[0] * map.item % tensor_map.GRAIN == 0 else "misaligned"
        x.find(kind, site, np.array([thread]), f"a tensor copy {why} (on a GPU an illegal instruction)")
    return why is None


def _parts(map: TensorMap, corner: list[int], dims: tuple[int, ...]) -> tuple[int, np.ndarray, np.ndarray | None]:
    """How a box is copied: bytes of a part, global byte offsets, which parts to copy (None: all), those in a tensor of `dims`."""
    inside = _inside(map, corner, dims)
    first = map.address - global_memory.BASE + sum(c * s for c, s in zip(corner, (map.item, *map.strides), strict=True))
    # Addresses wrap around: a large stride may step back.
    first = (first + (1 << 63)) % (1 << 64) - (1 << 63)
    whole = first % 8 == 0 and _inside(map, corner, map.dims) is None
    unit = 8 if whole else map.item
    return unit, first + _relative(map, unit), inside


def _without_padding(
    x: Machine, map: TensorMap, corner: list[int], offset: np.ndarray, inside: np.ndarray | None, unit: int
) -> np.ndarray | None:
    """Leaves out what a store writes past its rows and past an allocation's last byte: every allocation ends with a whole chunk."""
    of_tensor = _inside(map, corner, map.dims)
    if of_tensor is None or (good := x.memory.inside(offset, unit)) is None:
        return inside
    kept = good | of_tensor
    return kept if inside is None else kept & inside


def _corners(x: Machine, corner: list[Lanes]) -> list[np.ndarray]:
    return [x.spread(c).view(np.int32) if x.spread(c).dtype == np.uint32 else x.spread(c) for c in corner]


def _filled(map: TensorMap, values: np.ndarray, inside: np.ndarray | None) -> np.ndarray:
    """Loaded elements with what is outside set, tf32 rounded to nearest even, subnormals of flushing types cleared."""
    if inside is not None:
        nan = {2: 0x7FFF, 4: 0x7FFFFFFF, 8: 0x7FFFFFFFFFFFFFFF}.get(map.item, 0) if map.nan_fill else 0
        values = np.where(inside, values, values.dtype.type(nan))
    if map.element.startswith("tf32"):
        numbers = values.view(np.float32)
        values = np.where(np.isfinite(numbers), tf32_from(numbers, "rn"), numbers.view(np.uint32)).view(values.dtype)
    if (exponent := _SUBNORMAL.get(map.element)) is not None:
        words = values.view(np.uint32)
        values = np.where(words & np.uint32(exponent), words, words & np.uint32(0x80000000)).view(values.dtype)
    return values


def load_tensor(
    x: Machine,
    site: int,
    target: Lanes,
    map: Lanes,
    corner: list[Lanes],
    barrier: Lanes,
    ranks: Lanes | None,
    mask: Mask,
) -> None:
    """`cp.async.bulk.tensor` from global to shared memory, completing on an mbarrier; `ranks` is a multicast mask."""
    targets, maps, barriers = (x.spread(v).astype(np.int64) for v in (target, map, barrier))
    corners, chosen = _corners(x, corner), None if ranks is None else x.spread(ranks)
    for thread in bulk_copies.active_threads(x, mask):
        decoded = read_map(x, site, thread, int(maps[thread]))
        if decoded is None:
            continue
        first = [int(c[thread]) for c in corners]
        if not _may_begin(x, site, thread, decoded, first, stores=False):
            continue
        unit, offset, inside = _parts(decoded, first, decoded.dims)
        inside = bulk_copies.global_inside(x, site, thread, offset, inside, unit)
        if x.check:
            read = offset if inside is None else offset[inside]
            bulk_copies.check_global_read(x, site, thread, read, unit)
            bulk_copies.count_traffic(x, site, thread, read, unit)
        index = offset // unit if inside is None else np.where(inside, offset // unit, 0)
        values = _filled(decoded, x.memory.views[unit].take(index), inside)
        size = math.prod(decoded.taken) * decoded.item
        for to, bar in bulk_copies.destinations(x, thread, int(targets[thread]), int(barriers[thread]), chosen):
            start = bulk_copies.shared_range(x, site, thread, to, size, tensor_map.SHARED_ALIGNMENT)
            barrier_offset = bulk_copies.shared_range(x, site, thread, bar, 8, 8)
            if start is not None and barrier_offset is not None:
                where = start + _shared_offsets(to & 0xFFFF, len(values), unit, decoded.swizzle)
                sources = bulk_copies.copy_begins(x, offset, inside, unit)
                bulk_copies.deliver_later(x, site, thread, barrier_offset, start, size, where, values, sources=sources)


def store_tensor(
    x: Machine, site: int, map: Lanes, corner: list[Lanes], source: Lanes, operation: str, mask: Mask
) -> None:
    """`cp.async.bulk.tensor` and `cp.reduce.async.bulk.tensor` from shared to global memory."""
    sources, maps = x.spread(source).astype(np.int64), x.spread(map).astype(np.int64)
    corners = _corners(x, corner)
    for thread in bulk_copies.active_threads(x, mask):
        decoded = read_map(x, site, thread, int(maps[thread]))
        if decoded is None:
            continue
        first = [int(c[thread]) for c in corners]
        if not _may_begin(x, site, thread, decoded, first, stores=True):
            continue
        end = tensor_map.end_of_row(decoded.dims[0], decoded.item)
        unit, offset, inside = _parts(decoded, first, (end, *decoded.dims[1:]))
        if operation and unit != decoded.item:
            unit, offset = decoded.item, offset[0] + _relative(decoded, decoded.item)
        size, address = math.prod(decoded.taken) * decoded.item, int(sources[thread])
        start = bulk_copies.shared_range(x, site, thread, address, size, tensor_map.SHARED_ALIGNMENT)
        if start is None:
            continue
        inside = _without_padding(x, decoded, first, offset, inside, unit)
        inside = bulk_copies.global_inside(x, site, thread, offset, inside, unit)
        stored = start + _shared_offsets(address & 0xFFFF, len(offset), unit, decoded.swizzle)
        if inside is not None:
            offset, stored = offset[inside], stored[inside]
        bulk_copies.check_source(x, site, thread, start, size)
        values = x.shared.views[unit][stored // unit]
        bulk_copies.write_global(x, site, thread, offset, values, operation, decoded.element)
        bulk_copies.read_until_wait(x, site, thread, start, size, offset, unit)
