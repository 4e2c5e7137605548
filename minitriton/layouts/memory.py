"""Plans for moving registers to and from memory: vector widths, addresses, `ldmatrix` and `stmatrix`.

In: a distributed layout and what it meets, shared memory or contiguous global addresses. Out: a `PlannedMemoryAccess` for shared
memory, or the width of the vectors and the masks of redundant threads for global memory.

    Blocked((1, 4), ...) meets SwizzledShared(4, 1, 8, (1, 0)) of f32:
    4 elements an access; one base per thread, a constant xor per row of registers

`ldmatrix` and `stmatrix` move 1, 2 or 4 matrices of 8 rows of 16 bytes, where the map from `register, lane, warp` to offsets is what they do. Lane
`8 * m + r` gives the address of row `r` of matrix `m` (PTX ISA, "Warp-level matrix load instruction: ldmatrix").

    as it is     lane l holds the 4 bytes at 4 * (l % 4) of row l / 4: lane bits 0, 1 walk along a row, bits 2, 3, 4 over rows
    transposed   lane l holds elements l / 4 of rows 2 * (l % 4) and 2 * (l % 4) + 1: bits 2, 3, 4 along a row,
                 a register bit and lane bits 0, 1 over rows (elements of 16 bits)
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from minitriton.errors import LoweringError
from minitriton.layouts import f2
from minitriton.layouts.encodings import DistributedEncoding, PaddedShared, SharedEncoding
from minitriton.layouts.linear_layout import LinearLayout
from minitriton.layouts.plans import PlannedAccess, PlannedMemoryAccess
from minitriton.layouts.swizzling import BANK_LINE_BITS
from minitriton.layouts.to_linear import to_linear_layout
from minitriton.target.architectures import WARP_SIZE, WIDEST_ACCESS_BITS


def local_access(
    registers: DistributedEncoding,
    shared: SharedEncoding,
    shape: Sequence[int],
    bitwidth: int,
    alloc_shape: Sequence[int] | None = None,
    slice_offset_bits: int = 0,
) -> PlannedMemoryAccess:
    """How `local_load`, `local_store` and `local_alloc` with an initial value move a tensor of `shape`; cached.

    `alloc_shape` is the buffer's own shape where the memdesc is a slice of it (its last dimensions, as many as `shape` has).
    `slice_offset_bits` has the bits, in elements, that the slice's offset may set. Elements below a byte count as 8 bits.
    Raises `LoweringError` if the data would have to come from another CTA.
    """
    allocated = tuple(alloc_shape)[-len(shape) :] if alloc_shape is not None else tuple(shape)
    return _local_access(registers, shared, tuple(shape), max(8, bitwidth), allocated, slice_offset_bits)


@lru_cache(maxsize=4096)
def _local_access(
    registers: DistributedEncoding,
    shared: SharedEncoding,
    shape: tuple[int, ...],
    bitwidth: int,
    alloc_shape: tuple[int, ...],
    slice_offset_bits: int,
) -> PlannedMemoryAccess:
    if isinstance(shared, PaddedShared):
        alloc_shape = shared.shape
    offsets = registers_to_offsets(to_linear_layout(registers, shape), to_linear_layout(shared, alloc_shape))
    return _plan_access(offsets, shared, bitwidth, slice_offset_bits, None)


def _plan_access(
    offsets: LinearLayout, shared: SharedEncoding, bitwidth: int, slice_offset_bits: int, max_vector: int | None
) -> PlannedMemoryAccess:
    """`plan_access` for a buffer that may be padded."""
    if not isinstance(shared, PaddedShared):
        return plan_access(offsets, bitwidth, max_vector, slice_offset_bits)
    scale = f2.log2(bitwidth // 8)
    padding = tuple(
        (f2.log2(interval) + scale, f2.log2(pad) + scale)
        for interval, pad in zip(shared.intervals, shared.paddings, strict=True)
    )
    # A vector may cross no padding, and the padding must keep it aligned.
    limit = min(*shared.intervals, *shared.paddings, *(() if max_vector is None else (max_vector,)))
    return plan_access(offsets, bitwidth, limit, slice_offset_bits, padding)


_TRANSPOSED_BITS = 64
"""What a lane reads and gets at once."""


def transposed_access(
    registers: DistributedEncoding,
    shared: SharedEncoding,
    shape: Sequence[int],
    bitwidth: int,
    alloc_shape: Sequence[int],
    slice_offset_bits: int = 0,
) -> PlannedMemoryAccess | None:
    """`local_access` by `ds_read_b64_tr_b8` and `_b16`; None where it cannot. The plan's lanes and registers are those that read.

    An instruction reads rows of 16 elements, n = 64 / bitwidth of them by 16 lanes, and lane l gets column l (CDNA4 ISA, "LDS Transpose"):

        registers wanted: lane bits 0-3 walk along a row        read: log2 n register bits, then the first lane bits along a row
                          log2 n register bits over rows              the other of the four lane bits over rows
    """
    allocated = shared.shape if isinstance(shared, PaddedShared) else tuple(alloc_shape)[-len(shape) :]
    return _transposed_access(registers, shared, tuple(shape), bitwidth, allocated, slice_offset_bits)


@lru_cache(maxsize=4096)
def _transposed_access(
    registers: DistributedEncoding,
    shared: SharedEncoding,
    shape: tuple[int, ...],
    bitwidth: int,
    alloc_shape: tuple[int, ...],
    slice_offset_bits: int,
) -> PlannedMemoryAccess | None:
    wanted = registers_to_offsets(to_linear_layout(registers, shape), to_linear_layout(shared, alloc_shape))
    held, lane, warp = (wanted.flat_bases(name) for name in ("register", "lane", "warp"))
    rows = f2.log2(_TRANSPOSED_BITS // bitwidth)
    is_row = tuple(lane[:4]) == (1, 2, 4, 8) and len(held) >= rows and all(held[:rows])
    others = (*held, *lane[4:], *warp, slice_offset_bits)
    if not is_row or any(offset & (1 << rows) - 1 for offset in others):
        return None
    low = [1 << bit for bit in range(4)]
    bases = {"register": (*low[:rows], *held[rows:]), "lane": (*low[rows:], *held[:rows], *lane[4:]), "warp": warp}
    read = LinearLayout.trusted(
        {name: tuple((offset,) for offset in offsets) for name, offsets in bases.items()},
        {"offset": wanted.get_out_dim_size("offset")},
    )
    plan = _plan_access(read, shared, bitwidth, slice_offset_bits, 1 << rows)
    return plan if plan.vector == 1 << rows else None


def packed_transposed_access(
    registers: DistributedEncoding, shared: SharedEncoding, shape: Sequence[int]
) -> PlannedMemoryAccess | None:
    """`ds_read_b64_tr_b4`: bytes of two numbers each, packed along rows in memory and along columns, which are k, in registers of `shape`.

    16 rows of 16 numbers, 8 bytes a lane; lane l gets 16 numbers of column l.
    """
    layout = to_linear_layout(registers, tuple(shape))
    held, lane, warp, block = (layout.bases.get(name, ()) for name in ("register", "lane", "warp", "block"))
    k = 1 if held[0] == (0, 1) else 0
    across = 1 - k

    def unit(dim: int, size: int) -> tuple[int, ...]:
        return (size, 0) if dim == 0 else (0, size)

    along = [unit(k, 1 << bit) for bit in range(3)]
    rows = [unit(across, 1 << bit) for bit in range(4)]
    rest = (*held[3:], *lane[4:], *warp, *block)
    if [*held[:3]] != along or [*lane[:4]] != rows or any(basis[across] % 2 for basis in rest):
        return None

    def packed(bases: Sequence[tuple[int, ...]]) -> tuple[tuple[int, ...], ...]:
        return tuple(
            tuple(size // 2 if dim == across else size * 2 for dim, size in enumerate(basis)) for basis in bases
        )

    read = {
        "register": (*(unit(across, 1 << bit) for bit in range(3)), *packed(held[3:])),
        "lane": (*(unit(k, 1 << bit) for bit in range(4)), *packed(lane[4:])),
        "warp": packed(warp),
        "block": packed(block),
    }
    in_memory = tuple(size // 2 if dim == across else size * 2 for dim, size in enumerate(shape))
    source = LinearLayout.trusted(read, {f"dim{dim}": size for dim, size in enumerate(in_memory)})
    plan = _plan_access(registers_to_offsets(source, to_linear_layout(shared, in_memory)), shared, 8, 0, 8)
    return plan if plan.vector == 8 else None


def registers_to_offsets(registers: LinearLayout, shared: LinearLayout) -> LinearLayout:
    """The map from `register, lane, warp` to `offset` (elements); raises if it leaves the CTA."""
    cvt = registers.invert_and_compose(shared)
    if not stays_in_cta(cvt):
        raise LoweringError(
            "shared memory of another CTA would be accessed", help="give both layouts the same CGALayout"
        )
    return cvt.sublayout(("register", "lane", "warp"), "offset")


def stays_in_cta(cvt: LinearLayout) -> bool:
    """Whether a map from `register, lane, warp, block` to `offset, block` has each CTA access its own memory.

    So it is with a buffer whose layout names no CTAs (a mbarrier's, a scalar's): each CTA has one, and they hold the same.
    """
    if not cvt.has_in_dim("block") or cvt.is_trivial_over(["block"]):
        return True
    return cvt.get_out_dim_size("block") == 1 and cvt.sublayout_is_zero("block", "offset")


def plan_access(
    offsets: LinearLayout,
    bitwidth: int,
    max_vector: int | None = None,
    slice_offset_bits: int = 0,
    padding: tuple[tuple[int, int], ...] = (),
) -> PlannedMemoryAccess:
    """The accesses of a map `register, lane, warp -> offset`, in elements of `bitwidth` (at least 8) bits."""
    registers = offsets.flat_bases("register")
    lane, warp = offsets.flat_bases("lane"), offsets.flat_bases("warp")
    held = [bit for bit, offset in enumerate(registers) if offset]
    vector_bits = _vector_bits(registers, held, (*lane, *warp), bitwidth, max_vector)
    parts = AccessParts(registers, vector_bits, lane, warp, bitwidth, slice_offset_bits)
    return access_of_parts(parts)._replace(padding=padding)


class AccessParts(NamedTuple):
    """Which register bits an access covers, and the offsets in elements of all bits that an address depends on."""

    registers: tuple[int, ...]
    covered: list[int]
    lane: tuple[int, ...]
    warp: tuple[int, ...]
    bitwidth: int
    slice_offset_bits: int


def access_of_parts(parts: AccessParts) -> PlannedMemoryAccess:
    """The accesses, one for each combination of the register bits that are not covered."""
    registers, threads = parts.registers, (*parts.lane, *parts.warp)
    rest = [bit for bit, offset in enumerate(registers) if offset and bit not in parts.covered]
    constant, moving = _additive(registers, rest, threads, parts.slice_offset_bits)

    scale = parts.bitwidth // 8
    within = f2.span([1 << bit for bit in parts.covered])
    inner_registers = f2.span([1 << bit for bit in constant])
    inner_offsets = f2.span([registers[bit] * scale for bit in constant])
    outer_registers = f2.span([1 << bit for bit in moving])
    outer_offsets = f2.span([registers[bit] * scale for bit in moving])
    accesses = tuple(
        PlannedAccess(xor, add, tuple(outer | inner | element for element in within))
        for outer, xor in zip(outer_registers, outer_offsets, strict=True)
        for inner, add in zip(inner_registers, inner_offsets, strict=True)
    )
    results = [0] * len(registers)
    for position, bit in enumerate((*parts.covered, *constant, *moving)):
        results[bit] = 1 << position
    return PlannedMemoryAccess(
        bitwidth=parts.bitwidth,
        vector=len(within),
        lane=tuple(offset * scale for offset in parts.lane),
        warp=tuple(offset * scale for offset in parts.warp),
        accesses=accesses,
        result=tuple(f2.span(results)),
    )


def _vector_bits(
    registers: Sequence[int], held: Sequence[int], threads: Sequence[int], bitwidth: int, limit: int | None
) -> list[int]:
    """The register bits whose offsets are 1, 2, 4, ... elements, as many as one access can take."""
    where = {registers[bit]: bit for bit in reversed(held)}
    count = f2.log2(WIDEST_ACCESS_BITS // bitwidth)
    if limit is not None:
        count = min(count, f2.log2(limit))
    for n in range(count, 0, -1):
        if all(1 << i in where for i in range(n)):
            bits = [where[1 << i] for i in range(n)]
            low = (1 << n) - 1
            if not any(offset & low for offset in threads) and not any(
                registers[bit] & low for bit in held if bit not in bits
            ):
                return bits
    return []


def _additive(
    registers: Sequence[int], rest: Sequence[int], threads: Sequence[int], slice_offset_bits: int
) -> tuple[list[int], list[int]]:
    """Register bits split into those whose offset can be added as a constant and those that must be xor-ed in."""
    taken = slice_offset_bits
    for offset in threads:
        taken |= offset
    constant, moving = list(rest), list[int]()
    while True:
        clashing = [bit for bit in constant if registers[bit] & taken]
        if not clashing:
            return constant, sorted(moving)
        constant = [bit for bit in constant if bit not in clashing]
        moving += clashing
        for bit in clashing:
            taken |= registers[bit]


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
