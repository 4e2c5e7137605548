"""Encodings as linear layouts: `to_linear_layout(encoding, shape)`.

In: an encoding and the shape of the tensor it is used for, powers of two. Out: the map from `register, lane, warp, block`
(or `offset, block` for shared memory) to `dim0, dim1, ...`. A tensor larger than one tile of the encoding wraps around: threads
get more registers. A smaller one is held several times over: the bits that have nothing left to tell map to 0.

    Blocked((1,), (32,), (4,), (0,)) on (256,):  register [128]   lane [1, 2, 4, 8, 16]   warp [32, 64]
    Blocked((1,), (32,), (4,), (0,)) on (64,):   register []      lane [1, 2, 4, 8, 16]   warp [32, 0]

Counterpart of Triton's lib/Dialect/TritonGPU/IR/LinearLayoutConversions.cpp.
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
    standard_out_dim_pairs,
    unit,
)
from minitriton.layouts.amd import amd_operand, amd_result
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
from minitriton.layouts.nvmma_layout import nvmma_shared_to_linear_layout
from minitriton.layouts.tile import Tile, matrix_order, order_for_dot_operand

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
