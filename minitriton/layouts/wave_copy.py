"""Plans for copies from global memory to LDS that pass by no register: the lanes of a wave write neighbouring words.

In: the map from `register, lane, warp` to offsets in a buffer. Out: for each instruction where the wave writes, and which lane's address each lane needs.

    lane l has offset 8 l              lane l copies its own elements to byte 16 l after the wave's
    lane l has offset 8 (l ^ 1)        lane l copies what lane l ^ 1 has an address of (a swizzled buffer)

An instruction names one offset for the wave; lane l writes `size` bytes at `size * l` after it (CDNA3 ISA, section 9.1.9). What Triton's
canCoalesceWriteIntoSharedMemory and doesSwizzleInsideWarp allow is allowed here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from minitriton.layouts import f2
from minitriton.layouts.linear_layout import LinearLayout

SIZES = {"gfx942": (4,), "gfx950": (16, 4)}
"""Bytes that such an instruction moves for a lane. Narrower elements would fill words, and three words no power of two."""


class WaveAccess(NamedTuple):
    """One instruction: the first of the registers that it copies, the wave's offset (xor), and what is xor-ed into the lane that is asked."""

    register: int
    offset: int
    lane: int


class WaveCopy(NamedTuple):
    """`vector` elements a lane, from the address that lane `lanes(own) ^ warp_lanes(warp) ^ access.lane` has; offsets are in bytes.

    Lanes from `acting` on write nothing. `warp` are the offsets of the wave by the bits of its number.
    """

    vector: int
    acting: int
    lanes: tuple[int, ...]
    warp: tuple[int, ...]
    warp_lanes: tuple[int, ...]
    accesses: tuple[WaveAccess, ...]

    @property
    def asks_other_lanes(self) -> bool:
        """Whether a lane needs another one's address."""
        return (
            any(lane != 1 << bit for bit, lane in enumerate(self.lanes))
            or any(self.warp_lanes)
            or any(access.lane for access in self.accesses)
        )


def plan_wave_copy(
    offsets: LinearLayout,
    bits: int,
    width: int,
    sizes: Sequence[int],
    slice_offset: int = 0,
    interval: int | None = None,
) -> WaveCopy | None:
    """The widest plan for `width` neighbouring elements of `bits` bits; None if lanes would write apart from each other. `interval`: elements between
    paddings of the buffer."""
    for size in sizes:
        vector = 8 * size // bits
        if not 0 < vector <= width:
            continue
        found = _plan(offsets, bits // 8, vector, slice_offset, interval)
        if found is not None:
            return found
    return None


def _plan(offsets: LinearLayout, scale: int, vector: int, slice_offset: int, interval: int | None) -> WaveCopy | None:
    registers, lane, warp = (offsets.flat_bases(name) for name in ("register", "lane", "warp"))
    covered = [registers.index(1 << k) for k in range(f2.log2(vector)) if 1 << k in registers]
    rest = [bit for bit, offset in enumerate(registers) if offset and bit not in covered]
    held = [bit for bit, offset in enumerate(lane) if offset]
    block = vector << len(held)
    others = (*(lane[bit] for bit in held), *warp, *(registers[bit] for bit in rest), slice_offset)
    if 1 << len(covered) != vector or any(offset % vector for offset in others) or (interval or block) < block:
        return None
    positions = [lane[bit] // vector for bit in held]
    units = [1 << position for position in range(len(held))]
    if any(position >= 1 << len(held) for position in positions):
        return None
    inverse = f2.solve(positions, units, len(held))
    if inverse is None:
        return None
    lanes = tuple(sum(1 << held[bit] for bit in range(len(held)) if column >> bit & 1) for column in inverse)

    def asked(offset: int) -> int:
        """Which lanes differ because of the part of an offset within the wave's block."""
        return f2.apply(lanes, offset % block // vector)

    accesses = [
        WaveAccess(register, (offset ^ slice_offset) // block * block * scale, asked(offset ^ slice_offset))
        for register, offset in zip(
            f2.span([1 << bit for bit in rest]), f2.span([registers[bit] for bit in rest]), strict=True
        )
    ]
    return WaveCopy(
        vector,
        1 << len(held),
        lanes,
        tuple(offset // block * block * scale for offset in warp),
        tuple(asked(offset) for offset in warp),
        tuple(accesses),
    )
