"""Tensor memory of sm_100 as linear layouts, and the registers that its loads and stores take.

In: a block, its columns' stride and the shape. Out: the map from `row, col` (of one element) to `dim0, dim1`; 128 rows, a warp reaches 32.

    tensor_memory_layout((128, 64), (128, 64))     row [1, 2, .., 64] of dim0, col [1, 2, .., 32] of dim1
    registers_of(that, "32x32b", 4, 32)            register = columns, lane = 32 rows, warp = rows 32 and 64

A zero among the bases of rows 32 and 64 is a copy, elsewhere it is memory that holds nothing. Counterparts: Triton's `LinearLayoutConversions.cpp`
(tensor memory) and `TritonNvidiaGPU/IR/Dialect.cpp` (registers).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import mul

from minitriton.errors import IRError
from minitriton.layouts import f2
from minitriton.layouts.algebra import divide_left, ensure_layout_not_larger_than
from minitriton.layouts.linear_layout import Bases, Basis, LinearLayout

_one, _zeros = LinearLayout.identity_1d, LinearLayout.zeros_1d
_DIMS = ("dim0", "dim1")

COLUMN_BITS = 32
"""The bits of a column of tensor memory in a row, and of a register."""

ATOMS: dict[str, tuple[Bases, Bases]] = {
    "32x32b": ((), ((1, 0), (2, 0), (4, 0), (8, 0), (16, 0))),
    "16x64b": ((), ((8, 0), (0, 1), (1, 0), (2, 0), (4, 0))),
    "16x128b": (((8, 0),), ((0, 1), (0, 2), (1, 0), (2, 0), (4, 0))),
    "16x256b": (((0, 1), (8, 0)), ((0, 2), (0, 4), (1, 0), (2, 0), (4, 0))),
}
"""Where the registers and the lanes of an access are, in (row, column of 32 bits), by its shape (PTX ISA, `tcgen05.ld`)."""


def _split(layout: LinearLayout, parts: int, dim: str) -> LinearLayout:
    return layout * _one(parts, "col", dim) if parts > 1 else layout


def tensor_memory_layout(
    shape: Sequence[int],
    block: Sequence[int],
    col_stride: int = 1,
    cta_split: Sequence[int] = (1, 1),
    two_ctas: bool = False,
) -> LinearLayout:
    """Blocks of `block` elements, below each other first, `col_stride` columns from one column to the next; CTAs after all of them."""
    (rows, columns), (block_rows, block_columns), (split_rows, split_columns) = shape, block, cta_split
    if block_rows not in (64, 128):
        raise IRError(f"a block of tensor memory has 64 or 128 rows, got {block_rows}")
    is_transposed = block_rows == 64 and two_ctas and split_rows > 1
    if (
        is_transposed
    ):  # PTX ISA, "Data path layout B": 64 rows of each of two CTAs are 128 rows whose last bit is a column
        block_rows, split_rows = 128, split_rows // 2
    tile = _one_cta((rows // split_rows, columns // split_columns), (block_rows, block_columns), col_stride)
    layout = _split(tile, split_rows, "dim0")
    if is_transposed:
        bases = {name: list(images) for name, images in layout.bases.items()}
        bases["row"][-1], bases["col"][-1] = bases["col"][-1], bases["row"][-1]
        layout = LinearLayout(bases, layout.out_dims, layout.is_surjective())
    return _split(layout, split_columns, "dim1")


def _one_cta(shape: Sequence[int], block: Sequence[int], col_stride: int) -> LinearLayout:
    rows, columns = block[0], min(block[1], shape[1])
    tile = _zeros(col_stride, "col", "dim1")
    tile *= _one(16 if rows == 64 else rows, "row", "dim0") * _one(columns, "col", "dim1")
    if rows == 64:
        upper = (64, 0) if shape[0] > rows else (0, columns) if shape[1] > columns else (0, 0)
        tile = tile.transpose_outs(_DIMS)
        bases = {**tile.bases, "row": (*tile.bases["row"], upper, (16, 0), (32, 0))}
        tile = LinearLayout.from_bases(bases, _DIMS)
    below, right = shape[0] // tile.get_out_dim_size("dim0"), shape[1] // tile.get_out_dim_size("dim1")
    if not below or not right:
        raise IRError(f"a block of {list(block)} elements is larger than the tensor of shape {list(shape)}")
    return _standard(tile * _one(below, "col", "dim0") * _one(right, "col", "dim1"))


def _standard(layout: LinearLayout) -> LinearLayout:
    return layout.transpose_outs(_DIMS).transpose_ins(("row", "col"))


def scales_layout(shape: Sequence[int], cta_split: Sequence[int] = (1, 1)) -> LinearLayout:
    """Scales of a block: 32 rows of 4, a copy for each warp (PTX ISA, "Layout of the scale factor A/B")."""
    own = {dim: size // parts for dim, size, parts in zip(_DIMS, shape, cta_split, strict=True)}
    parts = (_one(32, "row", "dim0"), _zeros(4, "row", "dim0"), _one(4, "col", "dim1"), _one(2, "col", "dim0"))
    tile = reduce(mul, parts)
    for dim in _DIMS:
        tile *= _one(-(-own[dim] // tile.get_out_dim_size(dim)), "col", dim)
    tile = ensure_layout_not_larger_than(_standard(tile), own)
    return _split(_split(tile, cta_split[0], "dim0"), cta_split[1], "dim1")


def registers_of(layout: LinearLayout, atom: str, num_warps: int, bits: int, cga: Bases = ()) -> LinearLayout | None:
    """Which element of `layout` each register of an access has, whose elements have `bits` bits. None if `atom` cannot reach it."""
    sizes = [1 << max((basis[d].bit_length() for basis in cga), default=0) for d in range(2)]
    own = _without_ctas(layout, sizes)
    found = _registers(own, atom, num_warps, bits)
    return None if found is None else found * LinearLayout({"block": cga}, zip(_DIMS, sizes, strict=True))


def _without_ctas(layout: LinearLayout, parts: Sequence[int]) -> LinearLayout:
    """`layout` of one CTA: the last columns are the CTAs."""
    images = layout.bases["col"]
    kept = len(images) - sum(map(f2.log2, parts))
    sizes = {dim: size // part for (dim, size), part in zip(layout.out_dims.items(), parts, strict=True)}
    ctas = [
        (sizes["dim0"] << i if d == 0 else 0, sizes["dim1"] << i if d == 1 else 0)
        for d, part in enumerate(parts)
        for i in range(f2.log2(part))
    ]
    if kept < 0 or list(images[kept:]) != ctas:
        raise IRError("the CTAs of the registers are not those that split tensor memory")
    return LinearLayout({"row": layout.bases["row"], "col": images[:kept]}, sizes, require_surjective=False)


def _registers(layout: LinearLayout, atom: str, num_warps: int, bits: int) -> LinearLayout | None:
    if bits != COLUMN_BITS:
        return _narrow_registers(layout, atom, num_warps, bits)
    registers, lanes = map(list[Basis], ATOMS[atom])
    columns = 1 << max(v.bit_length() for _, v in (*registers, *lanes))
    missing = layout.get_in_dim_size("col") // columns
    if not missing:
        return None
    all_rows, half_rows = atom == "32x32b", not any(layout.bases["row"][4])

    def image(at: Basis) -> Basis:
        return tuple(layout.apply({"row": at[0], "col": at[1]}).values())

    reached = [image(at) for at in (*registers, *(lanes[:-1] if all_rows else lanes))]
    wide = layout.get_out_dim_size("dim1")
    if f2.rank([a * wide + b for a, b in reached]) != len(reached):
        return None
    warps: list[Basis] = [(32, 0), (64, 0)]
    rest = num_warps // 4
    row_16 = None
    if not all_rows and not half_rows:
        row_16 = warps if num_warps > 4 else registers
        rest = num_warps // (8 if row_16 is warps else 4)
    copies = rest // min(missing, rest)
    rest //= copies
    missing //= rest
    if all_rows and half_rows and missing > 1:  # 16x32bx2: the upper lanes load the other half of the columns
        registers += [(0, 1 << i) for i in range(f2.log2(missing // 2))]
        lanes[-1] = (0, missing // 2)
    else:
        registers += [(0, columns << i) for i in range(f2.log2(missing))]
    if row_16 is not None:
        row_16.append((16, 0))
    warps += [(0, (columns * missing) << i) for i in range(f2.log2(rest))] + [(0, 0)] * f2.log2(copies)
    bases = {"register": registers, "lane": lanes, "warp": warps}
    return LinearLayout(
        {name: [image(at) for at in of] for name, of in bases.items()}, layout.out_dims, require_surjective=False
    )


def _narrow_registers(layout: LinearLayout, atom: str, num_warps: int, bits: int) -> LinearLayout | None:
    """Elements of less than 32 bits: packed, or one in each 32 bits, which some accesses pack."""
    packed, rest = 1, layout
    while (
        bits * packed < COLUMN_BITS and (quotient := divide_left(layout, _one(2 * packed, "col", "dim1"))) is not None
    ):
        packed, rest = 2 * packed, quotient
    width = bits * packed
    if packed == 1:
        empty = _zeros(COLUMN_BITS // bits, "col", "dim1")
        pair = divide_left(layout, empty * _one(2, "col", "dim1")) if bits == 16 else None
        padded = divide_left(layout, empty)
        if pair is not None:
            packed, rest = 2, pair
        elif padded is not None:
            rest = padded
        elif layout.get_in_dim_size("col") > 1:
            raise IRError(f"elements of {bits} bits are neither packed nor one in each column of 32 bits")
        width = COLUMN_BITS
    found = _registers(rest, atom, num_warps, width)
    return None if found is None else (_one(packed, "register", "dim1") * found).transpose_outs(_DIMS)
