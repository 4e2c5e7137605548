"""How a tensor goes from one register layout to another through shared memory: the arrangement there, and the instructions of either side.

In: two layouts of the same tensor without copies in registers, the bits of an element, and whether `ldmatrix` and `stmatrix` can be used. Out: a layout
from `vector, bank, segment, reps` to the tensor, and an `AccessInstruction` for each side. `vector` are the elements that one instruction moves together,
`bank` spans the 32 banks of 4 bytes, `segment` the rest, and `reps` splits the work into rounds that reuse the same memory.

    src rows in registers, dst columns in registers: the bank of element (i, j) becomes i ^ j, and neither side conflicts

Every candidate for an instruction moves 16 contiguous bytes: of one thread's registers (`ld.shared.v4`), or of 4 or 8 lanes that together hold a row of a
matrix. A pair of candidates fits if both sides can mean the same 16 bytes. Of the pairs that fit, the one with the fewest bank conflicts wins, then the one
with the most rounds (the least scratch).

Zhou et al., arXiv 2505.23819, section on optimal swizzling; counterpart of Triton's lib/Tools/GenericSwizzling.cpp.
"""

from collections.abc import Iterable, Sequence
from enum import Enum
from functools import lru_cache
from typing import NamedTuple

from minitriton.layouts import f2
from minitriton.layouts.linear_layout import Bases, LinearLayout, unflatten
from minitriton.target.architectures import WARP_SIZE, WIDEST_ACCESS_BITS

BANK_LINE_BITS = 32 * 32


