"""What only NVIDIA GPUs have: tensor cores, asynchronous copies, mbarriers.

hopper.warpgroup_mma(a, b, acc, is_async=True)      ttng.warp_group_dot %a, %b, %acc, %true {isAsync = true}
mbarrier.wait(bar, phase)                           ttng.wait_barrier %bar, %phase, %true
"""

from collections.abc import Sequence

from xdsl.ir import SSAValue

from minitriton.dialects import tt, ttg, ttng
from minitriton.dialects.tt.enums import CacheModifier, EvictionPolicy, InputPrecision
from minitriton.frontend.builder import IRBuilder, ir_type
from minitriton.frontend.errors import LanguageTypeError, LanguageValueError
from minitriton.frontend.gluon.buffers import buffer_of
from minitriton.frontend.gluon.tensors import distributed, dot_operands, operand_layout
from minitriton.frontend.semantic import dot, memory
from minitriton.frontend.semantic.descriptors import descriptor_operands
from minitriton.frontend.semantic.values import broadcast_pair, is_integer, several, to_tensor
from minitriton.language.gluon.layouts import (
    DotOperandLayout,
    NVMMADistributedLayout,
    NVMMASharedLayout,
    SharedLinearLayout,
    conversion_to,
)
from minitriton.language.gluon.types import (
    shared_memory_descriptor,
    tensor_descriptor,
    tensor_descriptor_type,
    warpgroup_mma_accumulator,
    warpgroup_mma_accumulator_type,
)
from minitriton.language.values import Operand, handle_value, tensor
from minitriton.language.values import tuple as language_tuple

# Tensor cores ------------------------------------------------------------------------------------------------------------


def mma_v2(builder: IRBuilder, a: object, b: object, acc: object, input_precision: str | None = None) -> tensor:
    """A dot by `mma.sync`."""
    lhs, rhs, result = dot_operands(a, b, acc, NVMMADistributedLayout)
    layout = result.type.layout
    assert isinstance(layout, NVMMADistributedLayout)
    if list(layout.version) != [2, 0]:
        raise LanguageTypeError(f"MMA layout must have version [2, 0], got {layout.version}")
    return dot.dot(builder, lhs, rhs, result, input_precision=input_precision, out_dtype=result.dtype)


def fence_async_shared(b: IRBuilder, cluster: bool = False) -> None:
    """`fence.proxy.async`."""
    b.insert(ttng.FenceAsyncSharedOp(b_cluster=bool(cluster)))


def warpgroup_mma_init(b: IRBuilder, value: object) -> warpgroup_mma_accumulator:
    """A tensor as an accumulator."""
    value, type = distributed(value, "warpgroup_mma_init")
    return warpgroup_mma_accumulator(value.handle, warpgroup_mma_accumulator_type(type))


def warpgroup_mma(
    builder: IRBuilder,
    a: tensor | shared_memory_descriptor,
    b: shared_memory_descriptor,
    acc: tensor | warpgroup_mma_accumulator,
    *,
    use_acc: Operand = True,
    precision: str | None = None,
    max_num_imprecise_acc: int | None = None,
    is_async: bool = False,
) -> tensor | warpgroup_mma_accumulator:
    """A dot by `wgmma`."""
    if not isinstance(a, (tensor, shared_memory_descriptor)):  # pyright: ignore[reportUnnecessaryIsInstance] (from a kernel)
        raise LanguageTypeError(f"a must be a tensor or a shared_memory_descriptor, got {a}")
    b = buffer_of(b, "b")
    _check_operands(a, b, acc)
    _check_registers(builder, acc)
    both_fp8 = a.dtype.is_fp8() and b.dtype.is_fp8()
    k = int(a.type.shape[-1])
    if max_num_imprecise_acc is None:
        max_num_imprecise_acc = builder.options.max_num_imprecise_acc_default if both_fp8 else 0
    elif both_fp8 and max_num_imprecise_acc > k:
        raise LanguageValueError(
            f"max_num_imprecise_acc ({max_num_imprecise_acc}) must be <= K ({k})", f"leave it out, or give 0 to {k}"
        )
    if precision is None:
        precision = builder.options.default_dot_input_precision
    type = acc.type.tensor_type if isinstance(acc, warpgroup_mma_accumulator) else acc.type
    op = ttng.WarpGroupDotOp(
        a.handle,
        b.handle,
        acc.handle,
        to_tensor(builder, use_acc).handle,
        input_precision=InputPrecision(dot.checked_precision(builder, precision)),
        max_num_imprecise_acc=max_num_imprecise_acc,
        is_async=bool(is_async),
    )
    handle = builder.value(op)
    return warpgroup_mma_accumulator(handle, warpgroup_mma_accumulator_type(type)) if is_async else tensor(handle, type)


