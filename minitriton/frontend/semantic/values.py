"""Numbers as tensors, and what two operands of different type or shape become.

x: block of fp16, 2.5            →  fp16   (a Python scalar of no higher kind does not widen)
x: block of fp16, y: fp32        →  fp32
x: int32, y: uint32              →  uint32 (C's usual conversions)
[128, 1] and [64]                →  [128, 64]
"""

import numbers
from collections.abc import Sequence
from typing import TypeGuard, TypeVar
from typing import cast as cast_type

from minitriton.dialects import tt
from minitriton.frontend.builder import GLUON, IRBuilder, constant_of, forget_location, ir_type
from minitriton.frontend.errors import LanguageTypeError, LanguageValueError
from minitriton.frontend.semantic.casts import cast
from minitriton.language import dtypes as dt
from minitriton.language.dtypes import block_of, dtype
from minitriton.language.values import Operand, constexpr, handle_value, tensor
from minitriton.rewriting.constants import number_of

T = TypeVar("T")

_SMALLEST_NORMAL_FLOAT32 = 2.0**-126
_LARGEST_FLOAT32 = (2 - 2**-23) * 2.0**127


class IncompatibleTypes(LanguageTypeError):
    """Two operand types that no operation takes together."""

    def __init__(self, a: dtype, b: dtype, help: str | None = None) -> None:
        super().__init__(f"invalid operands of type {a!r} and {b!r}", help)


def to_tensor(b: IRBuilder, x: object) -> tensor:
    """`x` as a tensor. Raises for what is neither a tensor nor a number."""
    if type(x) is tensor:
        return x
    if isinstance(x, constexpr):
        x = x.value
    if not isinstance(x, (bool, int, float)):
        help = x.as_tensor if isinstance(x, handle_value) else "use a tensor or a number"
        raise LanguageTypeError(f"cannot convert {x} of type {type(x)} to tensor", help)
    return scalar_constant(b, x, number_dtype(x))


def several(given: T | Sequence[T]) -> tuple[T, ...]:
    """What a kernel gave, one or a sequence of them, as a tuple."""
    if isinstance(given, (tuple, list)):
        return tuple(cast_type("Sequence[T]", given))
    return (cast_type("T", given),)


def is_integer(given: object) -> TypeGuard[int]:
    """Whether a kernel gave an integer known at compile time; booleans and enumerations of integers are some."""
    return isinstance(given, int)


def number_dtype(x: int | float | bool) -> dtype:
    """The dtype that a Python number has by itself. Raises for an integer beyond 64 bits."""
    if isinstance(x, bool):
        return dt.int1
    if isinstance(x, int):
        for low, high, found in _INTEGER_RANGES:
            if low <= x < high:
                return found
        raise LanguageValueError(f"Nonrepresentable integer {x}.")
    size = abs(x)
    normal = _SMALLEST_NORMAL_FLOAT32 <= size <= _LARGEST_FLOAT32
    return dt.float32 if normal or size == 0.0 or size == float("inf") or x != x else dt.float64


_INTEGER_RANGES = (
    (-(2**31), 2**31, dt.int32),
    (2**31, 2**32, dt.uint32),
    (-(2**63), 2**63, dt.int64),
    (2**63, 2**64, dt.uint64),
)


def scalar_constant(b: IRBuilder, value: object, type: dtype) -> tensor:
    """The number `value` as a scalar of `type`."""
    return tensor(b.constant(type, representable(value, type)), type)


def representable(value: object, type: dtype) -> int | float:
    """`value`, if it is a number that `type` can hold."""
    if not isinstance(value, (int, float)):
        raise LanguageTypeError(f"cannot convert {value!r} of type {value.__class__} to a value of type {type}")
    if type.is_int() and isinstance(value, float) and not value.is_integer():
        raise LanguageTypeError(f"cannot make {value} a value of type {type}", "cast it explicitly")
    return value


