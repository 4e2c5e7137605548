"""Comparisons of a converted integer with a constant are comparisons of the integer.

    arith.cmpf olt, (arith.sitofp %i), 4.4     =>     arith.cmpi sle, %i, 4

Only for scalars, and only where the conversion cannot change the outcome: the float type holds every value of the integer
type exactly, or the constant is far from where it does not.
"""

from __future__ import annotations

import math

from xdsl.dialects.builtin import BFloat16Type, Float16Type, Float32Type, Float64Type, IntegerType, i1
from xdsl.ir import Attribute, Operation

from minitriton.dialects import arith
from minitriton.dialects.arith.compare import predicate_of
from minitriton.dialects.fast_paths.op_access import operand_at, operand_values
from minitriton.dialects.narrowing import instance_of
from minitriton.passes.canonicalize.arith_int import defining
from minitriton.rewriting.constants import element_type, float_constant, int_attr, round_to
from minitriton.rewriting.patterns import PatternSet
from minitriton.rewriting.rewriter import Rewriter

patterns = PatternSet()

_PRECISION: dict[type[Attribute], tuple[int, int]] = {  # significant bits, greatest exponent
    Float16Type: (11, 15),
    BFloat16Type: (8, 127),
    Float32Type: (24, 127),
    Float64Type: (53, 1023),
}
_RELATIONS = {
    1: "eq",
    2: "gt",
    3: "ge",
    4: "lt",
    5: "le",
    6: "ne",
    8: "eq",
    9: "gt",
    10: "ge",
    11: "lt",
    12: "le",
    13: "ne",
}
"""Relation of a cmpf predicate by its number, where no operand is a NaN."""
_ORD, _UNO = 7, 14


def significant_bits(type_: Attribute) -> int:
    """The bits of an integer that a float, or the elements of a tensor of floats, can hold; 0 where that is not known."""
    return _PRECISION.get(element_type(type_).__class__, (0, 0))[0]


def _conversion_may_matter(constant: float, float_type: Attribute, width: int, is_signed: bool) -> bool:
    bits, greatest = _PRECISION[float_type.__class__]
    if width <= bits:
        return False
    value_bits = width - is_signed
    if math.isinf(constant):
        return greatest < value_bits
    exponent = math.frexp(constant)[1] - 1 if constant else -1
    return bits <= exponent <= value_bits


def _outside(relation: str, is_above: bool) -> bool:
    """The outcome where the constant is above (or below) every value of the integer type."""
    return relation in (("ne", "lt", "le") if is_above else ("ne", "gt", "ge"))


def _fractional(relation: str, is_negative: bool, is_signed: bool) -> str | bool:
    """The relation to the constant rounded towards zero that says the same, or the outcome."""
    if relation in ("eq", "ne"):
        return relation == "ne"
    if is_negative and not is_signed:
        return relation in ("gt", "ge")
    if relation in ("lt", "le"):
        return "lt" if is_negative else "le"
    return "ge" if is_negative else "gt"


def _decide(
    predicate: int, constant: float, float_type: Attribute, width: int, is_signed: bool
) -> bool | tuple[str, int]:
    """The outcome of the comparison, or the relation and the integer to compare with."""
    if predicate in (_ORD, _UNO):
        return predicate == _ORD
    relation = _RELATIONS[predicate]
    low = -(1 << (width - 1)) if is_signed else 0
    high = (1 << (width - is_signed)) - 1
    if round_to(float(high), float_type) < constant:
        return _outside(relation, is_above=True)
    if float(low) > constant:
        return _outside(relation, is_above=False)
    whole = int(constant)
    if float(whole) != constant:
        adjusted = _fractional(relation, constant < 0, is_signed)
        if isinstance(adjusted, bool):
            return adjusted
        relation = adjusted
    return relation, whole


@patterns.pattern(arith.CmpfOp)
def compare_converted_integer(op: Operation, rewriter: Rewriter) -> bool:
    """cmpf(itofp i, c) = cmpi(i, c'), or known"""
    value, other = operand_values(op)
    constant = float_constant(other)
    conversion = defining(value, arith.SIToFPOp, arith.UIToFPOp)
    if constant is None or conversion is None or math.isnan(constant) or other.type.__class__ not in _PRECISION:
        return False
    integer = operand_at(conversion, 0)
    predicate = predicate_of(op)
    if not instance_of(integer.type, IntegerType) or predicate in (0, 15):
        return False
    is_signed = conversion.__class__ is arith.SIToFPOp
    width = integer.type.width.data
    if _conversion_may_matter(constant, other.type, width, is_signed):
        return False
    decided = _decide(predicate, constant, other.type, width, is_signed)
    if isinstance(decided, bool):
        rewriter.replace_op(op, rewriter.constant(int_attr(i1, decided)))
        return True
    relation, whole = decided
    if whole > (1 << (width - is_signed)) - 1:
        return False
    bound = rewriter.constant(int_attr(integer.type, whole))
    word = relation if relation in ("eq", "ne") else ("s" if is_signed else "u") + relation
    rewriter.replace_with(op, arith.CmpiOp(integer, bound, word))
    return True
