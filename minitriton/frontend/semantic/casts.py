"""Conversions between dtypes, by value and bit for bit.

fp32 → fp16     arith.truncf          fp32 → fp8     tt.fp_to_fp, rounding = rtne
int8 → int32    arith.extsi           int32 → uint32 nothing: the IR's integers have no sign
fp16 → bf16     through fp32          int64 → pointer tt.int_to_ptr
"""

from __future__ import annotations

from typing import cast as cast_type

from xdsl.dialects.builtin import IntegerType, TensorType
from xdsl.ir import Attribute, SSAValue

from minitriton.dialects import arith, tt
from minitriton.frontend.builder import IRBuilder
from minitriton.frontend.errors import LanguageTypeError, LanguageValueError
from minitriton.language import dtypes as dt
from minitriton.language.dtypes import dtype
from minitriton.language.values import tensor


def with_scalar(type: dtype, scalar: dtype) -> dtype:
    """`scalar`, or a block of it in the shape of `type`."""
    return type.with_element_ty(scalar)


def bitcast(b: IRBuilder, value: tensor, to: dtype) -> tensor:
    """The bits of `value` as dtype `to`, of the same width."""
    target = with_scalar(value.type, to.scalar)
    source_scalar, target_scalar = value.dtype, to.scalar
    if value.type == target:
        return value
    if source_scalar.is_ptr() or target_scalar.is_ptr():
        return cast(b, value, to)
    if source_scalar.primitive_bitwidth != target_scalar.primitive_bitwidth:
        raise LanguageValueError(
            f"Cannot bitcast data-type of size {source_scalar.primitive_bitwidth} to "
            f"data-type of size {target_scalar.primitive_bitwidth}"
        )
    return tensor(b.op(tt.BitcastOp, (value.handle,), b.ir_type(target)), target)


def cast(b: IRBuilder, value: tensor, to: dtype, rounding: str | None = None) -> tensor:
    """`value` as dtype `to`. `rounding` ("rtne" or "rtz") only where a float becomes narrower."""
    source, target = value.dtype, to.scalar
    if source == target:
        return value
    if rounding not in (None, "rtne", "rtz"):
        raise LanguageValueError(f"Invalid rounding mode: {rounding}. Supported rounding modes are 'rtne' and 'rtz'.")
    floats = source.is_floating() and target.is_floating()
    narrower = floats and target.primitive_bitwidth < source.primitive_bitwidth
    if rounding is not None and not narrower:
        raise LanguageValueError(
            "fp_downcast_rounding should be set only for truncating fp conversions. "
            f"Source scalar type is {source} and destination type is {target}"
        )
    result = with_scalar(value.type, target)
    direct = floats and (target.is_fp8() or rounding == "rtz")
    if source.name in ("fp16", "bf16") and target.name != "fp32" and not direct:
        return cast(b, cast(b, value, dt.float32), target)
    if floats:
        return _cast_float(b, value, source, target, result, narrower, rounding)
    if source.is_int() and target.is_int():
        return _cast_integer(b, value, source, target, result)
    if source.is_standard_floating() and target.is_int():
        if target.is_bool():
            return nonzero(b, value)
        op = arith.FPToSIOp if target.is_int_signed() else arith.FPToUIOp
        return tensor(b.op(op, (value.handle,), b.ir_type(result)), result)
    if source.is_int() and target.is_standard_floating():
        op = arith.SIToFPOp if source.is_int_signed() else arith.UIToFPOp
        return tensor(b.op(op, (value.handle,), b.ir_type(result)), result)
    return _cast_pointer(b, value, source, target, result)


def _cast_float(
    b: IRBuilder, value: tensor, source: dtype, target: dtype, result: dtype, narrower: bool, rounding: str | None
) -> tensor:
    if source.is_fp8e4b15():
        return cast(b, _widen_fp8e4b15(b, value), target)
    if target.is_fp8e4b15():
        return _narrow_to_fp8e4b15(b, value)
    if source.is_fp8() or target.is_fp8() or rounding == "rtz":
        op = tt.FpToFpOp(value.handle, b.ir_type(result), rounding=(rounding or "rtne") if narrower else None)
        return tensor(b.value(op), result)
    op = arith.TruncFOp if narrower else arith.ExtFOp
    return tensor(b.op(op, (value.handle,), b.ir_type(result)), result)


