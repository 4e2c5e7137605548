"""Triton's ways of choosing an encoding's parameters from a shape.

In: a shape and what is wanted (elements a thread, order, warps, ...). Out: an encoding.

    default_blocked((128, 64), num_warps=4) == Blocked((1, 1), (1, 32), (2, 2), (1, 0))

The rules are those of the attribute builders in Triton's TritonGPUAttrDefs.td: other passes count on getting these very values.
"""

from collections.abc import Sequence
from functools import lru_cache

from minitriton.layouts import f2
from minitriton.layouts.algebra import unit
from minitriton.layouts.cta_split import shape_of_cta
from minitriton.layouts.encodings import (
    AmdMfma,
    AmdWmma,
    Bases,
    Blocked,
    DotOperand,
    NvidiaMma,
    NVMMAShared,
    PaddedShared,
    SwizzledShared,
)

Shape = Sequence[int]
BANK_LINE_BITS = 32 * 32


def cga_from_split(ctas_per_cga: Shape, cta_split: Shape, cta_order: Shape) -> Bases:
    """The bases of `block` for CTAs in a grid: along each dimension `cta_split` parts, each held by the remaining CTAs."""
    rank = len(cta_order)
    bases: list[tuple[int, ...]] = []
    for dim in cta_order:
        parts = f2.log2(cta_split[dim])
        bases += [unit(rank, dim, 1 << i) for i in range(parts)]
        bases += [(0,) * rank] * (f2.log2(ctas_per_cga[dim]) - parts)
    return tuple(bases)


def _clamp(value: int, low: int, high: int) -> int:
    return low if value < low else min(value, high)


