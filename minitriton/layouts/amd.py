"""Layouts of AMD's matrix cores as linear layouts: results, operands, and the scales of operands.

    amd_result(AmdMfma(3, (4, 1), (32, 32, 8), True), (128, 32))     each lane has 4 neighbours of a row, then the columns 8, 16, .. further

Registers, lanes and warps walk N first. Where elements of an instruction are: AMD's matrix instruction calculator. Counterpart of Triton's
`LinearLayoutConversions.cpp`.
"""

from __future__ import annotations

from collections.abc import Sequence

from minitriton.layouts.encodings import AmdMfma, AmdWmma, DotOperand, Linear
from minitriton.layouts.linear_layout import LinearLayout
from minitriton.layouts.tile import Shape, Tile, matrix_order, order_for_dot_operand

_MFMA_LANES, _WMMA_LANES = 64, 32


def amd_result(encoding: AmdMfma | AmdWmma, shape: Shape) -> LinearLayout:
    """The result of a dot."""
    rank = len(shape)
    order = matrix_order(rank, row_major=True)
    n, m = order[:2]
    tile = Tile(rank)
    if isinstance(encoding, AmdMfma):
        height = 1 if encoding.element_bit_width == 64 else 4
        rows, columns = encoding.instr_shape[:2]
        along, across, lanes = (n, m, rows) if encoding.is_transposed else (m, n, columns)
        tile.identity("register", along, height).identity("lane", across, lanes)
        tile.identity("lane", along, _MFMA_LANES // lanes)
        tile.identity("register", along, rows * columns // (_MFMA_LANES * height))
    else:
        across, along = (m, n) if encoding.is_transpose else (n, m)
        if encoding.version == 1:  # the upper lanes have every other element
            tile.identity("lane", across, 16).identity("lane", along, 2).identity("register", along, 8)
        else:
            tile.identity("register", along, 8).identity("lane", across, 16).identity("lane", along, 2)
    warps, tiles = encoding.warps_per_cta, encoding.tiles
    width = encoding.instr_shape[1] * warps[n] * tiles[n]
    tile.identity("register", n, tiles[n]).identity("warp", n, warps[n]).identity("register", n, shape[n] // width)
    tile.identity("register", m, tiles[m]).identity("warp", m, warps[m])
    if rank == 3:
        tile.identity("warp", 0, warps[0])
    return tile.on(shape, order, encoding.cga)


def amd_operand(encoding: DotOperand, parent: AmdMfma | AmdWmma, shape: Shape) -> LinearLayout:
    """An operand of a dot."""
    rank, k_width = len(shape), encoding.k_width
    order = order_for_dot_operand(encoding.op_idx, rank, k_contiguous=True)
    k, other = order[:2]
    rows, columns, depth = parent.instr_shape
    size, tiles = (rows, columns)[encoding.op_idx], parent.tiles[other]
    tile = Tile(rank).identity("register", k, k_width).identity("lane", other, size)
    warp_order = matrix_order(rank, row_major=True)
    if isinstance(parent, AmdMfma):
        tile.identity("lane", k, _MFMA_LANES // size)
        if size == 64:
            tile.identity("register", k, 16)  # the operand of 64x64 of an instruction of 64x4 or 4x64
        tile.identity("register", k, shape[k] // tile.sizes[k]).identity("register", other, tiles)
        tile.walk("warp", parent.warps_per_cta, warp_order)
    else:
        lanes = _WMMA_LANES // size
        reached = lanes * k_width
        if parent.version == 1:
            tile.copies("lane", lanes)
        else:
            tile.identity("lane", k, lanes)
        whole = max(shape[k], depth) if tiles > 1 else depth
        tile.identity("register", k, whole // reached).identity("register", other, tiles)
        tile.walk("warp", parent.warps_per_cta, warp_order, broadcast=k)
    return tile.on(shape, order, parent.cga)


def amd_scale(operand: DotOperand, shape: Sequence[int]) -> Linear:
    """The scales, of `shape` (rows of A or columns of B, k / 32), of an operand of a scaled dot."""
    parent = operand.parent
    assert isinstance(parent, (AmdMfma, AmdWmma))
    size, tiles = parent.instr_shape[0], parent.tiles[operand.op_idx]
    tile = Tile(2)
    if isinstance(parent, AmdMfma):
        threads = _MFMA_LANES // size
        tile.identity("lane", 0, size).identity("lane", 1, threads)
        tile.identity("register", 1, shape[1] // threads).identity("register", 0, tiles)
    else:
        tile.identity("register", 1, 4).identity("lane", 0, 16)
        if tiles > 1:
            tile.identity("lane", 0, tiles)
        else:
            tile.copies("lane", 2)
        tile.identity("register", 1, shape[1] // 4)
    warps = parent.warps_per_cta if operand.op_idx == 0 else parent.warps_per_cta[::-1]
    tile.walk("warp", warps, (1, 0) if operand.op_idx == 0 else (0, 1))
    bases = tile.on(shape, (0, 1), ()).bases
    return Linear(bases["register"], bases["lane"], bases["warp"], (), tuple(shape))
