"""Elementary functions and conversions, register by register, against NumPy."""

from __future__ import annotations

import math

import numpy as np
import pytest

HEAD = 'module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 1 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {'
COUNT = 1024


def elementwise(body: str, source: str, result: str) -> str:
    """A kernel that maps `%v` to `%w` over 1024 elements."""
    return f"""
#b = #ttg.blocked<{{sizePerThread = [4], threadsPerWarp = [32], warpsPerCTA = [1], order = [0]}}>
{HEAD}
  tt.func public @k(%x: !tt.ptr<{source}> {{tt.divisibility = 16 : i32}}, %out: !tt.ptr<{result}> {{tt.divisibility = 16 : i32}}) {{
    %r = tt.make_range {{end = {COUNT} : i32, start = 0 : i32}} : tensor<{COUNT}xi32, #b>
    %xs = tt.splat %x : !tt.ptr<{source}> -> tensor<{COUNT}x!tt.ptr<{source}>, #b>
    %xp = tt.addptr %xs, %r : tensor<{COUNT}x!tt.ptr<{source}>, #b>, tensor<{COUNT}xi32, #b>
    %v = tt.load %xp : tensor<{COUNT}x!tt.ptr<{source}>, #b>
    {body}
    %os = tt.splat %out : !tt.ptr<{result}> -> tensor<{COUNT}x!tt.ptr<{result}>, #b>
    %op = tt.addptr %os, %r : tensor<{COUNT}x!tt.ptr<{result}>, #b>, tensor<{COUNT}xi32, #b>
    tt.store %op, %w : tensor<{COUNT}x!tt.ptr<{result}>, #b>
    tt.return
  }}
}}
"""


SPECIAL = [0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 1e-40, 3e38]
rng = np.random.default_rng(2)


def samples(low: float, high: float) -> np.ndarray:
    """Numbers of all sizes between the exponents `low` and `high`, and special ones."""
    values = rng.choice([-1.0, 1.0], COUNT) * np.exp2(rng.uniform(low, high, COUNT))
    values[: len(SPECIAL)] = SPECIAL
    return values.astype(np.float32)


# Function, exponents of its arguments, units in the last place. The argument of `exp` is scaled in single precision, which costs
# accuracy for large arguments.
FUNCTIONS = {
    "math.exp": (np.exp, -20, 6, 40),
    "math.log": (np.log, -120, 120, 1),
    "math.log2": (np.log2, -120, 120, 1.6),
    "math.sin": (np.sin, -20, 127, 1.5),
    "math.cos": (np.cos, -20, 127, 1.5),
    "math.erf": (np.vectorize(math.erf), -20, 4, 1.25),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_elementary_function_is_right_to_the_last_places(kernel, name):
    function, low, high, allowed = FUNCTIONS[name]
    x = samples(low, high)
    out = np.zeros(COUNT, np.float32)
    with np.errstate(all="ignore"):
        kernel(elementwise(f"%w = {name} %v : tensor<{COUNT}xf32, #b>", "f32", "f32"))(x, out)
        expected = function(x.astype(np.float64))
        ulp = np.maximum(np.spacing(np.abs(expected).astype(np.float32)), np.float32(2.0**-149)).astype(np.float64)
        error = np.abs(out - expected)
    same = (out == expected) | (np.isnan(out) & np.isnan(expected))
    wrong = ~same & ~(error <= allowed * ulp)
    assert not wrong.any(), list(zip(x[wrong], out[wrong], expected[wrong], strict=True))[:5]


@pytest.mark.parametrize("large", [False, True])
def test_the_sine_of_a_negative_zero_is_one_whatever_its_thread_holds_too(kernel, large):
    x, out = np.full(COUNT, -0.0, np.float32), np.zeros(COUNT, np.float32)
    if large:
        x[1::2] = 1e30
    kernel(elementwise(f"%w = math.sin %v : tensor<{COUNT}xf32, #b>", "f32", "f32"))(x, out)
    assert (out[::2] == 0).all() and np.signbit(out[::2]).all()


@pytest.mark.parametrize("source,result,dtype", [("f32", "f16", np.float16), ("f16", "f32", np.float32)])
def test_floats_are_converted_to_nearest(kernel, source, result, dtype):
    with np.errstate(all="ignore"):
        x = samples(-10, 10).astype(np.float32 if source == "f32" else np.float16)
    op = "arith.truncf" if source == "f32" else "arith.extf"
    body = f"%w = {op} %v : tensor<{COUNT}x{source}, #b> to tensor<{COUNT}x{result}, #b>"
    out = np.zeros(COUNT, dtype)
    with np.errstate(all="ignore"):
        kernel(elementwise(body, source, result))(x, out)
        np.testing.assert_array_equal(out, x.astype(dtype))


def test_a_bfloat16_is_rounded_to_nearest_even(kernel):
    x = samples(-10, 10)
    x[6] = 0
    out = np.zeros(COUNT, np.uint16)
    body = f"%w = arith.truncf %v : tensor<{COUNT}xf32, #b> to tensor<{COUNT}xbf16, #b>"
    kernel(elementwise(body, "f32", "bf16"))(x, out)
    bits = x.view(np.uint32).astype(np.uint64)
    np.testing.assert_array_equal(out, ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16))


