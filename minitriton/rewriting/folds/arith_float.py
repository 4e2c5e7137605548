"""Folds of floating-point arithmetic and of `math` ops. Only what holds for every value, NaN, infinities and signed zeros included.

Functions are computed in f32 and f64 only; other types have no host function to agree with.
"""

from __future__ import annotations

import math as host
from collections.abc import Callable

from xdsl.dialects.builtin import Float32Type, Float64Type
from xdsl.ir import Operation, OpResult

from minitriton.dialects import arith, math
from minitriton.dialects.fast_paths.op_access import operand_at
from minitriton.rewriting.constants import (
    element_type,
    float_attr,
    float_constant,
    int_attr,
    int_constant,
)
from minitriton.rewriting.patterns import FloatRule, Folded, both, fold_floats, folder


def _is_zero(value: float, sign: float) -> bool:
    return value == 0.0 and host.copysign(1.0, value) == sign


def _divide(a: float, b: float) -> float:
    if b != 0.0:
        return a / b
    if a == 0.0 or host.isnan(a):
        return host.nan
    return host.copysign(host.inf, a) * host.copysign(1.0, b)


def _multiply(a: float, b: float) -> float:
    return a * b


def _remainder(a: float, b: float) -> float:
    if b == 0.0 or host.isinf(a):
        return host.nan
    return host.fmod(a, b)


@folder(arith.NegfOp)
def fold_negf(op: Operation) -> Folded:
    """-(-x) = x"""
    value = operand_at(op, 0)
    if isinstance(value, OpResult) and value.op.__class__ is arith.NegfOp:
        return operand_at(value.op, 0)
    number = float_constant(value)
    return None if number is None else float_attr(op.results[0].type, -number)


def _propagating(pick: float) -> FloatRule:
    """minimum or maximum (`pick` is -1 or 1) where NaN wins and -0.0 < 0.0."""

    def rule(a: float, b: float) -> float:
        if host.isnan(a) or host.isnan(b):
            return host.nan
        if a == b:
            return a if host.copysign(1.0, a) == pick else b
        return max(a, b) if pick > 0 else min(a, b)

    return rule


def _ignoring(pick: float) -> FloatRule:
    """minnum or maxnum: a NaN loses."""
    strict = _propagating(pick)

    def rule(a: float, b: float) -> float:
        if host.isnan(a):
            return b
        return a if host.isnan(b) else strict(a, b)

    return rule


_BINARY: dict[type[Operation], tuple[FloatRule, Callable[[float], bool], str]] = {
    # op: (rule, test of a constant on the right that leaves the other operand, what else holds)
    arith.AddfOp: (lambda a, b: a + b, lambda c: _is_zero(c, -1.0), "commutes"),
    arith.SubfOp: (lambda a, b: a - b, lambda c: _is_zero(c, 1.0), ""),
    arith.MulfOp: (_multiply, lambda c: c == 1.0, "commutes"),
    arith.DivfOp: (_divide, lambda c: c == 1.0, ""),
    arith.RemfOp: (_remainder, lambda c: False, ""),
    arith.MaximumfOp: (_propagating(1.0), lambda c: c == -host.inf, "commutes, idempotent"),
    arith.MinimumfOp: (_propagating(-1.0), lambda c: c == host.inf, "commutes, idempotent"),
    arith.MaxnumfOp: (_ignoring(1.0), host.isnan, "commutes, idempotent"),
    arith.MinnumfOp: (_ignoring(-1.0), host.isnan, "commutes, idempotent"),
}


@folder(*_BINARY)
def fold_binary(op: Operation) -> Folded:
    """x + -0.0 = x,  x - 0.0 = x,  x * 1.0 = x,  x / 1.0 = x,  max(x, x) = x,  maximum(x, -inf) = x,  maxnum(x, nan) = x"""
    lhs, rhs = both(op)
    rule, is_neutral, holds = _BINARY[op.__class__]
    if lhs is rhs and "idempotent" in holds:
        return lhs
    constant = float_constant(rhs)
    if constant is not None and is_neutral(constant):
        return lhs
    return fold_floats(op, rule, commutes="commutes" in holds)


def _exp(x: float) -> float:
    try:
        return host.exp(x)
    except OverflowError:
        return host.inf


def _exp2(x: float) -> float:
    try:
        return 2.0**x
    except OverflowError:
        return host.inf


def _periodic(function: Callable[[float], float]) -> Callable[[float], float]:
    return lambda x: function(x) if host.isfinite(x) else host.nan


def _logarithm(function: Callable[[float], float]) -> Callable[[float], float | None]:
    def rule(x: float) -> float | None:
        if host.isnan(x) or x < 0:
            return None
        if x == 0:
            return -host.inf
        return function(x) if x != host.inf else host.inf

    return rule


_RULES: dict[type[Operation], Callable[[float], float | None]] = {
    math.ExpOp: _exp,
    math.Exp2Op: _exp2,
    math.LogOp: _logarithm(host.log),
    math.Log2Op: _logarithm(host.log2),
    math.SqrtOp: lambda x: host.sqrt(x) if x >= 0 else None,
    math.SinOp: _periodic(host.sin),
    math.CosOp: _periodic(host.cos),
    math.ErfOp: host.erf,
    math.FloorOp: lambda x: host.copysign(float(host.floor(x)), x) if host.isfinite(x) else x,
    math.CeilOp: lambda x: host.copysign(float(host.ceil(x)), x) if host.isfinite(x) else x,
}


@folder(*_RULES)
def fold_function(op: Operation) -> Folded:
    """f(constant)"""
    value = float_constant(operand_at(op, 0))
    result_type = op.results[0].type
    if value is None or not isinstance(element_type(result_type), Float32Type | Float64Type):
        return None
    result = _RULES[op.__class__](value)
    return None if result is None else float_attr(result_type, result)


@folder(math.AbsFOp)
def fold_absf(op: Operation) -> Folded:
    """|constant|"""
    value = float_constant(operand_at(op, 0))
    return None if value is None else float_attr(op.results[0].type, host.fabs(value))


@folder(math.AbsIOp)
def fold_absi(op: Operation) -> Folded:
    """|constant|"""
    value = int_constant(operand_at(op, 0))
    return None if value is None else int_attr(op.results[0].type, abs(value))
