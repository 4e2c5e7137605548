"""Constants of 8-bit floats are what casts at run time make of the same numbers: rounded, saturated, subnormal, NaN."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minitriton as triton
import minitriton.language as tl
from minitriton.frontend.builder import bits_of_fp8e4b15, in_fp8
from minitriton.interpreter.numbers import formats

IR_NAMES = {"fp8e4nv": "f8E4M3FN", "fp8e5": "f8E5M2", "fp8e4b8": "f8E4M3FNUZ", "fp8e5b16": "f8E5M2FNUZ"}
LANGUAGE_NAMES = {
    "fp8e4nv": "float8e4nv",
    "fp8e5": "float8e5",
    "fp8e4b8": "float8e4b8",
    "fp8e5b16": "float8e5b16",
    "fp8e4b15": "float8e4b15",
}


def numbers_around(name: str) -> np.ndarray:
    """All numbers of a format as float32, what lies halfway between neighbours, the next numbers around each, and extremes."""
    known = formats.decode_small(IR_NAMES.get(name, "f8E4M3B11FNUZ"), np.arange(256, dtype=np.uint8)).astype(np.float64)
    known = np.unique(known[np.isfinite(known)]) / (1 if name in IR_NAMES else 16)
    exact = np.concatenate([known, (known[1:] + known[:-1]) / 2, known * 1.0625]).astype(np.float32)
    further = [np.nextafter(exact, np.float32(limit)) for limit in (np.inf, -np.inf)]
    extremes = np.array(
        [0.0, -0.0, 465, 480, 61439, 61440, 65519, 65520, 3e38, -3e38, 1e-45, np.inf, -np.inf, np.nan], np.float32
    )
    return np.concatenate([exact, *further, extremes])


@triton.jit
def cast(x, out, n, TO: tl.constexpr):
    i = tl.program_id(0) * 128 + tl.arange(0, 128)
    v = tl.load(x + i, mask=i < n, other=0.0)
    tl.store(out + i, v.to(TO).to(tl.int8, bitcast=True), mask=i < n)


def cast_at_run_time(x: np.ndarray, name: str, target: str, monkeypatch: pytest.MonkeyPatch) -> np.ndarray:
    monkeypatch.setenv("TRITON_OVERRIDE_ARCH", target)
    out = np.zeros(x.size, np.int8)
    triton.jit(cast.fn)[(-(-x.size // 128),)](x, out, x.size, TO=getattr(tl, LANGUAGE_NAMES[name]))
    return out.view(np.uint8)


@pytest.mark.parametrize(("name", "target"), [("fp8e4nv", "sm90"), ("fp8e5", "sm90"), ("fp8e5", "sm80")])
def test_a_constant_is_rounded_as_at_run_time(name: str, target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    x = numbers_around(name)
    type_ = getattr(tl, LANGUAGE_NAMES[name])
    constants = np.array([in_fp8(type_, float(number), native=target == "sm90") for number in x])
    found = formats.encode_small(IR_NAMES[name], constants, saturate=False)
    np.testing.assert_array_equal(formats.decode_small(IR_NAMES[name], found), constants.astype(np.float32))
    np.testing.assert_array_equal(found[:-1], cast_at_run_time(x, name, target, monkeypatch)[:-1])
    assert np.isnan(constants[-1])


@pytest.mark.parametrize("name", ["fp8e4b8", "fp8e5b16"])
def test_formats_of_other_gpus_are_rounded_to_nearest_too(name: str) -> None:
    x = numbers_around(name)
    constants = np.array([in_fp8(getattr(tl, LANGUAGE_NAMES[name]), float(number), native=True) for number in x])
    by_interpreter = formats.decode_small(IR_NAMES[name], formats.encode_small(IR_NAMES[name], x))
    np.testing.assert_array_equal(constants, by_interpreter)


@pytest.mark.parametrize("target", ["sm80", "sm90"])
def test_a_constant_without_a_type_in_mlir_has_the_bits_of_the_cast(
    target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = numbers_around("fp8e4b15")
    found = np.array([bits_of_fp8e4b15(float(number)) for number in x], np.int8).view(np.uint8)
    np.testing.assert_array_equal(found, cast_at_run_time(x, "fp8e4b15", target, monkeypatch))


@triton.jit
def constants(out, TO: tl.constexpr):
    tl.store(out, tl.full((), 465.0, TO).to(tl.int8, bitcast=True))
    tl.store(out + 1, tl.full((), -1e9, TO).to(tl.int8, bitcast=True))
    i = tl.arange(0, 2)
    tl.store(out + 2 + i, tl.full((2,), 1.7, TO).to(tl.int8, bitcast=True))
    tl.store(out + 4 + i, tl.where(i < 1, tl.full((2,), 1.0, TO), 1e9).to(tl.int8, bitcast=True))


@pytest.mark.parametrize("level", ["0", "1"])
@pytest.mark.parametrize(
    ("name", "target"),
    [("fp8e4nv", "sm90"), ("fp8e5", "sm80"), ("fp8e5", "sm90"), ("fp8e4b15", "sm80"), ("fp8e4b15", "sm90")],
)
def test_constants_in_a_kernel_on_both_levels(
    name: str, target: str, level: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = cast_at_run_time(np.array([465.0, -1e9, 1.7, 1.7, 1.0, 1e9], np.float32), name, target, monkeypatch)
    monkeypatch.setenv("MINITRITON_INTERPRET", level)
    out: Any = np.zeros(6, np.uint8)
    triton.jit(constants.fn)[(1,)](out.view(np.int8), TO=getattr(tl, LANGUAGE_NAMES[name]))
    np.testing.assert_array_equal(out, expected)
