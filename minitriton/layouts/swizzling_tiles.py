"""The choice of the instructions that take a tensor through shared memory, and the arrangement that suits them.

In: two layouts of the same tensor without copies in registers, the bits of an element, and whether `ldmatrix` and `stmatrix` can be
used. Out: the arrangement (`swizzling.py`) and an `AccessInstruction` for each side.

Every candidate moves 16 contiguous bytes: of one thread's registers (`ld.shared.v4`), or of 4 or 8 lanes that together hold a
row of a matrix. A pair of candidates fits if both sides can mean the same 16 bytes. Of the pairs that fit, the one with the fewest
bank conflicts wins, then the one with the most rounds (the least scratch). Counterpart of optimalSwizzling in Triton's GenericSwizzling.cpp.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from functools import lru_cache
from typing import NamedTuple

from minitriton.layouts import f2
from minitriton.layouts.linear_layout import LinearLayout
from minitriton.layouts.swizzling import (
    intersection_basis,
    intersection_rank,
    optimal_swizzling_ld_st,
    swizzled_arrangement,
)
from minitriton.target.architectures import WARP_SIZE, WIDEST_ACCESS_BITS

# Base-2 logarithm of the rows of 16 bytes that one wavefront of 128 bytes serves.
WAVEFRONT_ROWS = 3


class AccessInstruction(Enum):
    """How one side moves data."""

    VECTOR = "ld.shared / st.shared"
    MATRIX = "ldmatrix / stmatrix"
    MATRIX_TRANSPOSED = "ldmatrix.trans / stmatrix.trans"


class MatrixInstructions(NamedTuple):
    """Which matrix instructions the target has."""

    load: bool = False
    store: bool = False


class Tile(NamedTuple):
    """The lane bits that walk along 16 contiguous bytes, after registers, and those that walk over rows, after registers."""

    instruction: AccessInstruction
    along: tuple[int, ...]
    across: tuple[int, ...]

    @property
    def missing_registers(self) -> int:
        """Register bits that a full instruction (`.x4`) takes beyond what one wavefront serves."""
        return len(self.along) + len(self.across) - WAVEFRONT_ROWS


VECTOR_TILE = Tile(AccessInstruction.VECTOR, (), (0, 1, 2))
MATRIX_TILE = Tile(AccessInstruction.MATRIX, (0, 1), (2, 3, 4))
TRANSPOSED_TILE = Tile(AccessInstruction.MATRIX_TRANSPOSED, (2, 3, 4), (0, 1))


def _tiles(matrix: bool, bitwidth: int) -> list[Tile]:
    tiles = [VECTOR_TILE]
    if matrix and bitwidth <= 32:
        tiles.append(MATRIX_TILE)
    if matrix and bitwidth == 16:
        tiles.append(TRANSPOSED_TILE)
    return tiles


@lru_cache(maxsize=2048)
def optimal_swizzling(
    src: LinearLayout, dst: LinearLayout, bitwidth: int, available: MatrixInstructions
) -> tuple[LinearLayout, AccessInstruction, AccessInstruction]:
    """The arrangement, what stores to it, and what loads from it."""
    best: tuple[tuple[int, int], LinearLayout, AccessInstruction, AccessInstruction] | None = None
    if src.get_in_dim_size("lane") == dst.get_in_dim_size("lane") == WARP_SIZE:
        for by_src in _tiles(available.store, bitwidth):
            for by_dst in _tiles(available.load, bitwidth):
                found = _candidate(src, dst, by_src, by_dst, bitwidth)
                if found is None:
                    continue
                smem, tile_src, tile_dst = found
                segment = smem.flat_bases("segment")
                conflicts = sum((1 << intersection_rank(segment, tile)) - 1 for tile in (tile_src, tile_dst))
                cost = conflicts, -smem.get_in_dim_size("reps")
                if best is None or cost < best[0]:
                    best = cost, smem, by_src.instruction, by_dst.instruction
    if best is None:
        return optimal_swizzling_ld_st(src, dst, bitwidth), AccessInstruction.VECTOR, AccessInstruction.VECTOR
    return best[1:]


def _candidate(
    src: LinearLayout, dst: LinearLayout, by_src: Tile, by_dst: Tile, bitwidth: int
) -> tuple[LinearLayout, list[int], list[int]] | None:
    """The arrangement for a pair of instructions, and what each reaches in one wavefront; None if they do not fit."""
    vec = _common_row(src, dst, by_src, by_dst, bitwidth)
    if vec is None:
        return None
    tile_src, tile_dst = _wavefront(src, by_src, vec), _wavefront(dst, by_dst, vec)
    if tile_src is None or tile_dst is None:
        return None
    leave = min(by_src.missing_registers, by_dst.missing_registers)
    return swizzled_arrangement(src, dst, bitwidth, vec, tile_src, tile_dst, leave), tile_src, tile_dst


def _common_row(src: LinearLayout, dst: LinearLayout, by_src: Tile, by_dst: Tile, bitwidth: int) -> list[int] | None:
    """The bases of 16 contiguous bytes that both instructions can mean; None if there are none."""
    a, b, by_a, by_b = src, dst, by_src, by_dst
    if len(by_a.along) > len(by_b.along):
        a, b, by_a, by_b = b, a, by_b, by_a
    # From here on `a` takes at least as many registers along the row as `b`.
    row_bits = f2.log2(WIDEST_ACCESS_BITS // bitwidth)
    from_lanes = len(by_b.along) - len(by_a.along)
    own = row_bits - len(by_b.along)
    reg_a = a.flat_bases("register")
    vec = intersection_basis(reg_a, b.flat_bases("register"), a.get_total_out_dim_size_log2())
    if own < 0 or len(vec) < own:
        return None
    lane_a, lane_b = a.flat_bases("lane"), b.flat_bases("lane")
    along_a, along_b = [lane_a[i] for i in by_a.along], [lane_b[i] for i in by_b.along]
    if 0 in along_a or 0 in along_b:
        return None
    # The first lanes of `b` along the row are registers of `a`, the others its lanes in the same order.
    if any(basis not in reg_a for basis in along_b[:from_lanes]) or along_b[from_lanes:] != along_a:
        return None
    return vec[:own] + along_b


def _wavefront(layout: LinearLayout, tile: Tile, vec: Sequence[int]) -> list[int] | None:
    """The bases of the rows that one wavefront serves; None if there are not enough registers."""
    needed = WAVEFRONT_ROWS - len(tile.across)
    free = [basis for basis in layout.flat_bases("register") if basis not in vec][:needed]
    if len(free) < needed:
        return None
    lanes = layout.flat_bases("lane")
    return free + [lanes[i] for i in tile.across]
