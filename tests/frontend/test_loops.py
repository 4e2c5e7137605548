"""Variables in and after loops mean what they mean in Python, on the interpreter and in the PTX."""

# ruff: noqa: B007, B020 - what a loop leaves in its variable is the subject
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minitriton as triton
import minitriton.language as tl


def results(kernel: Any, *numbers: int, size: int = 8, **constants: Any) -> list[int]:
    """What `kernel` writes into an array of `size` -1, the same from its PTX and from its TTIR."""
    emulated, interpreted = np.full(size, -1, np.int32), np.full(size, -1, np.int32)
    kernel[(1,)](emulated, *numbers, **constants)
    bound, options = kernel._bind((interpreted, *numbers), dict(constants))
    kernel._interpret((1,), bound, options)
    assert emulated.tolist() == interpreted.tolist()
    return emulated.tolist()


@triton.jit
def alias_in_while(out, n, CHANGE: tl.constexpr):
    a = 1
    c = 5
    i = 0
    while i < n:
        a = c
        if CHANGE:
            c = c + 1
        i += 1
    tl.store(out, a)
    tl.store(out + 1, c)


@triton.jit
def alias_in_for(out, n, CHANGE: tl.constexpr):
    a = 1
    c = 5
    for _ in range(n):
        a = c
        if CHANGE:
            c = c + 1
    tl.store(out, a)
    tl.store(out + 1, c)


@pytest.mark.parametrize("kernel", [alias_in_while, alias_in_for], ids=lambda k: k.__name__)
@pytest.mark.parametrize(("change", "n", "expected"), [(False, 3, [5, 5]), (False, 0, [1, 5]), (True, 3, [7, 8])])
def test_another_name_for_a_variable_that_the_loop_does_not_change(
    kernel: Any, change: bool, n: int, expected: list[int]
) -> None:
    assert results(kernel, n, CHANGE=change)[:2] == expected


@triton.jit
def aliases_of_aliases(out, n, CHANGE: tl.constexpr):
    a = 1
    b = 2
    c = n * 3
    d = 4
    for i in range(n):
        for j in range(2):
            a, b = b, c
            if i > 1:
                d = c
            if CHANGE:
                c = d
                b = c
        t = (a, c)
        b = t[1]
    tl.store(out, a)
    tl.store(out + 1, b)
    tl.store(out + 2, c)
    tl.store(out + 3, d)


@triton.jit
def condition_is_an_unchanged_variable(out, n, CHANGE: tl.constexpr):
    going = n > 0
    held = going
    if not going:
        while going:
            held = going
            if CHANGE:
                going = False
    tl.store(out, held.to(tl.int32))


@triton.jit
def swaps(out, n):
    a = 1
    b = 2
    c = 3
    i = 0
    while i < n:
        a, b, c = c, a, b
        i += 1
    tl.store(out, a)
    tl.store(out + 1, b)
    tl.store(out + 2, c)


@triton.jit
def tuple_that_holds_an_unchanged_variable(out, n, CHANGE: tl.constexpr):
    c = n + 1
    pair = (n, n)
    for _ in range(n):
        pair = (c, pair[0])
        if CHANGE:
            c = 9
    tl.store(out, pair[0])
    tl.store(out + 1, pair[1])


def test_aliases_in_nested_loops_tuples_and_branches() -> None:
    assert results(aliases_of_aliases, 3, CHANGE=False)[:4] == [9, 9, 9, 9]
    assert results(aliases_of_aliases, 0, CHANGE=False)[:4] == [1, 2, 0, 4]
    assert results(condition_is_an_unchanged_variable, 0, CHANGE=False)[0] == 0
    assert results(swaps, 4)[:3] == [3, 1, 2]
    assert results(tuple_that_holds_an_unchanged_variable, 2, CHANGE=False)[:2] == [3, 3]
    assert results(tuple_that_holds_an_unchanged_variable, 1, CHANGE=False)[:2] == [2, 1]


@tl.core._aggregate
class Holder:
    value: tl.tensor

    def __init__(self, value):
        self.value = value

    @triton.jit
    def take(self, other):
        self.value = other


@triton.jit
def aggregate_that_holds_an_unchanged_variable(out, n, CHANGE: tl.constexpr):
    c = n + 1
    holder = Holder(n)
    for _ in range(n):
        holder = Holder(c)
        if CHANGE:
            c = 9
    tl.store(out, holder.value)


def test_an_aggregate_made_of_an_unchanged_variable() -> None:
    assert results(aggregate_that_holds_an_unchanged_variable, 4, CHANGE=False)[0] == 5


@triton.jit
def after_range(out, n):
    i = 70
    for i in range(n):
        pass
    tl.store(out, i)


@triton.jit
def after_range_down(out, n):
    i = 70
    for i in range(n, 0, -2):
        tl.store(out + 1, i)
    tl.store(out, i)


@triton.jit
def after_tl_range(out, n):
    i = 70
    for i in tl.range(3, n, 4, num_stages=2):
        tl.store(out + 1, i)
    tl.store(out, i)


