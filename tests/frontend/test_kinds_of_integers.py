"""Sizes, dimensions and promises known at compile time: anything that is an `int` in Python, booleans and enumerations too."""

from __future__ import annotations

import enum

import numpy as np

import minitriton as triton
import minitriton.language as tl


class Tile(enum.IntEnum):
    SMALL = 16
    WIDE = 32


@triton.jit
def shapes(x, out, SHIFTED: tl.constexpr, SIZE: tl.constexpr):
    i = tl.arange(SHIFTED, SHIFTED + SIZE)
    column = tl.full((SIZE, SHIFTED), 3, tl.int32)
    row = tl.reshape(tl.permute(column, (SHIFTED, not SHIFTED)), (SIZE,))
    total = tl.sum(tl.broadcast_to(row[None, :], (2 * SHIFTED, SIZE)), axis=SHIFTED - 1)
    tl.store(out + i, tl.expand_dims(total, SHIFTED).reshape(SIZE) + tl.load(x + tl.multiple_of(i - SHIFTED, SIZE)))


@triton.jit
def blocks(x, out, n, ROWS: tl.constexpr, SIZE: tl.constexpr):
    source = tl.make_block_ptr(x, (ROWS, n), (n, 1), (0, 0), (ROWS, SIZE), (ROWS, not ROWS))
    target = tl.make_block_ptr(out, (ROWS, n), (n, 1), (0, 0), (ROWS, SIZE), (True, 0))
    value = tl.load(source, boundary_check=(True,), padding_option="zero")
    tl.store(target, value * 2, boundary_check=(False, True))


def test_sizes_and_dimensions() -> None:
    x, out = np.arange(16, dtype=np.int32), np.zeros(17, np.int32)
    shapes[(1,)](x, out, SHIFTED=True, SIZE=Tile.SMALL)
    assert out.tolist() == [0, *(x + 6)]


def test_block_pointers() -> None:
    x, out = np.arange(20, dtype=np.float32), np.zeros(20, np.float32)
    blocks[(1,)](x, out, 20, ROWS=True, SIZE=Tile.WIDE)
    assert out.tolist() == (2 * x).tolist()
