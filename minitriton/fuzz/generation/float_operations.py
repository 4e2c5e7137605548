"""Floats: which results are exact, which are rounded alike by every oracle, which are only close.

fp32 k/4 + fp32 n                  exact while it fits 24 bits, so that sums may take any order
fp32 * fp32, then +                may be fused into one rounding: approximate, by the rounding of the product
exp(x)                             approximate: the hardware's ex2 is
"""

import math
from collections.abc import Callable
from dataclasses import replace

from minitriton.fuzz.generation.elements import BOOL, ELEMENTS, FLOAT32, Element
from minitriton.fuzz.generation.operations import Infer, declare
from minitriton.fuzz.validity.facts import Floats, Ints, Type, Value, broadcast_shapes, need

FINEST_GRID = 20
"""Grids finer than this count as none, which keeps everything far from the subnormal numbers."""


def is_exact(size: float, grid: int | None, element: Element) -> bool:
    """Whether every multiple of 2**-grid up to `size` is a number of `element`."""
    return grid is not None and grid <= min(FINEST_GRID, element.finest) and size * 2.0**grid <= 2.0**element.mantissa


def _unit(element: Element) -> float:
    return 2.0**-element.mantissa


def rounded(fact: Floats, element: Element) -> Floats:
    """`fact`, exact in the reals, after one rounding to `element`."""
    need(fact.size <= element.largest / 2, "a float may overflow")
    if is_exact(fact.size, fact.grid, element) and fact.error == 0:
        return fact
    error = fact.error and fact.error + 2 * _unit(element) * fact.size + 2.0**-element.finest
    return replace(fact, grid=None, error=error)


def _floats(values: list[Value]) -> Element:
    element = values[0].element
    need(all(v.element == element and element.is_float and not v.type.pointer for v in values), "floats of one type")
    need(not element.is_fp8, "no arithmetic on fp8")
    return element


def _nothing_special(values: list[Value]) -> None:
    need(not any(v.fact.special for v in values), "NaN or infinity")


def _sum_grid(a: Floats, b: Floats) -> int | None:
    return None if a.grid is None or b.grid is None else max(a.grid, b.grid)


def _add(sign: int) -> Infer:
    def infer(values: list[Value]) -> Value:
        element = _floats(values)
        a, b = (v.fact for v in values)
        low, high = (a.low + b.low, a.high + b.high) if sign > 0 else (a.low - b.high, a.high - b.low)
        error = a.error + b.error + a.fused + b.fused
        special = a.special or b.special
        need(not (special and error), "NaN or infinity among approximate numbers")
        # -0 comes of -0 + -0 and of -0 - 0.
        negative_zero = a.negative_zero and (b.has_zero or b.negative_zero)
        fact = Floats(
            low, high, _sum_grid(a, b), error, special=special, negative_zero=negative_zero,
            either_zero=(a.either_zero or b.either_zero) and a.has_zero and b.has_zero,
        )  # fmt: skip
        terms = max(a.terms, b.terms) if sign > 0 else 0
        return Value(Type(element, broadcast_shapes(*(v.shape for v in values))), _accumulated(fact, terms, element))

    return infer


def _accumulated(fact: Floats, terms: int, element: Element) -> Floats:
    """An accumulation of so many `terms`, which may have the other number for its accumulator: rounded as often, or cut off."""
    result = rounded(fact, element)
    if not terms or result.grid is not None:
        return result
    need(not fact.special, "NaN or infinity among approximate numbers")
    return replace(result, error=result.error + 2 * terms * _unit(element) * result.size)


def product(a: Floats, b: Floats, element: Element) -> Floats:
    """The fact for `a * b`."""
    corners = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
    error = a.size * b.error + b.size * a.error + a.error * b.error
    special = a.special or b.special
    need(not (special and error), "NaN or infinity among approximate numbers")
    grid = None if a.grid is None or b.grid is None else a.grid + b.grid
    negative = a.negative_zero or b.negative_zero or (a.has_zero and b.low < 0) or (b.has_zero and a.low < 0)
    either = (a.either_zero or b.either_zero) or (bool(error) and (a.has_zero or b.has_zero))
    fact = Floats(min(corners), max(corners), grid, error, 0.0, special, negative, either)
    result = rounded(fact, element)
    exact = result.grid is not None
    return result if exact else replace(result, fused=2 * _unit(element) * fact.size)


def _mul(values: list[Value]) -> Value:
    element = _floats(values)
    fact = product(values[0].fact, values[1].fact, element)
    return Value(Type(element, broadcast_shapes(*(v.shape for v in values))), fact)


def _fma(values: list[Value]) -> Value:
    element = _floats(values)
    need(element.name in ("float32", "float64"), "fma of fp32 or fp64")
    a, b, c = (v.fact for v in values)
    _nothing_special(values)
    wide = replace(product(a, b, ELEMENTS["float64"]), fused=0.0)
    fact = Floats(
        wide.low + c.low, wide.high + c.high, _sum_grid(wide, c), wide.error + c.error + c.fused,
        negative_zero=wide.negative_zero, either_zero=wide.either_zero or c.either_zero,
    )  # fmt: skip
    return Value(Type(element, broadcast_shapes(*(v.shape for v in values))), rounded(fact, element))


