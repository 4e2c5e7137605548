"""Programs of several CTAs: what each does by itself works; what would need data of another CTA is refused at its line."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import minitriton as triton
import minitriton.language as tl
from minitriton.errors import LoweringError


@triton.jit
def add(x, y, o, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(o + at, tl.load(x + at, mask=at < n) + tl.load(y + at, mask=at < n), mask=at < n)


@triton.jit
def row_sums(x, o, ROWS: tl.constexpr, COLS: tl.constexpr):
    rows, cols = tl.arange(0, ROWS), tl.arange(0, COLS)
    tl.store(o + rows, tl.sum(tl.load(x + rows[:, None] * COLS + cols[None, :]), axis=1))


@triton.jit
def count_up(x, o, number, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.atomic_add(o + at % 4, tl.load(x + at))
    tl.atomic_add(number, 1.0)


@triton.jit
def total(x, o, BLOCK: tl.constexpr):
    tl.store(o, tl.sum(tl.load(x + tl.arange(0, BLOCK))))


@triton.jit
def running(x, o, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(o + at, tl.cumsum(tl.load(x + at), 0))


@triton.jit
def transposed(x, o, BLOCK: tl.constexpr):
    a, b = tl.arange(0, BLOCK // 32), tl.arange(0, 32)
    tl.store(o + b[:, None] * BLOCK // 32 + a[None, :], tl.trans(tl.load(x + a[:, None] * 32 + b[None, :])))


@triton.jit
def reversed_elements(x, o, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(o + at, tl.gather(tl.load(x + at), BLOCK - 1 - at, 0))


@triton.jit
def counted(x, o, BLOCK: tl.constexpr):
    bins = tl.histogram(tl.load(x + tl.arange(0, BLOCK)).to(tl.int32), 16)
    tl.store(o + tl.arange(0, 16), bins.to(tl.float32))


X = np.random.default_rng(0).integers(0, 9, 1024).astype(np.float32)


@pytest.mark.parametrize("ctas", [2, 4])
def test_each_cta_takes_its_part_of_a_program(ctas: int) -> None:
    out = np.zeros(1024, np.float32)
    add[(2,)](X, X[::-1].copy(), out, 1000, BLOCK=512, num_ctas=ctas)
    np.testing.assert_array_equal(out, np.where(np.arange(1024) < 1000, X + X[::-1], 0))


@pytest.mark.parametrize("ctas", [2, 4])
def test_rows_are_reduced_where_they_are(ctas: int) -> None:
    out = np.zeros(32, np.float32)
    row_sums[(1,)](X, out, ROWS=32, COLS=32, num_ctas=ctas)
    np.testing.assert_array_equal(out, X.reshape(32, 32).sum(1))


@pytest.mark.parametrize("ctas", [2, 4])
def test_atomics_count_once(ctas: int) -> None:
    out, number = np.zeros(4, np.float32), np.zeros(1, np.float32)
    count_up[(3,)](X, out, number, BLOCK=1024, num_ctas=ctas)
    np.testing.assert_array_equal(out, 3 * X.reshape(-1, 4).sum(0))
    assert number[0] == 3


@pytest.mark.parametrize("ctas", [2, 4, 8])
def test_a_conversion_fetches_what_other_ctas_hold(ctas: int) -> None:
    out = np.zeros(1024, np.float32)
    transposed[(1,)](X, out, BLOCK=1024, num_ctas=ctas)
    np.testing.assert_array_equal(out.reshape(32, 32), X.reshape(32, 32).T)


@pytest.mark.parametrize("kernel", [total, running, reversed_elements, counted], ids=lambda k: k.__name__)
def test_what_needs_another_cta_is_refused_at_its_line(kernel: Callable[..., None]) -> None:
    with pytest.raises(LoweringError, match="CTAs") as caught:
        kernel[(1,)](X, np.zeros(1024, np.float32), BLOCK=1024, num_ctas=2)  # pyright: ignore[reportIndexIssue]
    assert caught.value.location is not None, caught.value
    assert caught.value.help
