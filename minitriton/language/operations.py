"""The operations of the language that are not arithmetic, those on shapes too, and the methods of conditions: declarations only, see `declare.py`."""

# Declarations have no bodies: what they give is what the frontend emits.
# pyright: reportReturnType=false

from __future__ import annotations

import builtins
import enum
from collections.abc import Sequence
from typing import Any, TypeVar

from minitriton.language.declare import builtin
from minitriton.language.dtypes import (
    float32,
)
from minitriton.language.values import (
    ConstBool,
    ConstInt,
    ConstInts,
    ConstStr,
    ConstType,
    Function,
    Operand,
    Overloads,
    constexpr,
    member,
    tensor,
    tuple,
)

__all__ = [
    "PropagateNan", "add", "arange", "associative_scan", "assume", "broadcast", "broadcast_to", "cast", "cat",
    "clamp", "debug_barrier", "device_assert", "device_print", "dot", "dot_scaled", "expand_dims", "expect_zero",
    "extern_elementwise", "full", "gather", "histogram", "inline_asm_elementwise", "item", "join",
    "map_elementwise", "max_constancy", "max_contiguous", "maximum", "minimum", "mul", "multiple_of",
    "num_programs", "permute", "program_id", "reduce", "reshape", "split", "static_assert", "static_print", "sub",
    "to_tensor", "trans", "view", "where",
]  # fmt: skip
"""What `tl` offers of it."""

Reduced = TypeVar("Reduced", tensor, tuple)
"""One block, or several of one shape whose elements are combined together."""

extern = builtin
"""Triton's other name for `builtin`."""


def is_builtin(fn: object) -> bool:
    """Whether `fn` is an operation of the language."""
    return getattr(fn, "__triton_builtin__", False) is True


class PropagateNan(enum.Enum):
    """Whether the smaller or larger of a NaN and a number is the number (`NONE`) or NaN (`ALL`)."""

    NONE = "none"
    ALL = "all"


@builtin
def to_tensor(x: Operand) -> tensor:
    """`x` as a tensor: a Python number becomes a scalar."""


@builtin
def program_id(axis: ConstInt) -> tensor:
    """The index of this program along `axis` (0, 1 or 2) of the launch grid."""


@builtin
def num_programs(axis: ConstInt) -> tensor:
    """The number of programs along `axis` of the launch grid."""


@builtin
def arange(start: ConstInt, end: ConstInt) -> tensor:
    """The int32 values of `[start, end)`, whose number is a power of two."""


@builtin
def full(shape: ConstInts, value: Operand, dtype: ConstType) -> tensor:
    """A block of `shape` filled with `value`."""


@member
@builtin
def cast(
    input: Operand, dtype: ConstType, fp_downcast_rounding: ConstStr | None = None, bitcast: ConstBool = False
) -> tensor:
    """`input` as `dtype`: by value, or bit for bit. `fp_downcast_rounding`: "rtne" (default) or "rtz"."""


@builtin
def dot(
    input: tensor,
    other: tensor,
    acc: tensor | None = None,
    input_precision: ConstStr | None = None,
    allow_tf32: ConstBool | None = None,
    max_num_imprecise_acc: ConstInt | None = None,
    out_dtype: ConstType | None = None,
) -> tensor:
    """Matrix product of two blocks of equal rank, plus `acc`, whose dtype it has (without one: float32). `input_precision` says how f32 inputs may be rounded:
    "tf32" (default), "tf32x3", "ieee", "bf16x3" or "bf16x6"."""


@builtin
def dot_scaled(
    lhs: tensor,
    lhs_scale: tensor | None,
    lhs_format: ConstStr,
    rhs: tensor,
    rhs_scale: tensor | None,
    rhs_format: ConstStr,
    acc: tensor | None = None,
    fast_math: ConstBool = False,
    lhs_k_pack: ConstBool = True,
    rhs_k_pack: ConstBool = True,
    out_dtype: ConstType = float32,
) -> tensor:
    """Matrix product of blocks in microscaled formats ("e2m1", "e4m3", "e5m2", "bf16", "fp16") with e8m0 scales (uint8)
    for each 32 elements along K. `..._k_pack`: e2m1 is packed along K, else along M or N."""


