"""Shared memory as wgmma and TMA want it: `nvmma_shared` as a linear layout.

In: an `NVMMAShared` encoding and a shape. Out: the layout from `offset, block`. A buffer is a row of boxes, each as wide as the swizzle
(128 bytes, say) and as high as the tensor (at most 256); a box is a stack of 8-row tiles in which groups of 16 bytes are xor-ed with the row.

    128 bytes of f16, (8, 64): offset bit 6 (row 1) maps to (1, 8), bit 7 to (2, 16), bit 8 to (4, 32)

PTX ISA, "Asynchronous warpgroup-level matrix shared memory layout"; Triton's nvmmaSharedToLinearLayout.
"""

from __future__ import annotations

from collections.abc import Sequence

from minitriton.errors import IRError
from minitriton.layouts import f2
from minitriton.layouts.algebra import (
    ensure_layout_not_smaller_than,
    reshape_layout,
    standard_out_dim_pairs,
    transpose_linear_layout,
)
from minitriton.layouts.cta_split import combine_cta_cga_with_shape, shape_per_cta
from minitriton.layouts.encodings import NVMMAShared
from minitriton.layouts.linear_layout import Basis, LinearLayout

Shape = Sequence[int]


def tma_block_shape(encoding: NVMMAShared, per_cta: Shape, packed: bool) -> tuple[int, ...]:
    """The box that one TMA message moves: at most 256 a side, along the contiguous dimension one swizzle width.

    Counts elements as stored if `packed`; else fp4 pairs count as two.
    """
    contiguous = 0 if encoding.transposed else len(per_cta) - 1
    box = list(per_cta)
    if encoding.fp4_padded:
        box[contiguous] *= 2
    box = [min(size, 256) for size in box]
    if encoding.swizzling_byte_width:
        width = 8 * encoding.swizzling_byte_width // encoding.element_bit_width
        if box[contiguous] < width:
            raise IRError(
                "Block shape is too small for the swizzle byte size in NVMMA Shared Layout.",
                help=f"dimension {contiguous} has {box[contiguous]} elements, the swizzle needs {width}",
            )
        box[contiguous] = width
    if encoding.fp4_padded and packed:
        box[contiguous] //= 2
    return tuple(box)


def core_matrix_layout(encoding: NVMMAShared, disable_swizzle: bool = False) -> LinearLayout:
    """The 8-row tile that repeats through an `nvmma_shared` buffer."""
    vec, per_phase, max_phase = encoding.vec, encoding.per_phase, encoding.max_phase

    def packed(column: int) -> int:
        """With fp4 padding every 8 stored elements are followed by 8 unused ones, which stand for the same offset."""
        return column // 16 * 8 + column % 8 if encoding.fp4_padded else column

    bases: list[Basis] = []
    columns = 8 * max(16, encoding.swizzling_byte_width) // encoding.element_bit_width
    bases += [(0, packed(1 << i)) for i in range(f2.log2(columns))]
    for row in (1, 2, 4):
        bases.append((row, 0 if disable_swizzle else packed(vec * ((row // per_phase) % max_phase))))
    return LinearLayout.from_bases({"offset": bases}, ["dim0", "dim1"])


def nvmma_shared_to_linear_layout(encoding: NVMMAShared, shape: Shape, disable_swizzle: bool = False) -> LinearLayout:
    """The layout of an `nvmma_shared` buffer; without the swizzle if asked (TMA and wgmma apply it themselves)."""
    rank = len(shape)
    per_cta = shape_per_cta(encoding, shape)
    box = tma_block_shape(encoding, per_cta, packed=True)
    sizes = standard_out_dim_pairs(per_cta)
    if encoding.swizzling_byte_width == 0:
        layout = LinearLayout.empty()
        for dim in range(rank - 1, -1, -1):
            layout = layout * LinearLayout.identity_1d(box[dim], "offset", f"dim{dim}")
        layout = ensure_layout_not_smaller_than(layout, sizes)
        return combine_cta_cga_with_shape(layout, encoding.cga, shape)

    collapsed = [1, box[-1]]
    for size in box[:-1]:
        collapsed[0] *= size
    if encoding.transposed:
        collapsed.reverse()
    tile = core_matrix_layout(encoding, disable_swizzle)
    packing = 2 if encoding.fp4_padded else 1
    rows, columns = tile.out_dims.values()
    if rank < 2 or collapsed[1] * packing < columns or collapsed[0] < rows:
        raise IRError(
            f"Illegal shared layout; expected collapsed shapePerCTA to be at least [{rows}, {columns // packing}], "
            f"collapsedTmaShape: {collapsed}"
        )
    layout = ensure_layout_not_smaller_than(tile, standard_out_dim_pairs(collapsed))
    if encoding.transposed:
        layout = reshape_layout(layout, (*box[1:], box[0]))
        layout = transpose_linear_layout(layout, (rank - 1, *range(rank - 1)))
        layout = LinearLayout.trusted(dict(layout.bases), standard_out_dim_pairs(layout.out_dims.values()))
    else:
        layout = reshape_layout(layout, box)
    layout = ensure_layout_not_smaller_than(layout, sizes)
    return combine_cta_cga_with_shape(layout, encoding.cga, shape)
