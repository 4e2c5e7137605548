"""The encoding of an op's result from its operand's, for ops that change the shape.

In: an encoding and the op's shapes. Out: the encoding with which the op moves no data: every thread keeps its elements, they are
only renamed. None where there is no such encoding.

    trans_dst(Blocked((1, 4), (8, 4), (4, 1), (1, 0)), (64, 32), (1, 0)) == Blocked((4, 1), (4, 8), (1, 4), (0, 1))
    reshape_dst of (32, 4) with size_per_thread (4, 4) to (128,): size_per_thread (16,), a `Blocked` again where one exists

`OP_dst` goes from operand to result (`fp4_to_fp_src` back: reshapes, transposes, joins and splits undo each other). Elementwise ops, `tt.broadcast` and `tt.splat` keep the encoding.
Counterpart of TritonGPUInferLayoutInterface and inferReshapeOpLegacyEncoding in Triton's lib/Dialect/TritonGPU/IR/Dialect.cpp.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from math import prod
from typing import TypeVar

from minitriton.layouts.algebra import (
    reshape_layout,
    standard_out_dim_pairs,
    transpose_linear_layout,
    unit,
)
from minitriton.layouts.builders import default_blocked
from minitriton.layouts.encodings import (
    Blocked,
    DistributedEncoding,
    DotOperand,
    Encoding,
    Linear,
    NVMMAShared,
    PaddedShared,
    SharedEncoding,
    SharedLinear,
    Slice,
    SwizzledShared,
)
from minitriton.layouts.linear_layout import Bases, LinearLayout
from minitriton.layouts.properties import are_layouts_equivalent, get_order, shared_alignment
from minitriton.layouts.to_linear import linear_encoding_of, to_linear_encoding, to_linear_layout

Group = tuple[list[int], list[int]]


@lru_cache(maxsize=2048)
def reshape_blocked(src: Blocked, src_shape: tuple[int, ...], dst_shape: tuple[int, ...]) -> Blocked | None:
    """The encoding of the reshaped tensor, or None if it is not blocked."""
    if src_shape == dst_shape:
        return src
    num_warps, lanes = prod(src.warps_per_cta), prod(src.threads_per_warp)
    if src == default_blocked(src_shape, num_warps, lanes, src.num_ctas):
        return default_blocked(dst_shape, num_warps, lanes, src.num_ctas)
    if src.num_ctas != 1:
        return None
    groups = reshape_decomposition(src_shape, dst_shape)
    position = _inverse(src.order)
    parts = (src.size_per_thread, src.threads_per_warp, src.warps_per_cta)
    if not all(_mergeable(src_dims, position, parts, src_shape) for src_dims, _ in groups):
        return None
    left = list(dst_shape)
    new = [_deal_out(part, groups, left) for part in parts]
    groups.sort(key=lambda group: position[group[0][0]])
    order = [dim for _, dst_dims in groups for dim in reversed(dst_dims)]
    return Blocked(new[0], new[1], new[2], tuple(order))


def reshape_decomposition(src_shape: Sequence[int], dst_shape: Sequence[int]) -> list[Group]:
    """The reshape as independent steps: these source dimensions are merged, then split into these of the result.

    (4, 4, 4) to (2, 2, 8, 2) is `[([0], [0, 1]), ([1, 2], [2, 3])]`.
    """
    groups: list[Group] = [([], [])] if src_shape else []
    s = d = 0
    src_size = dst_size = 1
    while s < len(src_shape) or d < len(dst_shape):
        more_src, more_dst = s < len(src_shape), d < len(dst_shape)
        if src_size < dst_size or (more_src and (src_size == 1 or src_shape[s] == 1)):
            src_size *= src_shape[s]
            groups[-1][0].append(s)
            s += 1
        elif dst_size < src_size or (more_dst and dst_shape[d] == 1):
            dst_size *= dst_shape[d]
            groups[-1][1].append(d)
            d += 1
        else:
            groups.append(([], []))
            src_size = dst_size = 1
    return groups


def _inverse(order: Sequence[int]) -> list[int]:
    position = [0] * len(order)
    for i, dim in enumerate(order):
        position[dim] = i
    return position


def _mergeable(dims: list[int], position: list[int], parts: Sequence[tuple[int, ...]], shape: tuple[int, ...]) -> bool:
    """Whether the elements of `dims`, merged, are still boxes.

    The dimensions must follow each other in the order, the last one fastest, and a faster one must be filled by threads and
    warps before a slower one gets any. Only the slowest may be covered more than once.
    """
    positions = [position[dim] for dim in reversed(dims)]
    if any(b != a + 1 for a, b in pairwise(positions)):
        return False
    left = [shape[dim] for dim in dims]
    for part in parts:
        for i in range(len(dims) - 1, -1, -1):
            size = part[dims[i]]
            if size == 1:
                continue
            if any(rest != 1 for rest in left[i + 1 :]):
                return False
            left[i] = left[i] // size
            if left[i] == 0 and i != 0:
                return False
    return True


def _deal_out(part: tuple[int, ...], groups: list[Group], left: list[int]) -> tuple[int, ...]:
    """`part` of the merged dimensions dealt out to the new ones, fastest first; what is over goes to the slowest."""
    new = [1] * len(left)
    for src_dims, dst_dims in groups:
        rest = prod(part[dim] for dim in src_dims)
        for dim in reversed(dst_dims):
            new[dim] = min(rest, left[dim])
            rest //= new[dim]
            left[dim] //= new[dim]
        new[dst_dims[0]] *= rest
    return tuple(new)


Shape = Sequence[int]
_E = TypeVar("_E", bound=Encoding)


def reduce_dst(src: DistributedEncoding, axis: int) -> Slice:
    """Of `tt.reduce` over `axis`."""
    return Slice(axis, src)


def expand_dims_dst(src: DistributedEncoding, axis: int) -> DistributedEncoding | None:
    """Of `tt.expand_dims`: known if the operand is a slice along `axis`."""
    return src.parent if isinstance(src, Slice) and src.dim == axis else None


def inverse_permutation(order: Shape) -> tuple[int, ...]:
    """The permutation that undoes `order`."""
    inverse = [0] * len(order)
    for i, dim in enumerate(order):
        inverse[dim] = i
    return tuple(inverse)


def trans_dst(src: Encoding, shape: Shape, order: Shape) -> Encoding | None:
    """Of `tt.trans` or `ttg.memdesc_trans`: result dimension `i` is dimension `order[i]` of the operand's `shape`."""
    if list(order) == sorted(order):
        return src
    rank = len(order)
    if len(shape) != rank or src.rank != rank:
        return None
    inverse = inverse_permutation(order)
    cga = tuple(_permuted(basis, order) for basis in src.cga)
    if isinstance(src, SwizzledShared):
        return type(src)(src.vec, src.per_phase, src.max_phase, tuple(inverse[d] for d in src.order), cga)
    if isinstance(src, NVMMAShared) and tuple(order) == (1, 0):
        return NVMMAShared(
            src.swizzling_byte_width, not src.transposed, src.element_bit_width, src.fp4_padded, cga, src.rank
        )
    if isinstance(src, Blocked):
        return Blocked(
            _permuted(src.size_per_thread, order),
            _permuted(src.threads_per_warp, order),
            _permuted(src.warps_per_cta, order),
            tuple(inverse[d] for d in src.order),
            cga,
        )
    layout_shape = src.shape if isinstance(src, PaddedShared) else shape
    return _like(src, transpose_linear_layout(to_linear_layout(src, layout_shape), order))


