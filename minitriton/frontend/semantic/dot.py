"""Matrix product: checks, accumulator, precision.

tl.dot(a, b, acc)      tt.dot %a, %b, %acc, inputPrecision = tf32
"""

import math
import warnings

from minitriton import knobs
from minitriton.dialects import tt
from minitriton.frontend.builder import IRBuilder
from minitriton.frontend.errors import LanguageTypeError, LanguageValueError
from minitriton.frontend.semantic.casts import bitcast, cast
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
    return checked_precision(b, given)


def checked_precision(b: IRBuilder, given: str) -> str:
    """`given` in lower case, if the target's dots know it."""
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
            f"got M={m}, N={n}, K={k}: load a larger block whose rest is masked to 0, or use tl.sum of a multiplication",
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
    element = _result_dtype(x.dtype, out_dtype)
    shape = (*x.type.shape[:-1], y.type.shape[-1])
    result = block_of(element, shape) if acc is None else acc.type.with_element_ty(element)
    if acc is not None and acc.dtype not in (out_dtype, element):
        raise LanguageTypeError(
            f"the accumulator is {acc.dtype}, the dot {element}",
            f"they must agree: begin with {element}, or give out_dtype where the operands allow {acc.dtype}",
        )
    both_fp8 = x.dtype.is_fp8() and y.dtype.is_fp8()
    k = x.type.shape[-1]
    if max_imprecise is None:
        max_imprecise = b.options.max_num_imprecise_acc_default if both_fp8 else 0
    elif both_fp8 and max_imprecise > k:
        raise LanguageValueError(
            f"max_num_imprecise_acc ({max_imprecise}) must be <= K ({k})", f"leave it out, or give 0 to {k}"
        )
    if b.is_verbatim:
        b.constant(element, 0)
    start = b.constant(result, 0) if acc is None else acc.handle
    op = tt.DotOp(x.handle, y.handle, start, input_precision=precision, max_num_imprecise_acc=max_imprecise)
    return tensor(b.value(op), result)


# Matrix product of microscaled blocks (OCP MX formats): each 32 elements along K share an exponent.
#
# tl.dot_scaled(a, a_scale, "e2m1", b, b_scale, "e5m2")    tt.dot_scaled; e2m1 comes two to a byte

_FORMATS = {
    "e2m1": (dt.uint8, dt.uint8), "e4m3": (dt.float8e4nv, dt.uint8), "e5m2": (dt.float8e5, dt.uint8),
    "bf16": (dt.bfloat16, dt.uint16), "fp16": (dt.float16, dt.uint16),
}  # fmt: skip
"""The dtype of each format, and the integer that may hold its bits."""


def _operand(b: IRBuilder, x: object, form: str, k_packed: bool, side: str) -> tensor:
    if form not in _FORMATS:
        raise LanguageValueError(f"Invalid float format: {form}.", f"use {', '.join(_FORMATS)}")
    if not isinstance(x, tensor) or not x.type.is_block() or len(x.type.shape) not in (2, 3):
        raise LanguageValueError(f"Both inputs must be either 2D or 3D; {side} is {x}")
    if not k_packed and form != "e2m1":
        raise LanguageValueError("only mxfp4 inputs can be packed along a dimension different than K")
    wanted, bits = _FORMATS[form]
    if x.dtype == wanted:
        return x
    if x.dtype != bits:
        raise LanguageTypeError(f"Unexpected dtype for {form}. Got {x.dtype}", f"pass {wanted} or {bits}")
    return bitcast(b, x, wanted)


def _check_scale(scale: tensor | None, rows: int, k: int, side: str) -> None:
    if scale is None:
        return
    group = 16 if scale.dtype.is_fp8e4nv() else 32
    wanted = (rows, k // group)
    have = scale.type.shape
    if have != wanted:
        raise LanguageValueError(
            f"{side}_scale must be a tensor of shape {list(wanted)}. Got {[str(size) for size in have]}",
            "a scale for each run of elements along k, and k last, on the right-hand side too",
        )


def dot_scaled(
    b: IRBuilder,
    lhs: tensor,
    lhs_scale: tensor | None,
    lhs_format: str,
    rhs: tensor,
    rhs_scale: tensor | None,
    rhs_format: str,
    acc: tensor | None = None,
    fast_math: bool = False,
    lhs_k_pack: bool = True,
    rhs_k_pack: bool = True,
    out_dtype: dt.dtype = dt.float32,
) -> tensor:
    """The scaled dot, plus `acc`."""
    if out_dtype != dt.float32:
        raise LanguageTypeError(
            "Only float32 is supported for out_dtype at the moment", "leave it out, and cast the result with .to(...)"
        )
    x = _operand(b, lhs, lhs_format, lhs_k_pack, "lhs")
    y = _operand(b, rhs, rhs_format, rhs_k_pack, "rhs")
    (*batch, m, k), (*_, k_other, n) = x.type.shape, y.type.shape
    pack_x, pack_y = 1 + (lhs_format == "e2m1"), 1 + (rhs_format == "e2m1")
    m, k = (m, k * pack_x) if lhs_k_pack else (m * pack_x, k)
    n, k_other = (n, k_other * pack_y) if rhs_k_pack else (n * pack_y, k_other)
    if len(x.type.shape) != len(y.type.shape) or k != k_other:
        raise LanguageValueError(
            f"Reduction dimension should pack the same number of elements; (lhs: {lhs} vs rhs: {rhs})",
            f"k is {k} on the left and {k_other} on the right, two elements of e2m1 to a byte where they are packed along k",
        )
    _check_scale(lhs_scale, m, k, "lhs")
    _check_scale(rhs_scale, n, k, "rhs")
    result = block_of(dt.float32, (*batch, m, n))
    if acc is not None and (acc.type.shape, acc.dtype) != (result.shape, dt.float32):
        raise LanguageValueError(
            f"the accumulator must be {result}, got {acc.type}", f"begin with tl.zeros({[*batch, m, n]}, tl.float32)"
        )
    result = result if acc is None else acc.type
    if b.is_verbatim:
        b.constant(dt.float32, 0)
    op = tt.DotScaledOp(
        x.handle,
        y.handle,
        b.constant(result, 0) if acc is None else acc.handle,
        None if lhs_scale is None else lhs_scale.handle,
        None if rhs_scale is None else rhs_scale.handle,
        a_elem_type=lhs_format,
        b_elem_type=rhs_format,
        fast_math=bool(fast_math),
        lhs_k_pack=bool(lhs_k_pack),
        rhs_k_pack=bool(rhs_k_pack),
    )
    return tensor(b.value(op), result)
