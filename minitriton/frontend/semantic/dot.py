"""Matrix product: checks, accumulator, precision.

tl.dot(a, b, acc)      tt.dot %a, %b, %acc, inputPrecision = tf32
"""

from __future__ import annotations

import math
import warnings

from minitriton import knobs
from minitriton.dialects import tt
from minitriton.frontend.builder import IRBuilder
from minitriton.frontend.errors import LanguageTypeError, LanguageValueError
from minitriton.frontend.semantic.casts import cast
from minitriton.frontend.semantic.shapes import reshape
from minitriton.language import dtypes as dt
from minitriton.language.dtypes import block_of, dtype
from minitriton.language.values import tensor

_LEAST_K = {8: 32, 16: 16, 32: 8, 64: 4}
"""By bits of an element: as many as one instruction of tensor cores takes."""

_OPERANDS = ("int8", "uint8", "fp16", "bf16", "fp32", "fp64")


def dot(
    b: IRBuilder,
    input: object,
    other: object,
    acc: object = None,
    input_precision: str | None = None,
    allow_tf32: bool | None = None,
    max_num_imprecise_acc: int | None = None,
    out_dtype: dtype | None = None,
) -> tensor:
    """`input @ other + acc`, for blocks of rank 2 or more."""
    if input_precision is not None and allow_tf32 is not None:
        raise LanguageValueError("Only one of input_precision and allow_tf32 can be specified")
    if not isinstance(input, tensor) or not isinstance(other, tensor) or not input.type.shape or not other.type.shape:
        raise LanguageTypeError(f"tl.dot takes two blocks, got {input} and {other}")
    left, right = input.type.shape, other.type.shape
    if len(left) != len(right) or len(left) < 2:
        raise LanguageValueError(
            "input and other must have equal ranks >= 2",
            f"they have the shapes {list(left)} and {list(right)}; add dimensions with [:, None]",
        )
    if left[:-2] != right[:-2]:
        raise LanguageValueError(
            "input and other must have equal batch shapes",
            f"they are {list(left[:-2])} and {list(right[:-2])}; broadcast one of them with tl.broadcast_to",
        )
    if left[-1] != right[-2]:
        raise LanguageValueError(
            f"First input shape ({list(left)}) and second input shape {list(right)} are not compatible for matmul "
            f"(second index of first shape ({left[-1]}) must be equal to first index of second shape ({right[-2]})",
            "transpose one of them with tl.trans, or load another block",
        )
    shape = (*left[:-1], right[-1])
    if out_dtype is None:
        half = isinstance(acc, tensor) and acc.dtype.is_fp16() and (input.dtype.is_fp16() or input.dtype.is_fp8())
        out_dtype = dt.float16 if half else dt.float32
    if acc is not None and (not isinstance(acc, tensor) or not acc.type.is_block() or acc.type.shape != shape):
        got = list(acc.type.shape) if isinstance(acc, tensor) else acc
        raise LanguageValueError(
            f"accumulator shape is incompatible: expected {list(shape)}, got {got}",
            f"begin with tl.zeros({list(shape)}, ...), or leave it out",
        )
    if len(shape) > 3:
        batch = math.prod(shape[:-2])
        input, other = reshape(b, input, batch, *left[-2:]), reshape(b, other, batch, *right[-2:])
        acc = None if acc is None else reshape(b, acc, batch, *shape[-2:])
    precision = _precision(b, input_precision, allow_tf32)
    result = _dot(b, input, other, acc, precision, max_num_imprecise_acc, out_dtype)
    return reshape(b, result, *shape) if len(shape) > 3 else result


def _precision(b: IRBuilder, given: str | None, allow_tf32: bool | None) -> str:
    if given is None:
        given = knobs.language.fp32_default or None
    if given is None:
        return "tf32" if "tf32" in b.options.allowed_dot_input_precisions and allow_tf32 in (None, True) else "ieee"
    if str(given).lower() not in b.options.allowed_dot_input_precisions:
        raise LanguageValueError(
            f"input_precision must be one of {b.options.allowed_dot_input_precisions}. Got {given}",
            "'ieee' multiplies float32 exactly; the others say how tensor cores see it",
        )
    return str(given).lower()


