"""`wgmma`: products of a warpgroup on tiles in shared memory, by descriptor, or A in registers.

A descriptor holds the start, two byte offsets and a swizzle. With a swizzle of S bytes, element (row, byte b) of an operand
whose rows run along K lies at `start + row // 8 * stride + row % 8 * S + b`, its 16-byte chunk then swizzled by address.

    m64n128k16, 128-byte swizzle   →   A: 64 rows of 32 bytes each, 8 rows in 1024 bytes
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minitriton.emulator.float_math import bits32
from minitriton.emulator.machine import Machine
from minitriton.emulator.matrix_operations import decode, fragment_a
from minitriton.emulator.shared_memory import WINDOW
from minitriton.emulator.small_floats import f16_from
from minitriton.emulator.tensor_copy_operations import swizzled

_ITEM = {"f16": 2, "bf16": 2, "tf32": 4, "e4m3": 1, "e5m2": 1, "s8": 1, "u8": 1}
_SWIZZLE = {0: (16, 0), 1: (128, 3), 2: (64, 2), 3: (32, 1)}
"""Mode of a matrix descriptor to its bytes and the mode of `swizzled`."""


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


def _tile(
    x: Machine, site: int, thread: int, descriptor: int, rows: int, depth: int, type: str, transposed: bool
) -> np.ndarray:
    item = _ITEM[type]
    address = tile_addresses(descriptor, rows, depth, item, transposed) - WINDOW
    if address.min() < 0 or address.max() + item > x.shared.size:
        text = f"a matrix descriptor reaches byte {int(address.max())} of {x.shared.size} bytes of shared memory"
        x.find("out-of-bounds", site, np.array([thread]), text)
        return np.zeros((rows, depth), np.float32)
    place = address + int(x.cta_offset[thread])
    if x.shared.shadowed:
        check_tile(x, site, thread, place.ravel(), item)
    data = x.shared.views[item][place // item]
    return decode(data.view(np.uint8).reshape(rows, -1), type).reshape(rows, depth)


def check_tile(x: Machine, site: int, thread: int, place: np.ndarray, item: int) -> None:
    """Races and early or uninitialised reads of a tile, as if the warpgroup's first warp read it."""
    first = np.unique(place // x.shared.granule) * x.shared.granule
    warp = np.full(len(first), x.warp[thread])
    race, fresh, early = x.shared.read_by(first, min(item, x.shared.granule), warp, np.full(len(first), -3))
    for kind, wrong, text in (
        ("shared-race", race, "wgmma reads what a thread writes without a barrier between"),
        ("uninitialised", fresh, "wgmma reads shared memory that nothing has written"),
        ("async-read", early, "wgmma reads what an asynchronous copy writes before the wait that covers it"),
    ):
        if wrong.any():
            x.find(kind, site, np.array([thread]), text)


def multiply(
    x: Machine, site: int, shape: tuple[int, int], types: tuple[str, str, str], a: Any, b: Any, d: list[Any],
    registers: list[int], keep: Any, negate: tuple[bool, bool], transposed: tuple[bool, bool], mask: Any,
) -> list[np.ndarray]:  # fmt: skip
    """`wgmma.mma_async`: D = A B + D of every active warpgroup. `a` is a descriptor or a list of registers."""
    columns, depth = shape
    of_d, of_a, of_b = types
    mask = x.mask(mask)
    groups = np.arange(x.count // 128) if mask is None else np.nonzero(mask.reshape(-1, 128).any(1))[0]
    held = fragment_a(x, a, of_a).reshape(-1, 64, depth) if isinstance(a, list) else None
    a_words = None if held is not None else x.spread(a)
    b_words, keeps = x.spread(b), x.spread(keep)
    old = np.stack([x.spread(r) for r in d], axis=-1)
    new = np.array(old)
    for group in groups.tolist():
        thread = 128 * group
        left = (
            held[group]
            if held is not None
            else _tile(x, site, thread, int(a_words[thread]), 64, depth, of_a, transposed[0])  # type: ignore[index]
        )
        right = _tile(x, site, thread, int(b_words[thread]), columns, depth, of_b, transposed[1]).T
        product = left @ right
        if negate[0] != negate[1]:
            product = -product
        if keeps[thread]:
            product = product + _to_matrix(old[thread : thread + 128], of_d, columns)
        new[thread : thread + 128] = _to_lanes(product, of_d, columns)
    if x.check:
        state = _groups(x)
        for register in registers:
            state[1].setdefault(register, np.full(x.count // 128, -1))[groups] = state[0][groups]
    return [np.ascontiguousarray(new[:, r]) for r in range(new.shape[1])]


def _to_matrix(lanes: np.ndarray, type: str, columns: int) -> np.ndarray:
    """The accumulators of a warpgroup, [128, registers], as [64, columns]."""
    values = lanes.view({"f32": np.float32, "f16": np.float16, "s32": np.int32}[type])
    if type == "f16":
        values = values.astype(np.float32)
    return values.reshape(4, 8, 4, columns // 8, 2, 2).transpose(0, 4, 1, 3, 2, 5).reshape(64, columns)


def _to_lanes(matrix: np.ndarray, type: str, columns: int) -> np.ndarray:
    pieces = matrix.reshape(4, 2, 8, columns // 8, 4, 2).transpose(0, 2, 4, 3, 1, 5)
    lanes = np.ascontiguousarray(pieces).reshape(128, -1)
    if type == "f16":
        return np.ascontiguousarray(f16_from(lanes)).view(np.uint32)
    if type == "s32":
        return lanes.astype(np.int32).view(np.uint32)
    return bits32(lanes.astype(np.float32))


def _groups(x: Machine) -> tuple[np.ndarray, dict[int, np.ndarray]]:
    """Commit counts per warpgroup, and the group in which each register was last written."""
    return x.async_state.setdefault("wgmma", (np.zeros(-(-x.count // 128), np.int64), {}))


def commit(x: Machine, mask: Any) -> None:
    """`wgmma.commit_group`."""
    mask = x.mask(mask)
    counts, _ = _groups(x)
    counts[...] += 1 if mask is None else mask.reshape(-1, 128).any(1)


def wait(x: Machine, allowed: int, mask: Any) -> None:
    """`wgmma.wait_group`: results of all but the last `allowed` groups may be read."""
    mask = x.mask(mask)
    counts, pending = _groups(x)
    here = np.ones(len(counts), np.bool_) if mask is None else mask.reshape(-1, 128).any(1)
    for register, group in list(pending.items()):
        group[here & (group < counts - allowed)] = -1
        if (group < 0).all():
            del pending[register]


def check_pending(x: Machine, site: int, register: int, mask: Any) -> None:
    """Reports a read of an accumulator that no wait has covered."""
    group = _groups(x)[1].get(register)
    if group is None:
        return
    mask = x.mask(mask)
    early = np.repeat(group >= 0, 128) & (x.alive if mask is None else mask)
    if early.any():
        x.find("async-read", site, np.nonzero(early)[0], "reads a result of wgmma before the wait that covers it")
