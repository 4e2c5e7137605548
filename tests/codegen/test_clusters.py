"""Programs of several CTAs: what each does by itself, and what it fetches from others. See also `test_cluster_kernels.py`."""

from __future__ import annotations

import numpy as np
import pytest

import minitriton as triton
import minitriton.language as tl
from minitriton import emulator


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
def transposed(x, o, BLOCK: tl.constexpr):
    a, b = tl.arange(0, BLOCK // 32), tl.arange(0, 32)
    tl.store(o + b[:, None] * BLOCK // 32 + a[None, :], tl.trans(tl.load(x + a[:, None] * 32 + b[None, :])))


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


BARRIER = "\tbarrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;\n"


@pytest.mark.parametrize(("which", "kind"), [(0, "shared-race"), (1, "cta-lifetime")])
def test_a_conversion_needs_both_its_barriers(which: int, kind: str) -> None:
    compiled = transposed[(1,)](X, np.zeros(1024, np.float32), BLOCK=1024, num_ctas=2)
    parts = compiled.asm["ptx"].split(BARRIER)
    assert len(parts) == 3
    text = parts[0] + BARRIER * (which == 1) + parts[1] + BARRIER * (which == 0) + parts[2]
    report = emulator.run(text, None, (2,), [X, np.zeros(1024, np.float32)], compiled.metadata.shared)
    assert kind in {finding.kind for finding in report.findings}
