"""A left operand that is masked by its indices goes to `wgmma` through registers, and through shared memory once."""

from __future__ import annotations

import re

import numpy as np
import pytest

import minitriton as triton
import minitriton.language as tl


@triton.jit
def masked(a, b, c, M, K, HOW: tl.constexpr, COPIED: tl.constexpr, BK: tl.constexpr):
    rows, columns, ks = tl.arange(0, 64), tl.arange(0, 64), tl.arange(0, BK)
    if COPIED:
        da = tl.make_tensor_descriptor(a, [M, K], [K, 1], [64, BK])
    acc = tl.zeros((64, 64), tl.float32)
    at = ks
    for i in range(tl.cdiv(K, BK)):
        if COPIED:
            x = da.load([0, i * BK]).to(tl.float16)
        else:
            x = tl.load(a + rows[:, None] * K + (i * BK + ks)[None, :]).to(tl.float16)
        if HOW == "range":
            x = tl.where((i * BK + ks)[None, :] % 3 == 0, x, 0.0)
        elif HOW == "carried":
            x = tl.where(at[None, :] < K - 5, x, 0.0)
        else:
            x = tl.where((rows[:, None] < M - 3) & (at[None, :] > i), x, 0.0)
        y = tl.load(b + (i * BK + ks)[:, None] * 64 + columns[None, :])
        acc = tl.dot(x, y, acc)
        at += BK
    tl.store(c + rows[:, None] * 64 + columns[None, :], acc)


def kept(how: str, k: int) -> np.ndarray:
    """Which elements of A the kernel multiplies."""
    rows, at = np.arange(64)[:, None], np.arange(k)[None, :]
    return {"range": at % 3 == 0, "carried": at < k - 5, "both": (rows < 61) & (at > at // 64)}[how]


def stores_in_the_loop(ptx: str) -> int:
    """Stores to shared memory between the beginning of the loop around products and its end."""
    loops = re.findall(r"(\$L__BB\d+_\d+):((?:(?!\$L__BB\d+_\d+:).)*?wgmma\.mma_async.*?)bra[^;]*\1;", ptx, re.DOTALL)
    assert loops
    return sum(len(re.findall(r"st\.shared|stmatrix", body)) for _, body in loops)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("copied", [True, False])
@pytest.mark.parametrize("how", ["range", "carried", "both"])
def test_a_mask_of_indices_is_computed_where_the_operand_is(
    how: str, copied: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRITON_OVERRIDE_ARCH", "sm90")
    triton.set_allocator(lambda size, alignment, stream: np.zeros(size, np.int8))
    rng, k = np.random.default_rng(0), 256
    a, b = rng.integers(-3, 4, (64, k)).astype(np.int8), rng.integers(-3, 4, (k, 64)).astype(np.float16)
    stores: list[int] = []
    for without in ("", "minitriton"):
        c = np.zeros((64, 64), np.float32)
        compiled = masked[(1,)](a, b, c, 64, k, how, copied, 64, without=without)
        np.testing.assert_array_equal(c, (a * kept(how, k)).astype(np.float32) @ b)
        stores.append(stores_in_the_loop(compiled.asm["ptx"]))
    assert stores[0] == 0 < stores[1]
