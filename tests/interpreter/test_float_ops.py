"""Floating-point ops and conversions: computed in the type, rounded once."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from minitriton.dialects.text import parse_module
from minitriton.fuzz.generation.elements import ELEMENTS
from minitriton.fuzz.printing import KERNEL
from minitriton.fuzz.running.launch import FuzzedLaunch, placed_arguments
from minitriton.fuzz.running.oracles import run_oracles
from minitriton.fuzz.tree import Array
from minitriton.interpreter import launch as meanings
from minitriton.interpreter.machine import TileMachine
from minitriton.interpreter.numbers import formats
from minitriton.interpreter.numbers.libdevice import round_half_away


def meaning(line: str, arguments: str) -> Callable[..., Any]:
    module = parse_module(f"tt.func @f({arguments}) {{\n{line}\ntt.return\n}}")
    op = next(op for op in module.walk() if op.name == line.split("=")[1].split()[0])
    pure = meanings.PURE_OPS.of(op)
    if pure is not None:
        return pure(op)
    return meanings.STATEFUL_OPS.of(op)(op, TileMachine(module, (1, 1, 1), meanings.meaning_of, target="cuda:90"))


def binary(name: str, element: str, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    type_ = f"tensor<{a.size}x{element}>"
    with np.errstate(all="ignore"):
        return meaning(f"%r = {name} %a, %b : {type_}", f"%a: {type_}, %b: {type_}")(a, b)


def cast(name: str, source: str, target: str, values: np.ndarray, attributes: str = "") -> np.ndarray:
    count = values.size
    line = f"%r = {name} %a{attributes} : tensor<{count}x{source}> {'->' if name.startswith('tt') else 'to'} tensor<{count}x{target}>"
    with np.errstate(all="ignore"):
        return meaning(line, f"%a: tensor<{count}x{source}>")(values)


NAN = float("nan")


def test_f32_stays_f32():
    a = np.array([1.0, 1e20, 0.1, 3.0], np.float32)
    b = np.array([1e-8, 1e20, 0.2, 0.0], np.float32)
    assert binary("arith.addf", "f32", a, b).dtype == np.float32
    assert binary("arith.addf", "f32", a, b).tolist() == (a + b).tolist()
    assert binary("arith.mulf", "f32", a, b)[1] == np.inf
    assert binary("arith.divf", "f32", a, b)[3] == np.inf


def test_bf16_is_rounded_after_each_op():
    one = formats.encode_bf16(np.float32([1.0, 1.0, 256.0, 3.0]))
    other = formats.encode_bf16(np.float32([0.001, 0.0078125, 1.0, 7.0]))
    total = formats.decode_bf16(binary("arith.addf", "bf16", one, other))
    assert total.tolist() == [1.0, 1.0078125, 256.0, 10.0]


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_what_is_just_below_a_half_is_rounded_down(dtype: Any):
    half = dtype(0.5)
    below, odd = np.nextafter(half, dtype(0)), dtype(2 ** np.finfo(dtype).nmant + 1)
    x = np.array([half, below, -half, -below, 2.5, -2.5, odd], dtype)
    assert round_half_away(x).tolist() == [1, 0, -1, 0, 3, -3, odd]


def test_minima_and_maxima_differ_in_what_they_do_to_nan():
    a, b = np.array([1.0, NAN, 2.0, NAN], np.float32), np.array([NAN, 1.0, 3.0, NAN], np.float32)
    assert binary("arith.maxnumf", "f32", a, b)[:3].tolist() == [1.0, 1.0, 3.0]
    assert np.isnan(binary("arith.maximumf", "f32", a, b)).tolist() == [True, True, False, True]
    assert binary("arith.minnumf", "f32", a, b)[:3].tolist() == [1.0, 1.0, 2.0]
    assert np.isnan(binary("arith.minimumf", "f32", a, b)).tolist() == [True, True, False, True]


@pytest.mark.parametrize(
    ("predicate", "expected"),
    [
        ("oeq", [False, True, False, False]),
        ("olt", [True, False, False, False]),
        ("one", [True, False, True, False]),
        ("ord", [True, True, True, False]),
        ("ult", [True, False, False, True]),
        ("une", [True, False, True, True]),
        ("uno", [False, False, False, True]),
        ("uge", [False, True, True, True]),
    ],
)
def test_comparisons_say_what_they_do_with_nan(predicate: str, expected: list[bool]):
    a, b = np.array([1.0, 2.0, 3.0, NAN], np.float32), np.array([2.0, 2.0, 2.0, 2.0], np.float32)
    compare = meaning(f"%r = arith.cmpf {predicate}, %a, %b : tensor<4xf32>", "%a: tensor<4xf32>, %b: tensor<4xf32>")
    assert compare(a, b).tolist() == expected


def test_remainder_has_the_sign_of_the_dividend():
    a, b = np.array([5.5, -5.5], np.float32), np.array([2.0, 2.0], np.float32)
    assert binary("arith.remf", "f32", a, b).tolist() == [1.5, -1.5]


@pytest.mark.parametrize("name", ["float32", "float64", "float16"])
def test_remainder_is_what_the_gpu_computes(name: str) -> None:
    element, rng = ELEMENTS[name], np.random.default_rng(1)
    special = [(3e38, 3.0), (1.0, 0.1), (0.3, 0.1), (-1.0, 0.1), (5.0, 0.0), (1.0, np.inf), (np.inf, 2.0), (-0.0, 3.0)]
    pairs = np.array([*special, *np.exp(rng.normal(0, 6, (56, 2)))])
    with np.errstate(over="ignore"):
        x, y = (np.ascontiguousarray(column.astype(element.dtype)) for column in pairs.T)
    arrays = [(Array(n, element, "random", 0, 0), a) for n, a in (("x", x), ("y", y), ("o", np.zeros_like(x)))]
    source = f"""@triton.jit
