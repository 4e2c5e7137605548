"""Arithmetic, bitwise and comparison operators: which op of `arith` (or `tt.addptr`) for which dtypes.

x: int32, y: int32    x // y  →  arith.divsi       x: uint32 ...  →  arith.divui
p: *fp32, i: int32    p + i   →  tt.addptr
x: fp16, y: fp16      x / y   →  in fp32
"""

import warnings
from collections.abc import Callable

from xdsl.ir import Operation, SSAValue

from minitriton.dialects import arith, tt
from minitriton.frontend.builder import IRBuilder
from minitriton.frontend.errors import LanguageTypeError, LanguageValueError
from minitriton.frontend.semantic.casts import bitcast, cast, with_scalar
from minitriton.frontend.semantic.values import (
    IncompatibleTypes,
    binary_operands,
    broadcast_pair,
    integer_promotion,
    operand_of,
    to_tensor,
)
from minitriton.language import dtypes as dt
from minitriton.language.dtypes import dtype
from minitriton.language.values import Operand, tensor


def _unexpected(type: dtype, help: str | None = None) -> LanguageTypeError:
    return LanguageTypeError(f"unexpected type {type}", help)


def _emit(b: IRBuilder, op: Callable[[SSAValue, SSAValue], Operation], x: tensor, y: tensor) -> tensor:
    return tensor(b.value(op(x.handle, y.handle)), x.type)


def add(b: IRBuilder, x: Operand, y: Operand, sanitize_overflow: bool = True) -> tensor:
    """`x + y`: numbers, or a pointer and an integer offset."""
    x, y = binary_operands(b, x, y, pointer_lhs=True, pointer_rhs=True)
    if x.dtype.is_ptr() and y.dtype.is_ptr():
        raise LanguageTypeError("cannot add pointers together", "offset one of them by integers")
    if y.dtype.is_ptr():
        x, y = y, x
    if x.dtype.is_ptr():
        offset = y
        if y.dtype.is_int_unsigned() and y.dtype.int_bitwidth < 64:
            # tt.addptr takes its offset as signed.
            offset = cast(b, y, dt.int64)
        return tensor(b.op(tt.AddPtrOp, (x.handle, offset.handle), x.handle.type), x.type)
    if x.dtype.is_floating():
        return _emit(b, arith.AddfOp, x, y)
    if sanitize_overflow:
        _check_overflow(b, x, y, "add", add)
    return _emit(b, arith.AddiOp, x, y)


def sub(b: IRBuilder, x: Operand, y: Operand, sanitize_overflow: bool = True) -> tensor:
    """`x - y`: numbers, or a pointer and an integer offset."""
    x, y = binary_operands(b, x, y, pointer_lhs=True)
    if x.dtype.is_ptr():
        return add(b, x, minus(b, y), sanitize_overflow=False)
    if x.dtype.is_floating():
        return _emit(b, arith.SubfOp, x, y)
    if sanitize_overflow:
        _check_overflow(b, x, y, "sub", sub)
    return _emit(b, arith.SubiOp, x, y)


def mul(b: IRBuilder, x: Operand, y: Operand, sanitize_overflow: bool = True) -> tensor:
    """`x * y`."""
    x, y = binary_operands(b, x, y)
    if x.dtype.is_floating():
        return _emit(b, arith.MulfOp, x, y)
    if sanitize_overflow:
        _check_overflow(b, x, y, "mul", mul)
    return _emit(b, arith.MuliOp, x, y)


def _check_overflow(
    b: IRBuilder, x: tensor, y: tensor, name: str, operation: Callable[[IRBuilder, tensor, tensor, bool], tensor]
) -> None:
    """With `debug`: an assertion that the result in 64 bits fits the dtype. In a verbatim IR its operand is there without `debug`, too."""
    is_wanted = b.options.sanitize_overflow and (b.options.debug or b.is_verbatim)
    if not is_wanted or x.dtype.int_bitwidth >= 64:
        return
    type = x.dtype
    wide = operation(b, cast(b, x, dt.int64), cast(b, y, dt.int64), False)
    highest, lowest = (
        tensor(b.constant(dt.int64, bound), dt.int64) for bound in (type.get_int_max_value(), type.get_int_min_value())
    )
    below, above = compare(b, "<=", wide, highest), compare(b, ">=", wide, lowest)
    message = f"int{type.int_bitwidth} overflow detected for operation {name}"
    fits = and_(b, below, above)
    if b.options.debug:
        b.insert(tt.AssertOp(fits.handle, message=message))


