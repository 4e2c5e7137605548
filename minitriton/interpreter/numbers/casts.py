"""Conversions between types: integers by wrapping and extending, floats by rounding to nearest even, bits by looking again.

arith.truncf f32 1.00390625 to bf16 = 1.0        arith.fptosi f32 3e10 to i32 = 2147483647 (as PTX saturates)
arith.extui i1 true to i32 = 1                   arith.extsi i1 true to i32 = -1
"""

from collections.abc import Callable

import numpy as np
from xdsl.ir import Attribute, Operation

from minitriton.dialects import arith, tt
from minitriton.dialects.tt.enums import RoundingMode
from minitriton.dialects.tt.types import element_type
from minitriton.interpreter.machine import TileMachine
from minitriton.interpreter.numbers import formats
from minitriton.interpreter.registry import PURE_OPS, STATEFUL_OPS
from minitriton.interpreter.values import Array, decoder, dtype_of, encoder, is_i1, same, unsigned_dtype

Unary = Callable[[Array], Array]


def _types(op: Operation) -> tuple[Attribute, Attribute]:
    return op.operands[0].type, op.results[0].type


@PURE_OPS.add(arith.ExtSIOp)
def _sign_extend(op: arith.ExtSIOp) -> Unary:
    source, target = _types(op)
    dtype = dtype_of(target)
    return (lambda a: -a.astype(dtype)) if is_i1(source) else (lambda a: a.astype(dtype))


@PURE_OPS.add(arith.ExtUIOp, arith.IndexCastUIOp)
def _zero_extend(op: arith.ExtUIOp | arith.IndexCastUIOp) -> Unary:
    source, target = _types(op)
    dtype, unsigned = dtype_of(target), unsigned_dtype(source)
    return lambda a: a.view(unsigned).astype(dtype)


@PURE_OPS.add(arith.TruncIOp)
def _truncate(op: arith.TruncIOp) -> Unary:
    source, target = _types(op)
    if is_i1(target):
        return same if is_i1(source) else (lambda a: (a & 1).astype(np.bool_))
    dtype = dtype_of(target)
    return lambda a: a.astype(dtype)


@PURE_OPS.add(arith.IndexCastOp)
def _index_cast(op: arith.IndexCastOp) -> Unary:
    dtype = dtype_of(op.results[0].type)
    return lambda a: a.astype(dtype)


@PURE_OPS.add(arith.SIToFPOp)
def _signed_to_float(op: arith.SIToFPOp) -> Unary:
    source, target = _types(op)
    if is_i1(source):
        encode_bits = encoder(target)
        return lambda a: encode_bits(-a.astype(np.float32))
    return _integers_to_float(target)


@PURE_OPS.add(arith.UIToFPOp)
def _unsigned_to_float(op: arith.UIToFPOp) -> Unary:
    source, target = _types(op)
    convert, unsigned = _integers_to_float(target), unsigned_dtype(source)
    return lambda a: convert(a.view(unsigned))


def _integers_to_float(target: Attribute) -> Unary:
    dtype = dtype_of(target)
    if dtype.kind == "f" and dtype != np.float16:
        return lambda a: a.astype(dtype)
    encode = encoder(target)
    return lambda a: encode(a.astype(np.float64))


def truncated(numbers: Array, limits: np.iinfo, of_nan: int) -> Array:
    """Floats as integers of the type of `limits`, toward zero; what is out of range becomes the nearest limit, NaN the bits `of_nan`."""
    whole = np.trunc(np.asarray(numbers, np.float64))
    # Of 64 bits the largest number rounds up as a double.
    is_high = whole >= float(limits.max)
    inside = np.where(is_high | (whole < limits.min) | np.isnan(whole), 0, whole).astype(limits.dtype)
    result = np.where(is_high, limits.dtype.type(limits.max), inside)
    result = np.where(whole < limits.min, limits.dtype.type(limits.min), result)
    return np.where(np.isnan(whole), np.uint64(of_nan).astype(limits.dtype), result)


def _to_integer(unsigned: bool) -> Callable[[Operation], Unary]:
    def make(op: Operation) -> Unary:
        source, target = _types(op)
        decode, dtype = decoder(source), dtype_of(target)
        if is_i1(target):
            return lambda a: np.trunc(decode(a)) != 0
        # There is no conversion to 8 bits: PTX has the low half of one to 16.
        width = max(dtype.itemsize, 2)
        limits = np.iinfo(f"{'u' if unsigned else 'i'}{width}")
        of_nan = 1 << (8 * width - 1) if width == 8 or dtype_of(source) == np.float64 else 0

        def convert(a: Array) -> Array:
            return truncated(np.asarray(decode(a)), limits, of_nan).astype(f"u{dtype.itemsize}").view(dtype)[()]

        return convert

    return make


@PURE_OPS.add(arith.ExtFOp, arith.TruncFOp)
def _float_to_float(op: arith.ExtFOp | arith.TruncFOp | tt.FpToFpOp) -> Unary:
    source, target = _types(op)
    if source == target:
        return same
    rounding = getattr(op.properties.get("rounding"), "data", None)
    decode, encode = decoder(source), encoder(target, toward_zero=rounding == RoundingMode.RTZ)
    if dtype_of(source) == np.float64 and dtype_of(target).itemsize == 1 and rounding != RoundingMode.RTZ:
        # There is no instruction for it: the GPU rounds to 32 bits before.
        return lambda a: encode(decode(a).astype(np.float32))
    return lambda a: encode(decode(a))


@STATEFUL_OPS.add(tt.FpToFpOp)
def _converted(op: tt.FpToFpOp, machine: TileMachine) -> Unary:
    """`tt.fp_to_fp`, as the target rounds."""
    source, target = _types(op)
    rounding = getattr(op.properties.get("rounding"), "data", None)
    by_hand = not machine.architecture.has_fp8_conversions and element_type(target).name == "f8E5M2"
    if source == target or not by_hand or rounding == RoundingMode.RTZ:
        return _float_to_float(op)
    decode = decoder(source)
    return lambda a: formats.encode_e5m2_without_hardware(decode(a))


@PURE_OPS.add(arith.BitcastOp, tt.BitcastOp)
def _bitcast(op: arith.BitcastOp | tt.BitcastOp) -> Unary:
    source, target = _types(op)
    before, after = dtype_of(source), dtype_of(target)
    if before == after:
        return same
    if before == np.bool_ or after == np.bool_:
        return lambda a: a.astype(after)
    return lambda a: np.ascontiguousarray(a).view(after) if np.ndim(a) else a.view(after)


@PURE_OPS.add(tt.IntToPtrOp, tt.PtrToIntOp)
def _address(op: tt.IntToPtrOp | tt.PtrToIntOp) -> Unary:
    return same


PURE_OPS.update(
    {
        arith.FPToSIOp: _to_integer(False),
        arith.FPToUIOp: _to_integer(True),
    }
)