def _check_operands(
    a: tensor | shared_memory_descriptor, b: shared_memory_descriptor, acc: tensor | warpgroup_mma_accumulator
) -> None:
    """Raises `LanguageTypeError` for layouts that `wgmma` does not read, with the one to use."""
    type = acc.type.tensor_type if isinstance(acc, warpgroup_mma_accumulator) else acc.type
    result = getattr(type, "layout", None)
    if not isinstance(result, NVMMADistributedLayout) or list(result.version) != [3, 0]:
        raise LanguageTypeError(
            f"acc must be a tensor with an NVMMADistributedLayout of version [3, 0], got {result or type}",
            "ttgl.convert_layout(acc, ttgl.NVMMADistributedLayout([3, 0], [ttgl.num_warps(), 1], [16, n, k]))",
        )
    if isinstance(a, tensor) and not isinstance(getattr(a.type, "layout", None), DotOperandLayout):
        help = conversion_to("a", operand_layout(0, result, a.dtype))
        raise LanguageTypeError(f"a must be a buffer or a tensor with a DotOperandLayout, got {a.type}", help)
    for name, operand in (("a", a), ("b", b)):
        if isinstance(operand, shared_memory_descriptor) and not isinstance(operand.layout, _READ_BY_WGMMA):
            raise LanguageTypeError(
                f"{name} must be a buffer with an NVMMASharedLayout, got {operand.layout}",
                f"allocate it with ttgl.NVMMASharedLayout.get_default_for({operand.shape}, {operand.dtype})",
            )


_REGISTER_BITS = 32


def _check_registers(b: IRBuilder, acc: tensor | warpgroup_mma_accumulator) -> None:
    """Raises `LanguageValueError` where an accumulator takes more registers than its partition asks for."""
    type = acc.type.tensor_type if isinstance(acc, warpgroup_mma_accumulator) else acc.type
    if b.partition_warps is None or b.partition_registers is None:
        return
    needed = type.numel * type.scalar.primitive_bitwidth // (_REGISTER_BITS * b.target.warp_size * b.partition_warps)
    if needed >= b.partition_registers:
        raise LanguageValueError(
            f"the accumulator takes {needed} registers a thread, its partition asks for {b.partition_registers}",
            "ask for more in worker_num_regs, give the partition more warps, or take a smaller tile",
        )


_READ_BY_WGMMA = (NVMMASharedLayout, SharedLinearLayout)


def warpgroup_mma_wait(
    b: IRBuilder, num_outstanding: int = 0, deps: Sequence[tensor | handle_value] | None = None
) -> tensor | handle_value | language_tuple:
    """A wait for `wgmma`."""
    if not deps:
        raise LanguageValueError(
            "warpgroup_mma_wait deps must be given", "deps=[accumulator], and the buffers that its MMAs read"
        )
    values = several(deps)
    left = _left(num_outstanding, "num_outstanding")
    op = b.insert(ttng.WarpGroupDotWaitOp([each.handle for each in values], pendings=left))
    results = [_waited(handle, each) for handle, each in zip(op.results, values, strict=True)]
    return results[0] if len(results) == 1 else language_tuple(results)


def _left(given: object, name: str) -> int:
    """`given`, how much a wait leaves in flight. Raises `LanguageValueError` for what is not a number of groups."""
    if not is_integer(given) or given < 0:
        raise LanguageValueError(f"{name} must be an integer from 0 that is known, got {given}", "0 waits for all")
    return given


def _waited(handle: SSAValue, value: tensor | handle_value) -> tensor | handle_value:
    if isinstance(value, warpgroup_mma_accumulator):
        return tensor(handle, value.type.tensor_type)
    return tensor(handle, value.type) if isinstance(value, tensor) else value.of_handle(handle)


