"""Folds of floating-point arithmetic. Only what holds for every value, NaN, infinities and signed zeros included."""

from __future__ import annotations

import math
from collections.abc import Callable

from xdsl.ir import Operation, OpResult

from minitriton.dialects import arith
from minitriton.dialects.fast_paths.op_access import operand_at
from minitriton.rewriting.constants import float_attr, float_constant
from minitriton.rewriting.folding import Folded, folder
from minitriton.rewriting.folds.binary import FloatRule, both, constant_to_the_right, fold_floats


def _is_zero(value: float | None, sign: float) -> bool:
    return value is not None and value == 0.0 and math.copysign(1.0, value) == sign


def _divide(a: float, b: float) -> float:
    if b != 0.0:
        return a / b
    if a == 0.0 or math.isnan(a):
        return math.nan
    return math.copysign(math.inf, a) * math.copysign(1.0, b)


def _multiply(a: float, b: float) -> float:
    return a * b


def _remainder(a: float, b: float) -> float:
    if b == 0.0 or math.isinf(a):
        return math.nan
    return math.fmod(a, b)


@folder(arith.NegfOp)
def fold_negf(op: Operation) -> Folded:
    """-(-x) = x"""
    value = operand_at(op, 0)
    if isinstance(value, OpResult) and value.op.__class__ is arith.NegfOp:
        return operand_at(value.op, 0)
    number = float_constant(value)
    return None if number is None else float_attr(op.results[0].type, -number)


@folder(arith.AddfOp)
def fold_addf(op: Operation) -> Folded:
    """x + -0.0 = x"""
    lhs, rhs = both(op)
    if _is_zero(float_constant(rhs), -1.0):
        return lhs
    folded = fold_floats(op, lambda a, b: a + b)
    return folded if folded is not None else constant_to_the_right(op)


@folder(arith.SubfOp)
def fold_subf(op: Operation) -> Folded:
    """x - 0.0 = x"""
    lhs, rhs = both(op)
    if _is_zero(float_constant(rhs), 1.0):
        return lhs
    return fold_floats(op, lambda a, b: a - b)


@folder(arith.MulfOp)
def fold_mulf(op: Operation) -> Folded:
    """x * 1.0 = x"""
    lhs, rhs = both(op)
    if float_constant(rhs) == 1.0:
        return lhs
    folded = fold_floats(op, _multiply)
    return folded if folded is not None else constant_to_the_right(op)


@folder(arith.DivfOp)
def fold_divf(op: Operation) -> Folded:
    """x / 1.0 = x"""
    lhs, rhs = both(op)
    if float_constant(rhs) == 1.0:
        return lhs
    return fold_floats(op, _divide)


@folder(arith.RemfOp)
def fold_remf(op: Operation) -> Folded:
    """Two constants."""
    return fold_floats(op, _remainder)


def _propagating(pick: float) -> FloatRule:
    """minimum or maximum (`pick` is -1 or 1) where NaN wins and -0.0 < 0.0."""

    def rule(a: float, b: float) -> float:
        if math.isnan(a) or math.isnan(b):
            return math.nan
        if a == b:
            return a if math.copysign(1.0, a) == pick else b
        return max(a, b) if pick > 0 else min(a, b)

    return rule


def _ignoring(pick: float) -> FloatRule:
    """minnum or maxnum: a NaN loses."""
    strict = _propagating(pick)

    def rule(a: float, b: float) -> float:
        if math.isnan(a):
            return b
        return a if math.isnan(b) else strict(a, b)

    return rule


_EXTREMA: dict[type[Operation], tuple[FloatRule, Callable[[float], bool]]] = {
    # op: (rule, test of the constant that leaves the other operand)
    arith.MaximumfOp: (_propagating(1.0), lambda c: c == -math.inf),
    arith.MinimumfOp: (_propagating(-1.0), lambda c: c == math.inf),
    arith.MaxnumfOp: (_ignoring(1.0), math.isnan),
    arith.MinnumfOp: (_ignoring(-1.0), math.isnan),
}


@folder(*_EXTREMA)
def fold_extremum(op: Operation) -> Folded:
    """max(x, x) = x,  maximum(x, -inf) = x,  maxnum(x, nan) = x"""
    lhs, rhs = both(op)
    if lhs is rhs:
        return lhs
    rule, is_neutral = _EXTREMA[op.__class__]
    constant = float_constant(rhs)
    if constant is not None and is_neutral(constant):
        return lhs
    folded = fold_floats(op, rule)
    return folded if folded is not None else constant_to_the_right(op)
