"""A tensor whose elements are equal within each thread, but not between threads, is converted like any other."""

import numpy as np

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