def truediv(b: IRBuilder, x: Operand, y: Operand) -> tensor:
    """`x / y`: integers are divided as fp32, fp16 and bf16 in fp32."""
    x, y = binary_operands(b, x, y, div_or_mod=True)
    if x.dtype.is_int() and y.dtype.is_int():
        x, y = cast(b, x, dt.float32), cast(b, y, dt.float32)
    elif not (x.dtype.is_floating() and y.dtype.is_floating()):
        raise _unexpected(x.dtype)
    return _emit(b, arith.DivfOp, x, y)


def floordiv(b: IRBuilder, x: Operand, y: Operand) -> tensor:
    """`x // y` of integers, truncated towards zero as in C."""
    x, y = binary_operands(b, x, y, div_or_mod=True)
    if not (x.dtype.is_int() and y.dtype.is_int()):
        raise _unexpected(x.dtype, "// divides integers; for floats use tl.floor(x / y)")
    return _emit(b, arith.DivSIOp if x.dtype.is_int_signed() else arith.DivUIOp, x, y)


def mod(b: IRBuilder, x: Operand, y: Operand) -> tensor:
    """`x % y`, with the sign of `x` as in C."""
    x, y = binary_operands(b, x, y, div_or_mod=True)
    if x.dtype.is_floating():
        return _emit(b, arith.RemfOp, x, y)
    if x.dtype.int_signedness != y.dtype.int_signedness:
        raise LanguageTypeError(f"Cannot mod {x.dtype!r} by {y.dtype!r} because they have different signedness")
    return _emit(b, arith.RemSIOp if x.dtype.is_int_signed() else arith.RemUIOp, x, y)


def bitwise_operands(b: IRBuilder, x: Operand, y: Operand) -> tuple[tensor, tensor]:
    """Both operands as integers of one dtype and shape."""
    x, y = binary_operands(b, x, y)
    if not x.dtype.is_int() or not y.dtype.is_int():
        raise IncompatibleTypes(x.dtype, y.dtype, "bitwise operators take integers")
    wide = integer_promotion(x.dtype, y.dtype)
    return cast(b, x, wide), cast(b, y, wide)


def and_(b: IRBuilder, x: Operand, y: Operand) -> tensor:
    """`x & y`."""
    return _emit(b, arith.AndIOp, *bitwise_operands(b, x, y))


def or_(b: IRBuilder, x: Operand, y: Operand) -> tensor:
    """`x | y`."""
    return _emit(b, arith.OrIOp, *bitwise_operands(b, x, y))


def xor(b: IRBuilder, x: Operand, y: Operand) -> tensor:
    """`x ^ y`."""
    return _emit(b, arith.XOrIOp, *bitwise_operands(b, x, y))


def shl(b: IRBuilder, x: Operand, y: Operand) -> tensor:
    """`x << y`."""
    _check_shift(x, y)
    return _emit(b, arith.ShLIOp, *bitwise_operands(b, x, y))


def shr(b: IRBuilder, x: Operand, y: Operand) -> tensor:
    """`x >> y`, keeping the sign of signed integers."""
    _check_shift(x, y)
    signed = (x if isinstance(x, tensor) else to_tensor(b, y)).dtype.is_int_signed()
    return _emit(b, arith.ShRSIOp if signed else arith.ShRUIOp, *bitwise_operands(b, x, y))


def lshr(b: IRBuilder, x: Operand, y: Operand) -> tensor:
    """`x >> y`, filling with zeros."""
    return _emit(b, arith.ShRUIOp, *bitwise_operands(b, x, y))


def _check_shift(x: Operand, y: Operand) -> None:
    if isinstance(x, tensor) and isinstance(y, int) and y >= x.dtype.primitive_bitwidth:
        warnings.warn(
            f"Value {y} exceeds the maximum bitwidth ({x.dtype.primitive_bitwidth}) for type '{x.dtype}'. "
            "This may result in undefined behavior.",
            stacklevel=2,
        )