@builtin
def where(condition: Operand, x: Operand, y: Operand) -> tensor:
    """`x` where `condition` holds, else `y`, all broadcast together. Both are computed."""


@builtin
def add(x: Operand, y: Operand, sanitize_overflow: ConstBool = True) -> tensor:
    """`x + y`."""


@builtin
def sub(x: Operand, y: Operand, sanitize_overflow: ConstBool = True) -> tensor:
    """`x - y`."""


@builtin
def mul(x: Operand, y: Operand, sanitize_overflow: ConstBool = True) -> tensor:
    """`x * y`."""


@builtin
def minimum(x: Operand, y: Operand, propagate_nan: PropagateNan | constexpr = PropagateNan.NONE) -> tensor:
    """The smaller of two values, element by element."""


@builtin
def maximum(x: Operand, y: Operand, propagate_nan: PropagateNan | constexpr = PropagateNan.NONE) -> tensor:
    """The larger of two values, element by element."""


@builtin
def clamp(
    x: Operand, min: Operand, max: Operand, propagate_nan: PropagateNan | constexpr = PropagateNan.NONE
) -> tensor:
    """`x` limited to `[min, max]`."""


@builtin
def builtin_max(*args: Operand, propagate_nan: PropagateNan | constexpr | None = None) -> Any:
    """Python's `max` of compile-time values, or `maximum` of two or more scalars."""


@builtin
def builtin_min(*args: Operand, propagate_nan: PropagateNan | constexpr | None = None) -> Any:
    """Python's `min` of compile-time values, or `minimum` of two or more scalars."""


@member
@builtin
def reduce(input: Reduced, axis: ConstInt | None, combine_fn: Function, keep_dims: ConstBool = False) -> Reduced:
    """Combines all elements along `axis` (None: all elements) with the jit function `combine_fn`.

    `input` is a block, or a tuple of blocks which `combine_fn` takes and returns together.
    """


@builtin
def promote_bfloat16_to_float32(t: Operand) -> tensor:
    """`t`, or its value as float32 if it is bfloat16 (for which comparisons do not exist in hardware)."""


@builtin
def reduce_with_indices(
    input: tensor, axis: ConstInt | None, combine_fn: Function, keep_dims: ConstBool = False
) -> builtins.tuple[tensor, tensor]:
    """`reduce` of a block together with each element's index along `axis`."""


@member
@builtin
def associative_scan(input: Reduced, axis: ConstInt, combine_fn: Function, reverse: ConstBool = False) -> Reduced:
    """All running results of combining the elements along `axis` with the jit function `combine_fn`."""


@member
@builtin
def histogram(input: tensor, num_bins: ConstInt, mask: Operand | None = None) -> tensor:
    """How often each of 0 .. `num_bins`-1 occurs in a 1-D integer block."""


@member
@builtin
def gather(src: tensor, index: tensor, axis: ConstInt) -> tensor:
    """The elements of `src` that `index` names along `axis`."""


@builtin
def map_elementwise(scalar_fn: Function, *args: Operand, pack: ConstInt = 1) -> Any:
    """Applies a jit function of scalars to each element (or `pack` elements at once) of the broadcast blocks."""


@builtin
def inline_asm_elementwise(
    asm: ConstStr,
    constraints: ConstStr,
    args: Sequence[Operand] | tuple,
    dtype: ConstType | Sequence[ConstType] | tuple,
    is_pure: ConstBool,
    pack: ConstInt,
) -> Any:
    """Runs PTX on each `pack` elements of the broadcast blocks. `dtype`: one result type, or a tuple of them."""


