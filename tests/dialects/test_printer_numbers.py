"""Floating-point numbers are spelled as MLIR spells them, and read back bit by bit."""

import math
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import bf16, f8E4M3FN, f8E5M2, f16, f32, f64

from minitriton.dialects.printing.printer import float_text
from minitriton.dialects.text import parse_module, print_module

KNOWN = [
    (1.0, f32, "1.000000e+00"),
    (-0.0, f32, "-0.000000e+00"),
    (0.0, f64, "0.000000e+00"),
    (struct.unpack("<f", struct.pack("<f", 1e-5))[0], f32, "9.99999974E-6"),
    (0.1, f64, "1.000000e-01"),
    (struct.unpack("<f", struct.pack("<f", 0.1))[0], f32, "1.000000e-01"),
    (struct.unpack("<f", struct.pack("<f", 0.9995))[0], f32, "0.999499976"),
    (struct.unpack("<f", struct.pack("<f", math.log(2)))[0], f32, "0.693147182"),
    (struct.unpack("<f", struct.pack("<f", math.log2(math.e)))[0], f32, "1.44269502"),
    (16777216.0, f32, "0x4B800000"),
    (65504.0, f16, "6.550400e+04"),
    (math.inf, f32, "0x7F800000"),
    (-math.inf, f32, "0xFF800000"),
    (-math.inf, f16, "0xFC00"),
    (math.inf, bf16, "0x7F80"),
    (1e100, f64, "1.000000e+100"),
    (math.pi, f64, "3.1415926535897931"),
]


@pytest.mark.parametrize(("value", "type_", "text"), KNOWN)
def test_known_numbers(value, type_, text):
    assert float_text(value, type_) == text


@pytest.mark.parametrize("type_", [f8E4M3FN, f8E5M2])
def test_every_fp8_number_is_printed_losslessly(type_):
    for bits in range(256):
        value = type_.unpack(bytes([bits]), 1)[0]
        text = float_text(value, type_)
        if text.startswith("0x"):
            assert not math.isfinite(value) and type_.pack((value,)) == bytes([int(text, 16)])
        else:
            assert type_.pack((float(text),)) == bytes([bits])


@pytest.mark.parametrize(("type_", "code", "size"), [(f32, "<f", 4), (f16, "<e", 2), (f64, "<d", 8)])
@settings(deadline=None)
@given(data=st.data())
def test_printed_numbers_are_read_back_bit_by_bit(type_, code, size, data):
    bits = data.draw(st.binary(min_size=size, max_size=size))
    value = struct.unpack(code, bits)[0]
    if math.isnan(value):
        return
    text = float_text(value, type_)
    if text.startswith("0x"):
        assert int(text, 16).to_bytes(size, "little") == bits
    else:
        assert struct.pack(code, float(text)) == bits


@settings(deadline=None)
@given(bits=st.integers(0, 2**32 - 1))
def test_a_constant_survives_reading_and_printing(bits):
    text = f"module {{\n  %cst = arith.constant dense<0x{bits:08X}> : tensor<4xf32>\n}}\n"
    printed = print_module(parse_module(text))
    assert print_module(parse_module(printed)) == printed
