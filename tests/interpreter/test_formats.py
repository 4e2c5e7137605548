"""Narrow floats as bit patterns: decoding is exact, encoding gives the nearest pattern."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minitriton.interpreter.numbers import formats

FP8 = ["f8E4M3FN", "f8E5M2", "f8E4M3FNUZ", "f8E5M2FNUZ", "f8E4M3B11FNUZ"]


def finite_values(name: str) -> dict[int, Fraction]:
    """Every finite number of a format, worked out from its fields."""
    small = formats.SMALL_FLOATS[name]
    values: dict[int, Fraction] = {}
    for pattern in range(small.finite):
        exponent, mantissa = divmod(pattern, 1 << small.mantissa_bits)
        significand = mantissa + (1 << small.mantissa_bits if exponent else 0)
        values[pattern] = Fraction(significand) * Fraction(2) ** (max(exponent, 1) - small.bias - small.mantissa_bits)
        if pattern or not small.unsigned_zero:
            values[pattern | small.sign_bit] = -values[pattern]
    return values


@pytest.mark.parametrize("name", [*FP8, "e2m1"])
def test_every_pattern_decodes_to_the_number_its_fields_say(name: str):
    for pattern, value in finite_values(name).items():
        assert Fraction(float(formats.decode_small(name, np.uint8(pattern)))) == value


@pytest.mark.parametrize("name", FP8)
def test_every_number_encodes_to_its_own_pattern(name: str):
    patterns = np.array(list(finite_values(name)), np.uint8)
    assert (formats.encode_small(name, formats.decode_small(name, patterns)) == patterns).all()


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", FP8)
@given(number=st.floats(-700, 700, width=32))
def test_encoding_finds_the_nearest_number_and_ties_go_to_even(name: str, number: float):
    pattern = int(formats.encode_small(name, np.float32(number)))
    values = finite_values(name)
    distance = abs(values[pattern] - Fraction(number))
    nearest = min(abs(value - Fraction(number)) for value in values.values())
    assert distance == nearest
    tied = [p for p, v in values.items() if abs(v - Fraction(number)) == nearest and v != values[pattern]]
    assert not tied or pattern % 2 == 0


@pytest.mark.parametrize("name", FP8)
@given(number=st.floats(-200, 200, width=32))
def test_rounding_toward_zero_never_grows(name: str, number: float):
    values = finite_values(name)
    value = values[int(formats.encode_small(name, np.float32(number), toward_zero=True))]
    assert abs(value) <= abs(Fraction(number))
    limit = max(values.values())
    larger = [v for v in values.values() if abs(value) < abs(v) <= abs(Fraction(number)) and (v < 0) == (number < 0)]
    assert not larger or abs(value) == limit


def test_what_is_too_large_for_fp8_becomes_the_largest_finite_number():
    numbers = np.array([1e30, -1e30, np.inf, 460.0], np.float32)
    assert formats.decode_small("f8E4M3FN", formats.encode_small("f8E4M3FN", numbers)).tolist() == [448, -448, 448, 448]


def test_nan_stays_nan():
    for name in FP8:
        assert np.isnan(formats.decode_small(name, formats.encode_small(name, np.float32(np.nan))))
    assert np.isnan(formats.decode_bf16(formats.encode_bf16(np.float32(np.nan))))


@given(bits=st.integers(0, 0xFFFF))
def test_bf16_patterns_survive_decoding_and_encoding(bits: int):
    number = formats.decode_bf16(np.uint16(bits))
    assert np.isnan(number) or formats.encode_bf16(number) == bits


@given(number=st.floats(allow_nan=False, allow_infinity=False, width=32))
def test_bf16_is_the_nearest_and_ties_go_to_even(number: float):
    pattern = int(formats.encode_bf16(np.float32(number)))
    below = np.float32(number).view(np.uint32) >> np.uint32(16)
    candidates = [int(below), int(below) + 1]
    assert pattern in candidates
    if pattern & 0x7F80 != 0x7F80:
        exact = Fraction(number)
        errors = {
            c: abs(Fraction(float(formats.decode_bf16(np.uint16(c)))) - exact)
            for c in candidates
            if c & 0x7F80 != 0x7F80
        }
        assert errors[pattern] == min(errors.values())
        if len(errors) == 2 and errors[candidates[0]] == errors[candidates[1]]:
            assert pattern % 2 == 0


@given(number=st.floats(-1e38, 1e38))
def test_a_double_is_rounded_to_bf16_once(number: float):
    pattern = np.uint16(formats.encode_bf16(np.float64(number)))
    exact = Fraction(number)
    near = [
        Fraction(float(formats.decode_bf16(np.uint16(p))))
        for p in (int(pattern) - 1, int(pattern), int(pattern) + 1)
        if 0 <= p < 0x10000 and p & 0x7F80 != 0x7F80
    ]
    value = Fraction(float(formats.decode_bf16(pattern)))
    assert abs(value - exact) == min(abs(n - exact) for n in [*near, value])


def test_scales_are_powers_of_two():
    assert formats.decode_e8m0(np.array([0, 127, 128, 254], np.uint8)).tolist() == [2.0**-127, 1.0, 2.0, 2.0**127]
    assert np.isinf(formats.decode_e8m0(np.uint8(255)))


def test_two_fp4_numbers_share_a_byte_low_half_first():
    packed = np.array([[0x21, 0xF7]], np.uint8)
    assert formats.unpack_e2m1(packed, 1).tolist() == [[0.5, 1.0, 6.0, -6.0]]
    assert formats.unpack_e2m1(packed, 0).tolist() == [[0.5, 6.0], [1.0, -6.0]]
