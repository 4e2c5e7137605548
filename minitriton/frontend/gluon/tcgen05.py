"""What GPUs of compute capability 10.0 add: tensor memory, its MMAs, copies of rows in any order.

blackwell.allocate_tensor_memory(...)     ttng.tmem_alloc : () -> !ttg.memdesc<128x128xf32, #tmem, #ttng.tensor_memory, mutable>
blackwell.tcgen05_mma(a, b, acc)          ttng.tc_gen5_mma %a, %b, %acc[], %true, %true
"""

from collections.abc import Sequence

from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Attribute, SSAValue

from minitriton.dialects import ttg, ttng
from minitriton.dialects.tt.enums import ScaleDotElemTypeAttr
from minitriton.frontend.builder import IRBuilder, ir_type
from minitriton.frontend.errors import LanguageTypeError, LanguageValueError
from minitriton.frontend.gluon.buffers import buffer_of, dtype_of, integers, retyped
from minitriton.frontend.semantic.values import is_integer, to_tensor
from minitriton.language.gluon.layouts import DistributedLayout
from minitriton.language.gluon.nvidia.blackwell.tensor_memory import (
    TensorMemoryLayout,
    tensor_memory_descriptor,
    tensor_memory_descriptor_type,
)
from minitriton.language.gluon.types import distributed_type, shared_memory_descriptor, tensor_descriptor
from minitriton.language.values import Operand, tensor

_TOKEN = ttg.AsyncTokenType()
_FORMATS = ("e2m1", "e4m3", "e5m2")
_Buffer = shared_memory_descriptor | tensor_memory_descriptor


def _in_tensor_memory(value: object, what: str) -> tensor_memory_descriptor:
    if not isinstance(value, tensor_memory_descriptor):
        raise LanguageTypeError(f"{what} must be a tensor memory descriptor, got {value}")
    return value


def _either(value: object, what: str) -> _Buffer:
    return value if isinstance(value, tensor_memory_descriptor) else buffer_of(value, what)


# Buffers -----------------------------------------------------------------------------------------------------------------


def allocate_tensor_memory(
    b: IRBuilder, element_ty: object, shape: Sequence[object], layout: object, value: tensor | None = None
) -> tensor_memory_descriptor:
    """A new buffer."""
    sizes = integers(shape, "shape")
    type = tensor_memory_descriptor_type(dtype_of(element_ty, "element_ty"), sizes, layout, sizes)  # pyright: ignore[reportArgumentType] (it checks)
    filled = [] if value is None else [value.handle]
    op = b.insert(ttng.TMEMAllocOp(operands=[filled], result_types=[ir_type(type), []]))
    return tensor_memory_descriptor(op.results[0], type)


def load(b: IRBuilder, buffer: tensor_memory_descriptor, layout: object) -> tensor:
    """A buffer's content."""
    if not isinstance(layout, DistributedLayout):
        raise LanguageTypeError(
            f"expected 'layout' to be a DistributedLayout but got {layout}", "get_tmem_reg_layout gives those that fit"
        )
    type = distributed_type(buffer.dtype, buffer.shape, layout)
    op = b.insert(ttng.TMEMLoadOp(operands=[buffer.handle, []], result_types=[ir_type(type), []]))
    return tensor(op.results[0], type)


def store(b: IRBuilder, buffer: tensor_memory_descriptor, value: object, pred: Operand = True) -> None:
    """A tensor written to a buffer."""
    holds = to_tensor(b, pred).handle
    if not isinstance(value, tensor) or (list(value.type.shape), value.dtype) != (buffer.shape, buffer.dtype):
        got = f"{value.dtype} of shape {list(value.type.shape)}" if isinstance(value, tensor) else value
        raise LanguageValueError(
            f"the source does not match the destination, {buffer.dtype} of shape {buffer.shape}: {got}"
        )
    b.insert(ttng.TMEMStoreOp(operands=[buffer.handle, [], value.handle, holds], result_types=[[]]))


def _view(
    b: IRBuilder, like: tensor_memory_descriptor, make: object, type: tensor_memory_descriptor_type, *args: object, **attributes: object
) -> tensor_memory_descriptor:  # fmt: skip
    return tensor_memory_descriptor(retyped(b, make, like, type, *args, **attributes), type)


def slice(b: IRBuilder, buffer: tensor_memory_descriptor, start: int, length: int) -> tensor_memory_descriptor:
    """Some columns."""
    for name, given in (("start", start), ("length", length)):
        if not is_integer(given):
            raise LanguageTypeError(f"{name} must be a constant int, got {given}")
    old = buffer.layout
    if not isinstance(old, TensorMemoryLayout):
        raise LanguageTypeError(f"a slice has a TensorMemoryLayout, got {old}")
    layout = TensorMemoryLayout(
        (old.block[0], min(old.block[1], length)), old.col_stride, old.cta_split_num, old.two_ctas
    )
    shape = [*buffer.shape[:-1], length]
    type = tensor_memory_descriptor_type(buffer.dtype, shape, layout, buffer.type.alloc_shape)
    return _view(b, buffer, ttng.TMEMSubSliceOp, type, n=start)


def index(b: IRBuilder, buffer: tensor_memory_descriptor, index: Operand) -> tensor_memory_descriptor:
    """One element along the first dimension."""
    shape = buffer.shape[1:]
    type = tensor_memory_descriptor_type(buffer.dtype, shape, buffer.layout, shape)
    return _view(b, buffer, ttg.MemDescIndexOp, type, to_tensor(b, index).handle)