def test_an_8_bit_float_is_written_by_the_instruction_for_pairs(llvm_ir):
    body = f"%w = tt.fp_to_fp %v, rounding = rtne : tensor<{COUNT}xf32, #b> -> tensor<{COUNT}xf8E4M3FN, #b>"
    text = llvm_ir(elementwise(body, "f32", "f8E4M3FN"))
    assert text.count("cvt.rn.satfinite.e4m3x2.f32 $0, $2, $1;") == COUNT // 32 // 2


def test_signed_and_unsigned_division_of_small_integers(kernel):
    x = rng.integers(-128, 127, COUNT).astype(np.int8)
    out = np.zeros(COUNT, np.int8)
    body = f"""%c = arith.constant dense<7> : tensor<{COUNT}xi8, #b>
    %d = arith.divsi %v, %c : tensor<{COUNT}xi8, #b>
    %e = arith.remui %v, %c : tensor<{COUNT}xi8, #b>
    %w = arith.addi %d, %e : tensor<{COUNT}xi8, #b>"""
    kernel(elementwise(body, "i8", "i8"))(x, out)
    expected = np.trunc(x / 7).astype(np.int8) + (x.view(np.uint8) % 7).view(np.int8)
    np.testing.assert_array_equal(out, expected)


def test_small_floats_of_four_bits_are_unpacked_lower_half_first(kernel):
    text = f"""
#p = #ttg.blocked<{{sizePerThread = [4], threadsPerWarp = [32], warpsPerCTA = [1], order = [0]}}>
#u = #ttg.blocked<{{sizePerThread = [8], threadsPerWarp = [32], warpsPerCTA = [1], order = [0]}}>
{HEAD}
  tt.func public @k(%x: !tt.ptr<i8>, %out: !tt.ptr<f16>) {{
    %r = tt.make_range {{end = 128 : i32, start = 0 : i32}} : tensor<128xi32, #p>
    %xs = tt.splat %x : !tt.ptr<i8> -> tensor<128x!tt.ptr<i8>, #p>
    %xp = tt.addptr %xs, %r : tensor<128x!tt.ptr<i8>, #p>, tensor<128xi32, #p>
    %v = tt.load %xp : tensor<128x!tt.ptr<i8>, #p>
    %w = ttg.fp4_to_fp %v {{axis = 0 : i32}} : tensor<128xi8, #p> -> tensor<256xf16, #u>
    %o = tt.make_range {{end = 256 : i32, start = 0 : i32}} : tensor<256xi32, #u>
    %os = tt.splat %out : !tt.ptr<f16> -> tensor<256x!tt.ptr<f16>, #u>
    %op = tt.addptr %os, %o : tensor<256x!tt.ptr<f16>, #u>, tensor<256xi32, #u>
    tt.store %op, %w : tensor<256x!tt.ptr<f16>, #u>
    tt.return
  }}
}}
"""
    x = np.arange(128, dtype=np.uint8) * 2 + 1
    out = np.zeros(256, np.float16)
    kernel(text)(x.view(np.int8), out)
    values = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])
    table = np.concatenate([values, -values])
    np.testing.assert_array_equal(out, np.stack([table[x & 15], table[x >> 4]], 1).reshape(-1))


ROUNDED = {
    "arith.ceildivsi": lambda a, b: -(-a // b),
    "arith.floordivsi": lambda a, b: a // b,
    "arith.ceildivui": lambda a, b: -(-a // b),
}


@pytest.mark.parametrize("name", ROUNDED)
@pytest.mark.parametrize("divisor", [1, 2, 7, -3, -16])
def test_a_division_rounds_as_its_name_says(kernel, name, divisor):
    x = rng.integers(-(2**31) + 1, 2**31, COUNT).astype(np.int32)
    x[:8] = [0, 1, -1, 6, 7, -7, 8, -8]
    out = np.zeros(COUNT, np.int32)
    divide = (
        f"%d = arith.constant dense<{divisor}> : tensor<{COUNT}xi32, #b>\n%w = {name} %v, %d : tensor<{COUNT}xi32, #b>"
    )
    kernel(elementwise(divide, "i32", "i32"))(x, out)
    a, b = (x, np.int32(divisor)) if name.endswith("si") else (x.view(np.uint32), np.int32(divisor).view(np.uint32))
    np.testing.assert_array_equal(out, ROUNDED[name](a.astype(np.int64), int(b)).astype(np.int32))
