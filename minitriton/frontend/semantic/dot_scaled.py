"""Matrix product of microscaled blocks (OCP MX formats): each 32 elements along K share an exponent.

tl.dot_scaled(a, a_scale, "e2m1", b, b_scale, "e5m2")    tt.dot_scaled; e2m1 comes two to a byte
"""

from __future__ import annotations

from minitriton.dialects import tt
from minitriton.frontend.builder import IRBuilder
from minitriton.frontend.errors import LanguageTypeError, LanguageValueError
from minitriton.frontend.semantic.casts import bitcast
from minitriton.language import dtypes as dt
from minitriton.language.dtypes import block_of
from minitriton.language.values import tensor

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
    """The scaled product, plus `acc`."""
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
    if acc is not None and acc.type != result:
        raise LanguageValueError(
            f"the accumulator must be {result}, got {acc.type}", f"begin with tl.zeros({[*batch, m, n]}, tl.float32)"
        )
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
