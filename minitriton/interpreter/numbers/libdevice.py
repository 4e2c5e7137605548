"""Functions of floats: those of the `math` dialect, and of NVIDIA's libdevice by symbol: `__nv_expf`, `__nv_fast_sinf`, `__nv_pow`, ...

In: a `tt.extern_elementwise`. Out: the NumPy function of the same name, for float and double alike; the fast variants and those
with a rounding to nearest (`_rn`) are the plain ones. Of a function that NumPy lacks, the library's own code is run.
"""

import math
from collections.abc import Callable
from functools import partial

import numpy as np
from xdsl.dialects.builtin import StringAttr

from minitriton.dialects import math as math_ops
from minitriton.dialects import tt
from minitriton.dialects.locations import source_location
from minitriton.interpreter.errors import UnsupportedOpError
from minitriton.interpreter.machine import DeviceFunctions, TileMachine
from minitriton.interpreter.numbers.floats import float_op, fma, on_numbers
from minitriton.interpreter.numbers.formats import extreme
from minitriton.interpreter.registry import PURE_OPS, STATEFUL_OPS, Meaning
from minitriton.interpreter.values import Array, dtype_of, is_float


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


def _of_half_turns(x: Array, quarters: int) -> Array:
    """sin((x + quarters / 2) pi), exact at multiples of a half; the sign of a zero is that of `x` for the sine."""
    dtype = np.result_type(x)
    rest = np.fmod(np.asarray(x, np.float64), 2.0)
    nearest = np.rint(2 * rest)
    angle, quadrant = (rest - nearest / 2) * np.pi, nearest + quarters
    is_odd, is_negative = np.mod(quadrant, 2) == 1, np.mod(quadrant, 4) >= 2
    value = np.where(is_odd, np.cos(angle), np.sin(angle))
    value = np.where(is_negative, -value, value)
    zero = np.copysign(0.0, x) if quarters == 0 else 0.0
    return np.where(value == 0, zero, value).astype(dtype)[()]


def _lgamma(x: float) -> float:
    return math.inf if math.isinf(x) or (x <= 0 and x == math.floor(x)) else math.lgamma(x)


def _gamma(x: float) -> float:
    if x == 0:
        return math.copysign(math.inf, x)
    if math.isinf(x) or x != x:
        return math.inf if x > 0 else math.nan
    if x < 0 and x == math.floor(x):
        return math.nan
    try:
        return math.gamma(x)
    except OverflowError:
        return math.inf


def _remainder(x: float, y: float) -> float:
    return math.nan if math.isinf(x) or y == 0 else math.remainder(x, y)


def _of_numpy(names: str) -> dict[str, Callable[..., Array]]:
    """Functions that NumPy has by the same name."""
    return {name: getattr(np, name) for name in names.split()}


_OF_ONE: dict[str, Callable[[Array], Array]] = {
    **_of_numpy(
        "abs cbrt ceil cos cosh exp exp2 expm1 floor isinf isnan log log10 log1p log2 rint signbit sin "
        "sinh sqrt tan tanh trunc"
    ),
    "acos": np.arccos,
    "acosh": np.arccosh,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atanh": np.arctanh,
    "cospi": partial(_of_half_turns, quarters=1),
    "erf": erf,
    "erfc": elementwise(math.erfc),
    "exp10": lambda x: np.power(x.dtype.type(10), x),
    "fabs": np.abs,
    "finite": np.isfinite,
    "isfinited": np.isfinite,
    "lgamma": elementwise(_lgamma),
    "llabs": np.abs,
    "nearbyint": np.rint,
    "rcbrt": lambda x: (1 / np.cbrt(x)).astype(x.dtype),
    "rcp": lambda x: (1 / x).astype(x.dtype),
    "round": round_half_away,
    "rsqrt": rsqrt,
    "saturate": lambda x: np.clip(np.nan_to_num(x, nan=0.0), 0, 1).astype(x.dtype),
    "sinpi": partial(_of_half_turns, quarters=0),
    "tgamma": elementwise(_gamma),
}

_OF_TWO: dict[str, Callable[[Array, Array], Array]] = {
    **_of_numpy("add copysign fmod hypot ldexp nextafter"),
    "atan2": np.arctan2,
    "div": np.divide,
    "fast_powf": lambda x, y: np.exp2(y * np.log2(x)),
    "fdim": lambda x, y: np.maximum(x - y, x.dtype.type(0)),
    "fdivide": np.divide,
    "fmax": partial(extreme, largest=True),
    "fmin": partial(extreme, largest=False),
    "max": np.maximum,
    "min": np.minimum,
    "mul": np.multiply,
    "pow": np.power,
    "powi": lambda x, n: np.power(x, n.astype(x.dtype)),
    "remainder": elementwise(_remainder, 2),
    "sub": np.subtract,
}

_FUNCTIONS: dict[str, Callable[..., Array]] = {**_OF_ONE, **_OF_TWO, "fma": fma}

_OF_DIALECT: dict[str, Callable[..., Array]] = _FUNCTIONS | {
    "absf": np.abs, "powf": np.power, "roundeven": np.rint, "rsqrt": _flushing(rsqrt), "sqrt": _flushing(np.sqrt),
}  # fmt: skip
"""By the names of the `math` dialect, in the precision of the type (narrow formats in float32)."""

PURE_OPS.update(
    {
        op: float_op(_OF_DIALECT[name])
        for op in math_ops.MATH.operations
        if (name := op.name.removeprefix("math.")) in _OF_DIALECT
    }
)


def function_of(symbol: str) -> Callable[..., Array] | None:
    """The function of a libdevice symbol; None if there is none here."""
    whole = symbol.removeprefix("__nv_")
    name = whole.removeprefix("fast_").removesuffix("_rn")
    for candidate in (
        whole,
        name,
        name.removesuffix("f"),
        name.removesuffix("d"),
        name.removeprefix("f"),
        name.removeprefix("d"),
    ):
        if candidate in _FUNCTIONS:
            return _FUNCTIONS[candidate]
    return None


@STATEFUL_OPS.add(tt.ExternElementwiseOp)
def _extern(op: tt.ExternElementwiseOp, machine: TileMachine) -> Meaning:
    symbol = op.symbol
    assert isinstance(symbol, StringAttr)
    function = function_of(symbol.data)
    result = op.results[0].type
    if function is None:
        return _of_the_device(op, symbol.data, machine.device_functions)
    if not is_float(result):
        dtype = dtype_of(result)
        return lambda *values: function(*values).astype(dtype)
    floats = [operand.type for operand in op.operands if is_float(operand.type)]
    if len(floats) == len(op.operands) and floats[0] == result:
        return on_numbers(function, result, result)
    dtype = dtype_of(result)
    return lambda *values: np.asarray(function(*values)).astype(dtype)[()]


def _of_the_device(op: tt.ExternElementwiseOp, symbol: str, evaluate: DeviceFunctions | None) -> Meaning:
    """The library's own code, run by `evaluate` on the elements of all operands."""
    if evaluate is None:
        raise UnsupportedOpError(
            f"NumPy lacks the function {symbol}",
            source_location(op.location),
            help="pass interpret(..., device_functions=minitriton.emulator.device_functions.evaluate)",
        )
    dtype = dtype_of(op.results[0].type)

    def run(*values: Array) -> Array:
        arrays = np.broadcast_arrays(*values)
        return evaluate(symbol, [array.ravel() for array in arrays], dtype).reshape(arrays[0].shape)[()]

    return run
