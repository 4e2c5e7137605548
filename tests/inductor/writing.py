"""What generated kernels consist of: their text, their arguments, and what NumPy says that they write.

kernel = Kernel("poi_relu_f32_1000", text, {"in_ptr0": x, "out_ptr0": zeros}, (1000,), {"XBLOCK": 256}, (4, 1, 1), {"out_ptr0": expected})
"""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

HEADER = '''import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def maximum(a, b):
    keep = a > b
    keep |= a != a
    return tl.where(keep, a, b)


@triton.jit
def minimum(a, b):
    keep = a < b
    keep |= a != a
    return tl.where(keep, a, b)


@triton.jit
def largest(a, axis):
    return tl.reduce(a, axis, maximum)


@triton.jit
def smallest(a, axis):
    return tl.reduce(a, axis, minimum)


@triton.jit
def multiplied(a, b):
    return a * b


@triton.jit
def either(a, b):
    return a | b


@triton.jit
def product(a, axis):
    return tl.reduce(a, axis, multiplied)


@triton.jit
def any_of(a, axis):
    return tl.reduce(a, axis, either)


@triton.jit
def larger_with_index(a, i, b, j):
    first = (a > b) | ((a == b) & (i < j)) | ((a != a) & (b == b))
    return tl.where(first, a, b), tl.where(first, i, j)


@triton.jit
def largest_with_index(a, i, axis):
    return tl.reduce((a, i), axis, larger_with_index)


@triton.jit
def welford_combine(mean_1, m2_1, weight_1, mean_2, m2_2, weight_2):
    delta = mean_2 - mean_1
    weight = weight_1 + weight_2
    share = tl.where(weight == 0.0, 0.0, weight_2 / weight)
    return mean_1 + delta * share, m2_1 + m2_2 + delta * delta * weight_1 * share, weight


@triton.jit
def welford(mean, m2, weight, axis):
    return tl.reduce((mean, m2, weight), axis, welford_combine)


@triton.jit
def add(a, b):
    return a + b


@triton.jit
def exclusive(a, b, c: tl.constexpr):
    return tl.where(c, a, b)


@triton.jit
def swapped(x, index, bit: tl.constexpr, size: tl.constexpr):
    """The element whose position differs in one bit, of every row."""
    place = tl.arange(0, size)[None, :] ^ (1 << bit)
    return tl.gather(x, tl.broadcast_to(place, x.shape), 1), tl.gather(index, tl.broadcast_to(place, x.shape), 1)


@triton.jit
def sort_with_index(x, index, bits: tl.constexpr, descending: tl.constexpr):
    """A stable bitonic sort of rows of 2^bits elements."""
    size: tl.constexpr = 1 << bits
    place = tl.arange(0, size)[None, :]
    for stage in tl.static_range(1, bits + 1):
        for step in tl.static_range(stage):
            other, other_index = swapped(x, index, stage - 1 - step, size)
            low = (place & (1 << (stage - 1 - step))) == 0
            upwards = (place & (1 << stage)) == 0
            before = (x < other) | ((x == other) & (index < other_index))
            if descending:
                before = (x > other) | ((x == other) & (index < other_index))
            keep = before == (low == upwards)
            x = tl.where(keep, x, other)
            index = tl.where(keep, index, other_index)
    return x, index


'''
"""What Inductor's kernels import from its helpers: written anew, of the same kinds."""


@dataclass
class Kernel:
    """One generated kernel with its arguments. `arrays` are by parameter, in order, `numbers` follow them; `expected` is by array."""

    name: str
    body: str
    arrays: dict[str, np.ndarray]
    numbers: tuple[int, ...]
    constants: dict[str, int]
    grid: tuple[int, int, int]
    expected: dict[str, np.ndarray]
    elements: dict[str, str] = field(default_factory=dict)
    """Element types that NumPy lacks, by array: `bfloat16`."""
    tolerance: float = 0.0
    options: dict[str, int] = field(default_factory=dict)

    @property
    def text(self) -> str:
        return HEADER + self.body


def load(kernel: Kernel, folder: Path) -> Any:
    """The kernel function, under the Triton that `import triton` means."""
    path = folder / f"{kernel.name}.py"
    path.write_text(kernel.text)
    spec = importlib.util.spec_from_file_location(kernel.name, path)
    assert spec is not None and spec.loader is not None
    module: ModuleType = importlib.util.module_from_spec(spec)
    sys.modules[kernel.name] = module
    spec.loader.exec_module(module)
    return getattr(module, "triton_" + kernel.name)


def assert_expected(kernel: Kernel, found: dict[str, np.ndarray]) -> None:
    """Raises where an array differs from what NumPy says by more than the kernel's tolerance."""
    for name, wanted in kernel.expected.items():
        np.testing.assert_allclose(
            decoded(kernel, name, found[name]),
            wanted,
            rtol=kernel.tolerance,
            atol=kernel.tolerance,
            err_msg=f"{kernel.name}: {name}",
        )


def decoded(kernel: Kernel, name: str, array: np.ndarray) -> np.ndarray:
    """`array` as numbers."""
    if kernel.elements.get(name) == "bfloat16":
        return (array.astype(np.uint32) << 16).view(np.float32)
    return array


def bfloat16_bits(values: np.ndarray) -> np.ndarray:
    """The bits of float32 `values` rounded to bfloat16, to nearest even."""
    words = np.ascontiguousarray(values, np.float32).view(np.uint32)
    return ((words + 0x7FFF + ((words >> 16) & 1)) >> 16).astype(np.uint16)