@triton.jit
def after_a_body_that_reassigns(out, n):
    i = 70
    for i in range(n):
        i = i * 10
    tl.store(out, i)


@triton.jit
def after_nested_loops(out, n):
    i = 70
    for j in range(n):
        tl.store(out + 1, i)
        for i in range(j):
            pass
    tl.store(out, i)
    tl.store(out + 2, j if n > 0 else -5)


@triton.jit
def after_a_loop_in_a_branch(out, n):
    i = 70
    if n > 2:
        for i in range(n):
            pass
    tl.store(out, i)


@triton.jit
def after_static_range(out, n):
    i = n + 0
    if n > 2:
        for i in tl.static_range(4, 10, 2):
            pass
    tl.store(out, i)


@triton.jit
def after_static_range_in_a_loop(out, n):
    i = n + 0
    for _ in range(n):
        for i in tl.static_range(3):
            pass
    tl.store(out, i)


@triton.jit
def after_a_while(out, n):
    i = 70
    j = 0
    while j < n:
        for i in range(j, j + 3):
            pass
        j += 1
    tl.store(out, i)


@triton.jit
def after_a_range_of_known_length(out, n):
    for i in range(5, 9):
        pass
    tl.store(out, i)
    for i in range(9, 5, -3):
        pass
    tl.store(out + 1, i)


@triton.jit
def after_a_wide_range(out, n):
    i = 70
    for i in range((n + i - i).to(tl.int64)):
        pass
    tl.store(out, i.to(tl.int32))


def _last(n: int) -> int:
    i = 70
    for i in range(n):
        pass
    return i


AFTER: list[tuple[Any, Callable[[int], list[int]]]] = [
    (after_range, lambda n: [_last(n)]),
    (after_range_down, lambda n: [([70, *range(n, 0, -2)])[-1]]),
    (after_tl_range, lambda n: [([70, *range(3, n, 4)])[-1]]),
    (after_a_body_that_reassigns, lambda n: [70 if n <= 0 else 10 * (n - 1)]),
    (after_nested_loops, lambda n: [70 if n < 2 else n - 2]),
    (after_a_loop_in_a_branch, lambda n: [n - 1 if n > 2 else 70]),
    (after_static_range, lambda n: [8 if n > 2 else n]),
    (after_static_range_in_a_loop, lambda n: [2 if n > 0 else n]),
    (after_a_while, lambda n: [70 if n <= 0 else n + 1]),
    (after_a_range_of_known_length, lambda n: [8, 6]),
    (after_a_wide_range, lambda n: [_last(n)]),
]


@pytest.mark.parametrize(("kernel", "python"), AFTER, ids=[k.__name__ for k, _ in AFTER])
def test_a_loops_variable_after_the_loop_is_what_python_has(kernel: Any, python: Callable[[int], list[int]]) -> None:
    for n in (5, 0, 1, -3, 8):
        expected = python(n)
        assert results(kernel, n)[: len(expected)] == expected, n


@triton.jit
def never_runs(out, n):
    for i in range(3, 3):
        pass
    tl.store(out, i)


@triton.jit
def block_before(out, n):
    i = tl.zeros((4,), tl.int32)
    for i in range(n):
        pass
    tl.store(out, i)


@pytest.mark.parametrize(("kernel", "why"), [(never_runs, "never runs"), (block_before, "may run no iteration")])
def test_a_loops_variable_that_may_have_no_value_is_an_error_with_a_place(kernel: Any, why: str) -> None:
    with pytest.raises(triton.CompilationError, match=f"i is not defined: .*{why}") as raised:
        kernel.warmup(np.zeros(4, np.int32), 3, grid=(1,))
    assert raised.value.location is not None


@triton.jit
def counts_twice(out, n):
    for i in range(n):
        tl.store(out + i, i)
    for j in range(n):
        for i in range(n):
            tl.store(out + i + j, i)


def test_a_variable_that_nothing_reads_after_its_loop_is_not_carried() -> None:
    ttir = counts_twice.warmup(np.zeros(4, np.int32), 3, grid=(1,)).asm["ttir"]
    assert "iter_args" not in ttir


@triton.jit
def shifts_rows(x, out, steps, BLOCK: tl.constexpr):
    columns = tl.arange(0, BLOCK)
    before = tl.zeros([BLOCK], tl.float32)
    last = before
    for step in range(steps):
        tl.store(out + step * BLOCK + columns, before + 10 * last)
        before, last = last, tl.load(x + step * BLOCK + columns)


def test_a_variable_that_takes_the_place_of_another_with_its_first_value_is_carried() -> None:
    x, out = np.arange(1, 129, dtype=np.float32).reshape(4, 32), np.zeros((4, 32), np.float32)
    shifts_rows[(1,)](x, out, 4, BLOCK=32)
    earlier = np.vstack([np.zeros((2, 32), np.float32), x])
    np.testing.assert_array_equal(out, earlier[:4] + 10 * earlier[1:5])
