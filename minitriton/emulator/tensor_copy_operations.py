"""Bulk and tensor copies (TMA) between global and shared memory, and the descriptors that `tensormap.replace` fills.

A descriptor's 128 bytes hold the fields of `FIELDS`; the driver's own encoding is opaque and not read here.

    box 64 x 32 of f16 at (128, 0), 128-byte swizzle   →   32 rows of 128 bytes, 16-byte chunk c of row r at c ^ (r % 8)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from minitriton.emulator import global_memory
from minitriton.emulator.machine import Machine
from minitriton.emulator.mbarrier_operations import find_barrier, publish
from minitriton.emulator.memory_operations import check_write, locate, store
from minitriton.emulator.shared_memory import WINDOW

FIELDS = {
    "global_address": (0, 8), "rank": (8, 4), "elemtype": (12, 1), "interleave_layout": (13, 1), "swizzle_mode": (14, 1),
    "fill_mode": (15, 1), "global_dim": (16, 4), "global_stride": (40, 8), "box_dim": (72, 2), "element_stride": (84, 1),
}  # fmt: skip
"""Byte offset and width of each field; arrays follow with that width."""
_ELEMENT_BYTES = (1, 2, 4, 4, 8, 8, 2, 4, 4, 8, 2, 4, 4)
_SWIZZLE_MASK = (0, 0x10, 0x30, 0x70)


@dataclass(frozen=True)
class TensorMap:
    """A decoded descriptor: sizes in elements, innermost first, strides in bytes."""

    address: int
    item: int
    dims: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    steps: tuple[int, ...]
    swizzle: int


def replace_field(x: Machine, site: int, field: str, address: Any, index: int, value: Any, mask: Any) -> None:
    """`tensormap.replace` of a descriptor in shared memory."""
    start, width = FIELDS[field]
    dtype = np.dtype(f"u{width}")
    place = address + address.dtype.type(start + index * width)
    store(x, site, "shared", place, mask, [value.astype(dtype)], dtype)


def publish_descriptor(x: Machine, site: int, target: Any, source: Any, size: int, mask: Any) -> None:
    """`tensormap.cp_fenceproxy`: copies a descriptor from shared to global memory, once a warp."""
    chosen = x.mask(mask)
    first = (x.lane == 0) if chosen is None else chosen & (np.cumsum(chosen.reshape(-1, 32), 1).ravel() == 1)
    read, got = locate(x, site, "shared", source, first, 16)
    written, got = locate(x, site, "global", target, got, 16)
    for thread in _active(x, got):
        start, end = int(written[thread]), int(read[thread])
        x.memory.bytes[start : start + size] = x.shared.bytes[end : end + size]
        if x.check:
            x.memory.fresh[start // x.memory.granule : (start + size) // x.memory.granule] = False


def read_map(x: Machine, address: int) -> TensorMap:
    """Decodes the descriptor at a global or parameter address."""
    if address < len(x.parameters):
        data = x.parameters[address : address + 128].tobytes()
    else:
        data = x.memory.bytes[address - global_memory.BASE :][:128].tobytes()

    def field(name: str, index: int = 0) -> int:
        start, width = FIELDS[name]
        return int.from_bytes(data[start + index * width : start + (index + 1) * width], "little")

    rank = field("rank") + 1
    item = _ELEMENT_BYTES[field("elemtype")]
    return TensorMap(
        field("global_address"),
        item,
        tuple(field("global_dim", d) for d in range(rank)),
        (item, *(field("global_stride", d) for d in range(rank - 1))),
        tuple(field("box_dim", d) for d in range(rank)),
        tuple(field("element_stride", d) or 1 for d in range(rank)),
        field("swizzle_mode"),
    )


def encode_map(array: np.ndarray, box: tuple[int, ...], address: int, element_code: int, swizzle: int) -> bytes:
    """A descriptor of an array, `box` in NumPy's order of dimensions, for a parameter of 128 bytes."""
    data = bytearray(128)

    def put(name: str, value: int, index: int = 0) -> None:
        start, width = FIELDS[name]
        data[start + index * width : start + (index + 1) * width] = value.to_bytes(width, "little")

    put("global_address", address)
    put("rank", array.ndim - 1)
    put("elemtype", element_code)
    put("swizzle_mode", swizzle)
    for d in range(array.ndim):
        put("global_dim", array.shape[-1 - d], d)
        put("box_dim", box[-1 - d], d)
        put("element_stride", 1, d)
        if d:
            put("global_stride", array.strides[-1 - d], d - 1)
    return bytes(data)


