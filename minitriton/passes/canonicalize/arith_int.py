"""Canonical forms of integer arithmetic: constants gather on the outside, extensions move outwards, comparisons of a converted integer are of the integer.

    (x + 3) + 4  =>  x + 7            5 - (x + 2)  =>  3 - x            extui a & extui b  =>  extui (a & b)
    arith.cmpf olt, (arith.sitofp %i), 4.4     =>     arith.cmpi sle, %i, 4

Constants merge in chains of scalars only, as in MLIR; tensors wait for what the layouts make of them. Comparisons too are rewritten only for scalars, and only where the conversion cannot
change the outcome: the float type holds every value of the integer type exactly, or the constant is far from where it does not.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from xdsl.dialects.builtin import IntegerType, TensorType, i1
from xdsl.ir import Attribute, Operation, SSAValue

from minitriton.dialects import arith
from minitriton.dialects.arith.compare import INVERTED, NE, ULT, predicate_of
from minitriton.dialects.fast_paths.op_access import defining, operand_at, operand_values
from minitriton.dialects.narrowing import instance_of
from minitriton.rewriting.constants import (
    FLOAT_BITS,
    element_type,
    float_constant,
    int_attr,
    int_constant,
    round_to,
    width_of,
)
from minitriton.rewriting.patterns import PatternSet
from minitriton.rewriting.rewriter import Rewriter

patterns = PatternSet()


def _scalar_constant(value: SSAValue) -> int | None:
    return None if value.type.__class__ is TensorType else int_constant(value)


def _with_constant(value: SSAValue) -> tuple[Operation, SSAValue, int, int] | None:
    """Of `x + a`, `x - a` or `a - x` the op, `x`, its sign and the constant with its own."""
    op = defining(value, arith.AddiOp, arith.SubiOp)
    if op is None:
        return None
    lhs, rhs = operand_values(op)
    is_sum = op.__class__ is arith.AddiOp
    number = int_constant(rhs)
    if number is not None:
        return op, lhs, 1, number if is_sum else -number
    number = None if is_sum else int_constant(lhs)
    return None if number is None else (op, rhs, -1, number)


@patterns.pattern(arith.AddiOp, arith.SubiOp)
def merge_constants(op: Operation, rewriter: Rewriter) -> bool:
    """(x + a) + b = x + (a+b);  (a - x) - b = (a-b) - x;  b - (a - x) = x + (b-a);  ...  but (x - a) - b = x - (a+b)"""
    lhs, rhs = operand_values(op)
    outer, value = _scalar_constant(rhs), lhs
    is_sum = op.__class__ is arith.AddiOp
    is_subtracted = not is_sum and outer is None
    if is_subtracted:
        outer, value = _scalar_constant(lhs), rhs
    found = None if outer is None else _with_constant(value)
    if outer is None or found is None:
        return False
    inner, variable, sign, number = found
    rewriter.at(op, inner)
    if is_subtracted:
        sign, number = -sign, -number
    total = number + (outer if is_sum or is_subtracted else -outer)
    if sign > 0 and not is_sum and not is_subtracted and inner.__class__ is arith.SubiOp:
        rewriter.replace_with(op, arith.SubiOp(variable, rewriter.constant(int_attr(op.results[0].type, -total))))
        return True
    constant = rewriter.constant(int_attr(op.results[0].type, total))
    rewriter.replace_with(op, arith.AddiOp(variable, constant) if sign > 0 else arith.SubiOp(constant, variable))
    return True


@patterns.pattern(arith.AddiOp)
def add_negated(op: Operation, rewriter: Rewriter) -> bool:
    """x + y * -1 = x - y;  x * -1 + y = y - x"""
    for value, other in (operand_values(op)[::-1], operand_values(op)):
        product = defining(value, arith.MuliOp)
        if product is not None and int_constant(operand_at(product, 1)) == -1 and width_of(value.type) > 1:
            rewriter.replace_with(op, arith.SubiOp(other, operand_at(product, 0)))
            return True
    return False


@patterns.pattern(arith.SubiOp)
def sub_of_difference(op: Operation, rewriter: Rewriter) -> bool:
    """(a - b) - a = 0 - b"""
    inner = defining(operand_at(op, 0), arith.SubiOp)
    if inner is None or operand_at(inner, 0) is not operand_at(op, 1):
        return False
    zero = rewriter.constant(int_attr(op.results[0].type, 0))
    rewriter.replace_with(op, arith.SubiOp(zero, operand_at(inner, 1)))
    return True


@patterns.pattern(arith.MuliOp)
def mul_constants(op: Operation, rewriter: Rewriter) -> bool:
    """(x * a) * b = x * (a*b)"""
    outer = _scalar_constant(operand_at(op, 1))
    inner = defining(operand_at(op, 0), arith.MuliOp)
    if outer is None or inner is None:
        return False
    factor = int_constant(operand_at(inner, 1))
    if factor is None:
        return False
    rewriter.at(op, inner)
    constant = rewriter.constant(int_attr(op.results[0].type, factor * outer))
    rewriter.replace_with(op, arith.MuliOp(operand_at(inner, 0), constant))
    return True


def _logic_of_extensions(extension: type[Operation]) -> Callable[[Operation, Rewriter], bool]:
    def rewrite(op: Operation, rewriter: Rewriter) -> bool:
        lhs, rhs = (defining(value, extension) for value in operand_values(op))
        if lhs is None or rhs is None or operand_at(lhs, 0).type != operand_at(rhs, 0).type:
            return False
        source = operand_at(lhs, 0).type
        narrow = op.__class__.create(operands=[operand_at(lhs, 0), operand_at(rhs, 0)], result_types=[source])
        rewriter.insert(narrow)
        rewriter.replace_with(op, extension.create(operands=narrow.results, result_types=[op.results[0].type]))
        return True

    return rewrite


patterns.pattern(arith.AndIOp, arith.OrIOp, arith.XOrIOp)(_logic_of_extensions(arith.ExtUIOp))
patterns.pattern(arith.AndIOp, arith.OrIOp, arith.XOrIOp)(_logic_of_extensions(arith.ExtSIOp))


@patterns.pattern(arith.XOrIOp, benefit=2)
def not_of_comparison(op: Operation, rewriter: Rewriter) -> bool:
    """not (a < b) = a >= b, for scalars"""
    comparison = defining(operand_at(op, 0), arith.CmpiOp)
    if comparison is None or op.results[0].type != i1 or int_constant(operand_at(op, 1)) != -1:
        return False
    lhs, rhs = operand_values(comparison)
    rewriter.at(op, comparison)
    rewriter.replace_with(op, arith.CmpiOp(lhs, rhs, INVERTED[predicate_of(comparison)]))
    return True


@patterns.pattern(arith.CmpiOp)
def compare_extended(op: Operation, rewriter: Rewriter) -> bool:
    """ext a < ext b = a < b, where extension keeps the order"""
    predicate = predicate_of(op)
    for extension, keeps_order in (
        (arith.ExtSIOp, predicate < ULT),
        (arith.ExtUIOp, predicate <= NE or predicate >= ULT),
    ):
        lhs, rhs = (defining(value, extension) for value in operand_values(op))
        if lhs is None or rhs is None or not keeps_order or operand_at(lhs, 0).type != operand_at(rhs, 0).type:
            continue
        rewriter.replace_with(op, arith.CmpiOp(operand_at(lhs, 0), operand_at(rhs, 0), predicate))
        return True
    return False


_RELATIONS = ("eq", "gt", "ge", "lt", "le", "ne")
"""Of the predicates of cmpf from 1 to 6, and of those from 8 to 13: they say the same where no operand is a NaN."""
_ORD, _UNO = 7, 14


def significant_bits(type_: Attribute) -> int:
    """The bits of an integer that a float, or the elements of a tensor of floats, can hold; 0 where that is not known."""
    return FLOAT_BITS.get(element_type(type_).__class__, (0, 0))[0]


def _conversion_may_matter(constant: float, float_type: Attribute, width: int, is_signed: bool) -> bool:
    bits, greatest = FLOAT_BITS[float_type.__class__]
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
    relation = _RELATIONS[(predicate - 1) % 7]
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
    if constant is None or conversion is None or math.isnan(constant) or other.type.__class__ not in FLOAT_BITS:
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
