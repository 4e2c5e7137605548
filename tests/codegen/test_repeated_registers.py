"""A tensor whose elements are equal within each thread, but not between threads, is converted like any other."""

import numpy as np
import pytest

import minitriton as triton
import minitriton.language as tl
from minitriton import emulator
from minitriton.compiler import ASTSource
from minitriton.target import GPUTarget


@triton.jit
def repeat_rows(x_ptr, out_ptr):
    row, column = tl.arange(0, 2), tl.arange(0, 4)
    x = tl.load(x_ptr + row[:, None] * 16 + column[None, :])
    zeros = tl.zeros([8, 2, 4], tl.float32)
    for _ in range(3):
        zeros += zeros
    below = tl.minimum(zeros, x)
    turned = (row // 2) * 2 + (1 - row % 2)
    place = (tl.arange(0, 8)[:, None, None] * 57 + column[None, None, :]) + turned[None, :, None] * 19
    tl.store(out_ptr + place, below)


def test_rows_repeated_along_a_new_axis_reach_their_places():
    x = -np.arange(1, 33, dtype=np.float32).reshape(2, 16)
    out = np.zeros((8, 57), np.float32)
    attributes = {(index,): [["tt.divisibility", 16]] for index in range(2)}
    source = ASTSource(repeat_rows, {"x_ptr": "*fp32", "out_ptr": "*fp32"}, {}, attributes)
    kernel = triton.compile(source, GPUTarget("cuda", 90, 32), {"num_warps": 1})
    emulator.run(kernel.asm["ptx"], None, (1,), [x, out], kernel.metadata.shared)
    expected = np.zeros_like(out)
    expected[:, 0:4], expected[:, 19:23] = x[1, :4], x[0, :4]
    np.testing.assert_array_equal(out, expected)


@triton.jit
def _halves(x_ptr, scale_ptr, out_ptr, n, OTHER: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    if OTHER:
        x = tl.load(x_ptr + at // 2, mask=mask, other=7)
        scale = tl.load(scale_ptr + at // 16, mask=mask, other=3)
    else:
        x = tl.load(x_ptr + at // 2, mask=mask)
        scale = tl.load(scale_ptr + at // 16, mask=mask)
    tl.store(out_ptr + at, x * 10 + scale, mask=mask | OTHER)


@pytest.mark.parametrize("n", [1024, 1001])
@pytest.mark.parametrize("other", [False, True])
def test_equal_addresses_of_a_thread_are_loaded_once(n: int, other: bool) -> None:
    """Two runs of four elements a thread: two halves and a scale of each, whether the mask ends at a multiple of 16 or not."""
    at = np.arange(1024)
    x, scale = np.arange(512, dtype=np.int32), np.arange(64, dtype=np.int32) + 1000
    out = np.full(1024, -1, np.int32)
    kernel = _halves[(1,)](x, scale, out, n, other, 1024, num_warps=4)
    expected = np.where(at < n, x[at // 2] * 10 + scale[at // 16], 73 if other else -1)
    np.testing.assert_array_equal(out, expected)
    assert kernel.asm["ptx"].count("ld.global") == 6


@triton.jit
def _shared_angles(angle_ptr, x_ptr, out_ptr, HEADS: tl.constexpr, WIDTH: tl.constexpr, ROWS: tl.constexpr):
    rows, columns = tl.arange(0, ROWS), tl.arange(0, WIDTH)
    angle = tl.load(angle_ptr + (rows // HEADS)[:, None] * WIDTH + columns[None, :])
    at = rows[:, None] * WIDTH + columns[None, :]
    tl.store(out_ptr + at, angle + tl.load(x_ptr + at))


def test_equal_vectors_of_a_thread_are_loaded_once() -> None:
    angle, x = np.arange(4 * 64, dtype=np.float32).reshape(4, 64), np.ones((32, 64), np.float32)
    out = np.zeros_like(x)
    kernel = _shared_angles[(1,)](angle, x, out, 8, 64, 32, num_warps=1)
    np.testing.assert_array_equal(out, np.repeat(angle, 8, axis=0) + 1)
    assert kernel.asm["ptx"].count("ld.global.v4") == 4 + 16