def swizzled(address: np.ndarray, mode: int) -> np.ndarray:
    """Byte addresses in shared memory after the swizzle of a descriptor (0 none, 1, 2, 3: 32, 64, 128 bytes)."""
    return address ^ ((address >> 3) & _SWIZZLE_MASK[mode])


def _box(map: TensorMap, corner: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """Global addresses of a box's elements, innermost fastest, and which lie inside the tensor."""
    address = np.array([map.address], np.int64)
    inside = np.array([True])
    for d in range(len(map.dims)):
        index = corner[d] + np.arange(map.box[d]) * map.steps[d]
        address = (index * map.strides[d])[:, None] + address[None, :]
        inside = ((index >= 0) & (index < map.dims[d]))[:, None] & inside[None, :]
        address, inside = address.ravel(), inside.ravel()
    return address, inside


def _active(x: Machine, mask: Any) -> list[int]:
    chosen = x.mask(mask)
    return (x.index if chosen is None else np.nonzero(chosen)[0]).tolist()


def _shared_places(x: Machine, thread: int, base: int, count: int, item: int, mode: int) -> np.ndarray:
    """Byte offsets in the buffer of the elements of a box that lies at `base`."""
    linear = swizzled(base + np.arange(count, dtype=np.int64) * item, mode)
    return linear - WINDOW + int(x.cta_offset[thread])


def _in_window(x: Machine, site: int, thread: int, base: int, size: int) -> bool:
    if base % 16:
        x.find("misaligned", site, np.array([thread]), f"the shared address {base:#x} is no multiple of 16")
    elif base < WINDOW or base - WINDOW + size > x.shared.size:
        x.find("out-of-bounds", site, np.array([thread]), f"{size} bytes at byte {base - WINDOW} of shared memory")
    else:
        return True
    return False


def _checked_global(
    x: Machine, site: int, thread: int, offset: np.ndarray, inside: np.ndarray, item: int
) -> np.ndarray:
    """Of the elements inside the tensor, those that lie in an allocation."""
    if inside.any() and (good := x.memory.inside(offset[inside], item)) is not None:
        bad = int(offset[inside][~good][0])
        x.find("out-of-bounds", site, np.array([thread]), f"a tensor copy at {x.memory.describe(bad)}")
        inside = inside.copy()
        inside[inside] = good
    return inside


def load_tensor(x: Machine, site: int, target: Any, map: Any, corner: list[Any], barrier: Any, mask: Any) -> None:
    """`cp.async.bulk.tensor` from global to shared memory, completing on an mbarrier."""
    targets, maps, barriers = x.spread(target), x.spread(map), x.spread(barrier)
    corners = [x.spread(c) for c in corner]
    for thread in _active(x, mask):
        decoded = read_map(x, int(maps[thread]))
        address, inside = _box(decoded, [int(c[thread].astype(np.int32)) for c in corners])
        item, base = decoded.item, int(targets[thread])
        if not _in_window(x, site, thread, base, len(address) * item):
            continue
        offset = address - global_memory.BASE
        inside = _checked_global(x, site, thread, offset, inside, item)
        if x.check and inside.any():
            x.memory.read_by(offset[inside], item, np.full(int(inside.sum()), x.cta_number[thread]))
        values = x.memory.views[item].take(np.where(inside, offset // item, 0))
        values = np.where(inside, values, values.dtype.type(0))
        place = _shared_places(x, thread, base, len(values), item, decoded.swizzle)
        deliver_later(x, site, thread, int(barriers[thread]), place, values)


def load_bulk(x: Machine, site: int, target: Any, source: Any, size: Any, barrier: Any, mask: Any) -> None:
    """`cp.async.bulk` of plain bytes to shared memory."""
    targets, sources, sizes, barriers = (x.spread(v) for v in (target, source, size, barrier))
    for thread in _active(x, mask):
        count, base = int(sizes[thread]) // 4, int(targets[thread])
        if not _in_window(x, site, thread, base, 4 * count):
            continue
        offset = int(sources[thread]) - global_memory.BASE + 4 * np.arange(count, dtype=np.int64)
        inside = _checked_global(x, site, thread, offset, np.ones(count, np.bool_), 4)
        values = np.where(inside, x.memory.views[4].take(np.where(inside, offset // 4, 0)), np.uint32(0))
        place = _shared_places(x, thread, base, count, 4, 0)
        deliver_later(x, site, thread, int(barriers[thread]), place, values)


def deliver_later(x: Machine, site: int, thread: int, address: int, place: np.ndarray, values: np.ndarray) -> None:
    """Counts a copy's bytes at its mbarrier; the data appears when a wait sees the phase end."""
    shared = x.shared
    barrier = find_barrier(x, site, thread, address - WINDOW + int(x.cta_offset[thread]))
    if barrier is None:
        return
    width = values.dtype.itemsize
    g = np.unique(shared.granules(place, width)) if shared.shadowed else np.zeros(0, np.int64)
    warp, lane, stamp = x.warp[[thread]], x.lane[[thread]], 0
    if shared.shadowed:
        spread = np.broadcast_to(warp, len(g)), np.broadcast_to(lane, len(g))
        if shared.conflicts(g[:, None], *spread, np.zeros(len(g), np.bool_)).any():
            text = "a bulk copy writes shared memory that other threads still use"
            x.find("shared-race", site, np.array([thread]), text)
        shared.pending[g] += 1
        shared.pending_count += 1
        stamp = shared.clock[warp][0]

    def deliver() -> None:
        shared.views[width][place // width] = values
        if shared.shadowed:
            shared.pending[g] -= 1
            shared.pending_count -= 1
            shared.write_time[g] = stamp
            shared.write_warp[g] = warp % shared.warps
            shared.write_lane[g] = lane
            shared.initialised[g] = True

    publish(x, barrier, thread)
    barrier.incoming.append(deliver)
    barrier.transactions -= values.nbytes
    barrier.settle(x)


def store_tensor(x: Machine, site: int, map: Any, corner: list[Any], source: Any, mask: Any) -> None:
    """`cp.async.bulk.tensor` from shared to global memory."""
    sources, maps = x.spread(source), x.spread(map)
    corners = [x.spread(c) for c in corner]
    for thread in _active(x, mask):
        decoded = read_map(x, int(maps[thread]))
        address, inside = _box(decoded, [int(c[thread].astype(np.int32)) for c in corners])
        item, base = decoded.item, int(sources[thread])
        if not _in_window(x, site, thread, base, len(address) * item):
            continue
        place = _shared_places(x, thread, base, len(address), item, decoded.swizzle)
        offset = address - global_memory.BASE
        inside = _checked_global(x, site, thread, offset, inside, item)
        chosen = offset[inside]
        x.memory.views[item][chosen // item] = x.shared.views[item][place[inside] // item]
        if x.check and len(chosen):
            if x.shared.shadowed:
                check_bulk_read(x, site, thread, place, item)
            who = np.full(len(chosen), thread)
            unchanged = np.zeros(len(chosen), np.bool_)
            check_write(x, site, "global", chosen, who, item, unchanged, unchanged)


def check_bulk_read(x: Machine, site: int, thread: int, place: np.ndarray, item: int) -> None:
    """Races of a bulk copy's reads from shared memory."""
    who = np.full(len(place), thread)
    race, fresh, early = x.shared.read_by(place, item, x.warp[who], x.lane[who])
    for kind, wrong, text in (
        ("shared-race", race, "a bulk copy reads what another thread writes without a barrier between"),
        ("uninitialised", fresh, "a bulk copy reads shared memory that nothing has written"),
        ("async-read", early, "a bulk copy reads what an asynchronous copy writes before the wait that covers it"),
    ):
        if wrong.any():
            x.find(kind, site, np.array([thread]), text)