@lru_cache(maxsize=2048)
def optimal_swizzling_ld_st(src: LinearLayout, dst: LinearLayout, bitwidth: int) -> LinearLayout:
    """The arrangement for stores from `src` and loads to `dst` by ordinary vector accesses."""
    dim = src.get_total_out_dim_size_log2()
    dst = dst.transpose_outs(list(src.out_dims))
    reg_src, reg_dst = src.flat_bases("register"), dst.flat_bases("register")
    lane_src, lane_dst = src.flat_bases("lane"), dst.flat_bases("lane")
    vec = intersection_basis(reg_src, reg_dst, dim)[: f2.log2(WIDEST_ACCESS_BITS // bitwidth)]
    src_fills_bank: bool | None = None
    if (1 << len(vec)) * bitwidth < 32:
        vec, src_fills_bank = _fill_bank(src, dst, vec, f2.log2(32 // bitwidth), dim)
    # An access of 64 or 128 bits is served by halves or quarters of a warp at a time: only those lanes can conflict.
    wide = f2.log2(max(1, (1 << len(vec)) * bitwidth // 32))
    tile_src = lane_src[: len(lane_src) - wide]
    tile_dst = lane_dst[: len(lane_dst) - wide]
    bank, segment = _banks_and_segments(vec, tile_src, tile_dst, bitwidth, dim)
    segment, reps = _split_reps(segment, reg_src, reg_dst)
    if wide < 2:
        bank = _vectorisable_banks_first(bank, reg_src, reg_dst, src_fills_bank)
    return arrangement(src, vec, bank, segment, reps)


def arrangement(
    src: LinearLayout, vec: Sequence[int], bank: Sequence[int], segment: Sequence[int], reps: Sequence[int]
) -> LinearLayout:
    """The layout from `vector, bank, segment, reps` to the tensor of `src` with these bases."""
    sizes = dict(src.out_dims)
    bases: dict[str, Bases] = {
        name: unflatten(columns, len(columns), sizes)
        for name, columns in (("vector", vec), ("bank", bank), ("segment", segment), ("reps", reps))
    }
    return LinearLayout.trusted(bases, sizes)


def _split_reps(
    segment: Sequence[int], reg_src: Sequence[int], reg_dst: Sequence[int], leave: int = 0
) -> tuple[list[int], list[int]]:
    """The segment without what is registers on both sides, and that: the same memory can serve it again and again.

    The first `leave` of them stay, so that an instruction can move several matrices at once.
    """
    both = set(reg_src) & set(reg_dst)
    repeated = [s for s in segment if s in both][leave:]
    return [s for s in segment if s not in repeated], repeated


def swizzled_arrangement(
    src: LinearLayout,
    dst: LinearLayout,
    bitwidth: int,
    vec: Sequence[int],
    tile_src: Sequence[int],
    tile_dst: Sequence[int],
    leave_reps: int = 0,
) -> LinearLayout:
    """The arrangement for accesses that move `vec` at once and reach `tile_src` and `tile_dst` in one wavefront."""
    dim = src.get_total_out_dim_size_log2()
    bank, segment = _banks_and_segments(vec, tile_src, tile_dst, bitwidth, dim)
    segment, reps = _split_reps(segment, src.flat_bases("register"), dst.flat_bases("register"), leave_reps)
    return arrangement(src, vec, bank, segment, reps)


def _fill_bank(
    src: LinearLayout, dst: LinearLayout, vec: list[int], bank_bits: int, dim: int
) -> tuple[list[int], bool | None]:
    """`vec` made up to one bank (4 bytes): with registers of one side that are warps of the other, then with warps."""
    warp_src = [b for b in src.flat_bases("warp") if b]
    warp_dst = [b for b in dst.flat_bases("warp") if b]
    from_src = intersection_basis([r for r in src.flat_bases("register") if r not in vec], warp_dst, dim)
    from_dst = intersection_basis([r for r in dst.flat_bases("register") if r not in vec], warp_src, dim)
    if len(from_src) == len(from_dst) and from_src:
        # The side with the lowest basis: its elements are neighbours already, so packing them is free.
        src_fills = min(from_src) < min(from_dst)
    else:
        src_fills = len(from_src) > len(from_dst)
    vec = vec + (from_src if src_fills else from_dst)
    if len(vec) < bank_bits:
        vec += intersection_basis(warp_src, warp_dst, dim)
    for i in range(max(len(warp_src), len(warp_dst))):
        for warps in (warp_src, warp_dst):
            if len(vec) < bank_bits and i < len(warps) and warps[i] not in vec:
                vec.append(warps[i])
    return vec[:bank_bits], src_fills


def _banks_and_segments(
    vec: Sequence[int], tile_src: Sequence[int], tile_dst: Sequence[int], bitwidth: int, dim: int
) -> tuple[list[int], list[int]]:
    """The bases of the banks and of the segments that, with `vec`, make a basis of the whole tensor."""
    num_bank = min(f2.log2(BANK_LINE_BITS // ((1 << len(vec)) * bitwidth)), dim - len(vec))
    segment = _segment([*vec, *tile_src], [*vec, *tile_dst], dim, dim - num_bank - len(vec))
    return complement_basis([*vec, *segment], dim), segment


def _segment(bank_src: Iterable[int], bank_dst: Iterable[int], dim: int, length: int) -> list[int]:
    """Bases outside what either side touches at once; when those run out, sums of one side's with the other's.

    Two elements that differ by a segment basis share a bank. A sum of a basis of each side is in neither side's span.
    """
    src, dst = set(bank_src) - {0}, set(bank_dst) - {0}
    segment = [1 << b for b in range(dim) if 1 << b not in src and 1 << b not in dst]
    if len(segment) >= length:
        return segment[:length]
    few, many = sorted((sorted(src - dst), sorted(dst - src)), key=len)
    conflicts = min(max(0, length - len(few) - len(segment)), len(few))
    segment += [a ^ b for a, b in zip(few[conflicts:], many[conflicts:], strict=False)]
    segment += few[:conflicts] + many[:conflicts]
    return segment[:length]


def _vectorisable_banks_first(
    bank: list[int], reg_src: Sequence[int], reg_dst: Sequence[int], src_fills_bank: bool | None
) -> list[int]:
    """Registers of one side next to the vector, so that this side can move more at once than the other."""
    in_src = [b for b in bank if b in reg_src]
    in_dst = [b for b in bank if b in reg_dst]
    if src_fills_bank is None:
        first = in_src if len(in_src) > len(in_dst) else in_dst
    else:
        first = in_src if src_fills_bank else in_dst
    return first + [b for b in bank if b not in first]


def intersection_basis(first: Sequence[int], second: Sequence[int], dim: int) -> list[int]:
    """A basis of the intersection of the two spans; if all are powers of two or 0, in the order of `first`."""
    if all(b & (b - 1) == 0 for b in (*first, *second)):
        other = set(second) - {0}
        return list(dict.fromkeys(b for b in first if b in other))
    return nullspace_basis([*nullspace_basis(first, dim), *nullspace_basis(second, dim)], dim)


def intersection_rank(first: Sequence[int], second: Sequence[int]) -> int:
    """The dimension of the intersection of the two spans."""
    return f2.rank(first) + f2.rank(second) - f2.rank([*first, *second])


def nullspace_basis(rows: Iterable[int], dim: int) -> list[int]:
    """A basis of the vectors of `dim` bits that have an even number of bits in common with every row."""
    reduced = f2.reduced_rows(rows)
    pivots = [row & -row for row in reduced]
    basis: list[int] = []
    for i in range(dim):
        free = 1 << i
        if free not in pivots:
            basis.append(free | sum(pivot for row, pivot in zip(reduced, pivots, strict=True) if row & free))
    return basis


def complement_basis(basis: Iterable[int], dim: int) -> list[int]:
    """Unit vectors that complete `basis` to a basis of the whole space."""
    pivots = {row & -row for row in f2.reduced_rows(basis)}
    return [1 << i for i in range(dim) if 1 << i not in pivots]


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
