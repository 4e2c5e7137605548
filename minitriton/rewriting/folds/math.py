"""Folds of `math` ops on constants. Only f32 and f64 are computed; other types have no host function to agree with."""

from __future__ import annotations

import math as host
from collections.abc import Callable

from xdsl.dialects.builtin import Float32Type, Float64Type
from xdsl.ir import Operation

from minitriton.dialects import math
from minitriton.dialects.fast_paths.op_access import operand_at
from minitriton.rewriting.constants import (
    element_type,
    float_attr,
    float_constant,
    int_attr,
    int_constant,
)
from minitriton.rewriting.folding import Folded, folder


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
