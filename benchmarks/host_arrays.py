"""A stand-in for torch that makes NumPy arrays: what workloads need to be emulated on a machine without torch or GPU.

torch = HostArrays(seed=0)
x = torch.randn(8, 1024, device="cuda", dtype=torch.float16)      x.array is a NumPy array; an 8-bit float is kept as bytes
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

NAMES = {
    "float16": "fp16", "float32": "fp32", "int8": "i8", "int32": "i32", "float8_e4m3fn": "fp8e4nv", "float8_e5m2": "fp8e5",
}  # fmt: skip
"""Triton's name of each element type."""


@dataclass(frozen=True)
class HostTensor:
    """A NumPy array and the name of its element type."""

    array: np.ndarray
    dtype: str

    def numel(self) -> int:
        return self.array.size

    def element_size(self) -> int:
        return self.array.itemsize

    def zero_(self) -> None:
        self.array[...] = 0

    def to(self, dtype: str) -> HostTensor:
        """Any numbers of the type (finite ones of 8-bit floats): workloads cast their random inputs only."""
        if dtype == self.dtype:
            return self
        if _numpy_type(dtype) is not np.uint8:
            return HostTensor(self.array.astype(_numpy_type(dtype)), dtype)
        return HostTensor((np.abs(self.array) * 23).astype(np.uint8) & np.uint8(0x77), dtype)

    def __add__(self, number: float) -> HostTensor:
        return HostTensor(self.array + self.array.dtype.type(number), self.dtype)


def _numpy_type(dtype: str) -> Any:
    return np.uint8 if dtype.startswith("float8") else getattr(np, dtype)


class HostArrays:
    """The functions and types of torch that `Workload.make` uses."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def __getattr__(self, name: str) -> str:
        if name in NAMES:
            return name
        raise AttributeError(name)

    def randn(self, *shape: int, device: str, dtype: str = "float32") -> HostTensor:
        return HostTensor(self.rng.standard_normal(shape).astype(_numpy_type(dtype)), dtype)

    def rand(self, *shape: int, device: str, dtype: str = "float32") -> HostTensor:
        return HostTensor(self.rng.random(shape).astype(_numpy_type(dtype)), dtype)

    def randint(self, low: int, high: int, shape: tuple[int, ...], device: str, dtype: str) -> HostTensor:
        return HostTensor(self.rng.integers(low, high, shape).astype(_numpy_type(dtype)), dtype)

    def zeros(self, *shape: int, device: str, dtype: str = "float32") -> HostTensor:
        return HostTensor(np.zeros(shape, _numpy_type(dtype)), dtype)

    empty = zeros

    def empty_like(self, tensor: HostTensor) -> HostTensor:
        return HostTensor(np.zeros_like(tensor.array), tensor.dtype)
