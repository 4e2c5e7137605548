"""Tensors of fewer elements than the cluster has CTAs: some CTAs hold copies, and every op knows which."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import minitriton as triton
import minitriton.language as tl
from minitriton.dialects.text import parse_module
from minitriton.layouts.encodings import Blocked
from minitriton.layouts.inference import reshape_dst
from minitriton.layouts.to_linear import to_linear_layout


@triton.jit
def total(p, q, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(q + i, tl.load(p + i) * 0 + tl.sum(tl.load(p + i)))


@triton.jit
def scanned(p, q, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(q + i, tl.cumsum(tl.load(p + i)))


@triton.jit
def flipped(p, q, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(q + i, tl.flip(tl.load(p + i)))


@triton.jit
def sorted_(p, q, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(q + i, tl.sort(tl.load(p + i)))


@triton.jit
def transposed(p, q, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.trans(tl.reshape(tl.load(p + i), (2, N // 2)))
    tl.store(q + i, tl.reshape(x, (N,)))


@triton.jit
def rows_summed(p, q, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.reshape(tl.load(p + i), (2, N // 2))
    x = x + tl.sum(x, 1)[:, None]
    tl.store(q + i, tl.reshape(x, (N,)))


ANSWERS: dict[str, tuple[object, Callable[[np.ndarray], np.ndarray]]] = {
    "sum": (total, lambda x: np.full_like(x, x.sum())),
    "scan": (scanned, lambda x: np.cumsum(x, dtype=x.dtype)),
    "flip": (flipped, lambda x: x[::-1]),
    "sort": (sorted_, np.sort),
    "reshape and transpose": (transposed, lambda x: x.reshape(2, -1).T.ravel()),
    "sums of rows": (rows_summed, lambda x: (x.reshape(2, -1) + x.reshape(2, -1).sum(1, keepdims=True)).ravel()),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("ctas", "size"), [(8, 4), (8, 2), (4, 2), (2, 2), (8, 8)])
@pytest.mark.parametrize("name", ANSWERS)
def test_numbers_are_right(name: str, ctas: int, size: int) -> None:
    kernel, answer = ANSWERS[name]
    x = (np.arange(size) * 7 % 5 + 1).astype(np.float32)
    out = np.zeros_like(x)
    compiled = kernel[(1,)](x, out, N=size, num_ctas=ctas)  # type: ignore[index]
    np.testing.assert_array_equal(out, answer(x))
    parse_module(compiled.asm["ttgir"])


@pytest.mark.parametrize("ctas", [1, 2, 3])
def test_a_reshape_keeps_every_element_in_its_cta(ctas: int) -> None:
    split = tuple((1 << bit,) for bit in range(ctas))
    source = Blocked((1,), (32,), (4,), (0,), tuple((b,) if b < 4 else (0,) for (b,) in split))
    layout = reshape_dst((4,), source, (2, 2))
    assert layout is not None
    back = to_linear_layout(layout, (2, 2)).bases["block"]
    flat = to_linear_layout(source, (4,)).bases["block"]
    assert [2 * row + column for row, column in back] == [v for (v,) in flat]