def reinterpret(
    b: IRBuilder, buffer: tensor_memory_descriptor, dtype: object, shape: Sequence[object], layout: object
) -> tensor_memory_descriptor:
    """The columns as other elements."""
    sizes = integers(shape, "shape")
    type = tensor_memory_descriptor_type(dtype_of(dtype, "dtype"), sizes, layout, sizes)  # pyright: ignore[reportArgumentType] (it checks)
    return _view(b, buffer, ttg.MemDescReinterpretOp, type)


# MMAs and copies ---------------------------------------------------------------------------------------------------------


def tcgen05_copy(b: IRBuilder, src: object, dst: object) -> None:
    """A copy from shared to tensor memory."""
    source, target = buffer_of(src, "source"), _in_tensor_memory(dst, "destination")
    b.insert(ttng.TMEMCopyOp(operands=[source.handle, target.handle, []]))


def _conditions(
    b: IRBuilder,
    use_acc: Operand,
    pred: Operand,
    mbarriers: Sequence[object] | None,
    mbarrier_preds: Sequence[Operand] | None,
) -> tuple[list[SSAValue | list[SSAValue]], dict[str, Attribute]]:
    """The last operands of an MMA, and whether it is asynchronous."""
    if mbarriers is None and mbarrier_preds is not None:
        raise LanguageValueError("mbarrier_preds are of mbarriers, which there are none of")
    uses, holds = to_tensor(b, use_acc).handle, to_tensor(b, pred).handle
    barriers = [buffer_of(each, "each of mbarriers").handle for each in mbarriers or ()]
    if mbarriers is not None and mbarrier_preds is None:
        preds = [to_tensor(b, True).handle] * len(barriers)
    else:
        preds = [to_tensor(b, each).handle for each in mbarrier_preds or ()]
    if len(preds) != len(barriers):
        raise LanguageValueError(f"there are {len(barriers)} mbarriers and {len(preds)} mbarrier_preds")
    return [uses, holds, barriers, preds], {"is_async": UnitAttr()} if barriers else {}


def tcgen05_mma(
    builder: IRBuilder,
    a: object,
    b: object,
    acc: object,
    *,
    use_acc: Operand = True,
    pred: Operand = True,
    mbarriers: Sequence[object] | None = None,
    mbarrier_preds: Sequence[Operand] | None = None,
) -> None:
    """An MMA."""
    into = _in_tensor_memory(acc, "acc")
    last, properties = _conditions(builder, use_acc, pred, mbarriers, mbarrier_preds)
    if getattr(into.layout, "two_ctas", False):
        properties["two_ctas"] = UnitAttr()
    first: list[SSAValue | list[SSAValue]] = [_either(a, "a").handle, _either(b, "b").handle, into.handle, []]
    builder.insert(ttng.TCGen5MMAOp(operands=[*first, *last], properties=properties, result_types=[_TOKEN]))


def tcgen05_mma_scaled(
    builder: IRBuilder,
    a: object,
    b: object,
    acc: object,
    a_scale: object,
    b_scale: object,
    a_type: str,
    b_type: str,
    *,
    use_acc: Operand = True,
    pred: Operand = True,
    mbarriers: Sequence[object] | None = None,
    mbarrier_preds: Sequence[Operand] | None = None,
) -> None:
    """An MMA with scales."""
    for side, given in (("lhs", a_type), ("rhs", b_type)):
        if given not in _FORMATS:
            raise LanguageValueError(f"Unsupported {side}_format: {given}", f"one of {', '.join(_FORMATS)}")
    last, properties = _conditions(builder, use_acc, pred, mbarriers, mbarrier_preds)
    properties |= {"a_type": ScaleDotElemTypeAttr.of(a_type), "b_type": ScaleDotElemTypeAttr.of(b_type)}
    scales = [_in_tensor_memory(scale, name).handle for scale, name in ((a_scale, "a_scale"), (b_scale, "b_scale"))]
    first: list[SSAValue | list[SSAValue]] = [
        _either(a, "a").handle,
        _either(b, "b").handle,
        _in_tensor_memory(acc, "acc").handle,
        [],
    ]
    builder.insert(
        ttng.TCGen5MMAScaledOp(operands=[*first, *scales, *last], properties=properties, result_types=[_TOKEN])
    )


def tcgen05_commit(b: IRBuilder, barrier: object) -> None:
    """An arrival once earlier MMAs are done."""
    b.insert(ttng.TCGen5CommitOp(operands=[buffer_of(barrier, "barrier").handle, []]))


def _descriptor(value: object) -> SSAValue:
    if not isinstance(value, tensor_descriptor):
        raise LanguageTypeError(f"expected a tensor descriptor, got {value}")
    return value.handle


def async_gather(
    b: IRBuilder, tensor_desc: object, x_offsets: tensor, y_offset: Operand, barrier: object, result: object, pred: Operand = True
) -> None:  # fmt: skip
    """Rows from global to shared memory."""
    holds, column = to_tensor(b, pred).handle, to_tensor(b, y_offset).handle
    into = buffer_of(barrier, "barrier").handle, buffer_of(result, "result").handle
    b.insert(ttng.AsyncTMAGatherOp(_descriptor(tensor_desc), x_offsets.handle, column, *into, holds))


def async_scatter(b: IRBuilder, tensor_desc: object, x_offsets: tensor, y_offset: Operand, src: object) -> None:
    """Rows from shared to global memory."""
    column, source = to_tensor(b, y_offset).handle, buffer_of(src, "src").handle
    b.insert(ttng.AsyncTMAScatterOp(_descriptor(tensor_desc), x_offsets.handle, column, source))