# fp8e4b15 is fp16 with 4 bits of exponent (of the same bias) and 3 of mantissa, and no infinity or NaN:
#
#     fp16      s eeeee mmmmmmmmmm          fp8e4b15      s eeee mmm
#
# MLIR does not have it, so its bits are an i8 in the IR and integer ops convert them.
_FP16_MAGNITUDE = 0x7FFF
_LARGEST_FP8E4B15 = 0x3F00
"""The bits of 1.75, the largest number of fp8e4b15, as fp16."""


def _widen_fp8e4b15(b: IRBuilder, value: tensor) -> tensor:
    """fp8e4b15 as fp16, exactly."""
    words = with_scalar(value.type, dt.uint16)
    word = b.ir_type(words)

    def constant(number: int) -> SSAValue:
        return b.constant(words, number)

    bits = b.op(arith.ExtUIOp, (value.handle,), word)
    sign = b.value(arith.ShLIOp(b.value(arith.AndIOp(bits, constant(0x80))), constant(8)))
    magnitude = b.value(arith.ShLIOp(b.value(arith.AndIOp(bits, constant(0x7F))), constant(7)))
    return bitcast(b, tensor(b.value(arith.OrIOp(sign, magnitude)), words), dt.float16)


def _narrow_to_fp8e4b15(b: IRBuilder, value: tensor) -> tensor:
    """A float as fp8e4b15: to nearest, what is too large (and NaN) as the largest number."""
    if not value.dtype.is_fp16():
        value = cast(b, value, dt.float32) if not value.dtype.is_fp32() else value
        value = cast(b, value, dt.float16, "rtz")
    words = with_scalar(value.type, dt.uint16)
    bits = bitcast(b, value, dt.uint16).handle

    def constant(number: int) -> SSAValue:
        return b.constant(words, number)

    magnitude = b.value(arith.AndIOp(bits, constant(_FP16_MAGNITUDE)))
    magnitude = b.value(arith.MinUIOp(magnitude, constant(_LARGEST_FP8E4B15)))
    rounded = b.value(arith.AddiOp(b.value(arith.ShLIOp(magnitude, constant(1))), constant(0x80)))
    sign = b.value(arith.AndIOp(bits, constant(0x8000)))
    both = b.value(arith.OrIOp(b.value(arith.AndIOp(rounded, constant(0x7F00))), sign))
    high = b.value(arith.ShRUIOp(both, constant(8)))
    result = with_scalar(value.type, dt.float8e4b15)
    return tensor(b.op(arith.TruncIOp, (high,), b.ir_type(result)), result)


def _cast_integer(b: IRBuilder, value: tensor, source: dtype, target: dtype, result: dtype) -> tensor:
    if target.is_bool():
        return nonzero(b, value)
    return tensor(resize_integer(b, value.handle, b.ir_type(result), source.is_int_signed()), result)


def resize_integer(b: IRBuilder, handle: SSAValue, to: Attribute, signed: bool) -> SSAValue:
    """An integer value of the IR widened or narrowed to type `to`; `handle` itself if it has that width."""
    have, want = _width(handle.type), _width(to)
    if have == want:
        return handle
    op = arith.TruncIOp if want < have else arith.ExtSIOp if signed else arith.ExtUIOp
    return b.op(op, (handle,), to)


def _width(type: Attribute) -> int:
    scalar = cast_type("TensorType[Attribute]", type).element_type if isinstance(type, TensorType) else type
    assert isinstance(scalar, IntegerType)
    return scalar.bitwidth


def nonzero(b: IRBuilder, value: tensor) -> tensor:
    """`value != 0`, element by element."""
    if b.is_verbatim and value.type.is_block():
        b.constant(value.dtype, 0)
    zero = b.constant(value.type, 0)
    result = with_scalar(value.type, dt.int1)
    if value.dtype.is_floating():
        return tensor(b.value(arith.CmpfOp(value.handle, zero, predicate="une")), result)
    return tensor(b.value(arith.CmpiOp(value.handle, zero, predicate="ne")), result)


def _cast_pointer(b: IRBuilder, value: tensor, source: dtype, target: dtype, result: dtype) -> tensor:
    if source.is_ptr() and target.is_int():
        if target.int_bitwidth == 1:
            return nonzero(b, cast(b, value, dt.int64))
        if target.int_bitwidth == 64:
            return tensor(b.op(tt.PtrToIntOp, (value.handle,), b.ir_type(result)), result)
    elif source.is_int() and target.is_ptr():
        return tensor(b.op(tt.IntToPtrOp, (value.handle,), b.ir_type(result)), result)
    elif source.is_ptr() and target.is_ptr():
        return tensor(b.op(tt.BitcastOp, (value.handle,), b.ir_type(result)), result)
    raise LanguageTypeError(f"cannot cast {value} to {target}")