def _extreme(pick: Callable[[float, float], float]) -> Infer:
    def infer(values: list[Value]) -> Value:
        element = _floats(values)
        a, b = (v.fact for v in values)
        need(not ((a.special or b.special) and (a.error or b.error)), "NaN or infinity among approximate numbers")
        negative = a.negative_zero or b.negative_zero
        either = a.either_zero or b.either_zero or (negative and a.has_zero and b.has_zero)
        low, high = pick(a.low, b.low), pick(a.high, b.high)
        if a.special or b.special:
            # A NaN gives way to the other operand.
            low, high = min(a.low, b.low), max(a.high, b.high)
        fact = Floats(low, high, _sum_grid(a, b), max(a.error, b.error), 0.0, a.special or b.special, negative, either)
        # The language compares bf16 as fp32, and leaves it so.
        element = FLOAT32 if element.name == "bfloat16" else element
        return Value(Type(element, broadcast_shapes(*(v.shape for v in values))), fact)

    return infer


def _clamp(values: list[Value]) -> Value:
    element = _floats(values)
    need(element.name in ("float32", "float16"), "clamp of fp32 or fp16")
    x, low, high = (v.fact for v in values)
    need(low.high <= high.low and not low.special and not high.special, "clamp to an empty range")
    need(not x.special, "NaN clamped")
    grid = None if None in (x.grid, low.grid, high.grid) else max(x.grid, low.grid, high.grid)
    zero = x.negative_zero or low.negative_zero or high.negative_zero
    fact = Floats(
        max(x.low, low.low) if x.low < high.high else low.low, min(x.high, high.high) if x.high > low.low else high.high,
        grid, max(v.fact.error for v in values), 0.0, False, zero, zero or any(v.fact.either_zero for v in values),
    )  # fmt: skip
    return Value(Type(element, broadcast_shapes(*(v.shape for v in values))), fact)


def _negate(values: list[Value]) -> Value:
    element = _floats(values)
    a = values[0].fact
    fact = replace(a, low=-a.high, high=-a.low, negative_zero=False)
    need(not a.special, "the sign of NaN")
    return Value(Type(element, values[0].shape), fact)


def _abs(values: list[Value]) -> Value:
    (v,) = values
    if v.element.is_int:
        need(v.fact.low > v.element.low, "the magnitude overflows")
        size = max(abs(v.fact.low), abs(v.fact.high))
        known = None if v.fact.known is None else abs(v.fact.known)
        return Value(v.type, Ints(0, size, known))
    _floats(values)
    fact = replace(v.fact, low=0.0, high=v.fact.size, negative_zero=False, either_zero=False)
    return Value(v.type, fact)


def _integral(compute: Callable[[float], int]) -> Infer:
    def infer(values: list[Value]) -> Value:
        element = _floats(values)
        need(element == FLOAT32, "floor and ceil of fp32")
        a = values[0].fact
        need(a.error == 0 and not a.special, "floor of an approximate number")
        fact = Floats(float(compute(a.low)), float(compute(a.high)), 0, 0.0, 0.0, False, True, a.either_zero)
        return Value(
            Type(element, values[0].shape), fact if is_exact(fact.size, 0, element) else replace(fact, grid=None)
        )

    return infer


def _quotient(relative: float, names: tuple[str, ...]) -> Infer:
    """Division by a number away from 0. `relative` is the error of the hardware's; 0: rounded correctly."""

    def infer(values: list[Value]) -> Value:
        element = _floats(values)
        need(element.name in names, "division of " + ", ".join(names))
        _nothing_special(values)
        a, b = (v.fact for v in values)
        least = min(abs(b.low), abs(b.high))
        need(not b.has_zero and least >= 2.0**-8 and b.error < least / 4, "division by a number that may be 0")
        size = a.size / (least - b.error)
        error = a.error / (least - b.error) + size * b.error / (least - b.error)
        inexact = relative * size if relative else 0.0
        signs = a.negative_zero or (a.has_zero and b.low < 0)
        fact = Floats(-size, size, None, error + inexact, 0.0, False, signs, signs or bool(error))
        return Value(Type(element, broadcast_shapes(*(v.shape for v in values))), rounded(fact, element))

    return infer


