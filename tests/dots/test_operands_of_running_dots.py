"""Operands of `wgmma` stay as they are while it reads them: the kernels' shapes are those of which wrong gradients were reported on Hopper.

Triton 3.6.0's PTX of both kernels breaks a rule that the emulator knows. Part of a masked, transposed A is a constant 0, which LLVM writes
between the fence and the `wgmma` (`wgmma-fence`); tiles that are summed as well as multiplied get a ring of one slot, which the next
copy overwrites while three dots read it (`async-write`).
"""

from __future__ import annotations

import re

import numpy as np
import pytest

import minitriton as triton
import minitriton.language as tl

rng = np.random.default_rng(0)


def halves(*shape: int) -> np.ndarray:
    return (rng.standard_normal(shape) * 0.4).astype(np.float16)


@triton.jit
def masked_scores(x, y, z, rows, columns, M: tl.constexpr, K: tl.constexpr, N: tl.constexpr):
    m, k, n = tl.arange(0, M), tl.arange(0, K), tl.arange(0, N)
    xs = tl.load(x + m[:, None] * K + k[None, :])
    ys = tl.load(y + m[:, None] * K + k[None, :])
    zs = tl.load(z + m[:, None] * N + n[None, :])
    scores = tl.where(m[:, None] >= m[None, :], tl.dot(xs, tl.trans(ys)), 0.0).to(tl.float16)
    tl.store(rows + m[:, None] * N + n[None, :], tl.dot(scores, zs))
    tl.store(columns + m[:, None] * N + n[None, :], tl.dot(tl.trans(scores), zs))


@pytest.mark.parametrize(("size", "warps"), [(32, 4), (64, 4), (64, 8)])
def test_a_masked_sum_and_its_transpose_are_operands_in_registers(monkeypatch, size, warps):
    monkeypatch.setenv("TRITON_OVERRIDE_ARCH", "sm90")
    x, y, z = halves(64, 128), halves(64, 128), halves(64, size)
    rows, columns = np.zeros((2, 64, size), np.float32)
    kernel = masked_scores[(1,)](x, y, z, rows, columns, 64, 128, size, num_warps=warps)
    assert len(re.findall(r"wgmma\.mma_async[^;]*\}, *\{", kernel.asm["ptx"])) == 8, (
        "A of both products is in registers"
    )
    scores = np.tril(x.astype(np.float32) @ y.T.astype(np.float32)).astype(np.float16).astype(np.float32)
    np.testing.assert_allclose(rows, scores @ z.astype(np.float32), rtol=1e-2, atol=2e-2)
    np.testing.assert_allclose(columns, scores.T @ z.astype(np.float32), rtol=1e-2, atol=2e-2)


@triton.jit
def summed_and_multiplied(x, y, p, q, xy, xp, yq, total, K, M: tl.constexpr, BK: tl.constexpr):
    m = tl.arange(0, M)
    tile = m[:, None] * M + m[None, :]
    xy_sum, xp_sum, yq_sum = tl.zeros((M, M), tl.float32), tl.zeros((M, M), tl.float32), tl.zeros((M, M), tl.float32)
    pq_sum = tl.zeros([1], tl.float32)
    for i in range(tl.cdiv(K, BK)):
        k = i * BK + tl.arange(0, BK)
        xs = tl.load(x + m[:, None] * K + k[None, :], mask=k[None, :] < K, other=0.0)
        ys = tl.load(y + m[:, None] * K + k[None, :], mask=k[None, :] < K, other=0.0)
        ps = tl.load(p + k[:, None] + m[None, :] * K, mask=k[:, None] < K, other=0.0)
        qs = tl.load(q + k[:, None] + m[None, :] * K, mask=k[:, None] < K, other=0.0)
        pq_sum += tl.sum(ps.to(tl.float32) * qs)
        xy_sum += tl.dot(xs, tl.trans(ys))
        xp_sum += tl.dot(xs, ps)
        yq_sum += tl.dot(ys, qs)
    tl.store(xy + tile, xy_sum)
    tl.store(xp + tile, xp_sum)
    tl.store(yq + tile, yq_sum)
    tl.store(total + tl.arange(0, 1), pq_sum)


@pytest.mark.parametrize(("stages", "warps"), [(2, 4), (3, 4), (2, 8)])
def test_tiles_that_are_summed_too_outlive_the_dots_that_read_them(monkeypatch, stages, warps):
    monkeypatch.setenv("TRITON_OVERRIDE_ARCH", "sm90")
    x, y, p, q = (halves(64, 128) for _ in range(4))
    xy, xp, yq = np.zeros((3, 64, 64), np.float32)
    total = np.zeros(1, np.float32)
    kernel = summed_and_multiplied[(1,)](x, y, p, q, xy, xp, yq, total, 128, 64, 32, num_warps=warps, num_stages=stages)
    assert re.search(r"wgmma\.wait_group\.sync\.aligned\s+[1-9]", kernel.asm["ptx"]), "dots run into the next iteration"
    x, y, p, q = (each.astype(np.float32) for each in (x, y, p, q))
    for given, expected in ((xy, x @ y.T), (xp, x @ p.T), (yq, y @ q.T), (total, (p * q).sum(keepdims=True)[0])):
        np.testing.assert_allclose(given, expected, rtol=1e-3, atol=1e-3)