def integer_promotion(a: dtype, b: dtype) -> dtype:
    """C's usual arithmetic conversions (C17 6.3.1.8), without promotion to int."""
    if a.int_signedness == b.int_signedness:
        return a if a.int_bitwidth > b.int_bitwidth else b
    unsigned, signed = (a, b) if a.is_int_unsigned() else (b, a)
    return unsigned if unsigned.int_bitwidth >= signed.int_bitwidth else signed


def computation_type(a: dtype, a_is_number: bool, b: dtype, b_is_number: bool, div_or_mod: bool) -> dtype:
    """The dtype in which an operation on `a` and `b` is computed. `..._is_number`: the operand is a Python number."""
    if a_is_number != b_is_number:
        number, other = (a, b) if a_is_number else (b, a)
        if number.kind().value <= other.kind().value:
            return dt.float32 if div_or_mod and other.name in ("fp16", "bf16") else other
    for wide in (dt.float64, dt.float32):
        if a == wide or b == wide:
            return wide
    if a.is_fp16() or b.is_fp16():
        return dt.float32 if div_or_mod else dt.float16
    if a.is_bf16() or b.is_bf16():
        return dt.bfloat16 if a.is_bf16() and b.is_bf16() and not div_or_mod else dt.float32
    if a.is_fp8() and b.is_fp8():
        return a if a == b else dt.float16
    if not a.is_int() or not b.is_int():
        raise LanguageTypeError(f"unexpected type {a} and {b}")
    if div_or_mod and a.int_signedness != b.int_signedness:
        raise LanguageTypeError(
            f"Cannot use /, #, or % with {a!r} and {b!r} because they have different signedness;"
            "this is unlikely to result in a useful answer. Cast them to the same signedness."
        )
    return integer_promotion(a, b)


def _check_pointer(a: dtype, b: dtype, allowed: bool) -> None:
    if not a.is_ptr():
        return
    if not allowed:
        raise IncompatibleTypes(a, b, "this operation does not take pointers: load the values first with tl.load")
    if (b.is_ptr() and a != b) or b.is_floating():
        raise IncompatibleTypes(a, b, "offset pointers by integers")


def binary_operands(
    b: IRBuilder,
    lhs: Operand,
    rhs: Operand,
    *,
    pointer_lhs: bool = False,
    pointer_rhs: bool = False,
    arithmetic: bool = True,
    div_or_mod: bool = False,
    fp8: bool = False,
) -> tuple[tensor, tensor]:
    """Both operands with the dtype and shape in which a binary operation computes. `pointer_...`, `fp8`: may be one."""
    lhs_number = rhs_number = None
    if isinstance(lhs, tensor):
        lhs_type = lhs.dtype
    else:
        lhs_number = _number(lhs)
        lhs_type = number_dtype(lhs_number)
    if isinstance(rhs, tensor):
        rhs_type = rhs.dtype
    else:
        rhs_number = _number(rhs)
        rhs_type = number_dtype(rhs_number)
    _check_pointer(lhs_type, rhs_type, pointer_lhs)
    _check_pointer(rhs_type, lhs_type, pointer_rhs)
    if arithmetic and not lhs_type.is_ptr() and not rhs_type.is_ptr():
        found = computation_type(lhs_type, lhs_number is not None, rhs_type, rhs_number is not None, div_or_mod)
        if not fp8:
            refuse_fp8(found)
        if b.is_verbatim:
            for number in (lhs_number, rhs_number):
                if number is not None:
                    to_tensor(b, number)
        if lhs_number is not None:
            lhs = _fitting_constant(b, lhs_number, found, rhs)
        elif lhs_type is not found and isinstance(lhs, tensor):
            lhs = cast(b, lhs, found)
        if rhs_number is not None:
            rhs = _fitting_constant(b, rhs_number, found, lhs)
        elif rhs_type is not found and isinstance(rhs, tensor):
            rhs = cast(b, rhs, found)
    return broadcast_pair(b, to_tensor(b, lhs), to_tensor(b, rhs))