def _smooth(
    function: Callable[[float], float], domain: tuple[float, float], slope: Callable[[float, float], float],
    relative: float, absolute: float, *, bounds: tuple[float, float] | None = None, exact: bool = False,
    names: tuple[str, ...] = ("float32",),
) -> Infer:  # fmt: skip
    """A function of one float: monotone over `domain` unless `bounds` are given, of at most `slope(low, high)`, computed
    with a `relative` and an `absolute` error (`exact`: rounded correctly)."""

    def infer(values: list[Value]) -> Value:
        element = _floats(values)
        need(element.name in names, "a function of " + ", ".join(names))
        _nothing_special(values)
        a = values[0].fact
        need(domain[0] <= a.low - a.error and a.high + a.error <= domain[1], "outside of the function's domain")
        low, high = bounds or sorted((function(a.low), function(a.high)))
        size = max(abs(low), abs(high))
        error = a.error * slope(a.low - a.error, a.high + a.error)
        error += 0.0 if exact else relative * size + absolute
        need(error < 0.05 * max(size, 1e-3), "too little of the result is certain")
        fact = Floats(low, high, None, error, 0.0, False, low <= 0, low <= 0 <= high)
        return Value(Type(element, values[0].shape), rounded(fact, element))

    return infer


def _is_nan(values: list[Value]) -> Value:
    _floats(values)
    need(values[0].fact.error == 0, "approximate")
    return Value(Type(BOOL, values[0].shape), Ints(0, 1))


def _full_float(values: list[Value], shape: tuple[int, ...], value: float, name: str) -> Value:
    element = ELEMENTS[name]
    return Value(Type(element, shape), constant(value, element))


def constant(value: float, element: Element) -> Floats:
    """The fact for a number written in the kernel, which must be one of `element`."""
    need(element.is_float and not element.is_fp8, "a float constant")
    if math.isnan(value) or math.isinf(value):
        return Floats(0.0, 0.0, 0, special=True)
    grid = next((g for g in range(FINEST_GRID + 1) if (value * 2.0**g).is_integer()), None)
    need(is_exact(abs(value), grid, element), "a constant that the type does not hold")
    return Floats(value, value, grid, negative_zero=value == 0 and math.copysign(1, value) < 0)


def _full_text(operands: list[str], shape: tuple[int, ...], value: float, name: str) -> str:
    return f"tl.full({list(shape)}, {_number(value)}, tl.{name})"


_TINY = 2.0**-20
declare("fadd", "({0} + {1})", _add(1), weak=True)
declare("fsub", "({0} - {1})", _add(-1), weak=True)
declare("fmul", "({0} * {1})", _mul, weak=True)
declare("fma", "tl.fma({0}, {1}, {2})", _fma)
declare("fmin", "tl.minimum({0}, {1})", _extreme(min))
declare("fmax", "tl.maximum({0}, {1})", _extreme(max))
declare("clamp", "tl.clamp({0}, {1}, {2})", _clamp)
declare("neg", "(-{0})", _negate)
declare("abs", "tl.abs({0})", _abs)
declare("floor", "tl.floor({0})", _integral(math.floor))
declare("ceil", "tl.ceil({0})", _integral(math.ceil))
declare("isnan", "({0} != {0})", _is_nan)
declare("fdiv", "({0} / {1})", _quotient(2.0**-21, ("float32",)), weak=True)
declare("div_rn", "tl.div_rn({0}, {1})", _quotient(0.0, ("float32",)))
declare("full_float", _full_text, _full_float)
declare("exp", "tl.exp({0})", _smooth(math.exp, (-8, 8), lambda a, b: math.exp(b), _TINY, 0))
declare("exp2", "tl.exp2({0})", _smooth(lambda x: 2.0**x, (-10, 10), lambda a, b: 2.0**b, _TINY, 0))
declare("log", "tl.log({0})", _smooth(math.log, (2.0**-6, 1e6), lambda a, b: 1 / a, _TINY, _TINY))
declare("log2", "tl.log2({0})", _smooth(math.log2, (2.0**-6, 1e6), lambda a, b: 1.5 / a, _TINY, _TINY))
declare("sqrt", "tl.sqrt({0})", _smooth(math.sqrt, (2.0**-6, 1e6), lambda a, b: 0.5 / math.sqrt(a), _TINY, 0))
declare(
    "sqrt_rn", "tl.sqrt_rn({0})", _smooth(math.sqrt, (2.0**-6, 1e6), lambda a, b: 0.5 / math.sqrt(a), 0, 0, exact=True)
)
declare("rsqrt", "tl.rsqrt({0})", _smooth(lambda x: x**-0.5, (2.0**-6, 1e6), lambda a, b: 0.5 * a**-1.5, _TINY, 0))
declare("sin", "tl.sin({0})", _smooth(math.sin, (-3, 3), lambda a, b: 1, _TINY, 2.0**-19, bounds=(-1, 1)))
declare("cos", "tl.cos({0})", _smooth(math.cos, (-3, 3), lambda a, b: 1, _TINY, 2.0**-19, bounds=(-1, 1)))
declare("erf", "tl.erf({0})", _smooth(math.erf, (-6, 6), lambda a, b: 1.2, _TINY, _TINY, bounds=(-1, 1)))
declare(
    "sigmoid", "tl.sigmoid({0})",
    _smooth(lambda x: 1 / (1 + math.exp(-x)), (-8, 8), lambda a, b: 0.25, 4 * _TINY, _TINY),
)  # fmt: skip


def _number(value: float) -> str:
    return f'float("{value}")' if math.isnan(value) or math.isinf(value) else repr(value)
