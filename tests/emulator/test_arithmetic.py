"""Each arithmetic instruction against Python's exact arithmetic."""

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minitriton import emulator
from minitriton.emulator.arithmetic import floats as float_math
from minitriton.emulator.arithmetic import integers as integer_math
from minitriton.emulator.arithmetic import small_floats

F32 = np.float32
WORDS = np.random.default_rng(5).integers(0, 2**32, 64, dtype=np.uint32)
OTHER = np.random.default_rng(6).integers(0, 2**32, 64, dtype=np.uint32)
THIRD = np.random.default_rng(7).integers(0, 2**32, 64, dtype=np.uint32)
Run = Callable[..., np.ndarray]


def signed(word: int) -> int:
    return word - (1 << 32) if word >> 31 else word


def half(word: int) -> int:
    return (word & 0xFFFF ^ 0x8000) - 0x8000


INTEGER = {
    "add.s32 %r9, %r1, %r2;": lambda a, b, c: a + b,
    "sub.s32 %r9, %r1, %r2;": lambda a, b, c: a - b,
    "mul.lo.s32 %r9, %r1, %r2;": lambda a, b, c: a * b,
    "mul.hi.u32 %r9, %r1, %r2;": lambda a, b, c: a * b >> 32,
    "mul.hi.s32 %r9, %r1, %r2;": lambda a, b, c: signed(a) * signed(b) >> 32,
    "mad.lo.s32 %r9, %r1, %r2, %r3;": lambda a, b, c: a * b + c,
    "div.u32 %r9, %r1, %r2;": lambda a, b, c: a // b,
    "div.s32 %r9, %r1, %r2;": lambda a, b, c: int(Fraction(signed(a), signed(b))),
    "rem.s32 %r9, %r1, %r2;": lambda a, b, c: signed(a) - signed(b) * int(Fraction(signed(a), signed(b))),
    "add.sat.s32 %r9, %r1, %r2;": lambda a, b, c: max(-(2**31), min(2**31 - 1, signed(a) + signed(b))),
    "add.s16x2 %r9, %r1, %r2;": lambda a, b, c: (a + b & 0xFFFF) | ((a >> 16) + (b >> 16) & 0xFFFF) << 16,
    "min.s32 %r9, %r1, %r2;": lambda a, b, c: min(signed(a), signed(b)),
    "max.u32 %r9, %r1, %r2;": lambda a, b, c: max(a, b),
    "min.relu.s32 %r9, %r1, %r2;": lambda a, b, c: max(0, min(signed(a), signed(b))),
    "max.relu.s32 %r9, %r1, %r2;": lambda a, b, c: max(0, signed(a), signed(b)),
    "max.relu.s16x2 %r9, %r1, %r2;": lambda a, b, c: (
        max(0, half(a), half(b)) | max(0, half(a >> 16), half(b >> 16)) << 16
    ),
    "abs.s32 %r9, %r1;": lambda a, b, c: abs(signed(a)),
    "neg.s32 %r9, %r1;": lambda a, b, c: -a,
    "not.b32 %r9, %r1;": lambda a, b, c: ~a,
    "xor.b32 %r9, %r1, 255;": lambda a, b, c: a ^ 255,
    "shl.b32 %r9, %r1, 5;": lambda a, b, c: a << 5,
    "shr.s32 %r9, %r1, 7;": lambda a, b, c: signed(a) >> 7,
    "and.b32 %r4, %r2, 63; shr.u32 %r9, %r1, %r4;": lambda a, b, c: a >> (b & 63),
    "shf.l.wrap.b32 %r9, %r1, %r2, %r3;": lambda a, b, c: ((b << 32 | a) << (c & 31)) >> 32,
    "shf.r.clamp.b32 %r9, %r1, %r2, 40;": lambda a, b, c: b,
    "bfe.u32 %r9, %r1, 5, 9;": lambda a, b, c: a >> 5 & 511,
    "bfe.s32 %r9, %r1, 5, 9;": lambda a, b, c: (a >> 5 & 511) - (512 if a >> 13 & 1 else 0),
    "bfi.b32 %r9, %r1, %r2, 4, 8;": lambda a, b, c: b & ~0xFF0 | (a & 255) << 4,
    "popc.b32 %r9, %r1;": lambda a, b, c: a.bit_count(),
    "clz.b32 %r9, %r1;": lambda a, b, c: 32 - a.bit_length(),
    "brev.b32 %r9, %r1;": lambda a, b, c: int(f"{a:032b}"[::-1], 2),
    "bfind.u32 %r9, %r1;": lambda a, b, c: a.bit_length() - 1,
    "prmt.b32 %r9, %r1, %r2, 0x7610;": lambda a, b, c: a & 0xFFFF | b & 0xFFFF0000,
    "prmt.b32 %r9, %r1, %r2, 0x5410;": lambda a, b, c: a & 0xFFFF | b << 16,
    "lop3.b32 %r9, %r1, %r2, %r3, 0xE8;": lambda a, b, c: a & b | a & c | b & c,
    "cvt.s32.s8 %r9, %r1;": lambda a, b, c: (a & 255) - (256 if a >> 7 & 1 else 0),
    "cvt.u32.u16 %r9, %r1;": lambda a, b, c: a & 0xFFFF,
    "setp.lt.s32 %p1, %r1, %r2; selp.b32 %r9, %r1, %r3, %p1;": lambda a, b, c: a if signed(a) < signed(b) else c,
    "slct.b32.s32 %r9, %r1, %r2, %r3;": lambda a, b, c: a if signed(c) >= 0 else b,
    "mul.wide.s32 %rd1, %r1, %r2; mov.b64 {%r4, %r9}, %rd1;": lambda a, b, c: signed(a) * signed(b) >> 32,
    "mad.wide.u32 %rd1, %r1, %r2, %rd90; cvt.u32.u64 %r4, %rd1; sub.s32 %r9, %r4, %r4;": lambda a, b, c: 0,
    "mov.b32 {%rs1, %rs2}, %r1; mov.b32 %r9, {%rs2, %rs1};": lambda a, b, c: a >> 16 | a << 16,
    "dp4a.u32.u32 %r9, %r1, %r2, %r3;": lambda a, b, c: (
        c + sum((a >> s & 255) * (b >> s & 255) for s in (0, 8, 16, 24))
    ),
}


