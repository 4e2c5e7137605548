"""Elementwise functions: `tl.exp`, `tl.maximum`, `tl.fma`, ... and the dtypes each accepts.

tl.exp(x)         math.exp            tl.maximum(x, y)   arith.maxnumf (ALL: maximumf), maxsi or maxui
tl.sqrt_rn(x)     tt.precise_sqrt     tl.abs(x)          math.absf, math.absi, or nothing
"""

from __future__ import annotations

import builtins
import inspect
import math as pymath
from collections.abc import Callable
from functools import cache

from xdsl.ir import Operation, SSAValue

from minitriton.dialects import arith, math, tt
from minitriton.frontend.builder import IRBuilder
from minitriton.frontend.errors import LanguageTypeError, LanguageValueError
from minitriton.frontend.semantic.casts import cast, with_scalar
from minitriton.frontend.semantic.program import inline_asm_elementwise
from minitriton.frontend.semantic.values import binary_operands, operand_of, refuse_fp8, ternary_operands, to_tensor
from minitriton.language import dtypes as dt
from minitriton.language.core import PropagateNan
from minitriton.language.declare import ElementwiseBuiltin
from minitriton.language.values import Number, Operand, tensor

BinaryOp = Callable[[SSAValue, SSAValue], Operation]
"""The class of an op of two operands, which gives it."""


def _require(x: tensor, names: tuple[str, ...]) -> None:
    if x.dtype.name not in names:
        raise LanguageValueError(
            f"Expected dtype {list(names)} but got {x.dtype.name}",
            f"cast first: .to(tl.{dt.dtype(names[0]).codegen_name()})",
        )


@cache
def _ops() -> dict[str, Callable[..., Operation]]:
    """The ops that an operation of the language can be, by name."""
    return {op.name: op for dialect in (arith.ARITH, math.MATH, tt.TT) for op in dialect.operations}


def elementwise(declaration: ElementwiseBuiltin[..., object]) -> Callable[..., tensor]:
    """The emitter of an operation that is one op on values of one type. Raises where there is no such op."""
    op, names = _ops().get(declaration.op), declaration.dtypes
    if op is None:
        dialect = declaration.op.partition(".")[0]
        file = {"arith": "arith/", "math": "math.py", "tt": "tt/"}.get(dialect, "")
        raise LanguageTypeError(
            f"{declaration.__name__} is declared as {declaration.op}, which is not an op of arith, math or tt",
            f"declare the op in minitriton/dialects/{file} (docs/add-an-op.md)",
        )

    def emit_unary(b: IRBuilder, x: Operand) -> tensor:
        x = to_tensor(b, x)
        _require(x, names)
        return tensor(b.value(op(x.handle)), x.type)

    def emit_binary(b: IRBuilder, x: Operand, y: Operand) -> tensor:
        for value in (each for each in (x, y) if isinstance(each, tensor)):
            _require(value, names)
        x, y = binary_operands(b, operand_of(b, x), operand_of(b, y))
        _require(x, names)
        return tensor(b.value(op(x.handle, y.handle)), x.type)

    return emit_unary if len(inspect.signature(declaration.fn).parameters) == 1 else emit_binary


def abs(b: IRBuilder, x: Operand) -> tensor:
    """|x|; unsigned integers are themselves."""
    x = to_tensor(b, x)
    if x.dtype.is_fp8e4b15():
        mask = b.constant(with_scalar(x.type, dt.int8), 0x7F)
        return tensor(b.value(arith.AndIOp(x.handle, mask)), x.type)
    if x.dtype.is_floating():
        return tensor(b.value(math.AbsFOp(x.handle)), x.type)
    if x.dtype.is_int_signed():
        return tensor(b.value(math.AbsIOp(x.handle)), x.type)
    return x


def fdiv(b: IRBuilder, x: Operand, y: Operand, ieee_rounding: bool = False, approx: bool = False) -> tensor:
    """Quotient of floats; operands of one type are not widened."""
    if ieee_rounding and approx:
        raise LanguageValueError("approx and ieee_rounding cannot both be True")
    x, y = to_tensor(b, x), to_tensor(b, y)
    if not (x.dtype.is_floating() or y.dtype.is_floating()):
        raise LanguageTypeError("an operand of fdiv must have floating scalar type", "integers are divided by `/`")
    x, y = binary_operands(b, x, y, arithmetic=x.dtype != y.dtype, div_or_mod=True)
    refuse_fp8(x.dtype)
    if approx and not x.dtype.is_fp32():
        raise LanguageValueError("approx division requires float32 operands", "cast them: .to(tl.float32)")
    if approx:
        quotient = inline_asm_elementwise(b, "div.approx.f32 $0, $1, $2;", "=f,f,f", (x, y), x.dtype, True, 1)
        assert isinstance(quotient, tensor)
        return quotient
    op = tt.PreciseDivFOp if ieee_rounding and x.dtype.is_fp32() else arith.DivfOp
    return tensor(b.value(op(x.handle, y.handle)), x.type)