# Asynchronous copies by threads ------------------------------------------------------------------------------------------


def async_copy_global_to_shared(
    b: IRBuilder,
    smem: object,
    pointer: tensor,
    mask: Operand | None = None,
    cache_modifier: str = "",
    eviction_policy: str = "",
    volatile: bool = False,
) -> None:
    """`cp.async`."""
    smem = buffer_of(smem, "smem")
    caching = memory.load_caching(cache_modifier, eviction_policy)
    if mask is not None:
        pointer, mask = broadcast_pair(b, pointer, to_tensor(b, mask))
    pointee = getattr(pointer.dtype, "element_ty", None)
    if pointee != smem.dtype:
        raise LanguageTypeError(
            f"expected pointers to {smem.dtype}, the dtype of smem, but got {pointer.type}",
            "allocate smem with the dtype that is pointed at, and cast what is loaded from it",
        )
    if smem.shape != list(pointer.type.shape):
        raise LanguageValueError(
            "expected smem shape to match pointer shape but got "
            f"smem.shape = {smem.shape}, pointer.shape = {list(pointer.type.shape)}"
        )
    op = ttg.AsyncCopyGlobalToLocalOp(
        pointer.handle,
        smem.handle,
        None if mask is None else mask.handle,
        None,
        cache=CacheModifier(caching["cache"]),
        evict=EvictionPolicy(caching["evict"]),
        is_volatile=bool(volatile),
    )
    b.insert(op)


def async_copy_mbarrier_arrive(b: IRBuilder, mbarrier: object, increment_count: bool = True) -> None:
    """An arrival once earlier copies are done."""
    barrier = buffer_of(mbarrier, "mbarrier")
    b.insert(ttng.AsyncCopyMbarrierArriveOp(barrier.handle, no_increment=not increment_count))


def commit_group(b: IRBuilder) -> None:
    """The end of a group of copies."""
    b.insert(ttg.AsyncCommitGroupOp())


def wait_group(b: IRBuilder, num_outstanding: int = 0) -> None:
    """A wait for groups of copies."""
    b.insert(ttg.AsyncWaitOp([], num=_left(num_outstanding, "num_outstanding")))


# mbarriers ---------------------------------------------------------------------------------------------------------------


_MOST_ARRIVALS = (1 << 20) - 1
"""That an mbarrier counts (PTX ISA, "mbarrier.init")."""


def init(b: IRBuilder, mbarrier: object, count: int) -> None:
    """The start of an mbarrier's life."""
    if not is_integer(count) or not 1 <= count <= _MOST_ARRIVALS:
        raise LanguageValueError(
            f"an mbarrier that waits for {count} arrivals", f"an integer from 1 to {_MOST_ARRIVALS}"
        )
    b.insert(ttng.InitBarrierOp(buffer_of(mbarrier, "mbarrier").handle, count=count))


def invalidate(b: IRBuilder, mbarrier: object) -> None:
    """Its end."""
    b.insert(ttng.InvalBarrierOp(buffer_of(mbarrier, "mbarrier").handle))


def expect(b: IRBuilder, mbarrier: object, bytes: int, pred: Operand = True) -> None:
    """An arrival that announces bytes."""
    if not is_integer(bytes):
        raise LanguageTypeError(
            f"bytes must be an integer that is known, got {bytes}", "for example desc.block_type.nbytes"
        )
    b.insert(ttng.BarrierExpectOp(buffer_of(mbarrier, "mbarrier").handle, to_tensor(b, pred).handle, size=bytes))


def wait(b: IRBuilder, mbarrier: object, phase: Operand, pred: Operand = True, deps: Sequence[object] = ()) -> None:
    """A wait for the end of a phase."""
    at, holds = to_tensor(b, phase).handle, to_tensor(b, pred).handle
    buffers = [buffer_of(each, "each of deps").handle for each in deps]
    b.insert(ttng.WaitBarrierOp(buffer_of(mbarrier, "mbarrier").handle, at, holds, buffers))


def arrive(b: IRBuilder, mbarrier: object, *, count: int = 1, pred: Operand = True) -> None:
    """Arrivals."""
    b.insert(ttng.ArriveBarrierOp(buffer_of(mbarrier, "mbarrier").handle, to_tensor(b, pred).handle, count=count))


