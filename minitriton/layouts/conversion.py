"""What it takes to convert a tensor from one distributed encoding to another.

In: two encodings and a shape. Out: the class of the conversion, and a plan (`plans.py`) that a lowering can follow.
The map from destination to source, `dst.invert_and_compose(src)`, is stripped of `block`, `warp`, `lane`, `register` as far as it
is the identity there. What remains says where data has to move:

    nothing            the same registers
    register           a permutation of a thread's own registers
    register, lane     shuffles if at most one register bit turns into a lane bit, else shared memory
    ... warp           shared memory

Counterpart of minimalCvtLayout and its users in Triton's lib/Analysis/Utility.cpp, so that both compilers allocate alike.
"""

from collections.abc import Sequence
from functools import lru_cache

from minitriton.errors import LoweringError
from minitriton.layouts import f2
from minitriton.layouts.algebra import action_remove_broadcasted_regs
from minitriton.layouts.encodings import DistributedEncoding
from minitriton.layouts.linear_layout import LinearLayout
from minitriton.layouts.memory import plan_access, plan_plain_matrix_access, plan_transposed_matrix_access
from minitriton.layouts.plans import (
    ConversionPlan,
    NoConversion,
    PlannedAccess,
    PlannedMemoryAccess,
    RegisterPermutation,
    SharedMemoryRoundTrip,
)
from minitriton.layouts.swizzling import AccessInstruction, MatrixInstructions, optimal_swizzling
from minitriton.layouts.to_linear import to_linear_layout
from minitriton.layouts.warp_shuffle import decompose, plan_warp_shuffle
from minitriton.target.architectures import PLAIN_ACCESSES, Architecture

Shape = Sequence[int]
THREAD_DIMS = ("register", "lane", "warp")


@lru_cache(maxsize=4096)
def source_of(src: LinearLayout, dst: LinearLayout) -> LinearLayout:
    """For every index of the destination that of the source that has its element."""
    return dst.invert_and_compose(src)


@lru_cache(maxsize=4096)
def minimal_cvt_of_layouts(src: LinearLayout, dst: LinearLayout) -> LinearLayout:
    """The map from destination to source without the slowest in-dims, as long as it is the identity there."""
    cvt = source_of(src, dst)
    for s, d in zip(reversed(src.get_in_dim_names()), reversed(dst.get_in_dim_names()), strict=False):
        if s != d:
            break
        rest = cvt.quotient([s])
        if rest is None:
            break
        cvt = rest
    return cvt


def minimal_cvt_layout(src: DistributedEncoding, dst: DistributedEncoding, shape: Shape) -> LinearLayout:
    """`minimal_cvt_of_layouts` of two encodings on `shape`; cached."""
    return minimal_cvt_of_layouts(to_linear_layout(src, shape), to_linear_layout(dst, shape))


def cvt_reorders_registers(src: DistributedEncoding, dst: DistributedEncoding, shape: Shape) -> bool:
    """Whether every thread already holds what it needs."""
    return tuple(minimal_cvt_layout(src, dst, shape).out_dims) in ((), ("register",))


def cvt_needs_warp_shuffle(src: DistributedEncoding, dst: DistributedEncoding, shape: Shape) -> bool:
    """Whether data moves within warps only, and simply enough for shuffles."""
    return _shuffles(to_linear_layout(src, shape), to_linear_layout(dst, shape))


def cvt_needs_shared_memory(src: DistributedEncoding, dst: DistributedEncoding, shape: Shape) -> bool:
    """Whether the conversion goes through shared memory."""
    return not cvt_reorders_registers(src, dst, shape) and not cvt_needs_warp_shuffle(src, dst, shape)


@lru_cache(maxsize=4096)
def _shuffles(src: LinearLayout, dst: LinearLayout) -> bool:
    if tuple(minimal_cvt_of_layouts(src, dst).out_dims) != ("register", "lane"):
        return False
    parts = decompose(src, dst)
    return parts is not None and len(parts.exchanges) < 2


