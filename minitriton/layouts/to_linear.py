"""Encodings as linear layouts: `to_linear_layout(encoding, shape)`.

In: an encoding and the shape of the tensor it is used for, powers of two. Out: the map from `register, lane, warp, block`
(or `offset, block` for shared memory) to `dim0, dim1, ...`. A tensor larger than one tile of the encoding wraps around: threads
get more registers. A smaller one is held several times over: the bits that have nothing left to tell map to 0.

    Blocked((1,), (32,), (4,), (0,)) on (256,):  register [128]   lane [1, 2, 4, 8, 16]   warp [32, 64]
    Blocked((1,), (32,), (4,), (0,)) on (64,):   register []      lane [1, 2, 4, 8, 16]   warp [32, 0]

Counterpart of Triton's lib/Dialect/TritonGPU/IR/LinearLayoutConversions.cpp.

Shared memory as wgmma and TMA want it: `nvmma_shared` as a linear layout.

In: an `NVMMAShared` encoding and a shape. Out: the layout from `offset, block`. A buffer is a row of boxes, each as wide as the swizzle
(128 bytes, say) and as high as the tensor (at most 256); a box is a stack of 8-row tiles in which groups of 16 bytes are xor-ed with the row.

    128 bytes of f16, (8, 64): offset bit 6 (row 1) maps to (1, 8), bit 7 to (2, 16), bit 8 to (4, 32)

PTX ISA, "Asynchronous warpgroup-level matrix shared memory layout"; Triton's nvmmaSharedToLinearLayout.

Layouts of AMD's matrix cores as linear layouts: results, operands, and the scales of operands.

    amd_result(AmdMfma(3, (4, 1), (32, 32, 8), True), (128, 32))     each lane has 4 neighbours of a row, then the columns 8, 16, .. further

Registers, lanes and warps walk N first. Where elements of an instruction are: AMD's matrix instruction calculator. Counterpart of Triton's
`LinearLayoutConversions.cpp`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from minitriton.errors import IRError
from minitriton.layouts import f2
from minitriton.layouts.algebra import (
    ensure_layout_not_larger_than,
    ensure_layout_not_smaller_than,
    remove_standard_dim,
    reshape_layout,
    standard_out_dim_pairs,
    transpose_linear_layout,
    unit,
)
from minitriton.layouts.cta_split import combine_cta_cga_with_shape, shape_per_cta
from minitriton.layouts.encodings import (
    AmdMfma,
    AmdRotatingShared,
    AmdWmma,
    Blocked,
    DistributedEncoding,
    DotOperand,
    Encoding,
    Linear,
    NvidiaMma,
    NVMMAShared,
    PaddedShared,
    SharedLinear,
    Slice,
    SwizzledShared,
    order_of_bases,
)
from minitriton.layouts.linear_layout import Bases, Basis, LinearLayout
from minitriton.layouts.tile import Tile, matrix_order, order_for_dot_operand

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
    size, tiles = parent.instr_shape[encoding.op_idx], parent.tiles[other]
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
        depth = parent.instr_shape[2]
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


Shape = Sequence[int]


def to_linear_layout(encoding: Encoding, shape: Shape) -> LinearLayout:
    """The layout of a tensor of `shape` under `encoding`; cached. Raises `IRError` if they do not go together."""
    return _to_linear_layout(encoding, tuple(shape))


@lru_cache(maxsize=8192)
def _to_linear_layout(encoding: Encoding, shape: tuple[int, ...]) -> LinearLayout:
    if len(shape) != encoding.rank:
        raise IRError(f"a {encoding.mnemonic} encoding of rank {encoding.rank} is used on the shape {list(shape)}")
    if not all(map(f2.is_power_of_two, shape)):
        raise IRError(f"shape must be positive powers of 2, got {list(shape)}")
    match encoding:
        case Blocked():
            return _blocked(encoding, shape)
        case Slice():
            return _slice(encoding, shape)
        case NvidiaMma():
            return _nvidia_mma(encoding, shape)
        case DotOperand():
            return _dot_operand(encoding, shape)
        case AmdMfma() | AmdWmma():
            return amd_result(encoding, shape)
        case Linear():
            return _linear(encoding, shape)
        case SwizzledShared():
            return _swizzled_shared(encoding, shape)
        case NVMMAShared():
            return nvmma_shared_to_linear_layout(encoding, shape)
        case PaddedShared():
            return _fixed_shared(encoding.offset, encoding.block, encoding.shape, shape)
        case SharedLinear():
            return _fixed_shared(encoding.offset, encoding.block, encoding.shape, shape)
        case _:
            raise IRError(
                f"no linear layout is known for {type(encoding).__name__}",
                help="add a case to minitriton/layouts/to_linear.py (docs/add-an-encoding.md)",
            )


@lru_cache(maxsize=8192)
def _to_linear_encoding(encoding: DistributedEncoding, shape: tuple[int, ...]) -> Linear:
    return linear_encoding_of(_to_linear_layout(encoding, shape))


def to_linear_encoding(encoding: DistributedEncoding, shape: Shape) -> Linear:
    """The `Linear` encoding with the same layout on `shape`; cached."""
    return _to_linear_encoding(encoding, tuple(shape))


def linear_encoding_of(layout: LinearLayout) -> Linear:
    """A layout from `register, lane, warp, block` to `dim0, ...` as an encoding."""
    get = layout.bases.get
    shape = tuple(layout.out_dims.values())
    return Linear(get("register", ()), get("lane", ()), get("warp", ()), get("block", ()), shape)


def _blocked(encoding: Blocked, shape: Shape) -> LinearLayout:
    order = encoding.order
    tile = Tile(len(shape))
    tile.walk("register", encoding.size_per_thread, order)
    tile.walk("lane", encoding.threads_per_warp, order)
    tile.walk("warp", encoding.warps_per_cta, order)
    return tile.on(shape, order, encoding.cga)


def _slice(encoding: Slice, shape: Shape) -> LinearLayout:
    parent = _to_linear_layout(encoding.parent, encoding.padded_shape(shape))
    return remove_standard_dim(parent, encoding.dim).remove_zero_bases_along_dim("register")


def _mma_tile(tile: Tile, tile_shape: Sequence[int], k_width: int, order: Sequence[int]) -> None:
    """The fragment of one tensor-core instruction: 4 lanes of `k_width` registers along a row, 8 rows."""
    inner, outer = order[0], order[1]
    rows, columns = tile_shape[outer], tile_shape[inner]
    if rows % 8 or columns % (k_width * 4):
        raise IRError(f"an mma tile of {rows}x{columns} is not a multiple of 8x{k_width * 4}")
    tile.identity("register", inner, k_width)
    tile.identity("lane", inner, 4)
    tile.identity("lane", outer, 8)
    tile.identity("register", outer, rows // 8)
    tile.identity("register", inner, columns // (k_width * 4))


def _nvidia_mma(encoding: NvidiaMma, shape: Shape) -> LinearLayout:
    if not (encoding.is_ampere or encoding.is_hopper):
        raise IRError(f"nvidia_mma version {encoding.version_major} is not supported", help="use version 2 or 3")
    rank = len(shape)
    rows_first = matrix_order(rank, row_major=True)
    instr = encoding.instr_shape if encoding.is_ampere else encoding.instr_shape[:2]
    if len(instr) != rank:
        raise IRError(f"instrShape {list(encoding.instr_shape)} does not fit a tensor of rank {rank}")
    tile = Tile(rank)
    _mma_tile(tile, instr, 2, rows_first)
    tile.walk("warp", encoding.warps_per_cta, matrix_order(rank, row_major=not encoding.is_hopper))
    return tile.on(shape, rows_first, encoding.cga)


def _dot_operand(encoding: DotOperand, shape: Shape) -> LinearLayout:
    parent, k = encoding.parent, encoding.k_dim
    rank = len(shape)
    tile = Tile(rank)
    if isinstance(parent, Blocked):
        order = parent.order
        per_thread = list(parent.size_per_thread)
        per_thread[k] = shape[k]
        tile.walk("register", per_thread, order)
        tile.walk("lane", parent.threads_per_warp, order, broadcast=k)
        tile.walk("warp", parent.warps_per_cta, order, broadcast=k)
        return tile.on(shape, order, encoding.cga)
    if isinstance(parent, (AmdMfma, AmdWmma)):
        return amd_operand(encoding, parent, shape)
    if not isinstance(parent, NvidiaMma):
        raise IRError(f"ttg.dot_op unexpected parent layout: {type(parent).__name__}")
    order = order_for_dot_operand(encoding.op_idx, rank, k_contiguous=True)
    tile_shape = [1] * rank
    tile_shape[k] = encoding.k_width * 8
    tile_shape[order[1]] = 16 if encoding.op_idx == 0 else 8
    _mma_tile(tile, tile_shape, encoding.k_width, order)
    tile.walk("warp", parent.warps_per_cta, matrix_order(rank, row_major=not parent.is_hopper), broadcast=k)
    return tile.on(shape, order, encoding.cga)


def _linear(encoding: Linear, shape: Shape) -> LinearLayout:
    bases = {
        "register": encoding.register,
        "lane": encoding.lane,
        "warp": encoding.warp,
        "block": encoding.block,
    }
    layout = LinearLayout(bases, standard_out_dim_pairs(encoding.shape))
    if encoding.shape == tuple(shape):
        return layout
    sizes = standard_out_dim_pairs(shape)
    rank = len(shape)
    rep_order = order_of_bases(encoding.register, range(rank - 1, -1, -1))
    layout = layout.transpose_outs([f"dim{dim}" for dim in rep_order])
    layout = ensure_layout_not_smaller_than(layout, sizes)
    layout = ensure_layout_not_larger_than(layout, sizes, broadcast_registers=False)
    return layout.transpose_outs(list(sizes))


def _swizzled_shared(encoding: SwizzledShared, shape: Shape) -> LinearLayout:
    rank = len(shape)
    per_cta = shape_per_cta(encoding, shape)
    order = encoding.order
    bases: list[Basis] = []
    column = 1
    while column < per_cta[order[0]]:
        bases.append(unit(rank, order[0], column))
        column *= 2
    if rank >= 2:
        row = 1
        while row < per_cta[order[1]]:
            phase = (row // encoding.per_phase) % encoding.max_phase
            if isinstance(encoding, AmdRotatingShared):
                phase ^= row // (encoding.per_phase * encoding.max_phase) % encoding.max_phase
            basis = list(unit(rank, order[1], row))
            basis[order[0]] = encoding.vec * phase % per_cta[order[0]]
            bases.append(tuple(basis))
            row *= 2
    for dim in order[2:]:
        bases += [unit(rank, dim, 1 << i) for i in range(f2.log2(per_cta[dim]))]
    layout = LinearLayout.trusted({"offset": tuple(bases)}, standard_out_dim_pairs(per_cta))
    return combine_cta_cga_with_shape(layout, encoding.cga, shape)


def _fixed_shared(offset: Bases, block: Bases, own_shape: Shape, shape: Shape) -> LinearLayout:
    if tuple(own_shape) != tuple(shape):
        raise IRError(f"the layout is for the shape {list(own_shape)}, not {list(shape)}")
    return LinearLayout.trusted({"offset": offset, "block": block}, standard_out_dim_pairs(shape))
