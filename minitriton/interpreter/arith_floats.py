"""Floating-point arithmetic: each op computed in the type (narrow formats in float32), and rounded once.

arith.addf bf16 1.0, 0.001 = 1.0        arith.maxnumf 1.0, nan = 1.0        arith.maximumf 1.0, nan = nan
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Attribute, Operation

from minitriton.dialects.tt_enums import PropagateNan
from minitriton.interpreter.values import Array, decoder, encoder, is_native_float


def on_numbers(function: Callable[..., Array], operand: Attribute, result: Attribute) -> Callable[..., Array]:
    """`function` of numbers as a function of held values: decoded before, rounded to the result's type after."""
    if operand == result and is_native_float(operand):
        return function
    decode, encode = decoder(operand), encoder(result)
    return lambda *values: encode(function(*[decode(value) for value in values]))


def float_op(function: Callable[..., Array]) -> Callable[[Operation], Callable[..., Array]]:
    """An op that computes `function` of its operands, all of the type of its result."""
    return lambda op: on_numbers(function, op.operands[0].type, op.results[0].type)


def _ordered(a: Array, b: Array) -> Array:
    return ~(np.isnan(a) | np.isnan(b))


def _unordered(a: Array, b: Array) -> Array:
    return np.isnan(a) | np.isnan(b)


def _or_unordered(function: Callable[[Array, Array], Array]) -> Callable[[Array, Array], Array]:
    return lambda a, b: function(a, b) | _unordered(a, b)


_COMPARE: tuple[Callable[[Array, Array], Array], ...] = (
    lambda a, b: np.zeros(np.broadcast_shapes(np.shape(a), np.shape(b)), np.bool_)[()],
    np.equal,
    np.greater,
    np.greater_equal,
    np.less,
    np.less_equal,
    lambda a, b: (a != b) & _ordered(a, b),
    _ordered,
    _or_unordered(np.equal),
    _or_unordered(np.greater),
    _or_unordered(np.greater_equal),
    _or_unordered(np.less),
    _or_unordered(np.less_equal),
    np.not_equal,
    _unordered,
    lambda a, b: np.ones(np.broadcast_shapes(np.shape(a), np.shape(b)), np.bool_)[()],
)


def _compare(op: Operation) -> Callable[[Array, Array], Array]:
    predicate = op.properties["predicate"]
    assert isinstance(predicate, IntegerAttr)
    function = _COMPARE[predicate.value.data]
    if is_native_float(op.operands[0].type):
        return function
    decode = decoder(op.operands[0].type)
    return lambda a, b: function(decode(a), decode(b))


def _clamp(op: Operation) -> Callable[[Array, Array, Array], Array]:
    if getattr(op.properties["propagateNan"], "data", None) == PropagateNan.ALL:
        return on_numbers(
            lambda x, low, high: np.minimum(np.maximum(x, low), high), op.operands[0].type, op.results[0].type
        )
    return on_numbers(lambda x, low, high: np.fmin(np.fmax(x, low), high), op.operands[0].type, op.results[0].type)


def fma(a: Array, b: Array, c: Array) -> Array:
    """a * b + c with one rounding: exact products in the next wider format (for float64, in the widest that NumPy has)."""
    dtype = np.result_type(a)
    wide = np.longdouble if dtype == np.float64 else np.float64
    return np.asarray(a.astype(wide) * b.astype(wide) + c.astype(wide)).astype(dtype)[()]


PURE: dict[str, Callable[[Operation], Callable[..., Any]]] = {
    "arith.addf": float_op(np.add),
    "arith.subf": float_op(np.subtract),
    "arith.mulf": float_op(np.multiply),
    "arith.divf": float_op(np.divide),
    "arith.remf": float_op(np.fmod),
    "arith.negf": float_op(np.negative),
    "arith.maximumf": float_op(np.maximum),
    "arith.minimumf": float_op(np.minimum),
    "arith.maxnumf": float_op(np.fmax),
    "arith.minnumf": float_op(np.fmin),
    "arith.cmpf": _compare,
    "math.fma": float_op(fma),
    "tt.clampf": _clamp,
    "tt.precise_divf": float_op(np.divide),
    "tt.precise_sqrt": float_op(np.sqrt),
}
