"""Kernels of `amd_dots.py`: dots of every shape, and of microscaled operands packed along either dimension."""

import triton
import triton.language as tl


@triton.jit
def dot(a, b, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    x = tl.load(a + m[:, None] * K + k[None, :])
    y = tl.load(b + k[:, None] * N + n[None, :])
    tl.store(c + m[:, None] * N + n[None, :], tl.dot(x, y))


@triton.jit
def scaled(
    a, sa, b, sb, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, FA: tl.constexpr, FB: tl.constexpr,
    SA: tl.constexpr, SB: tl.constexpr, LK: tl.constexpr, RK: tl.constexpr,
):  # fmt: skip
    PA: tl.constexpr = 2 if FA == "e2m1" else 1
    PB: tl.constexpr = 2 if FB == "e2m1" else 1
    MA: tl.constexpr = M if LK else M // PA
    KA: tl.constexpr = K // PA if LK else K
    NB: tl.constexpr = N if RK else N // PB
    KB: tl.constexpr = K // PB if RK else K
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K // 32)
    ma, ka, kb, nb = tl.arange(0, MA), tl.arange(0, KA), tl.arange(0, KB), tl.arange(0, NB)
    x = tl.load(a + (ma[:, None] * KA + ka[None, :] if LK else ma[:, None] + ka[None, :] * MA))
    y = tl.load(b + kb[:, None] * NB + nb[None, :])
    xs = tl.load(sa + m[:, None] * (K // 32) + k[None, :]) if SA else None
    ys = tl.load(sb + n[:, None] * (K // 32) + k[None, :]) if SB else None
    product = tl.dot_scaled(x, xs, FA, y, ys, FB, lhs_k_pack=LK, rhs_k_pack=RK)
    tl.store(c + m[:, None] * N + n[None, :], product)
