"""Where the language leaves room, the interpreter gives what the compiled kernel gives: NaN, numbers out of range, division by zero."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minitriton as triton
import minitriton.language as tl

N = 32
INFINITY, NAN = np.inf, np.nan
FLOATS = [
    0, -0.0, 1.5, -1.5, 127.9, 128, -128.9, -129, 255.5, 256, 32767.9, 32768, -32769, 65535.9, 65536, -1, 2147483520, 2147483648, -2147483648, -2147483904,
    4294967040, 4294967296, 9.2e18, 9.3e18, -9.3e18, 1.8e19, 1.9e19, 1e30, -1e30, INFINITY, -INFINITY, NAN,
]  # fmt: skip


def run(kernel: Any, level: str, monkeypatch: pytest.MonkeyPatch, *arguments: Any, **constants: Any) -> np.ndarray:
    """The last array of `arguments` after a launch on the interpreter or on the emulator."""
    monkeypatch.setenv("MINITRITON_INTERPRET", "1" if level == "interpreter" else "0")
    given = [np.copy(argument) for argument in arguments]
    triton.jit(kernel.fn)[(1,)](*given, **constants)
    return given[-1]


def agree(kernel: Any, monkeypatch: pytest.MonkeyPatch, *arguments: Any, **constants: Any) -> np.ndarray:
    """What both levels give, which must be the same bits (any NaN for a NaN)."""
    found, compiled = (
        run(kernel, level, monkeypatch, *arguments, **constants) for level in ("interpreter", "emulator")
    )
    np.testing.assert_array_equal(found, compiled)
    if found.dtype.kind == "f":
        np.testing.assert_array_equal(np.signbit(found[found == 0]), np.signbit(compiled[found == 0]))
    return found


@triton.jit
def converted(x, out, TO: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.load(x + i).to(TO))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("to", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])
@pytest.mark.parametrize("of", [np.float16, np.float32, np.float64])
def test_floats_out_of_the_range_of_an_integer(of: type, to: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with np.errstate(over="ignore"):
        x = np.array(FLOATS).astype(of)
    found = agree(converted, monkeypatch, x, np.zeros(N, to), TO=getattr(tl, to), N=N)
    limits, bits = np.iinfo(to), np.dtype(to).itemsize * 8
    if bits > 8:
        assert (found[29], found[30]) == (limits.max, limits.min)
    highest = bits == 64 or (of is np.float64 and bits > 8)
    assert found[31:].view(f"u{bits // 8}")[0] == (1 << (bits - 1) if highest else 0)


@triton.jit
def rounded_towards_zero(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.load(x + i).to(out.dtype.element_ty, fp_downcast_rounding="rtz"))


@pytest.mark.parametrize("to", [np.float16, np.float32])
def test_doubles_are_rounded_towards_zero_once(to: type, monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.array([1 + 2.0**-10 - 2.0**-40, 1 + 2.0**-23 - 2.0**-50, -2 + 2.0**-40, 65519.9, 3e38] + [1.0] * 27)
    found = agree(rounded_towards_zero, monkeypatch, x, np.zeros(N, to), N=N)
    assert (np.abs(found.astype(np.float64)) <= np.abs(x)).all()


@triton.jit
def clamped(x, out, LOW: tl.constexpr, HIGH: tl.constexpr, NANS: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.clamp(tl.load(x + i), LOW, HIGH, propagate_nan=NANS))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("target", ["sm80", "sm90"])
@pytest.mark.parametrize("limits", [(-1.0, 1.0), (-2.0, 1.0), (-0.0, 0.0), (0.0, 6.0)])
@pytest.mark.parametrize("nans", [tl.PropagateNan.NONE, tl.PropagateNan.ALL])
def test_nan_is_clamped_to_one_number(
    nans: tl.PropagateNan, limits: tuple[float, float], target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRITON_OVERRIDE_ARCH", target)
    x = np.array([NAN, -NAN, INFINITY, -INFINITY, 0.0, -0.0, 0.5, -3] * 4, np.float32)
    found = agree(clamped, monkeypatch, x, np.zeros(N, np.float32), LOW=limits[0], HIGH=limits[1], NANS=nans, N=N)
    assert np.isnan(found[:2]).all() == (nans is tl.PropagateNan.ALL)


@triton.jit
def divided(x, y, out, REMAINDER: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    a, b = tl.load(x + i), tl.load(y + i)
    if REMAINDER:
        tl.store(out + i, a % b)
    else:
        tl.store(out + i, a // b)


@pytest.mark.parametrize(
    ("dtype", "remainder"),
    # A quotient of 64 bits depends on whether LLVM has it computed in 32 bits where both operands fit.
    [
        *((dtype, False) for dtype in ("int8", "uint8", "int16", "int32", "uint32")),
        *((dtype, True) for dtype in ("int8", "uint32", "int64", "uint64")),
    ],
)
def test_division_by_zero_and_of_the_least_integer(
    dtype: str, remainder: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = np.iinfo(dtype)
    x = np.resize(np.array([limits.min, limits.max, 0, 1, 7, limits.max // 2], dtype), N)
    y = np.resize(np.array([0, limits.max if limits.min == 0 else -1, 2, 0, 3], dtype), N)
    found = agree(divided, monkeypatch, x, y, np.zeros(N, dtype), REMAINDER=remainder, N=N)
    by_zero = y == 0
    np.testing.assert_array_equal(found[by_zero], x[by_zero] if remainder else ~np.zeros_like(x[by_zero]))


@triton.jit
def shifted(x, y, out, AMOUNT: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    a, b = tl.load(x + i), tl.load(y + i)
    if AMOUNT:
        left, right = a << AMOUNT, a >> AMOUNT
    else:
        left, right = a << b, a >> b
    tl.store(out + i, left)
    tl.store(out + N + i, right)


@pytest.mark.filterwarnings("ignore:Value .* exceeds the maximum bitwidth")
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "uint32", "int64", "uint64"])
@pytest.mark.parametrize("amount", [0, 64, 100])
def test_shifts_by_the_width_and_more(dtype: str, amount: int, monkeypatch: pytest.MonkeyPatch) -> None:
    limits = np.iinfo(dtype)
    x = np.resize(np.array([limits.min, limits.max, 1, 0, 5, limits.min + 3], dtype), N)
    y = np.resize(np.array([1, 8, 16, 31, 32, 33, 64, 100, limits.max], dtype), N)
    left, right = agree(shifted, monkeypatch, x, y, np.zeros(2 * N, dtype), AMOUNT=amount, N=N).reshape(2, N)
    if amount:
        np.testing.assert_array_equal(left, 0)
        np.testing.assert_array_equal(right, np.where(x < 0, -1, 0))


@triton.jit
def counted(x, out, BINS: tl.constexpr, MASKED: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    mask = i % 3 != 0 if MASKED else i >= 0
    tl.store(out + tl.arange(0, BINS), tl.histogram(tl.load(x + i), BINS, mask=mask))


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64"])
def test_numbers_outside_of_a_histogram(dtype: str, masked: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    limits = np.iinfo(dtype)
    x = np.resize(np.array([0, 1, 7, 8, 9, limits.max, limits.min, 100, 15], dtype), N)
    found = agree(counted, monkeypatch, x, np.zeros(8, np.int32), BINS=8, MASKED=masked, N=N)
    np.testing.assert_array_equal(
        found, np.bincount(x[np.arange(N) % 3 != 0 if masked else slice(None)] & 7, minlength=8)
    )


@triton.jit
def scaled_product(a, b, scale, out, RIGHT: tl.constexpr):
    row, column = tl.arange(0, 32)[:, None], tl.arange(0, 32)[None, :]
    x, y = tl.load(a + row * 32 + column), tl.load(b + row * 32 + column)
    if RIGHT == "bf16":
        y = y.to(tl.bfloat16)
    else:
        y = y.to(tl.float16)
    product = tl.dot_scaled(x, tl.load(scale + row), "e5m2", y, None, RIGHT)
    tl.store(out + row * 32 + column, product)


@pytest.mark.parametrize("right", ["bf16", "fp16"])
def test_scales_of_zero_nan_and_beyond_half_precision(right: str, monkeypatch: pytest.MonkeyPatch) -> None:
    a = np.resize(np.array([0x3C, 0x40, 0xBC, 0x44], np.uint8), (32, 32))  # 1, 2, -1, 4 as e5m2
    b = np.resize(np.arange(-3, 4, dtype=np.float32), (32, 32))
    scale = np.resize(np.array([0, 1, 100, 127, 130, 145, 254, 255], np.uint8), (32, 1))
    found = agree(scaled_product, monkeypatch, a, b, scale, np.zeros((32, 32), np.float32), RIGHT=right)
    assert (
        (np.abs(found[0]) < 1e-36).all()
        and (found[0] == 0).all() == (right != "bf16")
        and np.isnan(found[7]).all()
        and np.isfinite(found[3]).all()
    )
    assert np.isfinite(found[5]).all() == (right == "bf16")


@triton.jit
def extremes_with_indices(x, out, N: tl.constexpr):
    v = tl.load(x + tl.arange(0, N))
    largest, place = tl.max(v, 0, return_indices=True)
    tl.store(out, largest)
    tl.store(out + 1, place)
    tl.store(out + 2, tl.argmin(v, 0))
    tl.store(out + 3, tl.argmax(v.to(tl.int32).to(tl.float32), 0))


@pytest.mark.parametrize("size", [8, 512])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.97, 2.0])
def test_nan_does_not_win_a_maximum_with_its_index(share: float, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    x = rng.standard_normal(size).astype(np.float32)
    x[rng.random(size) < share] = NAN
    found = agree(extremes_with_indices, monkeypatch, x, np.zeros(4, np.float32), N=size)
    if not np.isnan(x).all():
        np.testing.assert_array_equal(found[:3], np.float32([np.nanmax(x), np.nanargmax(x), np.nanargmin(x)]))
    else:
        np.testing.assert_array_equal(found[:3], np.float32([-INFINITY, 0, 0]))