def min_dot_shape(lhs: dtype, rhs: dtype) -> tuple[int, int, int]:
    """The least (m, n, k) of a dot of operands of these types, blocks or scalars, which have as many bits each."""
    bits = {lhs.scalar.primitive_bitwidth, rhs.scalar.primitive_bitwidth}
    if len(bits) != 1:
        raise LanguageTypeError(f"lhs and rhs bitwidth must be the same: got {lhs} and {rhs}")
    return (1, 1, 32 if bits == {8} else 16)


def _check_operands(x: tensor, y: tensor) -> None:
    if not (x.dtype.is_fp8() and y.dtype.is_fp8()):
        for side, operand in (("lhs", x), ("rhs", y)):
            if operand.dtype.name not in _OPERANDS:
                raise LanguageTypeError(
                    f"Unsupported {side} dtype {operand.dtype}", f"use one of {', '.join(_OPERANDS)}"
                )
        if x.dtype != y.dtype:
            raise LanguageTypeError(
                f"Both operands must be same dtype. Got {x.dtype} and {y.dtype}", "cast one of them with .to(...)"
            )
    least = (1, 1, _LEAST_K[x.dtype.primitive_bitwidth])
    m, k, n = *x.type.shape[-2:], y.type.shape[-1]
    if m < least[0] or n < least[1] or k < least[2]:
        raise LanguageValueError(
            f"Input shapes should have M >= {least[0]}, N >= {least[1]} and K >= {least[2]}",
            f"got M={m}, N={n}, K={k}: load a larger block whose rest is masked to 0, or sum products of tl.sum",
        )


def _result_dtype(operand: dtype, out_dtype: dtype) -> dtype:
    if operand.is_int():
        if operand != dt.int8:
            raise LanguageTypeError(
                "only int8 supported!", f"cast {operand} with .to(tl.int8) if it fits, else to a float"
            )
        return dt.int32
    if out_dtype.is_bf16():
        raise LanguageValueError(
            "out_dtype=bfloat16 is unsupported. Please use out_dtype=float32/float16 and cast with `.to(tl.bfloat16)`"
        )
    if operand.name in ("fp32", "bf16"):
        return dt.float32
    return dt.float64 if operand.is_fp64() else out_dtype


def _dot(
    b: IRBuilder, x: tensor, y: tensor, acc: tensor | None, precision: str, max_imprecise: int | None, out_dtype: dtype
) -> tensor:
    _check_operands(x, y)
    if x.dtype.is_fp8e4b15() or y.dtype.is_fp8e4b15():
        if "fp8e4b15" in b.options.deprecated_fp8_dot_operand_dtypes:
            warnings.warn(
                "the use of fp8e4b15 is deprecated on Hopper and later architectures and can cause significant slow "
                "down. It will be removed in a future triton release",
                stacklevel=2,
            )
        x, y = cast(b, x, dt.float16), cast(b, y, dt.float16)
    result = block_of(_result_dtype(x.dtype, out_dtype), (*x.type.shape[:-1], y.type.shape[-1]))
    if acc is not None and acc.dtype not in (out_dtype, result.element_ty):
        raise LanguageTypeError(
            f"the accumulator is {acc.dtype}, the product {result.element_ty}",
            f"they must agree: begin with {result.element_ty}, or give out_dtype where the operands allow {acc.dtype}",
        )
    both_fp8 = x.dtype.is_fp8() and y.dtype.is_fp8()
    k = x.type.shape[-1]
    if max_imprecise is None:
        max_imprecise = b.options.max_num_imprecise_acc_default if both_fp8 else 0
    elif both_fp8 and max_imprecise > k:
        raise LanguageValueError(
            f"max_num_imprecise_acc ({max_imprecise}) must be <= K ({k})", f"leave it out, or give 0 to {k}"
        )
    start = b.constant(result, 0) if acc is None else acc.handle
    op = tt.DotOp(x.handle, y.handle, start, input_precision=precision, max_num_imprecise_acc=max_imprecise)
    return tensor(b.value(op), result)
