"""What translated kernels call: `tl`'s ways to make tensors, dots and accesses through descriptors, in a layout that
depends on the shape alone."""

# pyright: standard, reportArgumentType=false, reportAssignmentType=false, reportAttributeAccessIssue=false

from __future__ import annotations

from typing import Any

import minitriton.language as tl
from minitriton.as_triton.experimental import gluon
from minitriton.language import gluon as ttgl
from minitriton.language.core import builtin
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
def _mma_layout(rank, num_warps):
    return ttgl.NVMMADistributedLayout([2, 0], [1] * (rank - 2) + [num_warps, 1], [1] * (rank - 2) + [16, 8])


@gluon.constexpr_function
def _k_width(a, b):
    return max(32 // min(a.primitive_bitwidth, b.primitive_bitwidth), 1)


@gluon.constexpr_function
def _out_dtype(a, wanted):
    return ttgl.int32 if a.is_int() else wanted


@gluon.jit
def tl_dot(
    a,
    b,
    acc=None,
    input_precision=None,
    allow_tf32=None,
    max_num_imprecise_acc=None,
    out_dtype: ttgl.constexpr = ttgl.float32,
):
    """`tl.dot` by `mma.sync`, which every target has."""
    rank: ttgl.constexpr = len(a.shape)
    mma: ttgl.constexpr = _mma_layout(rank, ttgl.num_warps())
    k_width: ttgl.constexpr = _k_width(a.dtype, b.dtype)
    a = ttgl.convert_layout(a, ttgl.DotOperandLayout(0, mma, k_width))
    b = ttgl.convert_layout(b, ttgl.DotOperandLayout(1, mma, k_width))
    if acc is None:
        total = ttgl.full([*a.shape[:-1], b.shape[-1]], 0, _out_dtype(a.dtype, out_dtype), mma)
    else:
        total = ttgl.convert_layout(acc, mma)
    return reset_to_default_layout(mma_v2(a, b, total, input_precision))


@gluon.jit
def _as_bf16(value, scale, format: ttgl.constexpr, k_dim: ttgl.constexpr):
    """An operand of a scaled dot, times the power of two that 32 neighbours along k share."""
    if format == "e2m1":
        value = ttgl.fp4_to_fp(reset_to_default_layout(value), ttgl.bfloat16, k_dim)
    else:
        if format == "e4m3" and value.dtype.is_int():
            value = value.to(ttgl.float8e4nv, bitcast=True)
        if format == "e5m2" and value.dtype.is_int():
            value = value.to(ttgl.float8e5, bitcast=True)
        value = value.to(ttgl.bfloat16)
    value = reset_to_default_layout(value)
    if scale is None:
        return value
    else:
        power = (scale.to(ttgl.int16) << 7).to(ttgl.bfloat16, bitcast=True)
        shape: ttgl.constexpr = [power.shape[0], power.shape[1], 32]
        spread = tl_broadcast_to(tl_expand_dims(power, 2), shape).reshape([shape[0], shape[1] * 32])
        return value * reset_to_default_layout(spread if k_dim == 1 else spread.trans(1, 0))


@gluon.jit
def tl_dot_scaled(
    lhs, lhs_scale, lhs_format: ttgl.constexpr, rhs, rhs_scale, rhs_format: ttgl.constexpr, acc=None, fast_math=False,
    lhs_k_pack: ttgl.constexpr = True, rhs_k_pack: ttgl.constexpr = True, out_dtype: ttgl.constexpr = ttgl.float32,
):  # fmt: skip
    """`tl.dot_scaled` as a dot of bf16; scales are e8m0, NaNs among them (255) are infinity."""
    ttgl.static_assert(lhs_k_pack and rhs_k_pack, "operands of fp4 are packed along k")
    left, right = _as_bf16(lhs, lhs_scale, lhs_format, 1), _as_bf16(rhs, rhs_scale, rhs_format, 0)
    return tl_dot(left, right, acc, out_dtype=out_dtype)


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


@gluon.jit
def tl_obj_gather(obj, index, axis):
    return reset_to_default_layout(obj.gather(index, axis))


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