@pytest.mark.parametrize("instruction", INTEGER)
def test_integer_instructions_agree_with_exact_arithmetic(instruction: str, one_to_one: Run) -> None:
    found = one_to_one(instruction, WORDS, OTHER, THIRD)
    rows = zip(WORDS.tolist(), OTHER.tolist(), THIRD.tolist(), strict=True)
    wanted = [INTEGER[instruction](*row) & 0xFFFFFFFF for row in rows]
    assert found.tolist() == wanted


def nearest(value: Fraction) -> np.float32:
    """An exact value rounded to float32, ties to even."""
    low = np.float32(float(value))
    options = [np.nextafter(low, F32(-np.inf)), low, np.nextafter(low, F32(np.inf))]
    return min(options, key=lambda f: (abs(Fraction(float(f)) - value), int(f.view(np.uint32)) & 1))


small = st.floats(width=32, allow_nan=False, allow_infinity=False, min_value=-(2.0**60), max_value=2.0**60)


@settings(max_examples=300, deadline=None)
@given(small, small, small)
def test_fma_rounds_once(a: float, b: float, c: float) -> None:
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    found = float_math.fma32(F32([a]), F32([b]), F32([c]))[0]
    assert exact == 0 or found.view(np.uint32) == nearest(exact).view(np.uint32)


def test_fma_is_right_where_rounding_twice_is_wrong() -> None:
    a, b, c = F32([1 + 2**-23]), F32([1 + 2**-12]), F32([2**-80])
    exact = Fraction(float(a[0])) * Fraction(float(b[0])) + Fraction(float(c[0]))
    assert float_math.fma32(a, b, c)[0] == nearest(exact)


