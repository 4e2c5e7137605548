"""Functions of NVIDIA's libdevice, by symbol: `__nv_expf`, `__nv_fast_sinf`, `__nv_pow`, ...

In: a `tt.extern_elementwise`. Out: the NumPy function of the same name, for float and double alike; the fast variants and those
with a rounding to nearest (`_rn`) are the plain ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np
from xdsl.dialects.builtin import StringAttr

from minitriton.analysis.locations import source_location
from minitriton.dialects import tt
from minitriton.host.extremes import extreme
from minitriton.interpreter.errors import InterpreterError
from minitriton.interpreter.numbers.floats import fma, on_numbers
from minitriton.interpreter.numbers.math_functions import elementwise, erf, round_half_away, rsqrt
from minitriton.interpreter.registry import PURE, Meaning
from minitriton.interpreter.values import Array, dtype_of, is_float

_OF_ONE: dict[str, Callable[[Array], Array]] = {
    "abs": np.abs,
    "acos": np.arccos,
    "acosh": np.arccosh,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atanh": np.arctanh,
    "cbrt": np.cbrt,
    "ceil": np.ceil,
    "cos": np.cos,
    "cosh": np.cosh,
    "cospi": lambda x: np.cos(x * np.pi).astype(x.dtype),
    "erf": erf,
    "erfc": elementwise(math.erfc),
    "exp": np.exp,
    "exp10": lambda x: np.power(x.dtype.type(10), x),
    "exp2": np.exp2,
    "expm1": np.expm1,
    "fabs": np.abs,
    "finite": np.isfinite,
    "floor": np.floor,
    "isfinited": np.isfinite,
    "isinf": np.isinf,
    "isnan": np.isnan,
    "lgamma": elementwise(math.lgamma),
    "llabs": np.abs,
    "log": np.log,
    "log10": np.log10,
    "log1p": np.log1p,
    "log2": np.log2,
    "nearbyint": np.rint,
    "rcbrt": lambda x: (1 / np.cbrt(x)).astype(x.dtype),
    "rcp": lambda x: (1 / x).astype(x.dtype),
    "rint": np.rint,
    "round": round_half_away,
    "rsqrt": rsqrt,
    "saturate": lambda x: np.clip(np.nan_to_num(x, nan=0.0), 0, 1).astype(x.dtype),
    "signbit": np.signbit,
    "sin": np.sin,
    "sinh": np.sinh,
    "sinpi": lambda x: np.sin(x * np.pi).astype(x.dtype),
    "sqrt": np.sqrt,
    "tan": np.tan,
    "tanh": np.tanh,
    "tgamma": elementwise(math.gamma),
    "trunc": np.trunc,
}

_OF_TWO: dict[str, Callable[[Array, Array], Array]] = {
    "add": np.add,
    "atan2": np.arctan2,
    "copysign": np.copysign,
    "div": np.divide,
    "fdim": lambda x, y: np.maximum(x - y, x.dtype.type(0)),
    "fdivide": np.divide,
    "fmax": partial(extreme, largest=True),
    "fmin": partial(extreme, largest=False),
    "fmod": np.fmod,
    "hypot": np.hypot,
    "ldexp": np.ldexp,
    "max": np.maximum,
    "min": np.minimum,
    "mul": np.multiply,
    "nextafter": np.nextafter,
    "pow": np.power,
    "powi": lambda x, n: np.power(x, n.astype(x.dtype)),
    "remainder": elementwise(math.remainder, 2),
    "sub": np.subtract,
}

_FUNCTIONS: dict[str, Callable[..., Array]] = {**_OF_ONE, **_OF_TWO, "fma": fma}


def function_of(symbol: str) -> Callable[..., Array] | None:
    """The function behind a libdevice symbol; None if there is none here."""
    name = symbol.removeprefix("__nv_").removeprefix("fast_").removesuffix("_rn")
    for candidate in (
        name,
        name.removesuffix("f"),
        name.removesuffix("d"),
        name.removeprefix("f"),
        name.removeprefix("d"),
    ):
        if candidate in _FUNCTIONS:
            return _FUNCTIONS[candidate]
    return None


@PURE.add(tt.ExternElementwiseOp)
def _extern(op: tt.ExternElementwiseOp) -> Meaning:
    symbol = op.symbol
    assert isinstance(symbol, StringAttr)
    function = function_of(symbol.data)
    if function is None:
        raise InterpreterError(
            f"the interpreter does not know the function {symbol.data}",
            source_location(op.location),
            help="add it to minitriton.interpreter.numbers.libdevice",
        )
    result = op.results[0].type
    if not is_float(result):
        dtype = dtype_of(result)
        return lambda *values: function(*values).astype(dtype)
    floats = [operand.type for operand in op.operands if is_float(operand.type)]
    if len(floats) == len(op.operands) and floats[0] == result:
        return on_numbers(function, result, result)
    dtype = dtype_of(result)
    return lambda *values: np.asarray(function(*values)).astype(dtype)[()]
