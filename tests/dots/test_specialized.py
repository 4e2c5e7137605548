"""Products of specialized loops whose tiles cannot be cut in two as they lie in shared memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from narrow_floats import random_codes, values

import minitriton as triton
import minitriton.language as tl


@triton.jit
def product(a, b, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, TYPE: tl.constexpr, SUM: tl.constexpr):
    da = tl.make_tensor_descriptor(a, [K, BM], [BM, 1], [BK, BM])
    db = tl.make_tensor_descriptor(b, [BN, K], [K, 1], [BN, BK])
    acc = tl.zeros((BM, BN), SUM)
    for k in tl.range(0, K, BK, warp_specialize=True):
        x, y = da.load([k, 0]), db.load([0, k])
        if TYPE is not None:
            x, y = x.to(TYPE, bitcast=True), y.to(TYPE, bitcast=True)
        acc = tl.dot(x.T, y.T, acc, out_dtype=SUM)
    tl.store(c + tl.arange(0, BM)[:, None] * BN + tl.arange(0, BN)[None, :], acc)


@pytest.mark.parametrize("kind", ["e5m2", "int8"])
@pytest.mark.parametrize(("n", "k"), [(32, 32), (64, 64)])
def test_a_tile_whose_rows_would_be_shorter_than_its_swizzle(
    kind: str, n: int, k: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRITON_OVERRIDE_ARCH", "sm90")
    triton.set_allocator(lambda size, alignment, stream: np.zeros(size, np.int8))
    rng = np.random.default_rng(0)
    out: Any = np.int32 if kind == "int8" else np.float32
    if kind == "int8":
        a, b = rng.integers(-9, 10, (3 * k, 128)).astype(np.int8), rng.integers(-9, 10, (n, 3 * k)).astype(np.int8)
        wanted = a.T.astype(np.int64) @ b.T
    else:
        a, b = random_codes(rng, kind, 3 * k, 128), random_codes(rng, kind, n, 3 * k)
        wanted = values(kind)[a].T @ values(kind)[b].T
    c = np.zeros((128, n), out)
    types = (None, tl.int32) if kind == "int8" else (tl.float8e5, tl.float32)
    product[(1,)](a, b, c, 3 * k, 128, n, k, *types, num_warps=4)
    np.testing.assert_allclose(c, wanted, rtol=0, atol=0 if kind == "int8" else 5e-2)