# Copies of blocks --------------------------------------------------------------------------------------------------------


def coordinates(b: IRBuilder, desc: object, coord: Sequence[Operand]) -> tuple[tensor_descriptor, list[SSAValue]]:
    """`desc`, a descriptor, and where its block begins. Raises `LanguageTypeError` for another."""
    if not isinstance(desc, tensor_descriptor):
        raise LanguageTypeError(f"expected a tensor descriptor, got {desc}", "make one with tma.make_tensor_descriptor")
    return desc, memory.index_values(b, coord, wide=False)


def _buffer_of_block(desc: tensor_descriptor, coord: list[SSAValue], given: object, name: str) -> SSAValue:
    """The buffer of a copy. Raises for one that blocks of `desc` do not fit; leading dimensions of size 1 may be left out of it."""
    buffer, block = buffer_of(given, name), desc.block_type
    shape, left_out = list(block.shape), len(block.shape) - buffer.rank
    if len(coord) != len(shape):
        message = f"expected {len(shape)} coordinates, as many as the descriptor has dimensions, but got {len(coord)}"
        raise LanguageValueError(message, "one of each dimension, where the block begins")
    help = f"ttgl.allocate_shared_memory({block.element_ty}, {shape}, desc.layout)"
    if left_out < 0 or shape[left_out:] != buffer.shape or any(size != 1 for size in shape[:left_out]):
        message = f"expected {name} of shape {shape}, that of the descriptor's blocks, but got {buffer.shape}"
        raise LanguageValueError(message, help)
    dtypes = buffer.dtype, block.element_ty
    as_bits = dtypes[0].primitive_bitwidth == dtypes[1].primitive_bitwidth and any(each.is_int() for each in dtypes)
    if dtypes[0] != dtypes[1] and not as_bits:
        message = f"expected {name} of dtype {block.element_ty}, that of the descriptor, but got {buffer.dtype}"
        raise LanguageTypeError(message, help)
    if not left_out and buffer.layout != desc.layout:
        message = f"expected {name} in the layout of the descriptor's blocks, {desc.layout}, but got {buffer.layout}"
        raise LanguageTypeError(message, help)
    return buffer.handle


def tma_load(b: IRBuilder, tensor_desc: object, coord: Sequence[Operand], barrier: object, result: object, pred: Operand = True) -> None:  # fmt: skip
    """A block from global to shared memory."""
    desc, at = coordinates(b, tensor_desc, coord)
    into = _buffer_of_block(desc, at, result, "result")
    op = ttng.AsyncTMACopyGlobalToLocalOp(
        desc.handle, at, buffer_of(barrier, "barrier").handle, into, to_tensor(b, pred).handle
    )  # fmt: skip
    b.insert(op)


def tma_store(b: IRBuilder, tensor_desc: object, coord: Sequence[Operand], src: object) -> None:
    """A block from shared to global memory."""
    desc, at = coordinates(b, tensor_desc, coord)
    b.insert(ttng.AsyncTMACopyLocalToGlobalOp(desc.handle, at, _buffer_of_block(desc, at, src, "src")))


def store_wait(b: IRBuilder, pendings: int) -> None:
    """A wait for stores."""
    b.insert(ttng.TMAStoreWaitOp(pendings=_left(pendings, "pendings")))


def make_tensor_descriptor(
    b: IRBuilder,
    base: object,
    shape: Sequence[Operand],
    strides: Sequence[Operand],
    block_shape: Sequence[int],
    layout: object,
    padding_option: str = "zero",
) -> tensor_descriptor:
    """A descriptor whose blocks have a layout in shared memory."""
    if not isinstance(layout, NVMMASharedLayout):
        raise LanguageTypeError(f"Expected layout to be a NVMMASharedLayout, got {layout}")
    pointer, sizes, steps, block, padding = descriptor_operands(b, base, shape, strides, block_shape, padding_option)
    type = tensor_descriptor_type(block, language_tuple(sizes).type, language_tuple(steps).type, layout)
    operands = ([x.handle for x in sizes], [x.handle for x in steps])
    return type.value(
        b.value(tt.MakeTensorDescOp(pointer.handle, *operands, ir_type(type), padding=padding)), sizes, steps
    )
