"""The standard library: reductions, scans and helpers, written in the language itself.

sum(x, axis=1)  →  reduce(x, 1, _sum_combine)
"""

# The annotation `constexpr` speaks to the kernel compiler; to Python it is any value.
# pyright: standard, reportArgumentType=false, reportAssignmentType=false

from __future__ import annotations

from minitriton.language import core, math
from minitriton.language.core import constexpr
from minitriton.language.declare import constexpr_function, library
from minitriton.language.dtypes import dtype as dtype_class
from minitriton.language.dtypes import get_int_dtype
from minitriton.language.values import member

__all__ = [
    "argmax", "argmin", "cdiv", "cumprod", "cumsum", "interleave", "max", "min", "ravel", "reduce_or", "sigmoid",
    "softmax", "squeeze", "sum", "swizzle2d", "unsqueeze", "xor_sum", "zeros", "zeros_like",
]  # fmt: skip
"""What `tl` offers of it."""


@constexpr_function
def _log2(n: int) -> int:
    return n.bit_length() - 1


@constexpr_function
def _is_power_of_two(n: int) -> bool:
    return n > 0 and n & (n - 1) == 0


_get_int_dtype = constexpr_function(get_int_dtype)


@member
@library
def cdiv(x, div):
    """Quotient rounded up, for non-negative integers."""
    return (x + (div - 1)) // div


@member
@library
def sigmoid(x):
    """1 / (1 + e^-x)."""
    return 1 / (1 + math.exp(-x))


@member
@library
def softmax(x, dim=None, keep_dims=False, ieee_rounding=False):
    """e^x over the sum of e^x along `dim` (default 0), in the shape of `x`."""
    if dim is None:
        _dim: constexpr = 0
    else:
        _dim: constexpr = dim
    # Along the first dimension a result without it is broadcast to the same numbers.
    _keep: constexpr = keep_dims or _dim % len(x.shape) != 0
    z = x - max(x, _dim, keep_dims=_keep)
    num = math.exp(z)
    den = sum(num, _dim, keep_dims=_keep)
    return math.fdiv(num, den, ieee_rounding)


@member
@library
def ravel(x, can_reorder=False):
    """All elements in one dimension."""
    return core.reshape(x, [x.numel], can_reorder=can_reorder)


