"""Dots of operands that two halves are joined to, packed along K or along the other dimension."""

from __future__ import annotations

import numpy as np
import pytest

import minitriton as triton
import minitriton.language as tl

rng = np.random.default_rng(0)


@triton.jit
def packed_rows(packed, other, out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    pair = tl.load(packed + k[None, :] * (M // 2) + tl.arange(0, M // 2)[:, None])
    rows = tl.join((pair << 4) >> 4, pair >> 4)
    a = tl.reshape(tl.trans(rows, 0, 2, 1), (M, K)).to(tl.float16)
    b = tl.load(other + k[:, None] * N + n[None, :])
    tl.store(out + m[:, None] * N + n[None, :], tl.dot(a, b))


@pytest.mark.parametrize("arch", ["sm80", "sm90"])
@pytest.mark.parametrize(("m", "k", "warps"), [(64, 16, 2), (128, 16, 4), (32, 16, 1), (64, 32, 4)])
def test_a_dot_of_int4_packed_along_its_rows_is_right_whatever_k_is(monkeypatch, arch, m, k, warps):
    monkeypatch.setenv("TRITON_OVERRIDE_ARCH", arch)
    a = rng.integers(-8, 8, (m, k)).astype(np.int8)
    b = rng.integers(-4, 5, (k, 32)).astype(np.float16)
    halves = a.T.astype(np.int16) & 15
    packed = np.ascontiguousarray(halves[:, 0::2] | (halves[:, 1::2] << 4)).astype(np.uint8).view(np.int8)
    out = np.zeros((m, 32), np.float32)
    packed_rows[(1,)](packed, b, out, m, 32, k, num_warps=warps, num_stages=1)
    np.testing.assert_array_equal(out, a.astype(np.float32) @ b.astype(np.float32))
