"""The functions of the `math` dialect, in the precision of the type (narrow formats in float32).

math.exp f32, math.rsqrt f64, math.erf f32 (computed in float64, rounded once), math.roundeven ...
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from xdsl.ir import Operation

from minitriton.interpreter.numbers.floats import float_op
from minitriton.interpreter.values import Array


def elementwise(function: Callable[..., float], arguments: int = 1) -> Callable[..., Array]:
    """A function of Python floats over arrays, computed in float64 and rounded to the operands' type."""
    each = np.frompyfunc(function, arguments, 1)

    def run(*values: Array) -> Array:
        dtype = np.result_type(values[0])
        return np.asarray(each(*[np.asarray(value, np.float64) for value in values]), np.float64).astype(dtype)[()]

    return run


erf = elementwise(math.erf)


def rsqrt(x: Array) -> Array:
    """1 / sqrt(x), with one rounding for the widths below 64 bits."""
    dtype = np.result_type(x)
    return (np.float64(1) / np.sqrt(np.asarray(x, np.float64))).astype(dtype)[()]


def round_half_away(x: Array) -> Array:
    """To the nearest integer, halves away from zero."""
    return np.copysign(np.floor(np.abs(x) + np.result_type(x).type(0.5)), x)


PURE: dict[str, Callable[[Operation], Callable[..., Any]]] = {
    "math.absf": float_op(np.abs),
    "math.acos": float_op(np.arccos),
    "math.asin": float_op(np.arcsin),
    "math.atan": float_op(np.arctan),
    "math.atan2": float_op(np.arctan2),
    "math.cbrt": float_op(np.cbrt),
    "math.ceil": float_op(np.ceil),
    "math.copysign": float_op(np.copysign),
    "math.cos": float_op(np.cos),
    "math.cosh": float_op(np.cosh),
    "math.erf": float_op(erf),
    "math.exp": float_op(np.exp),
    "math.exp2": float_op(np.exp2),
    "math.expm1": float_op(np.expm1),
    "math.floor": float_op(np.floor),
    "math.log": float_op(np.log),
    "math.log10": float_op(np.log10),
    "math.log1p": float_op(np.log1p),
    "math.log2": float_op(np.log2),
    "math.powf": float_op(np.power),
    "math.round": float_op(round_half_away),
    "math.roundeven": float_op(np.rint),
    "math.rsqrt": float_op(rsqrt),
    "math.sin": float_op(np.sin),
    "math.sinh": float_op(np.sinh),
    "math.sqrt": float_op(np.sqrt),
    "math.tan": float_op(np.tan),
    "math.tanh": float_op(np.tanh),
    "math.trunc": float_op(np.trunc),
}