def operand_of(b: IRBuilder, x: Operand) -> Operand:
    """`x` as a tensor, a number in its own dtype; from Triton 3.9 on a number stays one, and takes the dtype of what it meets."""
    return x if b.version >= (3, 9) else to_tensor(b, x)


def ternary_operands(b: IRBuilder, operands: Sequence[Operand]) -> list[tensor]:
    """Operands with the dtype and shape in which an operation of three computes; from Triton 3.9 on tensors decide before numbers do."""
    if b.version < (3, 9):
        x, y, z = (to_tensor(b, operand) for operand in operands)
        y, z = binary_operands(b, y, z)
        x, y = binary_operands(b, x, y)
        x, z = binary_operands(b, x, z)
        return [x, y, z]
    kinds = [(x.dtype, False) if isinstance(x, tensor) else (number_dtype(_number(x)), True) for x in operands]
    found, of_numbers = sorted(kinds, key=lambda kind: kind[1])[0]
    for kind, is_number in sorted(kinds, key=lambda kind: kind[1])[1:]:
        found = computation_type(found, of_numbers, kind, is_number, False)
    typed = [
        cast(b, x, found) if isinstance(x, tensor) else _fitting_constant(b, _number(x), found, x) for x in operands
    ]
    return broadcast_all(b, typed)


def refuse_fp8(type: dtype) -> None:
    """Raises `LanguageTypeError` for a type that the hardware only converts and multiplies as matrices."""
    if type.is_fp8():
        raise LanguageTypeError(
            f"{type} is not computed with: it is loaded, stored, converted, chosen by tl.where and multiplied by tl.dot",
            "convert it before, .to(tl.float32), and the result back if it is wanted in 8 bits",
        )


def _number(value: object) -> int | float:
    if isinstance(value, (int, float)):
        return value
    if isinstance(value, numbers.Number):
        return cast_type("int | float", value)
    help = value.as_tensor if isinstance(value, handle_value) else "use a tensor or a number"
    shown = repr(value) if isinstance(value, str) else str(value)
    raise LanguageTypeError(f"cannot compute with {shown} of type {type(value).__name__}", help)


def _fitting_constant(b: IRBuilder, value: int | float, type: dtype, other: Operand) -> tensor:
    """`value` in the dtype and shape that the operation with `other` wants."""
    if type.is_int():
        if value < 0 and type.is_int_unsigned():
            raise LanguageValueError(
                "Cannot perform a binary operation between an unsigned tensor and a negative scalar. "
                "Perform a explicit cast on one of them."
            )
        if not type.get_int_min_value() <= value <= type.get_int_max_value():
            raise LanguageValueError(f"Scalar {value} is out of range for type {type}")
    if isinstance(other, tensor) and other.type.is_block():
        if b.is_verbatim:
            b.constant(type, value)
        type = other.type.with_element_ty(type)
        return tensor(b.constant(type, value), type)
    constant = b.constant(type, value)
    if number_dtype(value) is type:
        # Triton makes such a number twice and keeps one, for which it forgets the location.
        forget_location(constant)
    return tensor(constant, type)


def broadcast_pair(b: IRBuilder, lhs: tensor, rhs: tensor) -> tuple[tensor, tensor]:
    """Both values broadcast to one shape; two scalars stay scalars."""
    left, right = lhs.type, rhs.type
    if left is right or not (left.is_block() or right.is_block()):
        return lhs, rhs
    if not left.is_block():
        return splat_like(b, lhs, right), rhs
    if not right.is_block():
        return lhs, splat_like(b, rhs, left)
    if left.layout is not right.layout:
        lhs, rhs = _with_one_layout(b, lhs, rhs)
    while len(lhs.type.shape) < len(right.shape):
        lhs = expand_dims(b, lhs, 0)
    while len(rhs.type.shape) < len(left.shape):
        rhs = expand_dims(b, rhs, 0)
    shape: list[int] = []
    for i, (m, n) in enumerate(zip(lhs.type.shape, rhs.type.shape, strict=True)):
        if m != n and m != 1 and n != 1:
            raise LanguageValueError(
                f"Cannot make_shape_compatible: incompatible dimensions at index {i}: {m} and {n}",
                f"the operands have shapes {list(left.shape)} and {list(right.shape)}; add dimensions with [:, None]",
            )
        shape.append(n if m == 1 else m)
    return broadcast_to_shape(b, lhs, tuple(shape)), broadcast_to_shape(b, rhs, tuple(shape))


