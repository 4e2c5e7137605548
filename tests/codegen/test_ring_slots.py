"""Slots of a ring that the copy unit fills are aligned to what tensor copies need, however small a block is."""

from __future__ import annotations

import re

import numpy as np
import pytest

import minitriton as triton
import minitriton.language as tl
from minitriton.layouts.encodings import NVMMAShared, SwizzledShared
from minitriton.layouts.properties import buffer_bytes, slot_bytes


@triton.jit
def weighted(x, out, n, R: tl.constexpr, C: tl.constexpr, STAGES: tl.constexpr):
    desc = tl.make_tensor_descriptor(x, [n, C], [C, 1], [R, C])
    total = tl.zeros((R, C), tl.float32)
    for k in tl.range(0, n, R, num_stages=STAGES):
        total = total * 2 + desc.load([k, 0]).to(tl.float32)
    tl.store(out + tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :], total)


@triton.jit
def weighted_line(x, out, n, C: tl.constexpr):
    desc = tl.make_tensor_descriptor(x, [n], [1], [C])
    total = tl.zeros((C,), tl.float32)
    for k in tl.range(0, n, C, num_stages=3):
        total = total * 2 + desc.load([k]).to(tl.float32)
    tl.store(out + tl.arange(0, C), total)


@triton.jit
def copied(x, y, n, C: tl.constexpr):
    source = tl.make_tensor_descriptor(x, [n, C], [C, 1], [1, C])
    target = tl.make_tensor_descriptor(y, [n, C], [C, 1], [1, C])
    for k in tl.range(0, n, num_stages=4):
        target.store([k, 0], source.load([k, 0]) + 1)


@triton.jit
def dots_of_broadcast_rows(a, b, out, n, SPECIALIZE: tl.constexpr):
    da = tl.make_tensor_descriptor(a, [n, 16], [16, 1], [1, 16])
    db = tl.make_tensor_descriptor(b, [16, n * 64], [n * 64, 1], [16, 64])
    total = tl.zeros((64, 64), tl.float32)
    for k in tl.range(0, n, warp_specialize=SPECIALIZE, num_stages=3):
        total = tl.dot(tl.broadcast_to(da.load([k, 0]), [64, 16]), db.load([0, k * 64]), total)
    tl.store(out + tl.arange(0, 64)[:, None] * 64 + tl.arange(0, 64)[None, :], total)


def numbers(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    return np.random.default_rng(0).integers(-2, 3, shape).astype(dtype)


@pytest.mark.parametrize("ctas", [1, 2])
@pytest.mark.parametrize(
    "dtype, rows, columns", [("int8", 1, 16), ("int8", 2, 32), ("float16", 1, 16), ("float16", 4, 8), ("float32", 2, 4)]
)
def test_blocks_under_128_bytes_are_pipelined(dtype: str, rows: int, columns: int, ctas: int) -> None:
    x, out = numbers((8 * rows, columns), dtype), np.zeros((rows, columns), np.float32)
    kernel = weighted[(1,)](x, out, 8 * rows, rows, columns, 4, num_ctas=ctas)
    expected = np.zeros((rows, columns), np.float32)
    for k in range(0, 8 * rows, rows):
        expected = expected * 2 + x[k : k + rows]
    np.testing.assert_array_equal(out, expected)
    assert re.search(r"memdesc_index \S+\[", kernel.asm["ttgir"])


def test_a_line_of_16_bytes_is_pipelined() -> None:
    x, out = numbers((32,), "float32"), np.zeros(4, np.float32)
    weighted_line[(1,)](x, out, 32, 4)
    np.testing.assert_array_equal(out, sum(x[k : k + 4] * 2.0 ** (7 - k // 4) for k in range(0, 32, 4)))


def test_small_blocks_are_stored_from_a_pipelined_loop() -> None:
    x, y = numbers((8, 16), "float16"), np.zeros((8, 16), np.float16)
    copied[(1,)](x, y, 8, 16)
    np.testing.assert_array_equal(y, x + 1)


@pytest.mark.parametrize("specialize", [False, True])
def test_small_blocks_of_dots(specialize: bool) -> None:
    a, b, out = numbers((4, 16), "float16"), numbers((16, 256), "float16"), np.zeros((64, 64), np.float32)
    dots_of_broadcast_rows[(1,)](a, b, out, 4, specialize)
    wide = [np.tile(a[k].astype(np.float32), (64, 1)) @ b[:, 64 * k : 64 * k + 64].astype(np.float32) for k in range(4)]
    np.testing.assert_array_equal(out, sum(wide))


def test_only_slots_that_copies_may_fill_are_rounded() -> None:
    """16 bytes: a ring of them takes a multiple of 128 each, a buffer that stands for itself does not."""
    tensor = NVMMAShared(0, False, 16, rank=2)
    plain = SwizzledShared(1, 1, 1, (1, 0))
    assert [buffer_bytes(e, (3, 1, 8), 16) for e in (tensor, plain)] == [384, 48]
    assert [slot_bytes(e, (1, 8), 16) for e in (tensor, plain)] == [128, 16]
    assert buffer_bytes(tensor, (1, 8), 16) == 16
    assert buffer_bytes(plain, (3, 1, 8), 1) == 24
