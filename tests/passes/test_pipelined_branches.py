"""Branches with effects in pipelined loops: what they store is not moved past what reads it, and an iteration that is not there stores nothing."""

from __future__ import annotations

import numpy as np
import pytest

import minitriton as triton
import minitriton.language as tl

rng = np.random.default_rng(0)


@triton.jit
def stores_before_it_loads(x, y, out, low, high, n):
    rows, columns, inner = tl.arange(0, 16), tl.arange(0, 16), tl.arange(0, 16)
    total = tl.zeros((16, 16), tl.float32)
    for i in tl.range(low, high, num_stages=3):
        if n > 2:
            pass
        else:
            tl.store(y + inner[:, None] * 16 + columns[None, :], tl.full((16, 16), 1, tl.float16))
        a = tl.load(x + i * 256 + rows[:, None] * 16 + inner[None, :])
        b = tl.load(y + inner[:, None] * 16 + columns[None, :])
        total = tl.dot(a, b, total)
    tl.store(out + rows[:, None] * 16 + columns[None, :], total)


@triton.jit
def loads_what_the_iteration_before_stored(x, y, out, low, high, first):
    lane, total = tl.arange(0, 32), tl.full((32,), 2, tl.int32)
    for i in tl.range(low, high, flatten=True):
        for _ in tl.range(tl.load(first), 3, num_stages=4):
            loaded = tl.load(y + lane)
            tl.store(y + lane, tl.load(x + i * 32 + lane))
            total = total + loaded
    tl.store(out + lane, total)


@triton.jit
def counts_in_the_other_branch(x, y, count, out, high, n):
    rows, columns, inner = tl.arange(0, 16), tl.arange(0, 16), tl.arange(0, 16)
    total = tl.zeros((16, 16), tl.float32)
    which = 0
    for _ in tl.range(0, high, num_stages=3):
        if n > 2:
            which = n - 3
        else:
            which = tl.atomic_add(count, 1) * 0
        a = tl.load(x + rows[:, None] * 16 + inner[None, :])
        b = tl.load(y + (which * 16 + inner)[:, None] * 16 + columns[None, :])
        total = tl.dot(a, b, total)
    tl.store(out + rows[:, None] * 16 + columns[None, :], total)


@triton.jit
def assumes_in_the_other_branch(x, y, out, low, high):
    rows, columns, inner = tl.arange(0, 16), tl.arange(0, 16), tl.arange(0, 16)
    total = tl.zeros((16, 16), tl.float32)
    which = 0
    for _ in tl.range(low, tl.load(high)):
        if which < 1:
            which = which * 10 + low
        else:
            tl.assume(low < 0)
        a = tl.load(x + rows[:, None] * 16 + inner[None, :])
        b = tl.load(y + (which * 16 + inner)[:, None] * 16 + columns[None, :])
        total = tl.dot(a, b, total)
    tl.store(out + rows[:, None] * 16 + columns[None, :], total)


def numbers(*shape: int) -> np.ndarray:
    return rng.integers(-3, 4, shape).astype(np.float16)


@pytest.mark.parametrize("arch", ["sm80", "sm90"])
@pytest.mark.parametrize("n", [0, 3])
def test_a_store_of_a_branch_stays_before_the_load_after_it(monkeypatch, arch, n):
    monkeypatch.setenv("TRITON_OVERRIDE_ARCH", arch)
    x, y, out = numbers(3, 16, 16), numbers(16, 16), np.zeros((16, 16), np.float32)
    read = y.copy() if n > 2 else np.ones((16, 16), np.float16)
    stores_before_it_loads[(1,)](x, y, out, 0, 3, n)
    np.testing.assert_array_equal(out, sum(a.astype(np.float32) @ read.astype(np.float32) for a in x))


@pytest.mark.parametrize("arch", ["sm80", "sm90"])
@pytest.mark.parametrize("iterations", [0, 1, 4])
def test_an_effect_of_an_else_branch_happens_as_often_as_the_loop_runs(monkeypatch, arch, iterations):
    monkeypatch.setenv("TRITON_OVERRIDE_ARCH", arch)
    x, y = numbers(16, 16), numbers(16, 16)
    count, out = np.zeros(1, np.int32), np.zeros((16, 16), np.float32)
    counts_in_the_other_branch[(1,)](x, y, count, out, iterations, 0)
    assert count[0] == iterations
    np.testing.assert_array_equal(out, iterations * (x.astype(np.float32) @ y.astype(np.float32)))


@pytest.mark.parametrize("iterations", [0, 2])
def test_an_assumption_of_an_else_branch_does_not_count_where_no_iteration_is(iterations):
    x, y, out = numbers(16, 16), numbers(16, 16), np.zeros((16, 16), np.float32)
    assumes_in_the_other_branch[(1,)](x, y, out, 0, np.array([iterations], np.int32))
    np.testing.assert_array_equal(out, iterations * (x.astype(np.float32) @ y.astype(np.float32)))


@pytest.mark.parametrize("arch", ["sm80", "sm90"])
def test_a_load_does_not_run_ahead_of_the_store_of_the_iteration_before(monkeypatch, arch):
    monkeypatch.setenv("TRITON_OVERRIDE_ARCH", arch)
    x, y = rng.integers(0, 9, (4, 32), np.int32), rng.integers(0, 9, 32, np.int32)
    stored, out = y.copy(), np.zeros(32, np.int32)
    loads_what_the_iteration_before_stored[(1,)](x, stored, out, 0, 4, np.array([2], np.int32), num_warps=1)
    np.testing.assert_array_equal(out, 2 + y + x[:3].sum(0))
    np.testing.assert_array_equal(stored, x[3])