@settings(max_examples=100, deadline=None)
@given(*[st.floats(allow_nan=False, min_value=-1e50, max_value=1e50).filter(lambda v: v == 0 or abs(v) > 1e-50)] * 3)
def test_fma_of_doubles_rounds_once(a: float, b: float, c: float) -> None:
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    found = float(float_math.fma64(np.float64([a]), np.float64([b]), np.float64([c]))[0])
    assert found == exact.numerator / exact.denominator


FLOAT = {
    "add.f32 %r9, %r1, %r2;": ([1.5, 1e38, np.inf], [2.25, 3e38, -np.inf], [0x40700000, 0x7F800000, 0x7FFFFFFF]),
    "max.f32 %r9, %r1, %r2;": ([np.nan, -0.0, 1.0], [2.0, 0.0, np.nan], [0x40000000, 0, 0x3F800000]),
    "min.NaN.f32 %r9, %r1, %r2;": ([np.nan, 0.0, 1.0], [2.0, -0.0, -1.0], [0x7FFFFFFF, 0x80000000, 0xBF800000]),
    "add.ftz.f32 %r9, %r1, %r2;": ([1e-40, 1e-38], [1e-40, -0.9e-38], [0, 0]),
    "add.rz.f32 %r9, %r1, %r2;": ([1.0, -1.0], [2.0**-25, -(2.0**-25)], [0x3F800000, 0xBF800000]),
    "add.rp.f32 %r9, %r1, %r2;": ([1.0, -1.0], [2.0**-25, -(2.0**-25)], [0x3F800001, 0xBF800000]),
    "mul.sat.f32 %r9, %r1, %r2;": ([3.0, -1.0, np.nan], [0.1, 5.0, 1.0], [0x3E99999A, 0, 0]),
    "neg.f32 %r9, %r1;": ([1.0, 0.0], [0.0, 0.0], [0xBF800000, 0x80000000]),
    "cvt.rzi.s32.f32 %r9, %r1;": ([-2.7, 3e9, np.nan], [0.0] * 3, [0xFFFFFFFE, 0x7FFFFFFF, 0]),
    "cvt.rni.s32.f32 %r9, %r1;": ([2.5, 3.5, -0.5], [0.0] * 3, [2, 4, 0]),
    "cvt.rzi.u32.f32 %r9, %r1;": ([-2.7, 4e9, 1e12], [0.0] * 3, [0, 4000000000, 0xFFFFFFFF]),
    "cvt.rn.bf16x2.f32 %r9, %r1, %r2;": ([1.0, 1.0078125], [1.00390625, 1.01171875], [0x3F803F80, 0x3F813F82]),
    "cvt.rn.f16x2.f32 %r9, %r1, %r2;": ([1.0, 65520.0], [0.5, -70000.0], [0x3C003800, 0x7C00FC00]),
    "cvt.rna.tf32.f32 %r9, %r1;": ([1.0 + 2.0**-11, 1.0], [0.0, 0.0], [0x3F802000, 0x3F800000]),
    "sqrt.rn.f32 %r9, %r1;": ([2.0, -1.0], [0.0, 0.0], [0x3FB504F3, 0x7FFFFFFF]),
    "ex2.approx.ftz.f32 %r9, %r1;": ([3.0, -np.inf, -200.0], [0.0] * 3, [0x41000000, 0, 0]),
    "setp.ltu.f32 %p1, %r1, %r2; selp.b32 %r9, 1, 0, %p1;": ([np.nan, 1.0, 2.0], [1.0, 2.0, 1.0], [1, 1, 0]),
    "setp.ne.f32 %p1, %r1, %r2; selp.b32 %r9, 1, 0, %p1;": ([np.nan, 1.0, 2.0], [1.0, 2.0, 2.0], [0, 1, 0]),
    "setp.neu.f32 %p1, %r1, %r2; selp.b32 %r9, 1, 0, %p1;": ([np.nan, 1.0, 2.0], [1.0, 2.0, 2.0], [1, 1, 0]),
}


@pytest.mark.parametrize("instruction", FLOAT)
def test_float_instructions_round_and_saturate_as_the_isa_states(instruction: str, one_to_one: Run) -> None:
    a, b, wanted = FLOAT[instruction]
    assert one_to_one(instruction, F32(a), F32(b))[: len(wanted)].tolist() == wanted


