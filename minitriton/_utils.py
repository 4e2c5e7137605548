"""Helpers that programs import from `triton._utils`: names of element types, shapes of blocks."""

from __future__ import annotations

from typing import Any

from minitriton.runtime.arguments import dtype_name

TRITON_MAX_TENSOR_NUMEL = 1048576


def is_power_of_two(x: int) -> bool:
    return x & (x - 1) == 0


def validate_block_shape(shape: list[int]) -> int:
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