@library
def swizzle2d(i, j, size_i, size_j, size_g):
    """Renumbers the row-major indices (i, j) of a `size_i` x `size_j` grid so that `size_g` rows are walked column by column."""
    linear = i * size_j + j
    group_size = size_g * size_j
    first_row = (linear // group_size) * size_g
    rows = core.minimum(size_i - first_row, size_g)
    within = linear % group_size
    return first_row + within % rows, within // rows


@library
def squeeze(x, dim: constexpr):
    """`x` without its dimension `dim`, whose size is 1."""
    core.static_assert(x.shape[dim] == 1, "squeeze takes away a dimension of size 1")
    _dim: constexpr = dim % len(x.shape)
    return core.reshape(x, [*x.shape[:_dim], *x.shape[_dim + 1 :]])


@library
def unsqueeze(x, dim: constexpr):
    """`x` with a new dimension of size 1 at `dim` of the result."""
    return core.expand_dims(x, dim)


@library
def zeros(shape, dtype):
    """A block of zeros."""
    return core.full(shape, 0, dtype)


@library
def zeros_like(input):
    """Zeros of the shape and dtype of `input`."""
    return zeros(input.shape, input.dtype)


@library
def _argmax_combine(value1, index1, value2, index2, tie_break_left):
    if tie_break_left:
        tie = value1 == value2 and index1 < index2
    else:
        tie = False
    first = value1 > value2 or tie
    return core.where(first, value1, value2), core.where(first, index1, index2)


@library
def _argmax_combine_tie_break_left(value1, index1, value2, index2):
    return _argmax_combine(value1, index1, value2, index2, True)


@library
def _argmax_combine_tie_break_fast(value1, index1, value2, index2):
    return _argmax_combine(value1, index1, value2, index2, False)


@library
def _elementwise_max(a, b):
    return core.maximum(a, b)


@constexpr_function
def _comparison_dtype(dtype: dtype_class) -> dtype_class | None:
    """The dtype in which `max` and `min` compare: 32 bits at least."""
    if dtype.primitive_bitwidth >= 32:
        return None
    return core.float32 if dtype.is_floating() else core.int32


@member
@library
def max(input, axis=None, return_indices=False, return_indices_tie_break_left=True, keep_dims=False):
    """The largest element along `axis` (None: of all), with `return_indices` also where it is."""
    input = core._promote_bfloat16_to_float32(input)
    if return_indices:
        if return_indices_tie_break_left:
            return core._reduce_with_indices(input, axis, _argmax_combine_tie_break_left, keep_dims=keep_dims)
        else:
            return core._reduce_with_indices(input, axis, _argmax_combine_tie_break_fast, keep_dims=keep_dims)
    else:
        wide: constexpr = _comparison_dtype(input.dtype)
        if wide is not None:
            input = input.to(wide)
        return core.reduce(input, axis, _elementwise_max, keep_dims=keep_dims)


@member
@library
def argmax(input, axis, tie_break_left=True, keep_dims=False):
    """Where the largest element along `axis` is; the leftmost of equals with `tie_break_left`."""
    _, index = max(input, axis, return_indices=True, return_indices_tie_break_left=tie_break_left, keep_dims=keep_dims)
    return index


@library
def _argmin_combine(value1, index1, value2, index2, tie_break_left):
    if tie_break_left:
        tie = value1 == value2 and index1 < index2
    else:
        tie = False
    first = value1 < value2 or tie
    return core.where(first, value1, value2), core.where(first, index1, index2)


@library
def _argmin_combine_tie_break_left(value1, index1, value2, index2):
    return _argmin_combine(value1, index1, value2, index2, True)


@library
def _argmin_combine_tie_break_fast(value1, index1, value2, index2):
    return _argmin_combine(value1, index1, value2, index2, False)


@library
def _elementwise_min(a, b):
    return core.minimum(a, b)


@member
@library
def min(input, axis=None, return_indices=False, return_indices_tie_break_left=True, keep_dims=False):
    """The smallest element along `axis` (None: of all), with `return_indices` also where it is."""
    input = core._promote_bfloat16_to_float32(input)
    if return_indices:
        if return_indices_tie_break_left:
            return core._reduce_with_indices(input, axis, _argmin_combine_tie_break_left, keep_dims=keep_dims)
        else:
            return core._reduce_with_indices(input, axis, _argmin_combine_tie_break_fast, keep_dims=keep_dims)
    else:
        wide: constexpr = _comparison_dtype(input.dtype)
        if wide is not None:
            input = input.to(wide)
        return core.reduce(input, axis, _elementwise_min, keep_dims=keep_dims)


@member
@library
def argmin(input, axis, tie_break_left=True, keep_dims=False):
    """Where the smallest element along `axis` is; the leftmost of equals with `tie_break_left`."""
    _, index = min(input, axis, return_indices=True, return_indices_tie_break_left=tie_break_left, keep_dims=keep_dims)
    return index


@library
def _sum_combine(a, b):
    return a + b


@constexpr_function
def _pick_sum_dtype(in_dtype: dtype_class, dtype: dtype_class | None) -> dtype_class | None:
    """The dtype in which to add: the one asked for, else 32 bits of the same sign for narrower integers."""
    if dtype is not None:
        return dtype
    if not in_dtype.is_int() or in_dtype.int_bitwidth >= 32:
        return None
    return core.int32 if in_dtype.is_int_signed() else core.uint32


@member
@library
def sum(input, axis=None, keep_dims=False, dtype: constexpr = None):
    """The sum along `axis` (None: of all elements), computed in `dtype`."""
    out_dtype: constexpr = _pick_sum_dtype(input.dtype, dtype)
    if out_dtype is not None:
        input = input.to(out_dtype)
    return core.reduce(input, axis, _sum_combine, keep_dims=keep_dims)


@library
def _xor_combine(a, b):
    return a ^ b


@member
@library
def xor_sum(input, axis=None, keep_dims=False):
    """The exclusive or of all integers along `axis` (None: of all)."""
    core.static_assert(input.type.scalar.is_int(), "xor_sum only supported for integers")
    return core.reduce(input, axis, _xor_combine, keep_dims=keep_dims)


@library
def _or_combine(x, y):
    return x | y


@member
@library
def reduce_or(input, axis, keep_dims=False):
    """The bitwise or of all integers along `axis` (None: of all)."""
    core.static_assert(input.type.scalar.is_int(), "reduce_or only supported for integers")
    return core.reduce(input, axis, _or_combine, keep_dims=keep_dims)


@member
@library
def cumsum(input, axis=0, reverse=False, dtype: constexpr = None):
    """All running sums along `axis`, computed in `dtype`."""
    input = core._promote_bfloat16_to_float32(input)
    out_dtype: constexpr = _pick_sum_dtype(input.dtype, dtype)
    if out_dtype is not None:
        input = input.to(out_dtype)
    return core.associative_scan(input, axis, _sum_combine, reverse)


@library
def _prod_combine(a, b):
    return a * b


@member
@library
def cumprod(input, axis=0, reverse=False, dtype: constexpr = None):
    """All cumulative multiplications along `axis`, computed in `dtype` (default: that of `input`)."""
    input = core._promote_bfloat16_to_float32(input)
    if dtype is not None:
        input = input.to(dtype)
    return core.associative_scan(input, axis, _prod_combine, reverse)


@library
def interleave(a, b):
    """The elements of two blocks in turn along the last dimension."""
    c = core.join(a, b)
    if len(c.shape) == 1:
        return c
    else:
        return core.reshape(c, [*c.shape[:-2], 2 * c.shape[-2]])