def test_packed_half_arithmetic_acts_on_both_halves(one_to_one: Run) -> None:
    a, b = np.float16([1.5, -2.0] * 32), np.float16([0.25, 8.0] * 32)
    found = one_to_one("fma.rn.f16x2 %r9, %r1, %r2, %r1;", a, b).view(np.float16)
    np.testing.assert_array_equal(found, a * b + a)


def test_bf16_products_round_to_nearest_even(one_to_one: Run) -> None:
    values = np.arange(0x3F80, 0x3FC0, dtype=np.uint16)
    found = one_to_one("mul.rn.bf16x2 %r9, %r1, %r1;", values).view(np.uint16)
    wide = (values.astype(np.uint32) << 16).view(F32)
    np.testing.assert_array_equal(found, small_floats.bf16_from(wide * wide))


def test_fp8_codes_survive_a_round_trip() -> None:
    codes = np.arange(256, dtype=np.uint8)
    for to, of, table in (
        (small_floats.e4m3_to, small_floats.e4m3_from, small_floats.E4M3),
        (small_floats.e5m2_to, small_floats.e5m2_from, small_floats.E5M2),
    ):
        finite = codes[np.isfinite(table)]
        np.testing.assert_array_equal(of(to(finite)), finite)


@settings(max_examples=300, deadline=None)
@given(st.floats(width=32, allow_nan=False, min_value=-1000, max_value=1000))
def test_e4m3_is_the_nearest_code_and_saturates(value: float) -> None:
    code = int(small_floats.e4m3_from(F32([value]))[0])
    finite = small_floats.E4M3[np.isfinite(small_floats.E4M3)]
    assert abs(small_floats.E4M3[code] - value) == np.abs(finite - value).min()


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1))
def test_high_products_of_64_bits(a: int, b: int) -> None:
    wide = [v - (1 << 64) if v >> 63 else v for v in (a, b)]
    unsigned = integer_math.multiply_high(np.uint64([a]), np.uint64([b]))[0]
    as_signed = integer_math.multiply_high(*(np.uint64([v]).view(np.int64) for v in (a, b)))[0]
    assert int(unsigned) == a * b >> 64
    assert int(as_signed) == wide[0] * wide[1] >> 64


def test_words_are_clamped_and_packed(one_to_one: Callable[..., np.ndarray]) -> None:
    a, b = np.array([300, -5, 7], np.int32), np.array([-1, 200, 9], np.int32)
    found = one_to_one("cvt.pack.sat.u8.s32.b32 %r9, %r1, %r2, %r3;", a, b, np.array([1, 2, 3], np.uint32))
    assert [hex(v) for v in found] == ["0x1ff00", "0x200c8", "0x30709"]


def test_smaller_magnitudes_with_the_product_of_signs(one_to_one: Callable[..., np.ndarray]) -> None:
    a, b = np.array([-1.0, -3.0, 2.0], np.float32), np.array([2.0, -0.5, 5.0], np.float32)
    found = one_to_one("min.xorsign.abs.f32 %r9, %r1, %r2;", a, b).view(np.float32)
    assert found.tolist() == [-1.0, 0.5, 2.0]


def test_gross_float64_reciprocals_have_no_lower_word(emulate: Callable[..., emulator.Report]) -> None:
    x, out = np.linspace(0.5, 9, 32), np.zeros(32)
    body = """
    mul.wide.u32 %rd1, %r100, 8; add.s64 %rd2, %rd100, %rd1; add.s64 %rd3, %rd101, %rd1;
    ld.global.b64 %rd4, [%rd2]; {} %rd5, %rd4; st.global.b64 [%rd3], %rd5;"""
    for instruction, wanted in (("rcp.approx.ftz.f64", 1 / x), ("rsqrt.approx.ftz.f64", 1 / np.sqrt(x))):
        emulate(body.format(instruction), x, out)
        assert not (out.view(np.uint64) & 0xFFFFFFFF).any()
        np.testing.assert_allclose(out, wanted, rtol=2.0**-19)


