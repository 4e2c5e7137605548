"""Helpers that programs import from `triton._utils`: names of element types, shapes of blocks."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

from minitriton.host.json_values import is_list_or_tuple
from minitriton.language.values import tuple as language_tuple
from minitriton.runtime.jit import type_canonicalisation_dict
from minitriton.runtime.launching.arguments import dtype_name

__all__ = [
    "BITWIDTH_DICT", "TRITON_MAX_TENSOR_NUMEL", "canonicalize_dtype", "canonicalize_ptr_dtype", "find_paths_if",
    "get_iterable_path", "get_primitive_bitwidth", "is_namedtuple", "is_power_of_two", "type_canonicalisation_dict",
    "validate_block_shape",
]  # fmt: skip

TRITON_MAX_TENSOR_NUMEL = 1048576

_SHORT_NAMES = {
    name: int(name.strip("uifpb"))
    for name in ["u1", "i1", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "fp16", "bf16", "fp32", "fp64"]
}
_FP8 = ("fp8e4nv", "fp8e4b15", "fp8e4b8", "fp8e5", "fp8e5b16")

BITWIDTH_DICT: dict[str, int] = {**_SHORT_NAMES, **dict.fromkeys(_FP8, 8), "void": 0}
"""Bits of an element, by its short name (`fp16`) and by its long ones (`float16`)."""

BITWIDTH_DICT.update({long: BITWIDTH_DICT[short] for long, short in type_canonicalisation_dict.items()})


def get_primitive_bitwidth(dtype: str) -> int:
    """Bits of an element type. Raises `KeyError` for a name that is none."""
    return BITWIDTH_DICT[dtype]


def is_namedtuple(val: Any) -> bool:
    """Whether `val` is a class of named tuples."""
    return isinstance(val, type) and hasattr(val, "_fields") and issubclass(val, tuple)


def get_iterable_path(iterable: Any, path: tuple[int, ...]) -> Any:
    """The item at `path` of nested tuples: `get_iterable_path((1, (2, 3)), (1, 0))` is 2."""
    return functools.reduce(operator.getitem, path, iterable)


def find_paths_if(iterable: Any, pred: Callable[[tuple[int, ...], Any], bool]) -> list[tuple[int, ...]]:
    """The paths of all items of nested lists and tuples for which `pred(path, item)` holds, in order."""
    found: list[tuple[int, ...]] = []

    def visit(path: tuple[int, ...], current: Any) -> None:
        if is_list_or_tuple(current) or isinstance(current, language_tuple):
            for index, item in enumerate(current):
                visit((*path, index), item)
        elif pred(path, current):
            found.append(path)

    visit((), iterable)
    return found


def is_power_of_two(x: int) -> bool:
    return x & (x - 1) == 0


def validate_block_shape(shape: Sequence[object]) -> int:
    """The number of elements of a block. Raises `TypeError` or `ValueError` for what cannot be one."""
    count = 1
    for index, size in enumerate(shape):
        if not isinstance(size, int):
            raise TypeError(f"Shape element {index} must have type `constexpr[int]`, got `constexpr[{type(size)}]")
        if not is_power_of_two(size):
            raise ValueError(f"Shape element {index} must be a power of 2")
        count *= size
    if count > TRITON_MAX_TENSOR_NUMEL:
        raise ValueError(f"numel ({count}) exceeds triton maximum tensor numel ({TRITON_MAX_TENSOR_NUMEL})")
    return count


def canonicalize_dtype(dtype: Any) -> str:
    """`fp32` for `torch.float32`, `float32` or `fp32`."""
    return dtype_name(dtype)


def canonicalize_ptr_dtype(dtype: Any, is_const: bool) -> str:
    return ("*k" if is_const else "*") + dtype_name(dtype)