@builtin
def extern_elementwise(
    lib_name: ConstStr,
    lib_path: ConstStr,
    args: Sequence[Operand] | tuple,
    arg_type_symbol_dict: Overloads | constexpr,
    is_pure: ConstBool,
) -> tensor:
    """Calls a function of a device library on each element; the table maps argument dtypes to (symbol, result dtype)."""


@builtin
def expect_zero(x: Operand, mask: Operand) -> tensor:
    """`x`, which is 0 where `mask` holds: an assertion with the option `debug`, else nothing."""


@builtin
def debug_barrier() -> None:
    """A barrier of all threads of the program."""


@builtin
def multiple_of(input: Operand, values: ConstInts) -> tensor:
    """Promises that the first element of each run along each dimension is divisible by `values`."""


@builtin
def max_contiguous(input: Operand, values: ConstInts) -> tensor:
    """Promises that runs of `values` elements along each dimension count up by one."""


@builtin
def max_constancy(input: Operand, values: ConstInts) -> tensor:
    """Promises that runs of `values` elements along each dimension are equal."""


@builtin
def assume(cond: Operand) -> None:
    """Promises that `cond` holds."""


@builtin
def static_print(
    *values: object, sep: str = " ", end: str = "\n", file: object = None, flush: ConstBool = False
) -> None:
    """Prints while the kernel is compiled."""


@builtin
def static_assert(cond: ConstBool, msg: object = "") -> None:
    """Fails the compilation, with `msg`, unless the compile-time value `cond` is true."""


@builtin
def device_print(prefix: ConstStr, *args: Operand, hex: ConstBool = False) -> None:
    """Prints at run time: `prefix`, a string, then the values of each program's threads."""


@builtin
def device_assert(cond: Operand, msg: object = "", mask: Operand | None = None) -> None:
    """Stops the kernel at run time unless `cond` holds. Only compiled with the option `debug`."""


@member
@builtin
def logical_and(input: Operand, other: Operand) -> tensor:
    """Whether both are true, both computed. Raises where one has more than a bit."""


@member
@builtin
def logical_or(input: Operand, other: Operand) -> tensor:
    """Whether one is true, both computed. Raises where one has more than a bit."""


"""What `tl` offers of it."""


@builtin
def broadcast(input: Operand, other: Operand) -> builtins.tuple[tensor, tensor]:
    """Both arguments, broadcast to one shape."""


@member
@builtin
def broadcast_to(input: Operand, *shape: ConstInts) -> tensor:
    """`input` broadcast to `shape`, given as a list or as arguments."""


@member
@builtin
def trans(input: Operand, *dims: ConstInts) -> tensor:
    """`input` with its dimensions permuted to `dims` (default: the last two swapped)."""


@member
@builtin
def permute(input: Operand, *dims: ConstInts) -> tensor:
    """`input` with its dimensions permuted to `dims`."""


@builtin
def cat(input: tensor, other: tensor, can_reorder: ConstBool = False, dim: ConstInt = 0) -> tensor:
    """Two blocks of one shape in one, `other` after `input` along `dim`; with `can_reorder` two 1-D blocks, in any order."""


@builtin
def join(a: Operand, b: Operand) -> tensor:
    """Two blocks stacked along a new last dimension of size 2."""


@member
@builtin
def split(a: tensor) -> builtins.tuple[tensor, tensor]:
    """The two halves of a block along its last dimension, whose size is 2. The inverse of `join`."""


@member
@builtin
def view(input: Operand, *shape: ConstInts) -> tensor:
    """`reshape` that may reorder elements. Deprecated: use `reshape(..., can_reorder=True)`."""


@member
@builtin
def item(input: Operand) -> tensor:
    """The element of a block of one element, as a scalar."""


@member
@builtin
def reshape(input: Operand, *shape: ConstInts, can_reorder: ConstBool = False) -> tensor:
    """The same elements in another shape, given as a list or as arguments."""


@member
@builtin
def expand_dims(input: Operand, axis: ConstInts) -> tensor:
    """`input` with new dimensions of size 1 at `axis` (an integer or several) of the result."""