def is_cvt_warp_sync(src: LinearLayout, dst: LinearLayout) -> bool:
    """Whether no warp needs what another warp holds, and no warp holds copies: a warp barrier is enough."""
    if src.get_free_variable_masks()["warp"] or dst.get_free_variable_masks()["warp"]:
        return False
    return source_of(src, dst).is_trivial_over(["warp"])


def conversion_scratch_bytes(
    src: DistributedEncoding,
    dst: DistributedEncoding,
    shape: Shape,
    bitwidth: int,
    target: Architecture = PLAIN_ACCESSES,
) -> int:
    """Bytes of shared memory that the conversion needs; 0 if none. `target` as in `plan_conversion`."""
    plan = plan_conversion(src, dst, shape, bitwidth, target)
    return plan.scratch_bytes if isinstance(plan, SharedMemoryRoundTrip) else 0


def plan_conversion(
    src: DistributedEncoding,
    dst: DistributedEncoding,
    shape: Shape,
    bitwidth: int,
    target: Architecture = PLAIN_ACCESSES,
    scratch_limit: int = 0,
) -> ConversionPlan:
    """The plan for elements of `bitwidth` bits (pointers: 64); cached. Raises `LoweringError` across CTAs.

    Where `target` has `ldmatrix` loads may be that, where it has `stmatrix` stores (`PlannedMemoryAccess.matrices`). The amount of scratch depends
    on it: the least that the accesses need, or, in fewer rounds, up to `scratch_limit` bytes.
    """
    available = MatrixInstructions(load=target.has_ldmatrix, store=target.has_stmatrix)
    layouts = to_linear_layout(src, shape), to_linear_layout(dst, shape)
    plan = _plan(*layouts, bitwidth, available)
    if isinstance(plan, SharedMemoryRoundTrip) and plan.rounds > 1 and scratch_limit >= 2 * plan.scratch_bytes:
        return _plan_within(*layouts, bitwidth, available, scratch_limit)
    return plan


