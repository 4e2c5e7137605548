"""Folds of conversions between numeric types: chains shorten, constants convert when nothing is lost."""

import math
import struct

from xdsl.dialects.builtin import BFloat16Type, Float64Type
from xdsl.ir import Attribute, Operation

from minitriton.dialects import arith
from minitriton.dialects.fast_paths.op_access import defining, operand_at
from minitriton.rewriting.constants import (
    FLOAT_BITS,
    constant_attr,
    element_type,
    float_attr,
    float_constant,
    int_attr,
    int_constant,
    number_attr,
    number_of,
    round_to,
    to_unsigned,
    width_of,
)
from minitriton.rewriting.patterns import MODIFIED, Folded, folder


def _look_through(op: Operation, inner: Operation) -> Folded:
    op.operands[0] = operand_at(inner, 0)
    return MODIFIED


@folder(arith.ExtUIOp, arith.ExtSIOp)
def fold_ext(op: Operation) -> Folded:
    """extui(extui x) = extui x,  extsi(extsi x) = extsi x"""
    source = operand_at(op, 0)
    inner = defining(source, op.__class__)
    if inner is not None:
        return _look_through(op, inner)
    value = int_constant(source)
    if value is not None and op.__class__ is arith.ExtUIOp:
        value = to_unsigned(value, width_of(source.type))
    return None if value is None else int_attr(op.results[0].type, value)


@folder(arith.TruncIOp)
def fold_trunci(op: Operation) -> Folded:
    """trunci(ext x) = trunci x or x,  trunci(trunci x) = trunci x"""
    result_type = op.results[0].type
    extension = defining(operand_at(op, 0), arith.ExtUIOp, arith.ExtSIOp)
    if extension is not None:
        source = operand_at(extension, 0)
        if width_of(source.type) > width_of(result_type):
            return _look_through(op, extension)
        if source.type == result_type:
            return source
    inner = defining(operand_at(op, 0), arith.TruncIOp)
    if inner is not None:
        return _look_through(op, inner)
    value = int_constant(operand_at(op, 0))
    return None if value is None else int_attr(result_type, value)


def _represents(narrow: Attribute, wide: Attribute) -> bool:
    """True if every number of float type `narrow` is one of `wide`."""
    a, b = FLOAT_BITS.get(narrow.__class__), FLOAT_BITS.get(wide.__class__)
    return a is not None and b is not None and a[0] <= b[0] and a[1] <= b[1]


@folder(arith.ExtFOp)
def fold_extf(op: Operation) -> Folded:
    """A constant; NaNs are left alone."""
    value = float_constant(operand_at(op, 0))
    if value is None or math.isnan(value):
        return None
    return float_attr(op.results[0].type, value)


@folder(arith.TruncFOp)
def fold_truncf(op: Operation) -> Folded:
    """truncf(extf x) = truncf x or x; a constant that the narrow type holds exactly."""
    result_type = op.results[0].type
    extension = defining(operand_at(op, 0), arith.ExtFOp)
    if extension is not None:
        source = operand_at(extension, 0)
        scalar = element_type(source.type)
        if _represents(scalar, element_type(extension.results[0].type)):
            if width_of(scalar) > width_of(result_type):
                return _look_through(op, extension)
            if source.type == result_type:
                return source
    value = float_constant(operand_at(op, 0))
    if value is None or math.isnan(value) or element_type(result_type).__class__ not in FLOAT_BITS:
        return None
    return float_attr(result_type, value) if round_to(value, element_type(result_type)) == value else None


def _as_float(value: int, type: Attribute) -> Attribute:
    """`value` as a constant of a float type, rounded once: what a double cannot hold leaves an odd last bit, which later rounding sees."""
    excess = 0 if element_type(type).__class__ is Float64Type else max(0, value.bit_length() - 53)
    return float_attr(type, float(((value >> excess) | (value % (1 << excess) != 0)) << excess))


@folder(arith.SIToFPOp, arith.UIToFPOp)
def fold_itofp(op: Operation) -> Folded:
    """A constant."""
    value = int_constant(operand_at(op, 0))
    if value is not None and op.__class__ is arith.UIToFPOp:
        value = to_unsigned(value, width_of(operand_at(op, 0).type))
    return None if value is None else _as_float(value, op.results[0].type)


@folder(arith.FPToSIOp, arith.FPToUIOp)
def fold_fptoi(op: Operation) -> Folded:
    """A constant that the integer type holds after rounding towards zero."""
    value = float_constant(operand_at(op, 0))
    if value is None or math.isnan(value) or math.isinf(value):
        return None
    result_type = op.results[0].type
    width = width_of(result_type)
    signed = op.__class__ is arith.FPToSIOp
    low, high = (-(1 << (width - 1)), (1 << (width - 1)) - 1) if signed else (0, (1 << width) - 1)
    whole = int(value)
    return int_attr(result_type, whole) if low <= whole <= high else None


_PACKING = {("f", 32): "<f", ("i", 32): "<i", ("f", 64): "<d", ("i", 64): "<q", ("f", 16): "<e", ("i", 16): "<h"}


def _packing(type: Attribute) -> str | None:
    scalar = element_type(type)
    if isinstance(scalar, BFloat16Type):
        return None
    return _PACKING.get(("f" if scalar.__class__ in FLOAT_BITS else "i", width_of(scalar)))


@folder(arith.BitcastOp)
def fold_bitcast(op: Operation) -> Folded:
    """A constant, reinterpreted; bitcast to the same type."""
    value, result = operand_at(op, 0), op.results[0]
    attr = constant_attr(value)
    if value.type == result.type:
        return value if attr is None else attr
    number = number_of(attr)
    if number is None:
        return None
    source, target = _packing(value.type), _packing(result.type)
    if source is None or target is None:
        return None
    return number_attr(result.type, struct.unpack(target, struct.pack(source, number))[0])


@folder(arith.IndexCastOp)
def fold_index_cast(op: Operation) -> Folded:
    """index_cast(index_cast x) = x if the types agree; a constant."""
    inner = defining(operand_at(op, 0), arith.IndexCastOp)
    if inner is not None and operand_at(inner, 0).type == op.results[0].type:
        return operand_at(inner, 0)
    value = int_constant(operand_at(op, 0))
    return None if value is None else int_attr(op.results[0].type, value)
