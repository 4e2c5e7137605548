"""Tensor stores: each warp starts the copy of a box, and all of the tensor arrives, whatever the numbers of boxes and of warps."""

from __future__ import annotations

import numpy as np
import pytest

import minitriton as triton
import minitriton.language as tl
from minitriton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def copied(source, target, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    at = [tl.program_id(0) * ROWS, tl.program_id(1) * COLUMNS]
    target.store(at, source.load(at))


@triton.jit
def added(source, target, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    at = [tl.program_id(0) * ROWS, tl.program_id(1) * COLUMNS]
    target.atomic_add(at, source.load(at))


@triton.jit
def copied_boxes(source, target, DEPTH: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    at = [tl.program_id(0) * DEPTH, 0, 0]
    target.store(at, source.load(at))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("warps", [1, 2, 4, 8])
@pytest.mark.parametrize(
    "rows, columns, dtype, stores",
    [
        (64, 32, np.float16, {1: 1, 2: 1, 4: 1, 8: 1}),
        (64, 256, np.float16, {1: 4, 2: 2, 4: 1, 8: 1}),
        (16, 256, np.float32, {1: 8, 2: 4, 4: 2, 8: 1}),
        (512, 64, np.float16, {1: 2, 2: 1, 4: 1, 8: 1}),
        (512, 128, np.float16, {1: 4, 2: 2, 4: 1, 8: 1}),
        (8, 1024, np.float16, {1: 16, 2: 8, 4: 4, 8: 2}),
    ],
)
def test_all_boxes_arrive(rows: int, columns: int, dtype: type, stores: dict[int, int], warps: int) -> None:
    """Parts of the last block lie outside of the tensor, too."""
    shape = (2 * rows - 3, 2 * columns - 8)
    x, y = np.random.default_rng(0).integers(-99, 99, shape).astype(dtype), np.zeros(shape, dtype)
    given = [TensorDescriptor.from_tensor(each, [rows, columns]) for each in (x, y)]
    kernel = copied[(2, 2)](*given, rows, columns, num_warps=warps)
    np.testing.assert_array_equal(y, x)
    assert kernel.asm["ptx"].count("cp.async.bulk.tensor.2d.global.shared::cta") == stores[warps]


@pytest.mark.parametrize("warps", [2, 8])
def test_each_box_is_added_once(warps: int) -> None:
    x, y = np.arange(32 * 256, dtype=np.float32).reshape(32, 256), np.ones((32, 256), np.float32)
    added[(1, 1)](*(TensorDescriptor.from_tensor(each, [32, 256]) for each in (x, y)), 32, 256, num_warps=warps)
    np.testing.assert_array_equal(y, x + 1)


def test_boxes_of_three_dimensions() -> None:
    x, y = np.random.default_rng(1).random((5, 32, 128), np.float32), np.zeros((5, 32, 128), np.float32)
    given = [TensorDescriptor.from_tensor(each, [2, 32, 128]) for each in (x, y)]
    copied_boxes[(3,)](*given, 2, 32, 128, num_warps=4)
    np.testing.assert_array_equal(y, x)
