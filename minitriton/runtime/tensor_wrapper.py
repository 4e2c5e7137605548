"""`reinterpret(tensor, dtype)`: the same memory passed to a kernel as another element type.

kernel[grid](reinterpret(int8_tensor, tl.float8e5))    →    the parameter is a `*fp8e5`
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class TensorWrapper:
    """A tensor `base` whose elements kernels see as `dtype` (a dtype of the language or of torch, equally wide)."""

    def __init__(self, base: Any, dtype: object) -> None:
        self.base = base
        self.dtype = dtype
        self.data = base.data
        self.device = base.device
        self.shape = base.shape

    @property
    def is_cuda(self) -> bool:
        return self.base.is_cuda

    def data_ptr(self) -> int:
        return self.base.data_ptr()

    def stride(self, *args: object) -> Any:
        return self.base.stride(*args)

    def element_size(self) -> int:
        return self.base.element_size()

    def cpu(self) -> TensorWrapper:
        return TensorWrapper(self.base.cpu(), self.dtype)

    def to(self, device: object) -> TensorWrapper:
        return TensorWrapper(self.base.to(device), self.dtype)

    def clone(self) -> TensorWrapper:
        return TensorWrapper(self.base.clone(), self.dtype)

    def copy_(self, other: TensorWrapper) -> None:
        self.base.copy_(other.base)

    def new_empty(self, sizes: Sequence[int]) -> TensorWrapper:
        return TensorWrapper(self.base.new_empty(sizes), self.dtype)

    def __str__(self) -> str:
        return f"TensorWrapper[{self.dtype}]({self.base})"


def reinterpret(tensor: Any, dtype: object) -> Any:
    """`tensor` as elements of `dtype`; the plain tensor again if that is its own dtype. Raises `TypeError` for what is no tensor."""
    base = tensor.base if isinstance(tensor, TensorWrapper) else tensor
    if not hasattr(base, "data_ptr"):
        raise TypeError(f"Cannot reinterpret a {type(tensor)}.")
    if isinstance(tensor, TensorWrapper) and dtype == base.dtype:
        return base
    return TensorWrapper(base, dtype)