def fma(b: IRBuilder, x: Operand, y: Operand, z: Operand) -> tensor:
    """`x * y + z`, rounded once."""
    z, x, y = ternary_operands(b, (z, x, y))
    if not x.dtype.is_floating():
        raise LanguageTypeError(f"fma takes floating-point values, got {x.dtype.name}", "write x * y + z")
    refuse_fp8(x.dtype)
    return tensor(b.value(math.FmaOp(x.handle, y.handle, z.handle)), x.type)


def widened(b: IRBuilder, x: Operand) -> Operand:
    """`x` as a tensor, as fp32 if it is bf16; from Triton 3.9 on `x` as it is."""
    if b.version >= (3, 9):
        return x
    x = to_tensor(b, x)
    return cast(b, x, dt.float32) if x.dtype.is_bf16() else x


def _extreme(b: IRBuilder, x: Operand, y: Operand, propagate_nan: object, ops: dict[str, BinaryOp]) -> tensor:
    if not isinstance(propagate_nan, PropagateNan):
        raise LanguageValueError(f"Unexpected propagate_nan {propagate_nan}", "use tl.PropagateNan.NONE or .ALL")
    x, y = binary_operands(b, widened(b, x), widened(b, y))
    if x.dtype.is_floating():
        op = ops[propagate_nan.value]
    elif x.dtype.is_int():
        op = ops["signed" if x.dtype.is_int_signed() else "unsigned"]
    else:
        raise LanguageTypeError(f"Unexpected dtype {x.dtype}")
    return tensor(b.value(op(x.handle, y.handle)), x.type)


_MINIMA: dict[str, BinaryOp] = {
    "none": arith.MinnumfOp,
    "all": arith.MinimumfOp,
    "signed": arith.MinSIOp,
    "unsigned": arith.MinUIOp,
}
_MAXIMA: dict[str, BinaryOp] = {
    "none": arith.MaxnumfOp,
    "all": arith.MaximumfOp,
    "signed": arith.MaxSIOp,
    "unsigned": arith.MaxUIOp,
}


def minimum(b: IRBuilder, x: Operand, y: Operand, propagate_nan: PropagateNan = PropagateNan.NONE) -> tensor:
    """The smaller value."""
    return _extreme(b, x, y, propagate_nan, _MINIMA)


def maximum(b: IRBuilder, x: Operand, y: Operand, propagate_nan: PropagateNan = PropagateNan.NONE) -> tensor:
    """The larger value."""
    return _extreme(b, x, y, propagate_nan, _MAXIMA)


def clamp(
    b: IRBuilder, x: Operand, min: Operand, max: Operand, propagate_nan: PropagateNan = PropagateNan.NONE
) -> tensor:
    """`x` limited to `[min, max]`."""
    x, low, high = ternary_operands(b, [widened(b, value) for value in (x, min, max)])
    if x.dtype.is_int():
        return minimum(b, maximum(b, x, low), high)
    if not x.dtype.is_floating():
        raise LanguageTypeError(f"Unexpected dtype {x.dtype}", "clamp takes numbers")
    op = tt.ClampFOp(x.handle, low.handle, high.handle, propagate_nan=propagate_nan.value)
    return tensor(b.value(op), x.type)


def builtin_max(b: IRBuilder, *args: Operand, propagate_nan: PropagateNan | None = None) -> Operand:
    """Python's `max`."""
    return _builtin_extreme(b, args, propagate_nan, builtins.max, maximum)


def builtin_min(b: IRBuilder, *args: Operand, propagate_nan: PropagateNan | None = None) -> Operand:
    """Python's `min`."""
    return _builtin_extreme(b, args, propagate_nan, builtins.min, minimum)


def _builtin_extreme(
    b: IRBuilder,
    args: tuple[Operand, ...],
    propagate_nan: PropagateNan | None,
    static: Callable[..., Number],
    dynamic: Callable[[IRBuilder, Operand, Operand, PropagateNan], tensor],
) -> Operand:
    numbers = [x for x in args if not isinstance(x, tensor)]
    if len(numbers) == len(args):
        # Python and IEEE 754 disagree here, so the answer would depend on when it is computed.
        if any(x != x or (x == 0 and pymath.copysign(1.0, x) < 0) for x in numbers):
            raise LanguageValueError(f"min and max of {args} are not defined: one is NaN or -0.0")
        return static(*numbers)
    if len(args) < 2:
        raise LanguageTypeError("min and max of tensors take two values or more", "tl.max(x, axis) reduces one block")
    result = args[0]
    for x in args[1:]:
        result = dynamic(b, result, x, PropagateNan.NONE if propagate_nan is None else propagate_nan)
    return result