def _with_one_layout(b: IRBuilder, lhs: tensor, rhs: tensor) -> tuple[tensor, tensor]:
    if len(lhs.type.shape) != len(rhs.type.shape):
        raise LanguageValueError(f"Cannot broadcast, rank mismatch: {list(lhs.type.shape)}, {list(rhs.type.shape)}")
    return GLUON.with_one_layout(b, lhs, rhs)


def splat(b: IRBuilder, value: tensor, shape: tuple[int, ...]) -> tensor:
    """The scalar `value` repeated in a block of `shape`."""
    return splat_like(b, value, block_of(value.type, shape)) if shape else value


def splat_like(b: IRBuilder, value: tensor, block: dtype) -> tensor:
    """The scalar `value` repeated in the shape (and layout) of `block`."""
    type = block.with_element_ty(value.type)
    attribute = constant_of(value)
    if attribute is not None:
        number = number_of(attribute)
        if number is not None:
            return tensor(b.constant(type, number), type)
    return tensor(b.op(tt.SplatOp, (value.handle,), ir_type(type)), type)


def expand_dims(b: IRBuilder, value: tensor, axis: int) -> tensor:
    """`value` with a dimension of size 1 inserted at `axis`."""
    if not value.type.is_block():
        return splat(b, value, (1,))
    type = value.type.expanded(axis)
    return tensor(b.value(tt.ExpandDimsOp(value.handle, axis=axis, result_type=ir_type(type))), type)


def broadcast_to_shape(b: IRBuilder, value: tensor, shape: tuple[int, ...]) -> tensor:
    """`value` repeated along its dimensions of size 1 up to `shape`; a constant of one number becomes a larger one."""
    if not value.type.is_block():
        return splat(b, value, shape)
    have = value.type.shape
    if have == shape:
        return value
    if len(have) != len(shape):
        raise LanguageValueError(f"Cannot broadcast, rank mismatch: {list(have)}, {list(shape)}")
    for i, (old, new) in enumerate(zip(have, shape, strict=True)):
        if old not in (1, new):
            raise LanguageValueError(
                f"Cannot broadcast, the expanded size of the tensor ({new}) must match the existing size ({old}) "
                f"at non-singleton dimension {i}: {list(have)}, {list(shape)}"
            )
    type = value.type.with_shape(shape)
    attribute = None if b.is_verbatim else constant_of(value)
    number = None if attribute is None else number_of(attribute)
    if number is not None:
        return tensor(b.constant(type, number), type)
    return tensor(b.op(tt.BroadcastOp, (value.handle,), ir_type(type)), type)


def broadcast_like(b: IRBuilder, value: tensor, type: dtype) -> tensor:
    """`value` in the shape of `type`, and in its layout where it is a number; as it is where `type` is a number's."""
    if not type.is_block():
        return value
    return broadcast_to_shape(b, value, type.shape) if value.type.is_block() else splat_like(b, value, type)


def broadcast_all(b: IRBuilder, values: list[tensor]) -> list[tensor]:
    """All values broadcast to one shape."""
    if len(values) < 2:
        return values
    head, *tail = values
    for i, value in enumerate(tail):
        head, tail[i] = broadcast_pair(b, head, value)
    for i, value in enumerate(tail[:-1]):
        head, tail[i] = broadcast_pair(b, head, value)
    return [head, *tail]
