"""The operations of the language that are not arithmetic: declarations only, see `declare.py`.

Triton keeps types and values in this module too, so they are found here under the same names.
"""

from __future__ import annotations

import enum
from typing import Any

from minitriton.language.aggregates import _aggregate
from minitriton.language.declare import builtin, must_use_result
from minitriton.language.descriptors import (
    load_tensor_descriptor,
    make_tensor_descriptor,
    store_tensor_descriptor,
    tensor_descriptor,
    tensor_descriptor_base,
    tensor_descriptor_type,
)
from minitriton.language.dtypes import (
    TRITON_MAX_TENSOR_NUMEL,
    base_type,
    bfloat16,
    block_of,
    block_type,
    constexpr_type,
    dtype,
    float8e4b8,
    float8e4b15,
    float8e4nv,
    float8e5,
    float8e5b16,
    float16,
    float32,
    float64,
    get_int_dtype,
    int1,
    int8,
    int16,
    int32,
    int64,
    pi32_t,
    pointer_type,
    slice_type,
    tuple_type,
    uint8,
    uint16,
    uint32,
    uint64,
    validate_block_shape,
    void,
)
from minitriton.language.iterators import condition, range, static_range
from minitriton.language.memory import (
    advance,
    atomic_add,
    atomic_and,
    atomic_cas,
    atomic_max,
    atomic_min,
    atomic_or,
    atomic_xchg,
    atomic_xor,
    load,
    make_block_ptr,
    store,
)
from minitriton.language.shapes import (
    broadcast,
    broadcast_to,
    cat,
    expand_dims,
    item,
    join,
    permute,
    reshape,
    split,
    trans,
    view,
)
from minitriton.language.values import (
    CONSTEXPR_0,
    base_value,
    const,
    constexpr,
    member,
    slice,
    tensor,
    tuple,
    unwrap,
)

_unwrap_if_constexpr = unwrap
extern = builtin
"""Triton's other name for `builtin`."""


def is_builtin(fn: Any) -> bool:
    """Whether `fn` is an operation of the language."""
    return getattr(fn, "__triton_builtin__", False) is True


class PropagateNan(enum.Enum):
    """Whether the smaller or larger of a NaN and a number is the number (`NONE`) or NaN (`ALL`)."""

    NONE = "none"
    ALL = "all"


@builtin
def to_tensor(x: Any) -> Any:
    """`x` as a tensor: a Python number becomes a scalar."""


@builtin
def program_id(axis: Any) -> Any:
    """The index of this program along `axis` (0, 1 or 2) of the launch grid."""


@builtin
def num_programs(axis: Any) -> Any:
    """The number of programs along `axis` of the launch grid."""


@builtin
def arange(start: Any, end: Any) -> Any:
    """The int32 values of `[start, end)`, whose number is a power of two."""


@builtin
def full(shape: Any, value: Any, dtype: Any) -> Any:
    """A block of `shape` filled with `value`."""


@member
@builtin
def cast(input: Any, dtype: Any, fp_downcast_rounding: Any = None, bitcast: Any = False) -> Any:
    """`input` as `dtype`: by value, or bit for bit. `fp_downcast_rounding`: "rtne" (default) or "rtz"."""


@builtin
def dot(
    input: Any,
    other: Any,
    acc: Any = None,
    input_precision: Any = None,
    allow_tf32: Any = None,
    max_num_imprecise_acc: Any = None,
    out_dtype: Any = float32,
) -> Any:
    """Matrix product of two blocks of equal rank, plus `acc`. `input_precision` says how f32 inputs may be rounded:
    "tf32" (default), "tf32x3", "ieee", "bf16x3" or "bf16x6"."""


@builtin
def dot_scaled(
    lhs: Any,
    lhs_scale: Any,
    lhs_format: Any,
    rhs: Any,
    rhs_scale: Any,
    rhs_format: Any,
    acc: Any = None,
    fast_math: Any = False,
    lhs_k_pack: Any = True,
    rhs_k_pack: Any = True,
    out_dtype: Any = float32,
) -> Any:
    """Matrix product of blocks in microscaled formats ("e2m1", "e4m3", "e5m2", "bf16", "fp16") with e8m0 scales (uint8)
    for each 32 elements along K. `..._k_pack`: e2m1 is packed along K, else along M or N."""


@builtin
def where(condition: Any, x: Any, y: Any) -> Any:
    """`x` where `condition` holds, else `y`, all broadcast together. Both are computed."""


@builtin
def add(x: Any, y: Any, sanitize_overflow: Any = True) -> Any:
    """`x + y`."""


@builtin
def sub(x: Any, y: Any, sanitize_overflow: Any = True) -> Any:
    """`x - y`."""


@builtin
def mul(x: Any, y: Any, sanitize_overflow: Any = True) -> Any:
    """`x * y`."""


@builtin
def minimum(x: Any, y: Any, propagate_nan: Any = PropagateNan.NONE) -> Any:
    """The smaller of two values, element by element."""


@builtin
def maximum(x: Any, y: Any, propagate_nan: Any = PropagateNan.NONE) -> Any:
    """The larger of two values, element by element."""


@builtin
def clamp(x: Any, min: Any, max: Any, propagate_nan: Any = PropagateNan.NONE) -> Any:
    """`x` limited to `[min, max]`."""


@builtin
def builtin_max(*args: Any, propagate_nan: Any = None) -> Any:
    """Python's `max` of compile-time values, or `maximum` of two or more scalars."""


@builtin
def builtin_min(*args: Any, propagate_nan: Any = None) -> Any:
    """Python's `min` of compile-time values, or `minimum` of two or more scalars."""


