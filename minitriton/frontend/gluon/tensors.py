"""Tensors that have a layout: making them, and changing it.

ttgl.arange(0, 64, layout)      tt.make_range : tensor<64xi32, #blocked>
ttgl.convert_layout(x, other)   ttg.convert_layout %x : tensor<64xi32, #blocked> -> tensor<64xi32, #blocked1>
"""

import warnings
from collections.abc import Sequence

from minitriton.dialects import tt, ttg
from minitriton.dialects.gluon import SetAutoLayoutOp
from minitriton.frontend.builder import IRBuilder, ir_type
from minitriton.frontend.errors import LanguageTypeError, LanguageValueError
from minitriton.frontend.semantic import dot, reduce, shapes
from minitriton.frontend.semantic.casts import cast
from minitriton.frontend.semantic.values import broadcast_pair, scalar_constant, splat_like, to_tensor
from minitriton.language import dtypes as dt
from minitriton.language.gluon.conversions import bank_conflicts, is_trivial, linear_layout
from minitriton.language.gluon.layouts import (
    AutoLayout,
    BlockedLayout,
    DistributedLayout,
    DotOperandLayout,
    Layout,
    conversion_to,
    layout_of,
)
from minitriton.language.gluon.types import distributed_type, shared_memory_descriptor_type
from minitriton.language.values import Operand, constexpr, handle_value, tensor
from minitriton.layouts.inference import fp4_to_fp_dst

_AUTO = AutoLayout()
LARGE_FMA_DOT = 1 << 19
"""Multiplications of a dot by scalar FMAs from which a compile is slow: each is an instruction of some thread."""


def distributed(value: object, what: str) -> tuple[tensor, distributed_type]:
    """`value`, a tensor with a layout, and its type. Raises `LanguageTypeError` for another, `what` being the operation."""
    if not isinstance(value, tensor) or not isinstance(value.type, distributed_type):
        kind = value.type if isinstance(value, (tensor, handle_value)) else value
        help = value.as_tensor if isinstance(value, handle_value) else "a tensor with a layout"
        raise LanguageTypeError(f"expected {what} input to be a distributed_type but got: {kind}", help)
    return value, value.type


def _layout(given: object, what: str) -> DistributedLayout:
    if given is None:
        return _AUTO
    if not isinstance(given, DistributedLayout):
        raise LanguageTypeError(f"expected {what} to be a DistributedLayout but got {given}")
    return given


def arange(b: IRBuilder, start: object, end: object, layout: object = None) -> tensor:
    """The integers of `[start, end)`."""
    low, high = shapes.range_bounds(start, end)
    return shapes.range_of(b, low, high, distributed_type(dt.int32, (high - low,), _layout(layout, "'layout'")))


def full(b: IRBuilder, shape: Sequence[int], value: Operand, dtype: object, layout: object = None) -> tensor:
    """A tensor of one number."""
    if not isinstance(dtype, dt.dtype):
        raise LanguageTypeError(f"{dtype!r} is not a dtype", "for example ttgl.float32")
    sizes = shapes.shape_argument((shape,))
    number = cast(b, value, dtype) if isinstance(value, tensor) else scalar_constant(b, value, dtype)
    return splat_like(b, number, distributed_type(dtype, sizes, _layout(layout, "'layout'"))) if sizes else number


def convert_layout(b: IRBuilder, value: object, layout: object, assert_trivial: bool = False) -> tensor:
    """A tensor with another layout."""
    value, have = distributed(value, "convert_layout")
    if not isinstance(layout, DistributedLayout):
        raise LanguageTypeError(f"expected 'layout' to be a DistributedLayout but got {layout}")
    want = have.with_layout(layout)
    if assert_trivial and not is_trivial(have.layout, layout, have.shape):
        raise TypeError(
            f"layout conversion from {have.layout} to {layout} is not trivial.\nThe linear layouts are:\n"
            f"{linear_layout(have.layout, have.shape)}\n{linear_layout(layout, have.shape)}"
        )
    return tensor(b.value(ttg.ConvertLayoutOp(value.handle, ir_type(want))), want)


def set_auto_layout(b: IRBuilder, value: object, layout: object) -> tensor:
    """The layout of a tensor that had none yet."""
    value, have = distributed(value, "set_auto_layout")
    if not isinstance(layout, DistributedLayout):
        raise LanguageTypeError(f"set_auto_layout must set to a distributed layout but got {layout}")
    if not isinstance(have.layout, AutoLayout):
        raise LanguageValueError(
            f"set_auto_layout input must have auto layout but got {have.layout}", "ttgl.convert_layout changes a layout"
        )
    want = have.with_layout(layout)
    return tensor(b.value(SetAutoLayoutOp(value.handle, ir_type(want))), want)


def with_one_layout(b: IRBuilder, lhs: tensor, rhs: tensor) -> tuple[tensor, tensor]:
    """Both with the layout of the one whose layout is known. Raises `LanguageValueError` where two differ."""
    left, right = distributed(lhs, "broadcast left")[1].layout, distributed(rhs, "broadcast right")[1].layout
    if left == right:
        return lhs, rhs
    if isinstance(left, AutoLayout):
        return set_auto_layout(b, lhs, right), rhs
    if isinstance(right, AutoLayout):
        return lhs, set_auto_layout(b, rhs, left)
    raise LanguageValueError(
        f"Layout mismatch in broadcast: {left} vs {right}",
        f"convert one of them, the right one by {conversion_to('x', left)}",
    )


