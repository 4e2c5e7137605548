"""The sums of the tensor cores against exact arithmetic, term by term."""

from math import frexp, ldexp
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minitriton.emulator.arithmetic import small_floats as sf
from minitriton.emulator.operations import tensor_core
from minitriton.emulator.operations.tensor_core import Accumulation, multiply_accumulate

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

FORMATS: dict[str, tuple[int, Any]] = {
    "f16": (16, lambda w: w.astype(np.uint16).view(np.float16).astype(np.float64)),
    "bf16": (16, lambda w: sf.bf16_to(w.astype(np.uint16)).astype(np.float64)),
    "tf32": (32, lambda w: (w.astype(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32).astype(np.float64)),
    "e4m3": (8, lambda w: sf.e4m3_to(w.astype(np.uint8)).astype(np.float64)),
    "e5m2": (8, lambda w: sf.e5m2_to(w.astype(np.uint8)).astype(np.float64)),
}
SMALLEST = {"f16": -14, "bf16": -126, "tf32": -126, "f32": -126, "e4m3": -6, "e5m2": -14}


def exact(value: float) -> tuple[int, int]:
    """`value` as a whole number of units, and the exponent of the unit."""
    fraction, size = frexp(value)
    return int(fraction * 2.0**53), size - 53


def toward_zero(value: int, unit: int, coarser: int) -> int:
    """`value` units of `2**unit` in whole units of `2**coarser`."""
    size = abs(value) << max(unit - coarser, 0) >> max(coarser - unit, 0)
    return size if value >= 0 else -size


def exponent(value: float, format: str) -> int:
    return max(frexp(value)[1] - 1, SMALLEST[format])


def term_by_term(a: list[float], b: list[float], c: float, how: Accumulation) -> float:
    """One element, in whole numbers."""
    for start in range(0, len(a), how.group):
        terms = [(*exact(c), exponent(c, how.result))]
        for x, y in zip(a[start : start + how.group], b[start : start + how.group], strict=True):
            (m, m_unit), (n, n_unit) = exact(x), exact(y)
            terms.append((m * n, m_unit + n_unit, exponent(x, how.operand) + exponent(y, how.other)))
        unit = max((size for value, _, size in terms if value), default=0) - how.fraction
        total = sum(toward_zero(value, of, unit) for value, of, _ in terms)
        if how.result == "f16":
            c = float(np.float64(ldexp(total, unit)).astype(np.float16))
        else:
            size = max(total.bit_length() - 1 + unit, SMALLEST["f32"]) if total else 0
            kept = size - (13 if how.narrow else 23)
            c = ldexp(toward_zero(total, unit, kept), kept)
    return c


@pytest.mark.sampled(3)
@pytest.mark.parametrize("narrow", [False, True])
@pytest.mark.parametrize("result", ["f32", "f16"])
@pytest.mark.parametrize("format", FORMATS)
@given(seed=st.integers(0, 1 << 30), spread=st.integers(0, 12))
def test_sums_are_those_of_the_definition(format: str, result: str, narrow: bool, seed: int, spread: int) -> None:
    rng = np.random.default_rng(seed)
    spread = spread if result == "f32" else spread // 5
    how = Accumulation(format, format, result, narrow)
    depth = 2 * how.group if format != "bf16" else 16
    a = rng.standard_normal((2, depth)) * 2.0 ** rng.integers(-spread, spread + 1, (2, depth))
    b = rng.standard_normal((depth, 3)) * 2.0 ** rng.integers(-spread, spread + 1, (depth, 3))
    of = {"f16": np.float16, "e4m3": None, "e5m2": None}.get(format, np.float32)
    if format == "e4m3":
        a, b = (sf.e4m3_to(sf.e4m3_from(v)).astype(np.float64) for v in (a, b))
    elif format == "e5m2":
        a, b = (sf.e5m2_to(sf.e5m2_from(v)).astype(np.float64) for v in (a, b))
    elif format == "bf16":
        a, b = (sf.bf16_to(sf.bf16_from(v.astype(np.float32))).astype(np.float64) for v in (a, b))
    elif format == "tf32":
        a, b = (sf.tf32_from(v.astype(np.float32)).view(np.float32).astype(np.float64) for v in (a, b))
    else:
        a, b = (v.astype(of).astype(np.float64) for v in (a, b))
    c = rng.standard_normal((2, 3)).astype(np.float16 if result == "f16" else np.float32)
    found = multiply_accumulate(a, b, c, how)
    for i in range(2):
        for j in range(3):
            wanted = term_by_term(a[i].tolist(), b[:, j].tolist(), float(c[i, j]), how)
            assert float(found[i, j]) == wanted


def of_products(products: list[float], addend: float, how: Accumulation) -> float:
    row = np.zeros((1, how.group))
    row[0, : len(products)] = products
    dtype = np.float16 if how.result == "f16" else np.float32
    return float(multiply_accumulate(row, np.ones((how.group, 1)), np.array([[addend]], dtype), how)[0, 0])


HALF = Accumulation("f16", "f16", "f32")


def test_what_lies_25_bits_below_the_largest_term_is_cut_off() -> None:
    assert of_products([1.0], 2.0**-24, HALF) == 1.0
    assert of_products([1.0, 2.0**-12], 2.0**-25 * 3, HALF) == 1 + 2.0**-12
    assert of_products([], 1 + 2.0**-23, HALF) == 1 + 2.0**-23


def test_terms_are_added_before_the_sum_is_cut() -> None:
    small = 2.0**-12
    row, column = np.array([[1.0] + [small] * 4]), np.array([[1.0]] + [[small]] * 4)
    pad = ((0, 0), (0, 11))
    found = multiply_accumulate(np.pad(row, pad), np.pad(column, pad[::-1]), np.zeros((1, 1), np.float32), HALF)
    assert found[0, 0] == 1 + 2.0**-22


def test_sums_are_cut_toward_zero() -> None:
    assert of_products([-1.0], -(2.0**-24) * 1.5, HALF) == -1.0
    assert of_products([1.0], -(2.0**-24), HALF) == 1 - 2.0**-24


def test_infinities_and_nans_pass_and_overflow_is_infinite() -> None:
    inf = float("inf")
    assert of_products([inf], 1.0, HALF) == inf
    assert np.isnan(of_products([inf, -inf], 1.0, HALF))
    wide = Accumulation("bf16", "bf16", "f32")
    row = np.full((1, 16), 2.0**100)
    assert multiply_accumulate(row, row.T, np.zeros((1, 1), np.float32), wide)[0, 0] == inf


def test_eight_bit_floats_keep_13_bits_in_wgmma() -> None:
    narrow = Accumulation("e4m3", "e4m3", "f32", narrow=True)
    assert of_products([1.0], 2.0**-13, narrow) == 1 + 2.0**-13
    assert of_products([1.0], 2.0**-14, narrow) == 1.0
    assert of_products([1.0], 2.0**-14, Accumulation("e4m3", "e4m3", "f32")) == 1 + 2.0**-14


def test_large_and_small_arrays_are_summed_alike() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((64, 16)).astype(np.float16), rng.standard_normal((16, 128)).astype(np.float16)
    c = rng.standard_normal((64, 128)).astype(np.float32)
    whole = multiply_accumulate(a, b, c, HALF)
    pieces = [multiply_accumulate(a[i : i + 8], b, c[i : i + 8], HALF) for i in range(0, 64, 8)]
    np.testing.assert_array_equal(whole, np.concatenate(pieces))


def test_integers_wrap_or_are_clamped() -> None:
    a, b = np.full((1, 32), 127), np.full((32, 1), 127)
    c = np.full((1, 1), 2**31 - 1, np.int32)
    assert tensor_core.multiply_accumulate_integers(a, b, c, saturate=True)[0, 0] == 2**31 - 1
    assert tensor_core.multiply_accumulate_integers(a, b, c, saturate=False)[0, 0] == 2**31 - 1 + 32 * 127**2 - 2**32
