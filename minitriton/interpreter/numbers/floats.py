"""Floating-point arithmetic: each op computed in the type (narrow formats in float32), and rounded once.

arith.addf bf16 1.0, 0.001 = 1.0        arith.maxnumf 1.0, nan = 1.0        arith.maximumf 1.0, nan = nan
"""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial

import numpy as np
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Attribute, Operation

from minitriton.dialects import arith, tt
from minitriton.dialects import math as math_ops
from minitriton.dialects.narrowing import instance_of
from minitriton.dialects.tt.enums import PropagateNan
from minitriton.interpreter.machine import TileMachine
from minitriton.interpreter.numbers.formats import extreme
from minitriton.interpreter.registry import PURE_OPS, STATEFUL_OPS
from minitriton.interpreter.values import Array, decoder, dtype_of, encoder, is_native_float
from minitriton.rewriting.constants import constant_attr, number_of


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


@PURE_OPS.add(arith.CmpfOp)
def _compare(op: arith.CmpfOp) -> Callable[[Array, Array], Array]:
    predicate = op.predicate
    assert instance_of(predicate, IntegerAttr)
    function = _COMPARE[predicate.value.data]
    if is_native_float(op.operands[0].type):
        return function
    decode = decoder(op.operands[0].type)
    return lambda a, b: function(decode(a), decode(b))


@STATEFUL_OPS.add(tt.ClampFOp)
def _clamp(op: tt.ClampFOp, machine: TileMachine) -> Callable[[Array, Array, Array], Array]:
    """NaN that is not passed through becomes the lower limit; with opposite limits on sm_90 that of its sign (PTX ISA, `min.xorsign.abs`)."""
    nan = getattr(op.propagate_nan, "data", None) == PropagateNan.ALL
    type_ = op.results[0].type
    by_sign = not nan and machine.architecture.has_symmetric_clamp and dtype_of(type_) != np.float64

    def clamp(x: Array, low: Array, high: Array) -> Array:
        result = extreme(extreme(x, low, True, nan), high, False, nan)
        return np.where(np.isnan(x), np.copysign(high, x), result)[()] if are_opposite else result

    low, high = (number_of(constant_attr(limit)) for limit in op.operands[1:])
    are_opposite = by_sign and low is not None and high is not None and low == -high and high >= 0
    return on_numbers(clamp, op.operands[0].type, type_)


def fma(a: Array, b: Array, c: Array) -> Array:
    """a * b + c with one rounding. Of floats of one type; a sum in the next wider format decides where its own rounding cannot
    matter, fractions decide elsewhere: 1 + 2**-24 is a tie in float32, 1 + 2**-24 + 2**-60 is not."""
    dtype = np.result_type(a)
    wide = np.longdouble if dtype == np.float64 else np.float64
    product, addend = a.astype(wide) * b.astype(wide), c.astype(wide)
    total = np.asarray(product + addend)
    limits = np.finfo(wide)
    error = (np.abs(product) + np.abs(total)) * limits.eps + limits.smallest_subnormal
    unsure = np.isfinite(total) & ((total - error).astype(dtype) != (total + error).astype(dtype))
    result = total.astype(dtype)
    if unsure.any():
        numbers = (np.broadcast_to(v, total.shape)[unsure].tolist() for v in (a, b, c))
        exact = [Fraction(x) * Fraction(y) + Fraction(z) for x, y, z in zip(*numbers, strict=True)]
        result[unsure] = np.array([_nearest(number, dtype) for number in exact], dtype)
    return result[()]


def remainder(a: Array, b: Array) -> Array:
    """a - trunc(a / b) * b as GPUs compute it, with two roundings: LLVM makes that of `frem` for NVPTX. C's `fmod`, which is exact, would
    give another number where the quotient is rounded up to an integer, or has more digits than its type holds."""
    x, y = (v.astype(np.float32) if np.asarray(v).dtype == np.float16 else v for v in (a, b))
    found = np.where(np.isinf(y), x, fma(-np.trunc(x / y), y, x))
    return found.astype(np.result_type(a), copy=False)[()]


def _nearest(number: Fraction, dtype: np.dtype) -> float:
    """`number` rounded to float32 (or float16) or float64."""
    try:
        found = float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf
    if dtype != np.float64 and Fraction(found) != number and not np.float64(found).view(np.int64) & 1:
        # Rounded to odd, so that the second rounding sees that digits were lost.
        found = math.nextafter(found, math.inf if number > found else -math.inf)
    return found


PURE_OPS.update(
    {
        arith.AddfOp: float_op(np.add),
        arith.SubfOp: float_op(np.subtract),
        arith.MulfOp: float_op(np.multiply),
        arith.DivfOp: float_op(np.divide),
        arith.RemfOp: float_op(remainder),
        arith.NegfOp: float_op(np.negative),
        arith.MaximumfOp: float_op(partial(extreme, largest=True, nan=True)),
        arith.MinimumfOp: float_op(partial(extreme, largest=False, nan=True)),
        arith.MaxnumfOp: float_op(partial(extreme, largest=True)),
        arith.MinnumfOp: float_op(partial(extreme, largest=False)),
        math_ops.FmaOp: float_op(fma),
        tt.PreciseDivFOp: float_op(np.divide),
        tt.PreciseSqrtOp: float_op(np.sqrt),
    }
)
