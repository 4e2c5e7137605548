"""The functions of the `math` dialect, in the precision of the type (narrow formats in float32).

math.exp f32, math.rsqrt f64, math.erf f32 (computed in float64, rounded once), math.roundeven ...
"""

from __future__ import annotations

from collections.abc import Callable
from math import erf as erf_of_float

import numpy as np

from minitriton.dialects import math
from minitriton.interpreter.numbers.floats import float_op
from minitriton.interpreter.registry import PURE_OPS
from minitriton.interpreter.values import Array


def elementwise(function: Callable[..., float], arguments: int = 1) -> Callable[..., Array]:
    """A function of Python floats over arrays, computed in float64 and rounded to the operands' type."""
    each = np.frompyfunc(function, arguments, 1)

    def run(*values: Array) -> Array:
        dtype = np.result_type(values[0])
        return np.asarray(each(*[np.asarray(value, np.float64) for value in values]), np.float64).astype(dtype)[()]

    return run


erf = elementwise(erf_of_float)


def rsqrt(x: Array) -> Array:
    """1 / sqrt(x), with one rounding for the widths below 64 bits."""
    dtype = np.result_type(x)
    return (np.float64(1) / np.sqrt(np.asarray(x, np.float64))).astype(dtype)[()]


def _flushing(function: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """`function` as an approximate instruction of 32 bits computes it, to which subnormal numbers are zeros (PTX ISA, `.ftz`)."""

    def run(x: Array) -> Array:
        if np.result_type(x) == np.float32:
            x = np.where(np.abs(x) < np.finfo(np.float32).tiny, np.copysign(np.float32(0), x), x)[()]
        return function(x)

    return run


def round_half_away(x: Array) -> Array:
    """To the nearest integer, halves away from zero. Adding 0.5 itself would round up what is just below a half."""
    zero, half = np.result_type(x).type(0), np.result_type(x).type(0.5)
    return np.copysign(np.floor(np.abs(x) + np.nextafter(half, zero)), x)


PURE_OPS.update(
    {
        math.AbsFOp: float_op(np.abs),
        math.AcosOp: float_op(np.arccos),
        math.AsinOp: float_op(np.arcsin),
        math.AtanOp: float_op(np.arctan),
        math.Atan2Op: float_op(np.arctan2),
        math.CbrtOp: float_op(np.cbrt),
        math.CeilOp: float_op(np.ceil),
        math.CopySignOp: float_op(np.copysign),
        math.CosOp: float_op(np.cos),
        math.CoshOp: float_op(np.cosh),
        math.ErfOp: float_op(erf),
        math.ExpOp: float_op(np.exp),
        math.Exp2Op: float_op(np.exp2),
        math.ExpM1Op: float_op(np.expm1),
        math.FloorOp: float_op(np.floor),
        math.LogOp: float_op(np.log),
        math.Log10Op: float_op(np.log10),
        math.Log1pOp: float_op(np.log1p),
        math.Log2Op: float_op(np.log2),
        math.PowFOp: float_op(np.power),
        math.RoundOp: float_op(round_half_away),
        math.RoundEvenOp: float_op(np.rint),
        math.RsqrtOp: float_op(_flushing(rsqrt)),
        math.SinOp: float_op(np.sin),
        math.SinhOp: float_op(np.sinh),
        math.SqrtOp: float_op(_flushing(np.sqrt)),
        math.TanOp: float_op(np.tan),
        math.TanhOp: float_op(np.tanh),
        math.TruncOp: float_op(np.trunc),
    }
)
