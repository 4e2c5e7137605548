"""What translated kernels call: `tl`'s ways to make tensors, dots and accesses through descriptors, in a layout that
depends on the shape alone."""

# pyright: standard, reportArgumentType=false, reportAssignmentType=false, reportAttributeAccessIssue=false

from __future__ import annotations

from typing import Any

import minitriton.language as tl
from minitriton.as_triton.experimental import gluon
from minitriton.language import gluon as ttgl
from minitriton.language import target_info
from minitriton.language.core import builtin
from minitriton.language.gluon.nvidia import blackwell
from minitriton.language.gluon.nvidia.ampere import mma_v2
from minitriton.language.gluon.nvidia.hopper import fence_async_shared, mbarrier, tma
from minitriton.runtime.driver import driver
from minitriton.target.architectures import WARP_SIZE


@gluon.constexpr_function
def default_blocked_layout(shape, num_warps):
    """One element a thread, a warp along the last dimension, warps along the first: the layout of a broadcast is that of its operand."""
    rank = len(shape)
    threads = [1] * (rank - 1) + [WARP_SIZE]
    return ttgl.BlockedLayout([1] * rank, threads, [num_warps] + [1] * (rank - 1), list(range(rank))[::-1])


@gluon.jit
def reset_to_default_layout(value):
    """`value` in the default layout of its shape; a tuple element by element, a number as it is."""
    if isinstance(value.type, ttgl.tuple_type):
        result = ()
        for i in ttgl.static_range(len(value)):
            result = result + (reset_to_default_layout(value[i]),)  # noqa: RUF005
        return result
    elif isinstance(value.type, ttgl.distributed_type):
        return ttgl.convert_layout(value, default_blocked_layout(value.shape, ttgl.num_warps()))
    else:
        return value


@gluon.constexpr_function
def get_num_threads_per_warp():
    return WARP_SIZE


@builtin
def get_num_threads_per_program(_semantic=None):
    num_warps: Any = ttgl.num_warps
    return num_warps(_semantic=_semantic) * WARP_SIZE


@gluon.jit
def tl_arange(start: ttgl.constexpr, end: ttgl.constexpr):
    return ttgl.arange(start, end, default_blocked_layout([end - start], ttgl.num_warps()))


@gluon.jit
def tl_full(shape, value, dtype):
    return ttgl.full(shape, value, dtype, default_blocked_layout(shape, ttgl.num_warps()))


@gluon.jit
def tl_zeros(shape, dtype):
    return tl_full(shape, 0, dtype)


@gluon.jit
def tl_trans(value, *dims):
    return reset_to_default_layout(value.trans(*dims))


@gluon.constexpr_function
def _with_axis(shape, axis):
    shape = list(shape)
    axis = axis + len(shape) + 1 if axis < 0 else axis
    return [*shape[:axis], 1, *shape[axis:]]


@gluon.jit
def tl_expand_dims(value, axis: ttgl.constexpr):
    """`value` with a dimension of one element at `axis`."""
    shape: ttgl.constexpr = _with_axis(value.shape, axis)
    at: ttgl.constexpr = axis if axis >= 0 else axis + len(shape)
    layout: ttgl.constexpr = ttgl.SliceLayout(at, default_blocked_layout(shape, ttgl.num_warps()))
    return ttgl.expand_dims(ttgl.convert_layout(value, layout), at)


@gluon.jit
def tl_broadcast_to(value, *shape):
    return value.broadcast_to(*shape)


cat = ttgl.cat


@gluon.jit
def tl_cat(input, other, can_reorder=False):
    return ttgl.cat(
        input, other, can_reorder, default_blocked_layout([input.shape[0] + other.shape[0]], ttgl.num_warps())
    )


@gluon.jit
def tl_histogram(input, num_bins: ttgl.constexpr, mask=None):
    return ttgl.histogram(input, num_bins, mask, default_blocked_layout([num_bins], ttgl.num_warps()))


@gluon.constexpr_function
def get_split_src_layout(shape, num_warps):
    """A layout in which a thread has both elements of the last dimension."""
    rank = len(shape)
    threads, left = [1] * rank, WARP_SIZE
    for dim in range(rank - 2, -1, -1):
        threads[dim] = min(shape[dim], left)
        left //= threads[dim]
    threads[0] *= left
    return ttgl.BlockedLayout([1] * (rank - 1) + [2], threads, [num_warps] + [1] * (rank - 1), list(range(rank))[::-1])