def as_condition(b: IRBuilder, x: Operand) -> tensor:
    """An operand of `and`, `or`, `not`: a boolean."""
    x = to_tensor(b, x)
    return x if x.dtype.is_int1() else bitcast(b, x, dt.int1)


def logical_and(b: IRBuilder, x: Operand, other: Operand) -> tensor:
    """`x and other` of booleans, both computed."""
    return and_(b, as_condition(b, x), as_condition(b, other))


def logical_or(b: IRBuilder, x: Operand, other: Operand) -> tensor:
    """`x or other` of booleans, both computed."""
    return or_(b, as_condition(b, x), as_condition(b, other))


def logical_not(b: IRBuilder, x: Operand) -> tensor:
    """`not x` of a boolean."""
    return invert(b, as_condition(b, x))


def plus(b: IRBuilder, x: tensor) -> tensor:
    """`+x`."""
    return x


def minus(b: IRBuilder, x: tensor) -> tensor:
    """`-x`, as `0 - x`: 0 for 0.0, and -0.0 from Triton 3.8 on."""
    if x.dtype.is_ptr():
        raise LanguageValueError(f"wrong type argument to unary minus ({x.dtype!r})")
    if x.dtype.is_floating() and b.version >= (3, 8):
        return tensor(b.value(arith.NegfOp(x.handle)), x.type)
    return sub(b, tensor(b.constant(x.type, 0), x.type), x)


def invert(b: IRBuilder, x: tensor) -> tensor:
    """`~x`, as `x ^ -1`."""
    if x.dtype.is_ptr() or x.dtype.is_floating():
        raise LanguageValueError(f"wrong type argument to unary invert ({x.dtype!r})")
    return xor(b, x, tensor(b.constant(x.type, -1), x.type))


_FLOAT_PREDICATES = {"==": "oeq", "!=": "une", "<": "olt", "<=": "ole", ">": "ogt", ">=": "oge"}
_SIGNED_PREDICATES = {"==": "eq", "!=": "ne", "<": "slt", "<=": "sle", ">": "sgt", ">=": "sge"}
_UNSIGNED_PREDICATES = {"==": "eq", "!=": "ne", "<": "ult", "<=": "ule", ">": "ugt", ">=": "uge"}


def compare(b: IRBuilder, operator: str, x: Operand, y: Operand) -> tensor:
    """`x operator y`. Unlike in arithmetic, a Python number counts as a tensor of its own dtype (until Triton 3.9)."""
    x, y = binary_operands(b, operand_of(b, x), operand_of(b, y))
    result = with_scalar(x.type, dt.int1)
    if x.dtype.is_floating():
        op = arith.CmpfOp(x.handle, y.handle, predicate=_FLOAT_PREDICATES[operator])
    elif x.dtype.is_int():
        table = _SIGNED_PREDICATES if x.dtype.is_int_signed() else _UNSIGNED_PREDICATES
        op = arith.CmpiOp(x.handle, y.handle, predicate=table[operator])
    else:
        raise _unexpected(x.dtype)
    return tensor(b.value(op), result)


def where(b: IRBuilder, condition: Operand, x: Operand, y: Operand) -> tensor:
    """`x` where `condition` holds, else `y`."""
    condition = to_tensor(b, condition)
    if not condition.dtype.is_int1():
        warnings.warn(
            "tl.where with a non-boolean condition is deprecated and will error out in a future triton release. "
            f"Got {condition.dtype}",
            stacklevel=2,
        )
        condition = cast(b, condition, dt.int1)
    x, y = binary_operands(b, x, y, pointer_lhs=True, pointer_rhs=True, fp8=True)
    if condition.type.is_block():
        condition, x = broadcast_pair(b, condition, x)
        x, y = broadcast_pair(b, x, y)
    elif x.type.is_block():
        condition, _ = broadcast_pair(b, condition, x)
    return tensor(b.op(arith.SelectOp, (condition.handle, x.handle, y.handle), x.handle.type), x.type)