def _permuted(values: Shape, order: Shape) -> tuple[int, ...]:
    return tuple(values[i] for i in order)


def _like(encoding: Encoding, layout: LinearLayout) -> Encoding:
    """`layout` as an encoding of the same kind: in registers, padded, or in shared memory."""
    shape = tuple(layout.out_dims.values())
    if isinstance(encoding, DistributedEncoding):
        return linear_encoding_of(layout)
    offset, block = layout.bases["offset"], layout.bases["block"]
    if isinstance(encoding, PaddedShared):
        return PaddedShared(encoding.intervals, encoding.paddings, offset, block, shape)
    assert isinstance(encoding, SharedEncoding)
    return SharedLinear(offset, block, shared_alignment(encoding), shape)


def reshape_dst(src_shape: Shape, src: DistributedEncoding, dst_shape: Shape) -> DistributedEncoding | None:
    """Of `tt.reshape` that keeps the order of elements: blocked if that can express it, else linear.

    None only if the shapes do not have the same number of elements.
    """
    if prod(src_shape) != prod(dst_shape):
        return None
    found = reshape_blocked(src, tuple(src_shape), tuple(dst_shape)) if isinstance(src, Blocked) else None
    if found is not None and src.num_ctas == 1:
        return found
    layout = reshape_layout(to_linear_layout(src, src_shape), dst_shape)
    # Where CTAs hold copies, the default layouts of the two shapes may give a CTA different elements.
    if found is not None and to_linear_layout(found, dst_shape) == layout:
        return found
    return linear_encoding_of(layout)


def memdesc_reshape_dst(src_shape: Shape, src: SharedEncoding, dst_shape: Shape) -> SharedEncoding | None:
    """Of `ttg.memdesc_reshape`: `nvmma_shared` is kept if it still tells the truth, else a `shared_linear` takes over."""
    if prod(src_shape) != prod(dst_shape):
        return None
    layout = reshape_layout(to_linear_layout(src, src_shape), dst_shape)
    if isinstance(src, NVMMAShared) and src.num_ctas == 1:
        inner = 0 if src.transposed else -1
        if src_shape[inner] == dst_shape[inner]:
            kept = NVMMAShared(
                src.swizzling_byte_width, src.transposed, src.element_bit_width, src.fp4_padded, (), len(dst_shape)
            )
            if to_linear_layout(kept, dst_shape) == layout:
                return kept
    result = _like(src, layout)
    assert isinstance(result, SharedEncoding)
    return result