@gluon.jit
def set_split_src_layout(value):
    return ttgl.convert_layout(value, get_split_src_layout(value.shape, ttgl.num_warps()))


@gluon.constexpr_function
def tl_dot_mma_sync_layout(shape, num_warps):
    """The layout of a dot by `mma.sync`, warps along M."""
    batch = [1] * (len(shape) - 2)
    return ttgl.NVMMADistributedLayout([2, 0], [num_warps, *[1] * (len(shape) - 1)], [*batch, 16, 8])


@gluon.constexpr_function
def tl_dot_mma_sync_k_width(a_ty, b_ty):
    """How many neighbours along K are 32 bits of the narrower operand."""
    return max(32 // min(a_ty.element_ty.primitive_bitwidth, b_ty.element_ty.primitive_bitwidth), 1)


@gluon.constexpr_function
def _out_dtype(a, wanted):
    return ttgl.int32 if a.is_int() else wanted


@gluon.jit
def tl_dot_mma_sync(a, b, acc_init=None, input_precision=None, out_dtype: ttgl.constexpr = ttgl.float32):
    """`tl.dot` by `mma.sync`, which every target has."""
    mma: ttgl.constexpr = tl_dot_mma_sync_layout(a.shape, ttgl.num_warps())
    k_width: ttgl.constexpr = tl_dot_mma_sync_k_width(a.type, b.type)
    a = ttgl.convert_layout(a, ttgl.DotOperandLayout(0, mma, k_width))
    b = ttgl.convert_layout(b, ttgl.DotOperandLayout(1, mma, k_width))
    if acc_init is None:
        total = ttgl.full([*a.shape[:-1], b.shape[-1]], 0, _out_dtype(a.dtype, out_dtype), mma)
    else:
        total = ttgl.convert_layout(acc_init, mma)
    return reset_to_default_layout(mma_v2(a, b, total, input_precision))


@gluon.constexpr_function
def _is_blackwell():
    target = target_info.current_target()
    return target is not None and target.backend == "cuda" and 100 <= target.arch < 120


@gluon.constexpr_function
def tl_dot_mmav5_supported(a_ty, b_ty, num_warps, input_precision, allow_tf32, max_num_imprecise_acc):
    """Whether `tcgen05.mma`, if the target has it, computes the dot. Raises `AssertionError` for arguments that only another instruction has."""
    assert max_num_imprecise_acc is None, "max_num_imprecise_acc is a parameter of wgmma"
    assert input_precision is None or allow_tf32 is None, "input_precision says what allow_tf32 would"
    a, b = a_ty.element_ty, b_ty.element_ty
    rounds = input_precision == "tf32" or (input_precision is None and allow_tf32 in (None, True))
    if a.is_int() or b.is_int() or (min(a.primitive_bitwidth, b.primitive_bitwidth) >= 32 and not rounds):
        return False
    if num_warps not in (4, 8) or len(a_ty.shape) != 2 or len(b_ty.shape) != 2:
        return False
    return a_ty.shape[0] >= 64 and b_ty.shape[1] >= 16 and a_ty.shape[1] * a.primitive_bitwidth >= 256


@gluon.constexpr_function
def get_shared_memory_mma_layout(type, operand_index, allow_transpose, is_fp4_padded=False, force_transpose=False):
    """The buffer of an operand: the second one is transposed; where transposing is not allowed, `force_transpose` says the opposite."""
    transposed = (operand_index == 1) != (force_transpose and not allow_transpose)
    return ttgl.NVMMASharedLayout.get_default_for(list(type.shape), type.element_ty, transposed, is_fp4_padded)


@gluon.jit
def get_shared_memory_mma_operand(
    value, operand_index: ttgl.constexpr, allow_transpose: ttgl.constexpr, is_fp4_padded: ttgl.constexpr = False, force_transpose: ttgl.constexpr = False
):  # fmt: skip
    layout: ttgl.constexpr = get_shared_memory_mma_layout(
        value.type, operand_index, allow_transpose, is_fp4_padded, force_transpose
    )
    return ttgl.allocate_shared_memory(value.dtype, value.shape, layout, value)


@gluon.constexpr_function
def _accumulator_layout(shape, dtype, rows):
    return blackwell.TensorMemoryLayout([min(shape[0], rows), min(shape[1], 256)], 32 // dtype.primitive_bitwidth)


@gluon.jit
def _accumulator(shape, acc, out_dtype: ttgl.constexpr):
    """The accumulator in tensor memory: `acc`, or zero."""
    dtype: ttgl.constexpr = out_dtype if acc is None else acc.dtype
    layout: ttgl.constexpr = _accumulator_layout(shape, dtype, 128)
    registers: ttgl.constexpr = blackwell.get_tmem_reg_layout(dtype, shape, layout, ttgl.num_warps())
    if acc is None:
        first = ttgl.zeros(shape, dtype, registers)
    else:
        first = ttgl.convert_layout(acc, registers)
    return blackwell.allocate_tensor_memory(dtype, shape, layout, first)


@gluon.jit
def _finished(total):
    """What is in tensor memory when all MMAs so far are done."""
    bar = ttgl.allocate_shared_memory(ttgl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(bar, count=1)
    blackwell.tcgen05_commit(bar)
    mbarrier.wait(bar, phase=0)
    mbarrier.invalidate(bar)
    registers: ttgl.constexpr = blackwell.get_tmem_reg_layout(total.dtype, total.shape, total.layout, ttgl.num_warps())
    return reset_to_default_layout(total.load(registers))


@gluon.jit
def tl_dot_blackwell(
    a, b, acc=None, input_precision=None, allow_tf32=None, max_num_imprecise_acc=None, out_dtype: ttgl.constexpr = ttgl.float32
):  # fmt: skip
    """`tl.dot` by `tcgen05.mma`."""
    moves: ttgl.constexpr = a.dtype.primitive_bitwidth != 32
    left, right = get_shared_memory_mma_operand(a, 0, moves), get_shared_memory_mma_operand(b, 1, moves)
    total = _accumulator([a.shape[0], b.shape[1]], acc, out_dtype)
    fence_async_shared()
    blackwell.tcgen05_mma(left, right, total, use_acc=True)
    return _finished(total)


@gluon.jit
def tl_dot(
    a, b, acc=None, input_precision=None, allow_tf32=None, max_num_imprecise_acc=None, out_dtype: ttgl.constexpr = ttgl.float32
):  # fmt: skip
    """`tl.dot`, by `tcgen05.mma` on Blackwell where it can; else, on Hopper too, by `mma.sync`, as Triton 3.6.0 translates it."""
    if _is_blackwell() and tl_dot_mmav5_supported(
        a.type, b.type, ttgl.num_warps(), input_precision, allow_tf32, max_num_imprecise_acc
    ):
        return tl_dot_blackwell(a, b, acc, input_precision, allow_tf32, max_num_imprecise_acc, out_dtype)
    else:
        return tl_dot_mma_sync(a, b, acc, input_precision, out_dtype)


@gluon.constexpr_function
def tl_dot_scaled_mmav5_supported(a_ty, b_ty, num_warps):
    """Whether `tcgen05.mma` with scales computes the dot."""
    fits = num_warps in (4, 8) and len(a_ty.shape) == len(b_ty.shape) == 2
    wide = fits and a_ty.shape[1] * a_ty.element_ty.primitive_bitwidth >= 256
    return wide and a_ty.shape[0] >= 128 and b_ty.shape[1] >= 16


@gluon.constexpr_function
def get_swizzle_byte_width(bitwidth):
    return min(bitwidth, 128) if bitwidth >= 32 else 0


@gluon.constexpr_function
def get_int_type(bitwidth):
    """The signed integer of that many bits."""
    return getattr(ttgl, f"int{bitwidth}")


@gluon.jit
def tl_dot_decomposed_scale_to_16(scale, compute_type: ttgl.constexpr):
    """The powers of two that bytes (e8m0) stand for, as `compute_type`; of float16 by way of float32."""
    wide: ttgl.constexpr = ttgl.float32 if compute_type == ttgl.float16 else compute_type
    bits: ttgl.constexpr = get_int_type(wide.primitive_bitwidth)
    return (scale.to(bits) << wide.fp_mantissa_width).to(wide, bitcast=True).to(compute_type)


@gluon.constexpr_function
def tl_dot_get_permute_order(rank, dim):
    """Moves the last of `rank` + 1 dimensions behind dimension `dim`."""
    return [*range(dim + 1), rank, *range(dim + 1, rank)]


@gluon.constexpr_function
def tl_dot_get_reshape_shape(scale_ty, dim):
    """The shape with the last dimension, of 32, merged into dimension `dim`."""
    return [size * 32 if at == dim else size for at, size in enumerate(scale_ty.shape[:-1])]


@gluon.constexpr_function
def tl_dot_get_expand_dims_layout(scale_ty, num_warps, rank):
    """Of scales that get one more dimension at the end."""
    return ttgl.SliceLayout(rank, default_blocked_layout([*scale_ty.shape, 1], num_warps))


@gluon.jit
def tl_dot_decomposed_broadcast_scale(scale, dim: ttgl.constexpr):
    """Each scale for the 32 neighbours along `dim` that share it."""
    rank: ttgl.constexpr = len(scale.shape)
    layout: ttgl.constexpr = tl_dot_get_expand_dims_layout(scale.type, ttgl.num_warps(), rank)
    spread = ttgl.expand_dims(ttgl.convert_layout(scale, layout), rank).broadcast_to([*scale.shape, 32])
    order: ttgl.constexpr = tl_dot_get_permute_order(rank, dim)
    shape: ttgl.constexpr = tl_dot_get_reshape_shape(spread.type, dim)
    return spread.permute(order).reshape(shape)


@gluon.constexpr_function
def tl_dot_decomposed_get_transposed_order(rank):
    return [*range(rank - 2), rank - 1, rank - 2]


@gluon.jit
def tl_dot_decomposed_extend_and_broadcast_scale(v, scale, compute_type: ttgl.constexpr, operand_index: ttgl.constexpr):
    """The scale of each element of the operand `v`, and the scales with K along the dimension where `v` has it."""
    rank: ttgl.constexpr = len(v.shape)
    if operand_index == 1:
        order: ttgl.constexpr = tl_dot_decomposed_get_transposed_order(rank)
        scale = scale.permute(order)
    of_each = tl_dot_decomposed_scale_to_16(scale, compute_type)
    spread = tl_dot_decomposed_broadcast_scale(of_each, rank - 1 if operand_index == 0 else rank - 2)
    return ttgl.convert_layout(spread, v.type.layout), scale


@gluon.jit
def tl_dot_decomposed_mask_nan(mxfp, scale, fast_math: ttgl.constexpr):
    """The scaled operand. A scale that is no number (255) became infinity; Triton's translation refuses all but `fast_math`."""
    return mxfp


@gluon.jit
def tl_dot_decomposed_scale_arg(
    v, scale, arg_format: ttgl.constexpr, operand_index: ttgl.constexpr, compute_type: ttgl.constexpr, fast_math: ttgl.constexpr
):  # fmt: skip
    """An operand as `compute_type`, times its scales."""
    if arg_format == "e2m1":
        v = ttgl.fp4_to_fp(v, compute_type, len(v.shape) - 1 - operand_index)
    else:
        if arg_format == "e4m3" and v.dtype.is_int():
            v = v.to(ttgl.float8e4nv, bitcast=True)
        if arg_format == "e5m2" and v.dtype.is_int():
            v = v.to(ttgl.float8e5, bitcast=True)
        v = v.to(compute_type)
    v = reset_to_default_layout(v)
    if scale is None:
        return v
    else:
        spread, scale = tl_dot_decomposed_extend_and_broadcast_scale(v, scale, compute_type, operand_index)
        return tl_dot_decomposed_mask_nan(v * spread, scale, fast_math)


@gluon.jit
def tl_dot_decomposed_block_scales(
    lhs, lhs_scale, lhs_format: ttgl.constexpr, rhs, rhs_scale, rhs_format: ttgl.constexpr, acc=None, fast_math: ttgl.constexpr = False,
    lhs_k_pack: ttgl.constexpr = True, rhs_k_pack: ttgl.constexpr = True, out_dtype: ttgl.constexpr = ttgl.float32,
):  # fmt: skip
    """`tl.dot_scaled` as a dot of bf16, or of float16 where an operand is; scales are e8m0."""
    ttgl.static_assert(lhs_k_pack and rhs_k_pack, "operands of fp4 are packed along k")
    is_half: ttgl.constexpr = lhs_format == "fp16" or rhs_format == "fp16"
    compute_type: ttgl.constexpr = ttgl.float16 if is_half else ttgl.bfloat16
    left = tl_dot_decomposed_scale_arg(lhs, lhs_scale, lhs_format, 0, compute_type, fast_math)
    right = tl_dot_decomposed_scale_arg(rhs, rhs_scale, rhs_format, 1, compute_type, fast_math)
    return tl_dot(left, right, acc, out_dtype=out_dtype)


@gluon.jit
def _scales_in_tensor_memory(scale):
    layout: ttgl.constexpr = blackwell.TensorMemoryScalesLayout()
    registers: ttgl.constexpr = blackwell.get_tmem_reg_layout(scale.dtype, scale.shape, layout, ttgl.num_warps())
    return blackwell.allocate_tensor_memory(scale.dtype, scale.shape, layout, ttgl.convert_layout(scale, registers))


@gluon.jit
def tl_dot_scaled_blackwell(
    lhs, lhs_scale, lhs_format: ttgl.constexpr, rhs, rhs_scale, rhs_format: ttgl.constexpr, acc=None, fast_math: ttgl.constexpr = False,
    lhs_k_pack: ttgl.constexpr = True, rhs_k_pack: ttgl.constexpr = True, out_dtype: ttgl.constexpr = ttgl.float32,
):  # fmt: skip
    """`tl.dot_scaled` by `tcgen05.mma` with both scales in tensor memory. Of two formats, fp4 is padded to a byte a number."""
    lhs_fp4: ttgl.constexpr = lhs_format == "e2m1"
    rhs_fp4: ttgl.constexpr = rhs_format == "e2m1"
    lhs_padded: ttgl.constexpr = (lhs_fp4 and not rhs_fp4) or not lhs_k_pack
    rhs_padded: ttgl.constexpr = (rhs_fp4 and not lhs_fp4) or not rhs_k_pack
    left = get_shared_memory_mma_operand(lhs, 0, not lhs_fp4, lhs_padded, not lhs_k_pack)
    right = get_shared_memory_mma_operand(rhs, 1, not rhs_fp4, rhs_padded, not rhs_k_pack)
    total = _accumulator([lhs.shape[0], rhs.shape[1]], acc, out_dtype)
    fence_async_shared()
    scales = _scales_in_tensor_memory(lhs_scale), _scales_in_tensor_memory(rhs_scale)
    blackwell.tcgen05_mma_scaled(left, right, total, scales[0], scales[1], lhs_format, rhs_format, use_acc=True)
    return _finished(total)


@gluon.jit
def tl_dot_scaled(
    lhs, lhs_scale, lhs_format: ttgl.constexpr, rhs, rhs_scale, rhs_format: ttgl.constexpr, acc=None, fast_math: ttgl.constexpr = False,
    lhs_k_pack: ttgl.constexpr = True, rhs_k_pack: ttgl.constexpr = True, out_dtype: ttgl.constexpr = ttgl.float32,
):  # fmt: skip
    """`tl.dot_scaled`, of scaled operands: Triton 3.6.0 translates none to `tl_dot_scaled_blackwell`."""
    return tl_dot_decomposed_block_scales(
        lhs, lhs_scale, lhs_format, rhs, rhs_scale, rhs_format, acc, fast_math, lhs_k_pack, rhs_k_pack, out_dtype
    )


@gluon.jit
def tl_clamp(x, min, max, propagate_nan: ttgl.constexpr = tl.PropagateNan.NONE):
    return tl.clamp(x, min, max, propagate_nan)


@gluon.jit
def tl_promote_bfloat16_to_float32(value):
    return value.to(ttgl.float32) if value.dtype == ttgl.bfloat16 else value


@gluon.constexpr_function
def _shared_layout(block_shape, element):
    return ttgl.NVMMASharedLayout.get_default_for(list(block_shape), element)


@gluon.jit
def tl_make_tensor_descriptor(base, shape, strides, block_shape, padding_option: ttgl.constexpr = "zero"):
    layout: ttgl.constexpr = _shared_layout(block_shape, base.dtype.element_ty)
    return tma.make_tensor_descriptor(base, shape, strides, block_shape, layout, padding_option)


@gluon.jit
def tl_load_tensor_descriptor(desc, offsets):
    """The block of a descriptor, waited for."""
    block = ttgl.allocate_shared_memory(desc.dtype, desc.block_shape, desc.layout)
    bar = ttgl.allocate_shared_memory(ttgl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(bar, count=1)
    mbarrier.expect(bar, desc.block_type.nbytes)
    tma.async_copy_global_to_shared(desc, offsets, bar, block)
    mbarrier.wait(bar, phase=0)
    mbarrier.invalidate(bar)
    return block.load(default_blocked_layout(desc.block_shape, ttgl.num_warps()))


@gluon.jit
def tl_store_tensor_descriptor(desc, offsets, value):
    block = ttgl.allocate_shared_memory(desc.dtype, desc.block_shape, desc.layout, value)
    fence_async_shared()
    tma.async_copy_shared_to_global(desc, offsets, block)
    tma.store_wait(0)


@gluon.jit
def tl_obj_load(obj, offsets):
    if isinstance(obj, tma.tensor_descriptor):
        return tl_load_tensor_descriptor(obj, offsets)
    else:
        return obj.load(offsets)


@gluon.jit
def tl_obj_store(obj, offsets, value):
    if isinstance(obj, tma.tensor_descriptor):
        tl_store_tensor_descriptor(obj, offsets, value)
    else:
        obj.store(offsets, value)


@gluon.constexpr_function
def _rows_layout(num_warps):
    """Of the rows of a gather or scatter: each thread of a warp has all."""
    return ttgl.SliceLayout(0, ttgl.BlockedLayout([1, 4], [WARP_SIZE, 1], [1, num_warps], [1, 0]))


@gluon.jit
def tl_obj_gather(obj, x_offsets, y_offset):
    """Rows of a descriptor, from a column on, by Blackwell's copies; or a tensor's `gather`."""
    if isinstance(obj, tma.tensor_descriptor):
        count: ttgl.constexpr = x_offsets.shape[0]
        block = ttgl.allocate_shared_memory(obj.dtype, [count, obj.block_shape[1]], obj.layout)
        bar = ttgl.allocate_shared_memory(ttgl.int64, [1], mbarrier.MBarrierLayout())
        mbarrier.init(bar, count=1)
        mbarrier.expect(bar, count * obj.block_type.nbytes)
        rows = ttgl.convert_layout(x_offsets, _rows_layout(ttgl.num_warps()))
        blackwell.tma.async_gather(obj, rows, y_offset, bar, block)
        mbarrier.wait(bar, phase=0)
        mbarrier.invalidate(bar)
        return block.load(default_blocked_layout(block.shape, ttgl.num_warps()))
    else:
        return reset_to_default_layout(obj.gather(x_offsets, y_offset))


@gluon.jit
def tl_obj_scatter(obj, value, x_offsets, y_offset):
    """Stores rows through a descriptor, from a column on, by Blackwell's copies."""
    if isinstance(obj, tma.tensor_descriptor):
        block = ttgl.allocate_shared_memory(obj.dtype, value.shape, obj.layout, value)
        fence_async_shared()
        rows = ttgl.convert_layout(x_offsets, _rows_layout(ttgl.num_warps()))
        blackwell.tma.async_scatter(obj, rows, y_offset, block)
        tma.store_wait(0)
    else:
        obj.scatter(value, x_offsets, y_offset)


def convert_host_descriptor(desc: Any) -> Any:
    """The Gluon descriptor of a `tl` one: its blocks are in shared memory in the default layout of their shape and dtype."""
    from minitriton.as_triton.experimental.gluon.nvidia.hopper import TensorDescriptor
    from minitriton.runtime.launching.arguments import specialize

    pointer, _ = specialize(desc.base, False, True, True)
    layout = ttgl.NVMMASharedLayout.get_default_for(list(desc.block_shape), getattr(ttgl, _NAMES[str(pointer)[1:]]))
    return TensorDescriptor(desc.base, desc.shape, desc.strides, desc.block_shape, layout)


_NAMES = {
    "fp16": "float16", "bf16": "bfloat16", "fp32": "float32", "fp64": "float64", "fp8e4nv": "float8e4nv", "fp8e5": "float8e5",
    **{f"i{bits}": f"int{bits}" for bits in (8, 16, 32, 64)}, **{f"u{bits}": f"uint{bits}" for bits in (8, 16, 32, 64)},
}  # fmt: skip


def current_target() -> Any:
    """The target of the current device; None without a driver."""
    try:
        return driver.active.get_current_target()
    except RuntimeError:
        return None