def histogram(b: IRBuilder, input: tensor, num_bins: int, mask: Operand | None = None, layout: object = None) -> tensor:
    """How often each small integer occurs."""
    if not isinstance(layout, DistributedLayout):
        raise LanguageValueError("histogram requires a destination layout", "layout=ttgl.BlockedLayout(...)")
    if mask is not None:
        mask, input = broadcast_pair(b, to_tensor(b, mask), input)
    return reduce.histogram_of(b, input, mask, distributed_type(dt.int32, (num_bins,), layout))


def cat(b: IRBuilder, input: tensor, other: tensor, can_reorder: bool = False, layout: object = None) -> tensor:
    """Two tensors in one, in any order."""
    if not isinstance(layout, DistributedLayout):
        raise LanguageValueError("cat requires a destination layout", "layout=ttgl.BlockedLayout(...)")
    if not can_reorder or len(input.type.shape) != 1:
        raise LanguageValueError("cat takes 1-D tensors, and may always reorder elements", "pass can_reorder=True")
    want = distributed_type(input.dtype, (input.type.shape[0] + other.type.shape[0],), layout)
    return tensor(b.op(tt.CatOp, (input.handle, other.handle), ir_type(want)), want)


def fp4_to_fp(b: IRBuilder, src: object, elem_type: object, axis: int) -> tensor:
    """Pairs of fp4 numbers as floats."""
    src, have = distributed(src, "fp4_to_fp")
    if not isinstance(elem_type, dt.dtype):
        raise LanguageTypeError(f"{elem_type!r} is not a dtype", "for example ttgl.bfloat16")
    axis = shapes.wrap_axis(axis, len(have.shape))
    found = fp4_to_fp_dst(have.layout.encoding(), have.shape, axis)
    if found is None:
        raise LanguageValueError(f"no layout of fp4 numbers along axis {axis} unpacks to one of floats: {have.layout}")
    layout = layout_of(found)
    assert isinstance(layout, DistributedLayout)
    shape = tuple(2 * size if d == axis else size for d, size in enumerate(have.shape))
    want = distributed_type(elem_type, shape, layout)
    return tensor(b.value(ttg.Fp4ToFpOp(src.handle, ir_type(want), axis=axis)), want)


def operand_layout(number: int, result: DistributedLayout, dtype: dt.dtype) -> DotOperandLayout:
    """The layout of operand `number` of a dot whose result has the layout `result`: 32 bits along K in a register."""
    is_blocked = isinstance(result, BlockedLayout)
    return DotOperandLayout(number, result, 0 if is_blocked else max(1, 32 // dtype.primitive_bitwidth))


def dot_operands(a: object, b: object, acc: object, parent: type[DistributedLayout]) -> tuple[tensor, tensor, tensor]:
    """The operands of a dot in registers, checked: `acc` has a layout of class `parent`, the others are dot operands of it."""
    result = acc.type.layout if isinstance(acc, tensor) else None
    if not isinstance(acc, tensor) or not isinstance(result, parent):
        raise LanguageTypeError(f"acc must be a tensor with a {parent.__name__}, got {result or acc}")
    found: list[tensor] = []
    for number, (name, operand) in enumerate((("a", a), ("b", b))):
        if not isinstance(operand, tensor):
            raise LanguageTypeError(f"{name} must be a tensor with a DotOperandLayout, got {operand}")
        layout = operand.type.layout
        help = conversion_to(name, operand_layout(number, result, operand.dtype))
        if not isinstance(layout, DotOperandLayout):
            raise LanguageTypeError(f"{name} must be a tensor with a DotOperandLayout, got {layout}", help)
        if layout.parent != result:
            message = f"{name}'s parent layout must be the same as acc's layout: {layout} vs {result}"
            raise LanguageTypeError(message, help)
        if layout.operand_index != number:
            raise LanguageTypeError(f"{name}'s operand index must be {number}", help)
        found.append(operand)
    return found[0], found[1], acc


def dot_fma(builder: IRBuilder, a: object, b: object, acc: object) -> tensor:
    """A dot by scalar FMAs."""
    lhs, rhs, result = dot_operands(a, b, acc, BlockedLayout)
    size = result.type.numel * lhs.type.shape[1]
    if size > LARGE_FMA_DOT:
        shape = f"{result.type.shape[0]}x{result.type.shape[1]}x{lhs.type.shape[1]}"
        warnings.warn(f"Large dot FMA instruction size {shape} may have slow compile times", stacklevel=2)
    return dot.dot(builder, lhs, rhs, result, out_dtype=result.dtype)


def static_bank_conflicts(b: IRBuilder, distr_ty: object, shared_ty: object) -> constexpr:
    """`bank_conflicts` while a kernel is compiled."""
    if not isinstance(distr_ty, distributed_type):
        raise TypeError(f"bank_conflicts expects the register layout to be a distributed_type, got {type(distr_ty)}")
    if not isinstance(shared_ty, shared_memory_descriptor_type):
        raise TypeError(
            f"bank_conflicts expects the shared layout to be a shared_memory_descriptor_type, got {type(shared_ty)}"
        )
    return constexpr(bank_conflicts(distr_ty, shared_ty))


def static_linear_layout(b: IRBuilder, layout: object, shape: Sequence[int]) -> constexpr:
    """`to_linear_layout` while a kernel is compiled."""
    if not isinstance(layout, Layout):
        raise TypeError(f"Expected a DistributedLayout or SharedLayout, got {type(layout)}")
    return constexpr(linear_layout(layout, shape))
