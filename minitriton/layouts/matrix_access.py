"""Plans for `ldmatrix` and `stmatrix`.

In: a map from `register, lane, warp` to offsets in shared memory. Out: a `PlannedMemoryAccess` whose accesses are those instructions,
or None if the map is not what they do.

Such an instruction moves 1, 2 or 4 matrices of 8 rows of 16 bytes. Lane `8 * m + r` gives the address of row `r` of matrix `m`.

    as it is     lane l holds the 4 bytes at 4 * (l % 4) of row l / 4: lane bits 0, 1 walk along a row, bits 2, 3, 4 over rows
    transposed   lane l holds elements l / 4 of rows 2 * (l % 4) and 2 * (l % 4) + 1: bits 2, 3, 4 along a row,
                 a register bit and lane bits 0, 1 over rows (elements of 16 bits)

PTX ISA, "Warp-level matrix load instruction: ldmatrix".
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from minitriton.layouts import f2
from minitriton.layouts.encodings import DistributedEncoding, PaddedShared, SharedEncoding
from minitriton.layouts.linear_layout import LinearLayout
from minitriton.layouts.memory import AccessParts, access_of_parts, registers_to_offsets
from minitriton.layouts.plans import PlannedMemoryAccess
from minitriton.layouts.swizzling import BANK_LINE_BITS
from minitriton.layouts.to_linear import to_linear_layout
from minitriton.target.architectures import WARP_SIZE

ROW_BYTES = 16
MAX_MATRIX_BITS = 2


def local_matrix_access(
    registers: DistributedEncoding,
    shared: SharedEncoding,
    shape: Sequence[int],
    bitwidth: int,
    alloc_shape: Sequence[int] | None = None,
    slice_offset_bits: int = 0,
) -> PlannedMemoryAccess | None:
    """`memory.local_access` by `ldmatrix` (sm_75) or `stmatrix` (sm_90); None if they cannot do it. Cached."""
    if isinstance(shared, PaddedShared):
        return None
    allocated = tuple(alloc_shape)[-len(shape) :] if alloc_shape is not None else tuple(shape)
    return _local_matrix_access(registers, shared, tuple(shape), bitwidth, allocated, slice_offset_bits)


@lru_cache(maxsize=4096)
def _local_matrix_access(
    registers: DistributedEncoding,
    shared: SharedEncoding,
    shape: tuple[int, ...],
    bitwidth: int,
    alloc_shape: tuple[int, ...],
    slice_offset_bits: int,
) -> PlannedMemoryAccess | None:
    offsets = registers_to_offsets(to_linear_layout(registers, shape), to_linear_layout(shared, alloc_shape))
    return plan_matrix_access(offsets, bitwidth, slice_offset_bits)


def plan_matrix_access(offsets: LinearLayout, bitwidth: int, slice_offset_bits: int = 0) -> PlannedMemoryAccess | None:
    """The plan for a map `register, lane, warp -> offset` in elements: as it is if possible, else transposed."""
    plain = plan_plain_matrix_access(offsets, bitwidth, slice_offset_bits)
    return plain if plain is not None else plan_transposed_matrix_access(offsets, bitwidth, slice_offset_bits)


def plan_plain_matrix_access(
    offsets: LinearLayout, bitwidth: int, slice_offset_bits: int = 0
) -> PlannedMemoryAccess | None:
    """By `ldmatrix` or `stmatrix` without `.trans`; elements of 8, 16 or 32 bits."""
    registers, lane = offsets.flat_bases("register"), offsets.flat_bases("lane")
    if bitwidth not in (8, 16, 32) or 1 << len(lane) != WARP_SIZE:
        return None
    word = 32 // bitwidth
    if lane[0] != word or lane[1] != 2 * word:
        return None
    in_word: list[int] = []
    for i in range(f2.log2(word)):
        if 1 << i not in registers:
            return None
        in_word.append(registers.index(1 << i))
    rows = (lane[2], lane[3], lane[4])
    return _plan(offsets, in_word, rows, bitwidth, slice_offset_bits)


def plan_transposed_matrix_access(
    offsets: LinearLayout, bitwidth: int, slice_offset_bits: int = 0
) -> PlannedMemoryAccess | None:
    """By `ldmatrix` or `stmatrix` with `.trans`; elements of 16 bits."""
    registers, lane = offsets.flat_bases("register"), offsets.flat_bases("lane")
    if bitwidth != 16 or tuple(lane[2:]) != (1, 2, 4):
        return None
    held = [bit for bit, offset in enumerate(registers) if offset]
    if not held:
        return None
    # Any register bit may walk over rows: the first of those that put the rows into the most banks.
    in_word = max(held, key=lambda bit: _positions_in_bank_line((registers[bit], lane[0], lane[1]), bitwidth))
    plan = _plan(offsets, [in_word], (registers[in_word], lane[0], lane[1]), bitwidth, slice_offset_bits)
    return None if plan is None else plan._replace(transposed=True)


def _positions_in_bank_line(rows: Sequence[int], bitwidth: int) -> int:
    """How many bits tell apart where in the 128 bytes of all banks rows at these offsets are: 3 if there are no conflicts."""
    line = f2.log2(BANK_LINE_BITS // bitwidth)
    return f2.rank([offset & ((1 << line) - 1) for offset in rows])


def _plan(
    offsets: LinearLayout, in_word: list[int], rows: tuple[int, ...], bitwidth: int, slice_offset_bits: int
) -> PlannedMemoryAccess | None:
    """The plan, given the register bits inside a word and the offsets of the rows; None if rows are not whole."""
    registers, warp = offsets.flat_bases("register"), offsets.flat_bases("warp")
    in_row = ROW_BYTES * 8 // bitwidth - 1
    others = [bit for bit, offset in enumerate(registers) if offset and bit not in in_word]
    if any(offset & in_row for offset in (*rows, *warp, slice_offset_bits, *(registers[bit] for bit in others))):
        return None
    matrix_bits = others[:MAX_MATRIX_BITS]
    of_matrices = tuple(registers[bit] for bit in matrix_bits)
    parts = AccessParts(
        registers=registers,
        covered=in_word + matrix_bits,
        lane=(*rows, *of_matrices, *(0 for _ in range(MAX_MATRIX_BITS - len(matrix_bits)))),
        warp=warp,
        bitwidth=bitwidth,
        slice_offset_bits=slice_offset_bits,
    )
    return access_of_parts(parts)._replace(matrices=1 << len(matrix_bits))
