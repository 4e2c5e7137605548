"""When assertions are compiled in, and what they do: `device_assert`, sums that overflow."""

from __future__ import annotations

import numpy as np
import pytest

import minitriton as triton
import minitriton.language as tl
from minitriton import knobs
from minitriton.errors import MinitritonError


def asserting(debug: bool):
    @triton.jit(debug=debug)
    def kernel(x_ptr, MASKED: tl.constexpr):
        x = tl.load(x_ptr + tl.arange(0, 8))
        if MASKED:
            tl.device_assert(x == 1, "x is one", mask=tl.arange(0, 8) < 7)
        else:
            tl.device_assert(x == 1, "x is one")

    return kernel


@pytest.mark.parametrize("jit_flag", [False, True])
@pytest.mark.parametrize("variable", [False, True])
@pytest.mark.parametrize("option", [None, False, True])
def test_the_variable_wins_over_the_option_and_that_over_the_decorator(
    monkeypatch: pytest.MonkeyPatch, jit_flag: bool, variable: bool, option: bool | None
) -> None:
    monkeypatch.setattr(knobs.runtime, "debug", variable)
    options = {} if option is None else {"debug": option}
    kernel = asserting(jit_flag)
    x = np.ones(8, np.int32)
    kernel[(1,)](x, False, **options)
    x[7] = 2
    kernel[(1,)](x, True, **options)
    if variable or (jit_flag if option is None else option):
        with pytest.raises(RuntimeError, match=r"device-side assert triggered: .*x is one") as raised:
            kernel[(1,)](x, False, **options)
        assert isinstance(raised.value, MinitritonError)
    else:
        kernel[(1,)](x, False, **options)


@triton.jit
def counts(out, start, stop, step):
    total = 0
    for i in range(start, stop, step):
        total += i
    tl.store(out, total)


def test_a_step_of_the_run_time_that_is_not_positive_is_an_error_while_debugging() -> None:
    """Only the sign of a constant is known: without `debug` the loop does not run (triton-lang/triton#10950)."""
    out = np.zeros(1, np.int32)
    counts[(1,)](out, 0, 10, 3, debug=True)
    assert out == 18
    with pytest.raises(MinitritonError, match="the step of a loop must be positive"):
        counts[(1,)](out, 10, 0, -3, debug=True)


@triton.jit
def adds(x_ptr, y_ptr, out_ptr):
    tl.store(out_ptr, tl.load(x_ptr) + tl.load(y_ptr))


@triton.jit
def subtracts(x_ptr, y_ptr, out_ptr):
    tl.store(out_ptr, tl.load(x_ptr) - tl.load(y_ptr))


@triton.jit
def multiplies(x_ptr, y_ptr, out_ptr):
    tl.store(out_ptr, tl.load(x_ptr) * tl.load(y_ptr))


@pytest.mark.parametrize(
    ("kernel", "x", "y", "dtype", "overflows"),
    [
        (adds, 2**31 - 1, 1, np.int32, True),
        (adds, -(2**31), 2, np.int32, False),
        (adds, 2**15 - 1, 1, np.int16, True),
        (subtracts, -(2**31), 1, np.int32, True),
        (subtracts, 2**31 - 1, 1, np.int32, False),
        (multiplies, 2**30, 2, np.int32, True),
        (multiplies, -(2**30), 2, np.int32, False),
    ],
)
def test_overflow_is_found_while_debugging_only(kernel, x, y, dtype, overflows) -> None:
    a, b, out = np.array([x], dtype), np.array([y], dtype), np.zeros(1, dtype)
    with np.errstate(over="ignore"):
        expected = {adds: a + b, subtracts: a - b, multiplies: a * b}[kernel]
    kernel[(1,)](a, b, out)
    assert out == expected
    if overflows:
        with pytest.raises(RuntimeError, match=f"device-side assert triggered: .*{np.dtype(dtype)} overflow"):
            kernel[(1,)](a, b, out, debug=True)
    else:
        kernel[(1,)](a, b, out, debug=True)
        assert out == expected


@triton.jit
def uniform(x_ptr, out_ptr):
    index = tl.arange(0, 4)
    tl.store(out_ptr + index, tl.uint_to_uniform_float(tl.load(x_ptr + index)))


def test_the_smallest_integer_becomes_a_uniform_float_while_debugging() -> None:
    out = np.full(4, -1, np.float32)
    uniform[(1,)](np.array([-(2**31), -1, 0, 2**31 - 1], np.int32), out, debug=True)
    assert ((out >= 0) & (out < 1)).all()
    assert out[0] == out[3]
    assert out[1] == out[2] == 0