@member
@builtin
def reduce(input: Any, axis: Any, combine_fn: Any, keep_dims: Any = False) -> Any:
    """Combines all elements along `axis` (None: all elements) with the jit function `combine_fn`.

    `input` is a block, or a tuple of blocks which `combine_fn` takes and returns together.
    """


@builtin
def _promote_bfloat16_to_float32(t: Any) -> Any:
    """`t`, or its value as float32 if it is bfloat16 (for which comparisons do not exist in hardware)."""


@builtin
def _reduce_with_indices(input: Any, axis: Any, combine_fn: Any, keep_dims: Any = False) -> Any:
    """`reduce` of a block together with each element's index along `axis`."""


@member
@builtin
def associative_scan(input: Any, axis: Any, combine_fn: Any, reverse: Any = False) -> Any:
    """All running results of combining the elements along `axis` with the jit function `combine_fn`."""


@member
@builtin
def histogram(input: Any, num_bins: Any, mask: Any = None) -> Any:
    """How often each of 0 .. `num_bins`-1 occurs in a 1-D integer block."""


@member
@builtin
def gather(src: Any, index: Any, axis: Any) -> Any:
    """The elements of `src` that `index` names along `axis`."""


@builtin
def map_elementwise(scalar_fn: Any, *args: Any, pack: Any = 1) -> Any:
    """Applies a jit function of scalars to each element (or `pack` elements at once) of the broadcast blocks."""


@builtin
def inline_asm_elementwise(asm: Any, constraints: Any, args: Any, dtype: Any, is_pure: Any, pack: Any) -> Any:
    """Runs PTX on each `pack` elements of the broadcast blocks. `dtype`: one result type, or a tuple of them."""


@builtin
def extern_elementwise(lib_name: Any, lib_path: Any, args: Any, arg_type_symbol_dict: Any, is_pure: Any) -> Any:
    """Calls a function of a device library on each element; the table maps argument dtypes to (symbol, result dtype)."""


@builtin
def debug_barrier() -> Any:
    """A barrier of all threads of the program."""


@builtin
def multiple_of(input: Any, values: Any) -> Any:
    """Promises that the first element of each run along each dimension is divisible by `values`."""


@builtin
def max_contiguous(input: Any, values: Any) -> Any:
    """Promises that runs of `values` elements along each dimension count up by one."""


@builtin
def max_constancy(input: Any, values: Any) -> Any:
    """Promises that runs of `values` elements along each dimension are equal."""


@builtin
def assume(cond: Any) -> Any:
    """Promises that `cond` holds."""


@builtin
def static_print(*values: Any, sep: str = " ", end: str = "\n", file: Any = None, flush: Any = False) -> Any:
    """Prints while the kernel is compiled."""


@builtin
def static_assert(cond: Any, msg: Any = "") -> Any:
    """Fails the compilation, with `msg`, unless the compile-time value `cond` is true."""


@builtin
def device_print(prefix: Any, *args: Any, hex: Any = False) -> Any:
    """Prints at run time: `prefix`, a string, then the values of each program's threads."""


@builtin
def device_assert(cond: Any, msg: Any = "", mask: Any = None) -> Any:
    """Stops the kernel at run time unless `cond` holds. Only compiled with the option `debug`."""


__all__ = [
    "CONSTEXPR_0",
    "TRITON_MAX_TENSOR_NUMEL",
    "PropagateNan",
    "_aggregate",
    "_promote_bfloat16_to_float32",
    "_reduce_with_indices",
    "_unwrap_if_constexpr",
    "add",
    "advance",
    "arange",
    "associative_scan",
    "assume",
    "atomic_add",
    "atomic_and",
    "atomic_cas",
    "atomic_max",
    "atomic_min",
    "atomic_or",
    "atomic_xchg",
    "atomic_xor",
    "base_type",
    "base_value",
    "bfloat16",
    "block_of",
    "block_type",
    "broadcast",
    "broadcast_to",
    "builtin",
    "builtin_max",
    "builtin_min",
    "cast",
    "cat",
    "clamp",
    "condition",
    "const",
    "constexpr",
    "constexpr_type",
    "debug_barrier",
    "device_assert",
    "device_print",
    "dot",
    "dot_scaled",
    "dtype",
    "expand_dims",
    "extern_elementwise",
    "float8e4b8",
    "float8e4b15",
    "float8e4nv",
    "float8e5",
    "float8e5b16",
    "float16",
    "float64",
    "full",
    "gather",
    "get_int_dtype",
    "histogram",
    "inline_asm_elementwise",
    "int1",
    "int8",
    "int16",
    "int32",
    "int64",
    "item",
    "join",
    "load",
    "load_tensor_descriptor",
    "make_block_ptr",
    "make_tensor_descriptor",
    "map_elementwise",
    "max_constancy",
    "max_contiguous",
    "maximum",
    "member",
    "minimum",
    "mul",
    "multiple_of",
    "must_use_result",
    "num_programs",
    "permute",
    "pi32_t",
    "pointer_type",
    "program_id",
    "range",
    "reduce",
    "reshape",
    "slice",
    "slice_type",
    "split",
    "static_assert",
    "static_print",
    "static_range",
    "store",
    "store_tensor_descriptor",
    "sub",
    "tensor",
    "tensor_descriptor",
    "tensor_descriptor_base",
    "tensor_descriptor_type",
    "to_tensor",
    "trans",
    "tuple",
    "tuple_type",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "validate_block_shape",
    "view",
    "void",
    "where",
]
