"""Kernels with enough of everything for a broken pass to break, and their calls."""

from typing import Any

import numpy as np

import minitriton as triton
import minitriton.language as tl
from minitriton.tools.tensor_descriptor import TensorDescriptor

ROWS, COLS, GRID, N = 16, 16, (3,), 3 * 16 * 16 - 40


@triton.jit
def mixed(x_ptr, index_ptr, out_ptr, sums_ptr, ints_ptr, n, scale, ROWS: tl.constexpr, COLS: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.arange(0, COLS)
    offsets = rows[:, None] * COLS + columns[None, :]
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=1.5)
    index = tl.load(index_ptr + offsets, mask=mask, other=3)
    distance = index - columns[None, :]
    third = distance // 3
    rest = distance % 5
    low = distance & 6
    shifted = distance >> 1
    tl.store(ints_ptr + offsets, third * 7 + rest + low * 11 + shifted, mask=mask)
    scaled = x * scale - 0.5
    chosen = tl.where(distance > 2, scaled, x + 2.0)
    tl.store(out_ptr + offsets, chosen, mask=mask)
    again = tl.load(out_ptr + offsets, mask=mask, other=0.25)
    change = again - x + distance.to(tl.float32)
    tl.store(sums_ptr + rows, tl.sum(change, axis=1))


def mixed_call() -> dict[str, Any]:
    rng = np.random.default_rng(1)
    size = 3 * ROWS * COLS
    floats = [rng.standard_normal(size).astype(np.float32) for _ in range(3)]
    index, ints = (rng.integers(0, 32, size).astype(np.int32) for _ in range(2))
    args = [floats[0], index, floats[1], floats[2], ints, N, 1.75]
    return {"kernel": mixed, "args": args, "grid": GRID, "ROWS": ROWS, "COLS": COLS}


@triton.jit
def normalized(x_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    top = tl.max(x, axis=0)
    tl.store(out_ptr + at, (x - top) / tl.sum(x * x, axis=0))


def normalized_call() -> dict[str, Any]:
    x = np.random.default_rng(3).standard_normal(2 * 256).astype(np.float32)
    return {"kernel": normalized, "args": [x, np.zeros_like(x)], "grid": (2,), "BLOCK": 256}


@triton.jit
def loops(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    columns = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, n, BLOCK):
        total += tl.load(x_ptr + start + columns, mask=start + columns < n, other=0.0)
    if tl.program_id(0) == 0:
        value = total * 2.0
    else:
        value = total + 1.0
    tl.store(out_ptr + tl.program_id(0) * BLOCK + columns, value)


def loops_call() -> dict[str, Any]:
    rng = np.random.default_rng(2)
    args = [rng.standard_normal(300).astype(np.float32), np.zeros(2 * 64, np.float32), 300]
    return {"kernel": loops, "args": args, "grid": (2,), "BLOCK": 64}


@triton.jit
def of_a_tuple(arrays, factors, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(arrays[0] + at, mask=at < n, other=0.0)
    tl.store(arrays[1] + at, x * factors[0] - factors[1][0], mask=at < n)


def of_a_tuple_call() -> dict[str, Any]:
    x = np.random.default_rng(4).standard_normal(100).astype(np.float32)
    return {"kernel": of_a_tuple, "args": [(x, np.zeros_like(x)), (2, (0.5, 1)), 100], "grid": (2,), "BLOCK": 64}


@triton.jit
def by_descriptor(source, target, factor):
    row = tl.program_id(0) * 16
    target.store([row, 0], source.load([row, 4]) * factor)


def by_descriptor_call() -> dict[str, Any]:
    x = np.random.default_rng(5).standard_normal((32, 64)).astype(np.float32)
    out = np.zeros((32, 16), np.float32)
    descriptors = [TensorDescriptor(x, [32, 64], [64, 1], [16, 16]), TensorDescriptor(out, [32, 16], [16, 1], [16, 16])]
    return {"kernel": by_descriptor, "args": [*descriptors, 2.5], "grid": (2,)}


@triton.jit
def counted_down(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    columns = tl.arange(0, BLOCK)
    distance = tl.load(x_ptr + columns) - columns
    while n > 1:
        distance = tl.flip(distance, 0) * 3
        n = n // 2 - 1
    tl.store(out_ptr + columns, distance)


def counted_down_call() -> dict[str, Any]:
    x = np.random.default_rng(4).integers(0, 100, 64).astype(np.int32)
    return {"kernel": counted_down, "args": [x, np.zeros_like(x), 20], "grid": (1,), "BLOCK": 64}