@lru_cache(maxsize=1024)
def _plan_within(
    src: LinearLayout, dst: LinearLayout, bitwidth: int, available: MatrixInstructions, scratch_limit: int
) -> ConversionPlan:
    plan = _plan(src, dst, bitwidth, available)
    assert isinstance(plan, SharedMemoryRoundTrip)
    joined = min(f2.log2(plan.rounds), (scratch_limit // plan.scratch_bytes).bit_length() - 1)
    return plan_shared_memory(src, dst, max(8, bitwidth), available, joined)


@lru_cache(maxsize=4096)
def _plan(src: LinearLayout, dst: LinearLayout, bitwidth: int, available: MatrixInstructions) -> ConversionPlan:
    cvt = minimal_cvt_of_layouts(src, dst)
    dims = tuple(cvt.out_dims)
    if "block" in dims:
        raise LoweringError(
            "a layout conversion would move data between CTAs", help="give both layouts the same CGALayout"
        )
    if not dims:
        return NoConversion()
    if dims == ("register",):
        return RegisterPermutation(tuple(f2.span(cvt.flat_bases("register"))))
    if _shuffles(src, dst):
        parts = decompose(src, dst)
        assert parts is not None
        sizes = src.get_in_dim_size_log2("register"), dst.get_in_dim_size_log2("register")
        return plan_warp_shuffle(parts, bitwidth, *sizes)
    return plan_shared_memory(src, dst, max(8, bitwidth), available)


def plan_shared_memory(
    src: LinearLayout, dst: LinearLayout, bitwidth: int, available: MatrixInstructions, joined: int = 0
) -> SharedMemoryRoundTrip:
    """The way through shared memory, whatever the conversion, in as many rounds and as little scratch as the accesses allow.

    Of these rounds, `1 << joined` at a time are made one: next to each other in as many times the scratch.
    """
    src_held = action_remove_broadcasted_regs(src).apply(src)
    dst_held = action_remove_broadcasted_regs(dst).apply(dst).transpose_outs(list(src.out_dims))
    smem, store_by, load_by = optimal_swizzling(src_held, dst_held, bitwidth, available)
    num_reps = smem.get_in_dim_size_log2("reps") - joined
    num_offset = smem.get_total_in_dim_size_log2() - num_reps
    from_src = _offsets(src, smem) if smem.is_invertible() else None
    from_dst = _offsets(dst, smem) if smem.is_invertible() else None
    if (
        from_src is None
        or from_dst is None
        or not _has_rounds(from_src, num_offset, num_reps)
        or not _has_rounds(from_dst, num_offset, num_reps)
    ):
        # Layouts whose bases overlap: in order, all at once.
        smem = LinearLayout.identity_1d(src.get_total_out_dim_size(), "offset", "dim0").reshape_outs(src.out_dims)
        num_reps, num_offset = 0, smem.get_total_in_dim_size_log2()
        from_src, from_dst = _offsets(src, smem), _offsets(dst, smem)
        store_by = load_by = AccessInstruction.VECTOR
    stores, _ = _rounds(from_src, bitwidth, num_offset, num_reps, store_by)
    loads, results = _rounds(from_dst, bitwidth, num_offset, num_reps, load_by)
    return SharedMemoryRoundTrip(
        bitwidth=bitwidth,
        scratch_bytes=(1 << num_offset) * bitwidth // 8,
        warp_sync=is_cvt_warp_sync(src, dst),
        stores=stores,
        loads=tuple(load._replace(result=()) for load in loads),
        result=tuple(f2.span(results)),
    )


Offsets = tuple[tuple[int, ...], ...]


def _offsets(layout: LinearLayout, smem: LinearLayout) -> Offsets:
    """For the bits of register, lane and warp the offset in shared memory, rounds in the highest bits."""
    cvt = layout.sublayout(THREAD_DIMS, layout.out_dims).invert_and_compose(smem)
    return tuple(cvt.flat_bases(dim) for dim in THREAD_DIMS)


def _has_rounds(offsets: Offsets, num_offset: int, num_reps: int) -> bool:
    """Whether each bit of the round is one register bit and nothing else moves it."""
    registers, lanes, warps = offsets
    if any(column >> num_offset for column in (*lanes, *warps)):
        return False
    moving = sorted(column for column in registers if column >> num_offset)
    return moving == [1 << (num_offset + rep) for rep in range(num_reps)]


def _rounds(
    offsets: Offsets, bitwidth: int, num_offset: int, num_reps: int, instruction: AccessInstruction
) -> tuple[tuple[PlannedMemoryAccess, ...], list[int]]:
    """The accesses of each round, and for each register bit what it adds to the element's number in all rounds."""
    registers = list(offsets[0])
    rep_bits = [registers.index(1 << (num_offset + rep)) for rep in range(num_reps)]
    for bit in rep_bits:
        registers[bit] = 0
    of_round = (registers, *offsets[1:])
    bases = {d: tuple((column,) for column in columns) for d, columns in zip(THREAD_DIMS, of_round, strict=True)}
    layout = LinearLayout.trusted(bases, {"offset": 1 << num_offset})
    one: PlannedMemoryAccess | None = None
    if instruction is AccessInstruction.MATRIX:
        one = plan_plain_matrix_access(layout, bitwidth)
    elif instruction is AccessInstruction.MATRIX_TRANSPOSED:
        one = plan_transposed_matrix_access(layout, bitwidth)
    if one is None:
        one = plan_access(layout, bitwidth)
    rounds = tuple(
        one._replace(accesses=tuple(_shifted(access, first) for access in one.accesses))
        for first in f2.span([1 << bit for bit in rep_bits])
    )
    per_round = sum(len(access.registers) for access in one.accesses)
    results = [one.result[1 << bit] for bit in range(len(registers))]
    for rep, bit in enumerate(rep_bits):
        results[bit] = per_round << rep
    return rounds, results


def _shifted(access: PlannedAccess, first: int) -> PlannedAccess:
    return PlannedAccess(access.xor, access.add, tuple(first | register for register in access.registers))