@pytest.mark.parametrize(("operation", "negative"), [("max", [False, False, True]), ("min", [True, True, True])])
def test_zeros_of_float64_are_ordered(
    operation: str, negative: list[bool], emulate: Callable[..., emulator.Report]
) -> None:
    x = np.zeros(32)
    x[:3], y, out = [0.0, -0.0, -0.0], np.negative(np.zeros(32)), np.ones(32)
    y[1] = 0.0
    body = "mul.wide.u32 %rd1, %r100, 8;" + "".join(f"add.s64 %rd{n + 2}, %rd{n + 100}, %rd1;" for n in range(3))
    body += f"ld.global.b64 %rd5, [%rd2]; ld.global.b64 %rd6, [%rd3]; {operation}.f64 %rd7, %rd5, %rd6; st.global.b64 [%rd4], %rd7;"
    emulate(body, x, y, out)
    assert np.signbit(out[:3]).tolist() == negative and not out[:3].any()


def test_float64_sums_are_rounded_as_asked(emulate: Callable[..., emulator.Report]) -> None:
    x, out = np.full(32, 1 + 2.0**-52), np.zeros((4, 32))
    body = "mul.wide.u32 %rd1, %r100, 8; add.s64 %rd2, %rd100, %rd1; add.s64 %rd3, %rd101, %rd1; ld.global.b64 %rd4, [%rd2];"
    for row, mode in enumerate(("rn", "rz", "rm", "rp")):
        body += f"add.{mode}.f64 %rd5, %rd4, 0d3C00000000000001; st.global.b64 [%rd3+{256 * row}], %rd5;"
    emulate(body, x, out)
    assert (out == np.array([1 + 2.0**-52] * 3 + [1 + 2.0**-51])[:, None]).all()


@pytest.mark.parametrize(("operation", "wanted"), [("popc.u32", 20), ("and.pred", 0), ("or.pred", 1)])
def test_barriers_that_count_votes(operation: str, wanted: int, emulate: Callable[..., emulator.Report]) -> None:
    out = np.zeros(64, np.uint32)
    body = "setp.ge.u32 %p1, %r100, 44; "
    if operation == "popc.u32":
        body += "bar.red.popc.u32 %r1, 0, %p1;"
    else:
        body += f"bar.red.{operation} %p2, 0, %p1; selp.b32 %r1, 1, 0, %p2;"
    report = emulate(body + "st.global.b32 [%rd91], %r1;", out, threads=64)
    assert report.ok
    assert (out == wanted).all()


def test_halves_flush_and_clamp(one_to_one: Callable[..., np.ndarray]) -> None:
    a = np.array([0x00013C00, 0x80013E00], np.uint32)
    found = one_to_one("add.ftz.sat.f16x2 %r9, %r1, %r2;", a, np.array([0x00004000, 0x0000B800], np.uint32))
    assert [hex(v) for v in found] == ["0x3c00", "0x3c00"]


@pytest.mark.parametrize("operation", ["add.rn", "sub.rz", "mul.rn.ftz", "mul.rp", "fma.rn", "fma.rm.ftz"])
def test_two_packed_floats_are_computed_as_single_ones(operation: str, one_to_one: Run) -> None:
    numbers = np.random.default_rng(0).standard_normal((3, 32)).astype(F32) * F32([1e-38, 1.0, 1e38] * 10 + [1e-30] * 2)
    third, packed_third = (", %r3", ", %rd1") if operation.startswith("fma") else ("", "")
    pairs = "mov.b64 %rd1, {%r1, %r3}; mov.b64 %rd2, {%r2, %r3};"
    packed = f"{pairs} {operation}.f32x2 %rd3, %rd1, %rd2{packed_third};"
    low = one_to_one(f"{packed} mov.b64 {{%r9, %r8}}, %rd3;", *numbers)
    high = one_to_one(f"{packed} mov.b64 {{%r8, %r9}}, %rd3;", *numbers)
    np.testing.assert_array_equal(low, one_to_one(f"{operation}.f32 %r9, %r1, %r2{third.replace('3', '1')};", *numbers))
    np.testing.assert_array_equal(high, one_to_one(f"{operation}.f32 %r9, %r3, %r3{third};", *numbers))