def {KERNEL}(x, y, o):
    i = tl.arange(0, 64)
    tl.store(o + i, tl.load(x + i) % tl.load(y + i))
"""
    launch = FuzzedLaunch(source, placed_arguments(arrays, [], ()), (1,), 2, True)
    found = run_oracles(launch, ["interpreter", "emulator"])
    assert np.array_equal(found["interpreter"].arrays[2], found["emulator"].arrays[2], equal_nan=True)


def test_fma_rounds_once():
    a = np.float32(1 + 2**-12)
    fma = meaning("%r = math.fma %a, %b, %c : f32", "%a: f32, %b: f32, %c: f32")
    assert fma(a, a, np.float32(-1)) == np.float32(2**-11 + 2**-24)


@pytest.mark.parametrize(("element", "digits"), [("f16", 11), ("f32", 24), ("f64", 53)])
def test_fma_sees_beyond_the_digits_of_a_wider_format(element: str, digits: int) -> None:
    """A product halfway between two numbers, and a sum that is far too small for anything but the direction."""
    dtype = np.dtype({"f16": np.float16, "f32": np.float32, "f64": np.float64}[element])
    type_ = f"tensor<4x{element}>"
    fma = meaning(f"%r = math.fma %a, %b, %c : {type_}", f"%a: {type_}, %b: {type_}, %c: {type_}")
    tie = np.array([1.5] * 4, dtype)
    a = np.array([1 + 2.0 ** (1 - digits)] * 4, dtype)
    product = Fraction(float(a[0])) * Fraction(3, 2)
    least = float(np.finfo(dtype).smallest_subnormal)
    c = np.array([least, -least, 0.0, -1.0], dtype)
    for number, result in zip(c.tolist(), fma(a, tie, c).tolist(), strict=True):
        exact = product + Fraction(number)
        around = [np.nextafter(dtype.type(result), dtype.type(way)) for way in (-np.inf, np.inf)]
        assert all(abs(exact - Fraction(result)) <= abs(exact - Fraction(float(n))) for n in around)
    assert fma(a, tie, c)[0] > fma(a, tie, c)[1]


def test_fma_of_infinities_zeros_and_what_overflows() -> None:
    fma = meaning("%r = math.fma %a, %b, %c : f32", "%a: f32, %b: f32, %c: f32")
    f = np.float32
    with np.errstate(all="ignore"):
        assert fma(f(2e38), f(2), f(-3e38)) == f(float(f(2e38)) * 2 - float(f(3e38)))
        assert fma(f(2e38), f(2), f(1)) == np.inf
        assert np.isnan(fma(f(np.inf), f(0), f(1)))
        assert np.signbit(fma(f(-0.0), f(1), f(-0.0))) and not np.signbit(fma(f(3), f(1), f(-3)))


def test_narrowing_goes_to_the_nearest():
    assert cast("arith.truncf", "f32", "f16", np.array([1.0 + 2**-11, 1e6], np.float32)).tolist() == [1.0, np.inf]
    assert formats.decode_bf16(
        cast("arith.truncf", "f32", "bf16", np.array([1.00390625, 1.01171875], np.float32))
    ).tolist() == [
        1.0,
        1.015625,
    ]
    # Rounded to float32 first, this double would be a tie of two bf16 numbers, and go to the wrong one.
    close = np.array([1.00390625 + 2**-40], np.float64)
    assert formats.decode_bf16(cast("arith.truncf", "f64", "bf16", close)).tolist() == [1.0078125]


def test_fp8_conversions_round_and_saturate():
    patterns = cast("tt.fp_to_fp", "f32", "f8E5M2", np.array([1.1, 1e9], np.float32), ", rounding = rtne")
    assert formats.decode_small("f8E5M2", patterns).tolist() == [1.0, 57344.0]
    back = cast("tt.fp_to_fp", "f8E5M2", "f16", patterns)
    assert back.dtype == np.float16 and back.tolist() == [1.0, 57344.0]


def test_rounding_toward_zero():
    numbers = np.array([1.0 + 1.9 * 2**-10, -1.0 - 1.9 * 2**-10], np.float32)
    assert cast("tt.fp_to_fp", "f32", "f16", numbers, ", rounding = rtz").tolist() == [1.0 + 2**-10, -1.0 - 2**-10]


def test_floats_become_integers_by_truncation_and_saturate():
    numbers = np.array([2.9, -2.9, 3e10, NAN], np.float32)
    assert cast("arith.fptosi", "f32", "i32", numbers).tolist() == [2, -2, 2**31 - 1, 0]
    assert cast("arith.fptoui", "f32", "i32", np.array([3e9, -1.0], np.float32)).view(np.uint32).tolist() == [
        3000000000,
        0,
    ]
    assert cast("arith.fptosi", "f64", "i64", np.array([1e30, -1e30])).tolist() == [2**63 - 1, -(2**63)]


def test_integers_become_floats():
    assert cast("arith.sitofp", "i32", "f32", np.array([-1, 16777217], np.int32)).tolist() == [-1.0, 16777216.0]
    assert cast("arith.uitofp", "i32", "f32", np.array([-1], np.int32)).tolist() == [4294967296.0]
    assert cast("arith.uitofp", "i1", "f32", np.array([True])).tolist() == [1.0]
    assert cast("arith.sitofp", "i1", "f32", np.array([True])).tolist() == [-1.0]


def test_bitcasts_look_at_the_same_bits():
    assert cast("tt.bitcast", "f32", "i32", np.array([1.0], np.float32)).tolist() == [0x3F800000]
    assert cast("tt.bitcast", "i16", "bf16", np.array([0x3F80], np.int16)).dtype == np.uint16
    assert cast("tt.bitcast", "f8E4M3FN", "i8", np.array([0xFF], np.uint8)).tolist() == [-1]


@pytest.mark.parametrize(
    ("name", "reference"),
    [("exp", np.exp), ("log2", np.log2), ("sqrt", np.sqrt), ("sin", np.sin), ("tanh", np.tanh), ("floor", np.floor)],
)
def test_functions_are_those_of_numpy(name: str, reference: Callable[[np.ndarray], np.ndarray]):
    x = np.array([0.5, 1.25, 3.0, 10.0], np.float32)
    assert meaning(f"%r = math.{name} %a : tensor<4xf32>", "%a: tensor<4xf32>")(x).tolist() == reference(x).tolist()


def test_erf_and_rsqrt_are_rounded_once():
    x = np.array([0.5, 2.0], np.float32)
    erf = meaning("%r = math.erf %a : tensor<2xf32>", "%a: tensor<2xf32>")(x)
    assert erf.tolist() == np.array([0.5204998778130465, 0.9953222650189527], np.float32).tolist()
    assert meaning("%r = math.rsqrt %a : tensor<2xf32>", "%a: tensor<2xf32>")(x)[1] == np.float32(0.7071067811865476)


def test_clamp_keeps_or_drops_nan():
    def clamp(mode: str) -> np.ndarray:
        line = f"%r = tt.clampf %a, %b, %c, propagateNan = {mode} : tensor<4xf32>"
        x = np.array([NAN, -5.0, 0.5, 7.0], np.float32)
        return meaning(line, "%a: tensor<4xf32>, %b: tensor<4xf32>, %c: tensor<4xf32>")(x, np.float32(0), np.float32(1))

    assert clamp("none").tolist() == [0.0, 0.0, 0.5, 1.0]
    assert np.isnan(clamp("all")[0]) and clamp("all")[1:].tolist() == [0.0, 0.5, 1.0]


def test_libdevice_functions_are_found_by_symbol():
    line = (
        '%r = tt.extern_elementwise %a {libname = "", libpath = "", pure = true, symbol = "__nv_expf"} : '
        "(tensor<2xf32>) -> tensor<2xf32>"
    )
    x = np.array([0.0, 1.0], np.float32)
    assert meaning(line, "%a: tensor<2xf32>")(x).tolist() == np.exp(x).tolist()