def join_dst(src: DistributedEncoding, shape: Shape) -> DistributedEncoding:
    """Of `tt.join` of two tensors of `shape`: both elements of a pair are in one thread, next to each other unless `src` is a slice of such a
    layout with another order."""
    rank = len(shape)
    if isinstance(src, Slice) and src.dim == rank:
        split = split_dst(src.parent, (*shape, 2))
        if split is not None and are_layouts_equivalent(shape, split, src):
            return src.parent
    elif isinstance(src, Blocked):
        return Blocked(
            (*src.size_per_thread, 2),
            (*src.threads_per_warp, 1),
            (*src.warps_per_cta, 1),
            (rank, *src.order),
            tuple((*basis, 0) for basis in src.cga),
        )
    layout = to_linear_layout(src, shape).reshape_outs(standard_out_dim_pairs((*shape, 1)))
    return linear_encoding_of(_doubled(layout, rank))


def split_dst(src: DistributedEncoding, shape: Shape) -> DistributedEncoding | None:
    """Of the results of `tt.split` of a tensor of `shape`, whose last dimension is 2 and lies within a thread."""
    last = len(shape) - 1
    if isinstance(src, Blocked):
        simple = src.size_per_thread[last] == 2 and src.threads_per_warp[last] == src.warps_per_cta[last] == 1
        if simple and src.ctas_per_cga[last] == 1:
            return Blocked(
                src.size_per_thread[:last],
                src.threads_per_warp[:last],
                src.warps_per_cta[:last],
                tuple(d for d in src.order if d != last),
                tuple(basis[:last] for basis in src.cga),
            )
    if shape[last] != 2:
        return None
    layout = _halved(to_linear_layout(src, shape), last)
    if layout is None:
        return None
    return linear_encoding_of(layout.reshape_outs(standard_out_dim_pairs(tuple(shape)[:last])))


def _doubled(layout: LinearLayout, axis: int) -> LinearLayout:
    """Each element replaced by two neighbours along `axis`, in two neighbouring registers."""
    return LinearLayout.identity_1d(2, "register", list(layout.out_dims)[axis]) * layout


def _halved(layout: LinearLayout, axis: int) -> LinearLayout | None:
    """One of two neighbours along `axis` kept; None if they are not in one thread."""
    bases: dict[str, Bases] = {}
    found = False
    for dim, images in layout.bases.items():
        kept = [b for b in images if not (dim == "register" and b[axis] == 1)]
        found |= len(kept) != len(images)
        bases[dim] = tuple((*b[:axis], b[axis] // 2, *b[axis + 1 :]) for b in kept)
    if not found:
        return None
    sizes = dict(layout.out_dims)
    name = list(sizes)[axis]
    sizes[name] //= 2
    return LinearLayout.trusted(bases, sizes)


def fp4_to_fp_dst(src: DistributedEncoding, shape: Shape, axis: int) -> DistributedEncoding | None:
    """Of `ttg.fp4_to_fp`, which turns each byte of `shape` into two neighbours along `axis`."""
    if get_order(src, shape)[axis] == 0:
        if isinstance(src, DotOperand):
            return DotOperand(src.op_idx, src.parent, src.k_width * 2)
        if isinstance(src, Blocked):
            return _scaled_blocked(src, axis, src.size_per_thread[axis] * 2)
    return linear_encoding_of(_doubled(to_linear_layout(src, shape), axis))


def fp4_to_fp_src(dst: DistributedEncoding, shape: Shape, axis: int) -> DistributedEncoding | None:
    """Of the operand of `ttg.fp4_to_fp`; `shape` is the result's."""
    if get_order(dst, shape)[axis] == 0:
        if isinstance(dst, DotOperand):
            return DotOperand(dst.op_idx, dst.parent, dst.k_width // 2) if dst.k_width > 1 else None
        if isinstance(dst, Blocked):
            size = dst.size_per_thread[axis]
            return _scaled_blocked(dst, axis, size // 2) if size > 1 else None
    layout = _halved(to_linear_layout(dst, shape), axis)
    return None if layout is None else linear_encoding_of(layout)


def _scaled_blocked(encoding: Blocked, axis: int, size: int) -> Blocked:
    sizes = encoding.size_per_thread
    return Blocked(
        (*sizes[:axis], size, *sizes[axis + 1 :]),
        encoding.threads_per_warp,
        encoding.warps_per_cta,
        encoding.order,
        encoding.cga_layout,
    )


def in_thread_transpose_dst(layout: Blocked, shape: Shape) -> Linear:
    """`layout` with the elements of each thread's tile in the order of the transposed tile."""
    linear = to_linear_encoding(layout, shape)
    rank = len(shape)
    tile = [
        unit(rank, dim, 1 << bit)
        for dim in reversed(layout.order)
        for bit in range(layout.size_per_thread[dim].bit_length() - 1)
    ]
    return replace(linear, register=(*tile, *linear.register[len(tile) :]))