def blocked_for_cga(
    shape: Shape, size_per_thread: Shape, order: Shape, num_warps: int, threads_per_warp: int = 32, cga: Bases = ()
) -> Blocked:
    """Threads fill `shape` along `order`, as many as are useful in each dimension; the last one takes the rest."""
    rank = len(size_per_thread)
    per_cta = shape_of_cta(cga, shape)
    lanes, warps = [1] * rank, [1] * rank
    lanes_left, threads_left, warps_left = threads_per_warp, num_warps * threads_per_warp, num_warps
    lanes_used = warps_used = 1
    for dim in order[:-1]:
        threads = _clamp(threads_left, 1, max(1, per_cta[dim] // size_per_thread[dim]))
        lanes[dim] = _clamp(threads, 1, lanes_left)
        warps[dim] = _clamp(threads // lanes[dim], 1, warps_left)
        warps_left //= warps[dim]
        lanes_left //= lanes[dim]
        threads_left //= threads
        lanes_used *= lanes[dim]
        warps_used *= warps[dim]
    lanes[order[-1]] = threads_per_warp // lanes_used
    warps[order[-1]] = num_warps // warps_used
    return Blocked(tuple(size_per_thread), tuple(lanes), tuple(warps), tuple(order), cga)


def blocked(
    shape: Shape, size_per_thread: Shape, order: Shape, num_warps: int, threads_per_warp: int = 32, num_ctas: int = 1
) -> Blocked:
    """As `blocked_for_cga`, for `num_ctas` CTAs that split the slowest dimensions first."""
    return _blocked(tuple(shape), tuple(size_per_thread), tuple(order), num_warps, threads_per_warp, num_ctas)


@lru_cache(maxsize=4096)
def _blocked(
    shape: tuple[int, ...],
    size_per_thread: tuple[int, ...],
    order: tuple[int, ...],
    num_warps: int,
    threads_per_warp: int,
    num_ctas: int,
) -> Blocked:
    if num_ctas == 1:
        return blocked_for_cga(shape, size_per_thread, order, num_warps, threads_per_warp)
    rank = len(shape)
    split = [1] * rank
    left = num_ctas
    for dim in reversed(order):
        split[dim] = _clamp(left, 1, max(1, shape[dim] // size_per_thread[dim]))
        left //= split[dim]
    ctas = list(split)
    ctas[rank - 1] *= left
    cga = cga_from_split(ctas, split, order)
    return blocked_for_cga(shape, size_per_thread, order, num_warps, threads_per_warp, cga)


def default_blocked(shape: Shape, num_warps: int, threads_per_warp: int = 32, num_ctas: int = 1) -> Blocked:
    """One element a thread, the last dimension fastest: what every tensor gets at first."""
    rank = len(shape)
    return _blocked(tuple(shape), (1,) * rank, tuple(range(rank - 1, -1, -1)), num_warps, threads_per_warp, num_ctas)


def swizzled_shared_for_mma(
    op_idx: int,
    k_width: int,
    shape: Shape,
    order: Shape,
    cga: Bases,
    bitwidth: int,
    need_trans: bool = False,
) -> SwizzledShared:
    """A buffer that `ldmatrix` reads without bank conflicts as operand `op_idx` of an mma."""
    fastest = shape_of_cta(cga, shape)[order[0]]
    # Several short rows share a line of banks.
    per_phase = max(BANK_LINE_BITS // (bitwidth * fastest), 1)
    vec, mma_stride = 4 * k_width, 8
    rank = len(order)
    k_dim = rank - 1 if op_idx == 0 else rank - 2
    if need_trans != (order[0] != k_dim):
        vec, mma_stride = mma_stride, vec
    max_phase = max(min(mma_stride, BANK_LINE_BITS // (vec * bitwidth)), 1)
    return SwizzledShared(vec, per_phase, max(max_phase // per_phase, 1), tuple(order), cga)


def _swizzled_shared_for_mfma(
    mfma: AmdMfma, operand: DotOperand, shape: Shape, order: Shape, cga: Bases, bitwidth: int, need_trans: bool
) -> SwizzledShared:
    """A buffer that lanes read without bank conflicts as an operand of MFMA. Where k is not contiguous neighbouring lanes read neighbours
    anyway, but on gfx950, which transposes as it reads."""
    k_dim = int((operand.op_idx == 0) != need_trans)
    transposes = mfma.version == 4 and bitwidth in (8, 16)
    if order[0] != k_dim and not transposes:
        return SwizzledShared(1, 1, 1, tuple(order), cga)
    banks, lanes_at_once = (64 if mfma.version == 4 else 32), 16
    fastest, vec = shape[order[0]], operand.k_width
    per_phase = max(1, banks * 32 // bitwidth // fastest)
    phases = 4 if mfma.instr_shape[0] == 4 else max(min(lanes_at_once // per_phase, fastest // vec), 1)
    return SwizzledShared(vec, per_phase, phases, tuple(order), cga)


def _swizzled_shared_for_wmma(
    wmma: AmdWmma, operand: DotOperand, shape: Shape, order: Shape, cga: Bases, bitwidth: int
) -> SwizzledShared:
    """Of WMMA: swizzled where k is contiguous, as wide as one access of LDS, over the rows that are read at once."""
    if order[0] != (1 if operand.op_idx == 0 else 0):
        return SwizzledShared(1, 1, 1, tuple(order), cga)
    fastest, vec = shape[order[0]], min(operand.k_width * bitwidth, 128) // bitwidth
    per_phase = max(1, BANK_LINE_BITS // bitwidth // fastest)
    return SwizzledShared(
        vec, per_phase, max(min(wmma.instr_shape[0] // per_phase, fastest // vec), 1), tuple(order), cga
    )


def swizzled_shared_for_dot(
    operand: DotOperand, shape: Shape, order: Shape, cga: Bases, bitwidth: int, need_trans: bool = False
) -> SwizzledShared:
    """A buffer from which `operand` is read: swizzled for tensor cores, plain for fused multiply-adds."""
    parent = operand.parent
    if isinstance(parent, AmdMfma):
        return _swizzled_shared_for_mfma(parent, operand, shape, order, cga, bitwidth, need_trans)
    if isinstance(parent, AmdWmma):
        return _swizzled_shared_for_wmma(parent, operand, shape, order, cga, bitwidth)
    if isinstance(parent, NvidiaMma) and (parent.is_ampere or parent.is_hopper):
        return swizzled_shared_for_mma(operand.op_idx, operand.k_width, shape, order, cga, bitwidth, need_trans)
    return SwizzledShared(1, 1, 1, tuple(order), cga)


NVMMA_SWIZZLES = (128, 64, 32)
"""Bytes that `wgmma` and the copy unit can swizzle (PTX ISA, "Swizzling modes")."""


_PADDED_BYTES = 1024
"""After so many there is padding: what 64 lanes copy at once, 16 bytes each."""
_PADDED_ROWS = 16


def padded_for_copies(
    operand: DotOperand, shape: Shape, order: Shape, cga: Bases, bitwidth: int
) -> PaddedShared | None:
    """The buffer of an operand of MFMA that gfx950 fills without registers; None where Triton swizzles: small ones, other elements than of 16 bits.

    Padding can stand between the blocks of 1024 bytes that a wave writes at once. 16 neighbouring rows therefore are in as many blocks, with rows
    that are multiples of 16 away, and banks differ by the padding. Counterpart of composePaddedLayoutForAsyncCopyCDNA4.
    """
    parent, run = operand.parent, operand.k_width
    if not isinstance(parent, AmdMfma) or len(shape) != 2 or bitwidth != 16 or operand.op_idx >= 2 or run not in (4, 8):
        return None
    rows = parent.instr_shape[operand.op_idx]
    if 2 * shape[0] * shape[1] < _PADDED_ROWS * _PADDED_BYTES or min(shape) < _PADDED_ROWS or rows not in (16, 32):
        return None
    along_k = 1 - operand.op_idx
    is_k_fastest, is_wide = order[0] == along_k, run == 8
    length = f2.log2(min(_PADDED_BYTES // 2, shape[order[0]]))
    whole = f2.log2(_PADDED_BYTES // 2)
    first, second = order[0], order[1]
    bases = [unit(2, first, 1 << bit) for bit in range(length)]
    bases += [unit(2, second, _PADDED_ROWS << bit) for bit in range(whole - length)]
    bases += [unit(2, second, 1 << bit) for bit in range(f2.log2(_PADDED_ROWS))]
    if is_k_fastest and rows == 32:
        far = f2.log2(256 if is_wide else 128)
        bases[far], bases[length] = bases[length], bases[far]
    elif not is_k_fastest and rows == 16 and is_wide:
        bases[-1], bases[-2] = bases[-2], bases[-1]
    if is_k_fastest:
        padding = 8 if not is_wide else 32 if rows == 16 else 16
    else:
        padding = 32 if rows == 16 else 64
    for dim in range(2):
        held = max((basis[dim] for basis in bases), default=0) * 2 or 1
        bases += [unit(2, dim, held << bit) for bit in range(f2.log2(shape[dim] // held))]
    return PaddedShared((_PADDED_BYTES // 2,), (padding // 2,), tuple(bases), cga, tuple(shape))


def nvmma_shared(shape: Shape, order: Shape, cga: Bases, bitwidth: int, fp4_padded: bool = False) -> NVMMAShared:
    """The widest swizzle that the contiguous dimension fills; none if there are fewer than 8 rows."""
    per_cta = shape_of_cta(cga, shape)
    row_bytes = per_cta[order[0]] * (2 if fp4_padded else 1) * bitwidth // 8
    swizzle = next((width for width in NVMMA_SWIZZLES if row_bytes >= width and row_bytes % width == 0), 0)
    rows = 1
    for dim in order[1:]:
        rows *= per_cta[dim]
    if len(per_cta) < 2 or rows < 8:
        swizzle = 0
    return NVMMAShared(swizzle, order[0] == 0, bitwidth, fp4_padded, cga, len(shape))
