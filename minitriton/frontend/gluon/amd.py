"""What only AMD GPUs have: matrix cores, buffer instructions, copies to shared memory, barriers.

cdna3.buffer_load(ptr, offsets, mask)      amdg.buffer_load %ptr[%offsets], %mask : tensor<64xf32, #blocked>
rdna4.wmma(a, b, acc)                      tt.dot %a, %b, %acc
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from xdsl.ir import SSAValue

from minitriton.dialects import amdg, tt, ttg
from minitriton.dialects.attribute_values import bool_attr, i32_attr
from minitriton.dialects.tt.enums import (
    CacheModifier,
    CacheModifierAttr,
    EvictionPolicy,
    MemSemanticAttr,
    MemSyncScopeAttr,
    RMWOpAttr,
)
from minitriton.frontend.builder import IRBuilder, ir_type
from minitriton.frontend.errors import LanguageTypeError, LanguageValueError
from minitriton.frontend.gluon import buffers
from minitriton.frontend.gluon.buffers import buffer_of
from minitriton.frontend.gluon.nvidia import coordinates
from minitriton.frontend.gluon.tensors import distributed, dot_operands, full
from minitriton.frontend.semantic import dot
from minitriton.frontend.semantic.atomics import ORDERS, SCOPES
from minitriton.frontend.semantic.casts import cast
from minitriton.frontend.semantic.descriptors import descriptor_parts
from minitriton.frontend.semantic.memory import LOAD_CACHES, STORE_CACHES, choice
from minitriton.frontend.semantic.values import broadcast_pair, to_tensor
from minitriton.language import dtypes as dt
from minitriton.language.gluon.amd._layouts import AMDMFMALayout, AMDWMMALayout
from minitriton.language.gluon.amd.cdna4 import get_mfma_scale_layout
from minitriton.language.gluon.amd.gfx1250 import get_wmma_scale_layout
from minitriton.language.gluon.layouts import (
    BlockedLayout,
    DistributedLayout,
    DotOperandLayout,
    PaddedSharedLayout,
    SliceLayout,
    SwizzledSharedLayout,
)
from minitriton.language.gluon.types import tensor_descriptor, tensor_descriptor_type
from minitriton.language.values import Operand, tensor
from minitriton.language.values import tuple as language_tuple

SYNCED = "ttg.amdg.syncedViaAsyncWait"
"""On a load of shared memory: the waits that it needs are in the kernel."""


def _optional(value: tensor | None) -> list[SSAValue]:
    return [] if value is None else [value.handle]


# Buffer instructions -----------------------------------------------------------------------------------------------------


def _pointed(ptr: object, offsets: object, mask: object, other: object) -> tuple[tensor, tensor, dt.dtype]:
    """A scalar pointer and int32 offsets, and the dtype that is pointed at."""
    if not isinstance(ptr, tensor) or not isinstance(ptr.type, dt.pointer_type):
        raise LanguageTypeError(f"ptr must be a scalar pointer type, got {ptr}")
    found, type = distributed(offsets, "buffer offsets")
    if type.scalar not in (dt.int32, dt.uint32):
        raise LanguageTypeError(f"offsets element type must be int32 or uint32, got {type.scalar}")
    if other is not None and mask is None:
        raise LanguageValueError("when other is not None, mask should not be None", "give mask=..., too")
    return ptr, found, ptr.type.element_ty


def _masked(
    b: IRBuilder, like: tensor, mask: Operand | None, other: Operand | None, dtype: dt.dtype
) -> tuple[tensor, tensor | None, tensor | None]:
    """`like`, a mask and what is there instead, of one shape."""
    condition = value = None
    if mask is not None:
        like, condition = broadcast_pair(b, like, to_tensor(b, mask))
    if other is not None:
        like, value = broadcast_pair(b, like, cast(b, to_tensor(b, other), dtype))
    return like, condition, value


def buffer_load(
    b: IRBuilder, ptr: object, offsets: object, mask: Operand | None = None, other: Operand | None = None, cache: str | None = None
) -> tensor:  # fmt: skip
    """A load."""
    base, at, dtype = _pointed(ptr, offsets, mask, other)
    at, condition, value = _masked(b, at, mask, other, dtype)
    type = distributed(at, "buffer_load")[1].with_element_ty(dtype)
    op = amdg.BufferLoadOp(
        operands=[base.handle, at.handle, [], _optional(condition), _optional(value)],
        properties={"cache": CacheModifierAttr.of(CacheModifier(choice(LOAD_CACHES, cache, "Cache modifier")))},
        result_types=[ir_type(type)],
    )
    return tensor(b.value(op), type)


def buffer_store(
    b: IRBuilder, stored_value: tensor, ptr: object, offsets: object, mask: Operand | None = None, cache: str | None = None
) -> None:  # fmt: skip
    """A store."""
    base, at, dtype = _pointed(ptr, offsets, mask, None)
    at, condition, _ = _masked(b, at, mask, None, dtype)
    op = amdg.BufferStoreOp(
        operands=[stored_value.handle, base.handle, at.handle, [], _optional(condition)],
        properties={"cache": CacheModifierAttr.of(CacheModifier(choice(STORE_CACHES, cache, "Cache modifier")))},
    )
    b.insert(op)


_INTEGERS = (dt.int32, dt.int64)
_UNSIGNED = (dt.uint32, dt.uint64)
_FLOATS = (dt.float16, dt.float32, dt.float64)
_EITHER_WAY = {"and": "and", "or": "or", "xor": "xor", "xchg": "exch"}


def _atomic_op(name: str, dtype: dt.dtype, takes_bf16: bool) -> str:
    """The operation of the IR. Raises for a dtype that the hardware does not do it with."""
    if name in _EITHER_WAY and dtype in _INTEGERS:
        return _EITHER_WAY[name]
    if name in ("max", "min"):
        if dtype in (*_INTEGERS, dt.float64):
            return name
        if dtype in _UNSIGNED:
            return f"u{name}"
    if name == "add":
        if dtype in _UNSIGNED:
            return "add"
        if dtype in _FLOATS or (dtype == dt.bfloat16 and takes_bf16):
            return "fadd"
    where = "CDNA3" if dtype == dt.bfloat16 and name == "add" else "CDNA3 or CDNA4"
    raise LanguageValueError(f"{name} with {dtype} is not supported on {where}")


def buffer_atomic(
    name: str,
    takes_bf16: bool,
    b: IRBuilder,
    ptr: object,
    offsets: object,
    value: Operand,
    mask: Operand | None = None,
    sem: str | None = None,
    scope: str | None = None,
) -> tensor:
    """The atomic `name`."""
    base, at, dtype = _pointed(ptr, offsets, mask, None)
    op = _atomic_op(name, dtype, takes_bf16)
    condition = None
    if mask is not None:
        condition = broadcast_pair(b, at, cast(b, to_tensor(b, mask), dt.int1))[1]
    operand = broadcast_pair(b, at, to_tensor(b, value))[1]
    made = amdg.BufferAtomicRMWOp(
        operands=[base.handle, at.handle, operand.handle, [], _optional(condition)],
        properties={
            "atomic_rmw_op": RMWOpAttr.of(op),
            "sem": MemSemanticAttr.of(choice(ORDERS, sem, "Memory semantic")),
            "scope": MemSyncScopeAttr.of(choice(SCOPES, scope, "Memory semantic")),
        },
        result_types=[operand.handle.type],
    )
    return tensor(b.value(made), operand.type)


# Matrix cores ------------------------------------------------------------------------------------------------------------


def _dot(b: IRBuilder, lhs: tensor, rhs: tensor, acc: tensor) -> tensor:
    precision = b.options.default_dot_input_precision
    return dot.dot(b, lhs, rhs, acc, input_precision=precision, out_dtype=acc.dtype)


def mfma(builder: IRBuilder, a: object, b: object, acc: object) -> tensor:
    """A dot by `v_mfma`."""
    lhs, rhs, result = dot_operands(a, b, acc, AMDMFMALayout)
    return _dot(builder, lhs, rhs, result)


def _check_wmma(version: int, a: object, b: object, acc: object) -> tuple[tensor, tensor, tensor]:
    found: list[tensor] = []
    for name, value in (("acc", acc), ("a", a), ("b", b)):
        value, type = distributed(value, f"wmma {name}")
        layout = type.layout
        if name != "acc":
            if not isinstance(layout, DotOperandLayout):
                raise LanguageTypeError(f"Expected {name}'s layout to be a DotOperandLayout, got {layout}")
            layout = layout.parent
        if not isinstance(layout, AMDWMMALayout) or layout.version != version:
            raise LanguageTypeError(f"Expected {name} to have an AMDWMMALayout with version {version}, got {layout}")
        found.append(value)
    return found[1], found[2], found[0]


def wmma(version: int, builder: IRBuilder, a: object, b: object, acc: object) -> tensor:
    """A dot by `v_wmma`."""
    lhs, rhs, result = _check_wmma(version, a, b, acc)
    return _dot(builder, lhs, rhs, result)


_FORMATS = ("e2m1", "e4m3", "e5m2")
_ONE = 0x7F
"""1 as e8m0."""


def _scaled(
    builder: IRBuilder,
    a: tensor, a_scale: Operand | None, a_format: str,
    b: tensor, b_scale: Operand | None, b_format: str,
    acc: tensor,
    scale_layout: Callable[[DistributedLayout, Sequence[int]], DistributedLayout],
) -> tensor:  # fmt: skip
    scales: list[tensor] = []
    for number, (operand, scale, format) in enumerate(((a, a_scale, a_format), (b, b_scale, b_format))):
        if format not in _FORMATS:
            side = ("lhs", "rhs")[number]
            raise LanguageValueError(f"Unsupported {side}_format: {format}", f"one of {', '.join(_FORMATS)}")
        rows, k = operand.type.shape if number == 0 else reversed(operand.type.shape)
        shape = [rows, k * (2 if format == "e2m1" else 1) // 32]
        if isinstance(scale, tensor) and scale.type.numel != 1:
            if scale.type.numel != math.prod(shape):
                raise LanguageValueError(f"Incompatible scale shape {list(scale.type.shape)}: expected {shape}")
            scales.append(scale)
        else:
            layout = scale_layout(distributed(operand, "a scaled dot")[1].layout, shape)
            scales.append(full(builder, shape, _ONE if scale is None else scale, dt.uint8, layout))
    return dot.dot_scaled(builder, a, scales[0], a_format, b, scales[1], b_format, acc)


def mfma_scaled(
    builder: IRBuilder, a: object, a_scale: Operand | None, a_format: str, b: object, b_scale: Operand | None, b_format: str, acc: object
) -> tensor:  # fmt: skip
    """A scaled dot by `v_mfma`."""
    lhs, rhs, result = dot_operands(a, b, acc, AMDMFMALayout)
    return _scaled(builder, lhs, a_scale, a_format, rhs, b_scale, b_format, result, get_mfma_scale_layout)


def wmma_scaled(
    builder: IRBuilder, a: object, a_scale: Operand | None, a_format: str, b: object, b_scale: Operand | None, b_format: str, acc: object
) -> tensor:  # fmt: skip
    """A scaled dot by `v_wmma`."""
    lhs, rhs, result = _check_wmma(3, a, b, acc)
    for name, value, depth in (
        ("acc", result, 128),
        *((name, each, 64) for name, each, format in (("a", lhs, a_format), ("b", rhs, b_format)) if format == "e2m1"),
    ):
        layout = distributed(value, name)[1].layout
        layout = layout.parent if isinstance(layout, DotOperandLayout) else layout
        if list(getattr(layout, "instr_shape", ())) != [16, 16, depth]:
            raise LanguageTypeError(f"the layout of {name} must have instr_shape [16, 16, {depth}], got {layout}")
    return _scaled(builder, lhs, a_scale, a_format, rhs, b_scale, b_format, result, get_wmma_scale_layout)


# Copies to shared memory -------------------------------------------------------------------------------------------------


def _copied(value: object, layouts: tuple[type[DistributedLayout], ...]) -> tensor:
    found, type = distributed(value, "an asynchronous copy's")
    if not isinstance(type.layout, layouts):
        names = " or ".join(each.__name__ for each in layouts)
        raise LanguageTypeError(f"expected the layout of the copy to be a {names}, got {type.layout}")
    return found


_THREADS_IN_ORDER = (BlockedLayout, SliceLayout)


def _copy(layouts: tuple[type[DistributedLayout], ...]) -> Callable[..., None]:
    """The emitter of a copy by pointers whose layout is of one of `layouts`."""

    def emit(
        b: IRBuilder,
        dest: object,
        ptr: object,
        mask: Operand | None = None,
        other: Operand | None = None,
        cache_modifier: str = "",
    ) -> None:
        buffer, pointers = buffer_of(dest, "the destination"), _copied(ptr, layouts)
        if not isinstance(pointers.dtype, dt.pointer_type):
            raise LanguageTypeError(f"expected a tensor of pointers, got {pointers.type}")
        if buffer.shape != list(pointers.type.shape):
            raise LanguageValueError(
                "expected the destination's shape to match the pointers' but got "
                f"{buffer.shape} and {list(pointers.type.shape)}"
            )
        pointers, condition, value = _masked(b, pointers, mask, other, pointers.dtype.element_ty)
        op = ttg.AsyncCopyGlobalToLocalOp(
            pointers.handle,
            buffer.handle,
            None if condition is None else condition.handle,
            None if value is None else value.handle,
            cache=CacheModifier(choice(LOAD_CACHES, cache_modifier, "Cache modifier")),
            evict=EvictionPolicy.NORMAL,
            is_volatile=False,
        )
        b.insert(op)

    return emit


global_load_to_shared, global_to_shared = _copy(_THREADS_IN_ORDER), _copy((DistributedLayout,))


def buffer_load_to_shared(
    b: IRBuilder,
    dest: object,
    ptr: object,
    offsets: object,
    mask: Operand | None = None,
    other: Operand | None = None,
    cache_modifier: str = "",
) -> None:
    """A copy by a buffer instruction."""
    base, at, dtype = _pointed(ptr, _copied(offsets, _THREADS_IN_ORDER), mask, other)
    at, condition, value = _masked(b, at, mask, other, dtype)
    op = amdg.BufferLoadToLocalOp(
        operands=[
            buffer_of(dest, "dest").handle, base.handle, at.handle, _optional(condition), _optional(value), [],
        ],
        properties={"cache": CacheModifierAttr.of(CacheModifier(choice(LOAD_CACHES, cache_modifier, "Cache modifier")))},
        result_types=[ttg.AsyncTokenType()],
    )  # fmt: skip
    b.insert(op)


def load_shared_relaxed(b: IRBuilder, smem: object, layout: object) -> tensor:
    """A load that is known to be waited for."""
    found = buffers.load(b, buffer_of(smem, "smem"), layout)
    owner = found.handle.owner
    assert isinstance(owner, ttg.LocalLoadOp)
    owner.attributes[SYNCED] = bool_attr(True)
    return found


def mbarrier_arrive(b: IRBuilder, mbarrier: object) -> None:
    """An arrival once earlier copies are done."""
    b.insert(amdg.AsyncCopyMbarrierArriveOp(operands=[buffer_of(mbarrier, "mbarrier").handle]))


def make_tensor_descriptor(
    b: IRBuilder,
    base: object,
    shape: Sequence[Operand],
    strides: Sequence[Operand],
    block_shape: Sequence[int],
    layout: object,
) -> tensor_descriptor:
    """A descriptor of blocks that are not swizzled."""
    if not isinstance(layout, (PaddedSharedLayout, SwizzledSharedLayout)):
        raise LanguageTypeError(f"Expected layout to be a PaddedSharedLayout or SwizzledSharedLayout, got {layout}")
    if isinstance(layout, SwizzledSharedLayout) and layout.max_phase != 1:
        raise LanguageValueError("Expected max_phase to be 1 for SwizzledSharedLayout", "the mover does not swizzle")
    pointer, sizes, steps, block = descriptor_parts(b, base, shape, strides, block_shape)
    type = tensor_descriptor_type(block, language_tuple(sizes).type, language_tuple(steps).type, layout)
    operands = ([x.handle for x in sizes], [x.handle for x in steps])
    made = tt.MakeTensorDescOp(pointer.handle, *operands, ir_type(type), padding="zero")
    return type.value(b.value(made), sizes, steps)


def async_load(
    b: IRBuilder, src: object, offsets: Sequence[Operand], dest: object, pred: Operand = True, mbarrier: object = None
) -> None:
    """A block from global to shared memory."""
    desc, at = coordinates(b, src, offsets)
    holds = to_tensor(b, pred).handle
    barrier = [] if mbarrier is None else [buffer_of(mbarrier, "mbarrier").handle]
    operands = [desc.handle, at, buffer_of(dest, "dest").handle, holds, barrier]
    b.insert(amdg.AsyncTDMCopyGlobalToLocalOp(operands=operands, result_types=[ttg.AsyncTokenType()]))


def async_store(b: IRBuilder, dest: object, offsets: Sequence[Operand], src: object) -> None:
    """A block from shared to global memory."""
    desc, at = coordinates(b, dest, offsets)
    b.insert(amdg.AsyncTDMCopyLocalToGlobalOp(operands=[desc.handle, at, buffer_of(src, "src").handle]))


def async_wait(b: IRBuilder, num_outstanding: int = 0) -> None:
    """A wait for copies of blocks."""
    made = amdg.AsyncTDMWaitOp(
        operands=[[]], properties={"num": i32_attr(num_outstanding)}, result_types=[ttg.AsyncTokenType()]
    )
    b.insert(made)


# Barriers ----------------------------------------------------------------------------------------------------------------


def init(b: IRBuilder, mbarrier: object, count: int) -> None:
    """The start of a barrier's life."""
    b.insert(
        amdg.InitBarrierOp(operands=[buffer_of(mbarrier, "mbarrier").handle], properties={"count": i32_attr(count)})
    )


def wait(b: IRBuilder, mbarrier: object, phase: Operand) -> None:
    """A wait for the end of a phase."""
    at = to_tensor(b, phase).handle
    b.insert(amdg.WaitBarrierOp(operands=[buffer_of(mbarrier, "mbarrier").handle, at]))


def arrive(b: IRBuilder, mbarrier: object, *, count: int = 1) -> tensor:
    """Arrivals, and the phase before."""
    op = amdg.ArriveBarrierOp(
        operands=[buffer_of(mbarrier, "mbarrier").handle],
        properties={"count": i32_attr(count)},
        result_types=[ir_type(dt.int32)],
    )
    return tensor(b.value(op), dt.int32)
