"""Conversions to and between 8-bit floats, and additions to bf16 in memory: the PTX and the interpreter agree, on every GPU."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import minitriton as triton
import minitriton.language as tl

NUMBERS = np.array(
    [*[1, -1, 0, -0.0, np.inf, -np.inf, np.nan, 1e6, -1e6, 57344, 61439, 61440, 65504, 65536, 1e-8, 1e-5, 448, 464, 465, 500],
    *[1e38, 3.14, 240, -448, -1e9, 2**-9, 2**-10, 2**-16, 2**-17, 1.5 * 2**-17, 1.125 + 2**-20, 7]],
    np.float32,
)  # fmt: skip
BYTES = np.arange(256, dtype=np.uint8)


@triton.jit
def cast(x, out, N: tl.constexpr, READ: tl.constexpr, WRITE: tl.constexpr, ROUNDING: tl.constexpr):
    offsets = tl.arange(0, N)
    values = tl.load(x + offsets)
    if READ is not None:
        values = values.to(READ, bitcast=True)
    result = values.to(WRITE, fp_downcast_rounding=ROUNDING)
    tl.store(out + offsets, result.to(tl.uint8, bitcast=True))


def both(x: np.ndarray, read: Any, write: Any, rounding: str | None) -> tuple[np.ndarray, np.ndarray]:
    """The bytes that the PTX and the interpreter write."""
    emulated, interpreted = np.zeros(x.size, np.uint8), np.zeros(x.size, np.uint8)
    cast[(1,)](x, emulated, x.size, read, write, rounding)
    cast._interpret((1,), (x, interpreted, x.size, read, write, rounding), {})
    return emulated, interpreted


def same_bytes(a: np.ndarray, b: np.ndarray, largest_finite: int) -> None:
    """Equal, all NaNs being one (bytes above infinity, or above the largest number where there is no infinity)."""
    nan_a, nan_b = (a & 0x7F) > largest_finite, (b & 0x7F) > largest_finite
    np.testing.assert_array_equal(nan_a, nan_b)
    np.testing.assert_array_equal(a[~nan_a], b[~nan_b])


@pytest.mark.parametrize("arch", ["sm75", "sm80", "sm89", "sm90"])
@pytest.mark.parametrize("rounding", [None, "rtz"])
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_levels_round_to_e5m2_alike(
    monkeypatch: pytest.MonkeyPatch, arch: str, rounding: str | None, dtype: Any
) -> None:
    monkeypatch.setenv("TRITON_OVERRIDE_ARCH", arch)
    with np.errstate(over="ignore"):
        x = NUMBERS.astype(dtype)
    emulated, interpreted = both(x, None, tl.float8e5, rounding)
    same_bytes(emulated, interpreted, 0x7C)
    overflow = emulated[np.flatnonzero(np.abs(NUMBERS) == 65504)[0]]
    by_hand = arch in ("sm75", "sm80")
    assert overflow == (0x7C if by_hand and rounding is None else 0x7B)


@pytest.mark.parametrize(
    ("read", "write", "limit"), [(tl.float8e5, tl.float8e4nv, 0x7E), (tl.float8e4nv, tl.float8e5, 0x7C)]
)
def test_one_kind_of_8_bit_float_becomes_another(
    monkeypatch: pytest.MonkeyPatch, read: Any, write: Any, limit: int
) -> None:
    monkeypatch.setenv("TRITON_OVERRIDE_ARCH", "sm90")
    emulated, interpreted = both(BYTES, read, write, None)
    same_bytes(emulated, interpreted, limit)
    assert emulated[0x38 if write == tl.float8e5 else 0x3C] == (0x3C if write == tl.float8e5 else 0x38)  # 1.0


class Bfloat16:
    """A tensor of bf16 in host memory, which NumPy has no type for."""

    dtype = "torch.bfloat16"
    device = SimpleNamespace(type="cpu")
    is_cuda = False

    def __init__(self, bits: np.ndarray) -> None:
        self.bits, self.shape = bits, bits.shape

    def data_ptr(self) -> int:
        return self.bits.ctypes.data

    def element_size(self) -> int:
        return 2

    def stride(self) -> tuple[int, ...]:
        return (1,)

    def numel(self) -> int:
        return self.bits.size


@triton.jit
def counts(x, n, old, N: tl.constexpr):
    offsets = tl.arange(0, N)
    one = tl.full((N,), 1, tl.bfloat16)
    found = tl.atomic_add(x + offsets % 3, one, mask=offsets < n)
    tl.store(old + tl.program_id(0) * N + offsets, found.to(tl.float32), mask=offsets < n)
    tl.atomic_add(x + 2, (tl.program_id(0) + 1).to(tl.bfloat16), sem="relaxed")


@pytest.mark.parametrize("arch", ["sm75", "sm80", "sm90"])
def test_additions_to_bf16_touch_their_element_only(monkeypatch: pytest.MonkeyPatch, arch: str) -> None:
    monkeypatch.setenv("TRITON_OVERRIDE_ARCH", arch)
    bits, old = np.zeros(3, np.uint16), np.zeros(128, np.float32)
    counts[(2,)](Bfloat16(bits), 60, old, 64)
    np.testing.assert_array_equal((bits.astype(np.uint32) << 16).view(np.float32), [40, 40, 43])
    assert sorted([*old[:60:3], *old[64:124:3]]) == list(range(40))
