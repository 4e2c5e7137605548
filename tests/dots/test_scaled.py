"""Products of microscaled formats: numbers in 8 or 4 bits with an exponent for each 32 of them along k, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from narrow_floats import as_bf16, from_bf16, random_codes, values

import minitriton as triton
import minitriton.language as tl


@triton.jit
def scaled(
    a, sa, b, sb, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
    FA: tl.constexpr, FB: tl.constexpr, TA: tl.constexpr, TB: tl.constexpr, FAST: tl.constexpr,
):  # fmt: skip
    PA: tl.constexpr = 2 if FA == "e2m1" else 1
    PB: tl.constexpr = 2 if FB == "e2m1" else 1
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K // 32)
    ka, kb = tl.arange(0, K // PA), tl.arange(0, K // PB)
    x = tl.load(a + m[:, None] * (K // PA) + ka[None, :])
    y = tl.load(b + kb[:, None] * N + n[None, :])
    if TA is not None:
        x = x.to(TA, bitcast=True)
    if TB is not None:
        y = y.to(TB, bitcast=True)
    xs = None if sa is None else tl.load(sa + m[:, None] * (K // 32) + k[None, :])
    ys = None if sb is None else tl.load(sb + n[:, None] * (K // 32) + k[None, :])
    tl.store(c + m[:, None] * N + n[None, :], tl.dot_scaled(x, xs, FA, y, ys, FB, fast_math=FAST))


rng = np.random.default_rng(1)
TYPES = {"e4m3": tl.float8e4nv, "e5m2": tl.float8e5, "bf16": tl.bfloat16}


def operand(form: str, rows: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """What lies in memory (two codes of e2m1 to a byte, along k), and its numbers, both [rows, k]."""
    if form == "e2m1":
        codes = rng.integers(0, 16, (rows, k)).astype(np.uint8)
        return codes[:, ::2] | codes[:, 1::2] << 4, values(form)[codes]
    if form in ("bf16", "fp16"):
        numbers = rng.standard_normal((rows, k))
        return (as_bf16(numbers), from_bf16(as_bf16(numbers))) if form == "bf16" else (numbers.astype(np.float16),) * 2
    codes = random_codes(rng, form, rows, k)
    return codes, values(form)[codes]


def scale(rows: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Exponents from 1/8 to 8, and the factor of each element."""
    codes = rng.integers(124, 131, (rows, k // 32)).astype(np.uint8)
    return codes, np.repeat(2.0 ** (codes.astype(int) - 127), 32, axis=1)


PAIRS = [
    ("e2m1", "e2m1", True, True), ("e4m3", "e5m2", True, True), ("e2m1", "e4m3", True, True), ("e4m3", "e4m3", True, False),
    ("e2m1", "bf16", True, False), ("bf16", "e2m1", False, True), ("e5m2", "fp16", True, False), ("fp16", "e2m1", False, True),
]  # fmt: skip


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("m", "n", "k"), [(64, 32, 64), (16, 16, 128)])
@pytest.mark.parametrize(("left", "right", "left_scaled", "right_scaled"), PAIRS)
def test_a_scaled_product_is_what_numpy_gives(
    left: str, right: str, left_scaled: bool, right_scaled: bool, m: int, n: int, k: int, arch: int
) -> None:
    if arch == 80 and "e4m3" in (left, right):
        pytest.skip("sm_80 has no e4m3")
    a, x = operand(left, m, k)
    b, y = operand(right, n, k)
    (sa, fa), (sb, fb) = scale(m, k), scale(n, k)
    c = np.zeros((m, n), np.float32)
    wanted = (x * fa if left_scaled else x) @ (y * fb if right_scaled else y).T
    types = (TYPES.get(left), TYPES.get(right))
    scaled[(1,)](
        a, sa if left_scaled else None, np.ascontiguousarray(b.T), sb if right_scaled else None, c,
        m, n, k, left, right, *types, False, num_warps=4,
    )  # fmt: skip
    np.testing.assert_allclose(c, wanted, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("fast", [False, True])
def test_a_scale_of_255_is_not_a_number_unless_the_kernel_says_fast_math(fast: bool) -> None:
    a, b = (operand("e5m2", rows, 64)[0] & 0x7F for rows in (64, 32))
    sa, sb = scale(64, 64)[0], scale(32, 64)[0]
    sa[5, 1] = 255
    c = np.zeros((64, 32), np.float32)
    types = ("e5m2", "e5m2", tl.float8e5, tl.float8e5)
    scaled[(1,)](a, sa, np.ascontiguousarray(b.T), sb, c, 64, 32, 64, *types, fast)
    assert (np.isinf(c[5]) if fast else np.isnan(c[5])).all()
    assert np.isfinite(np.delete(c, 5, 0)).all()


def test_the_least_scale_is_a_subnormal_number() -> None:
    a, x = operand("e5m2", 64, 64)
    b, y = operand("bf16", 32, 64)
    c = np.zeros((64, 32), np.float32)
    scales = np.zeros((64, 2), np.uint8)
    scaled[(1,)](
        a, scales, np.ascontiguousarray(b.T), None, c, 64, 32, 64, "e5m2", "bf16", tl.float8e5, tl.bfloat16, False
    )
    np.testing.assert_allclose(c * 2.0**127, x @ y.T, rtol=2e-2, atol=1)


@triton.jit
def nvfp4(a, sa, b, c, PACKED_ALONG_K: tl.constexpr):
    r, half, groups = tl.arange(0, 64), tl.arange(0, 32), tl.arange(0, 4)
    x = tl.load(a + r[:, None] * 32 + half[None, :]) if PACKED_ALONG_K else tl.load(a + half[:, None] * 64 + r[None, :])
    s = tl.load(sa + r[:, None] * 4 + groups[None, :]).to(tl.float8e4nv, bitcast=True)
    y = tl.load(b + r[:, None] * 64 + r[None, :]).to(tl.bfloat16, bitcast=True)
    product = tl.dot_scaled(x, s, "e2m1", y, None, "bf16", lhs_k_pack=PACKED_ALONG_K)
    tl.store(c + r[:, None] * 64 + r[None, :], product)


def test_nvfp4_has_an_e4m3_for_each_16_elements() -> None:
    a, x = operand("e2m1", 64, 64)
    codes = random_codes(rng, "e4m3", 64, 4)
    codes[5, 1] = 0x7F
    b, y = operand("bf16", 64, 64)
    c = np.zeros((64, 64), np.float32)
    nvfp4[(1,)](a, codes, np.ascontiguousarray(b.T), c, True)
    wanted = (x * np.repeat(values("e4m3")[codes], 16, axis=1)) @ y.T
    assert np.isnan(c[5]).all()
    np.testing.assert_allclose(np.delete(c, 5, 0), np.delete(wanted, 5, 0), rtol=1e-2, atol=0.5)


def test_fp4_packed_along_m_gives_the_same_numbers() -> None:
    a, x = operand("e2m1", 64, 64)
    low, high = a & 15, a >> 4
    codes = np.stack([low, high], axis=2).reshape(64, 64)
    along_m = codes[::2] | codes[1::2] << 4
    scales = random_codes(rng, "e4m3", 64, 4) & 0x77
    b, y = operand("bf16", 64, 64)
    c = np.zeros((64, 64), np.float32)
    nvfp4[(1,)](along_m, scales, np.ascontiguousarray(b.T), c, False)
    wanted = (x * np.repeat(values("e4m3")[scales], 16, axis=1)) @ y.T
    np.testing.assert_allclose(c, wanted, rtol=1e-2, atol=0.5)
