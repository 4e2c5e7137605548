"""Kernels with dots for comparisons with the wheel: each a form in which operands reach a tensor core."""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl


@triton.jit
def matmul(a, b, c, m, n, k, am, bk, cm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, PRECISION: tl.constexpr):
    rm = (tl.program_id(0) * BM + tl.arange(0, BM)) % m
    rn = (tl.program_id(1) * BN + tl.arange(0, BN)) % n
    rk = tl.arange(0, BK)
    pa = a + rm[:, None] * am + rk[None, :]
    pb = b + rk[:, None] * bk + rn[None, :]
    acc = tl.zeros((BM, BN), c.dtype.element_ty)
    for i in range(0, k, BK):
        x = tl.load(pa, mask=rk[None, :] < k - i, other=0.0)
        y = tl.load(pb, mask=rk[:, None] < k - i, other=0.0)
        acc = tl.dot(x, y, acc, input_precision=PRECISION, out_dtype=acc.dtype)
        pa += BK
        pb += BK * bk
    tl.store(c + rm[:, None] * cm + rn[None, :], acc)


@triton.jit
def transposed(a, b, c, am, bn, cm, B: tl.constexpr, K: tl.constexpr):
    r, k = tl.arange(0, B), tl.arange(0, K)
    x = tl.load(a + r[:, None] * am + k[None, :])
    y = tl.load(b + r[:, None] * bn + k[None, :])
    tl.store(c + r[:, None] * cm + r[None, :], tl.dot(x, tl.trans(y)))


@triton.jit
def widened(a, b, c, am, bk, cm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, N: tl.constexpr):
    rm, rn, rk = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for i in range(0, N, BK):
        x = tl.load(a + rm[:, None] * am + (i + rk)[None, :]).to(b.dtype.element_ty)
        y = tl.load(b + (i + rk)[:, None] * bk + rn[None, :])
        acc = tl.dot(x, y, acc)
    tl.store(c + rm[:, None] * cm + rn[None, :], acc)


@triton.jit
def chained(q, k, v, o, n, B: tl.constexpr, D: tl.constexpr):
    r, d, s = tl.arange(0, B), tl.arange(0, D), tl.arange(0, B)
    x = tl.load(q + r[:, None] * D + d[None, :])
    acc = tl.zeros((B, D), tl.float32)
    total = tl.zeros((B,), tl.float32)
    for i in range(0, n, B):
        y = tl.load(k + (i + s)[:, None] * D + d[None, :])
        p = tl.exp(tl.dot(x, tl.trans(y)))
        total += tl.sum(p, 1)
        z = tl.load(v + (i + s)[:, None] * D + d[None, :])
        acc = tl.dot(p.to(z.dtype), z, acc)
    tl.store(o + r[:, None] * D + d[None, :], acc / total[:, None])


@triton.jit
def batched(a, b, c, G: tl.constexpr, B: tl.constexpr):
    g, r = tl.arange(0, G)[:, None, None] * (B * B), tl.arange(0, B)
    at = g + r[None, :, None] * B + r[None, None, :]
    tl.store(c + at, tl.dot(tl.load(a + at), tl.load(b + at)))


@triton.jit
def descriptors(a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    da = tl.make_tensor_descriptor(a, [m, k], [k, 1], [BM, BK])
    db = tl.make_tensor_descriptor(b, [n, k], [k, 1], [BN, BK])
    dc = tl.make_tensor_descriptor(c, [m, n], [n, 1], [BM, BN])
    i, j = tl.program_id(0) * BM, tl.program_id(1) * BN
    acc = tl.zeros((BM, BN), tl.float32)
    for at in range(0, k, BK):
        acc = tl.dot(da.load([i, at]), db.load([j, at]).T, acc)
    dc.store([i, j], acc.to(c.dtype.element_ty))


@triton.jit
def scaled(
    a,
    sa,
    b,
    sb,
    c,
    M: tl.constexpr,
    N: tl.constexpr,
    K: tl.constexpr,
    FA: tl.constexpr,
    FB: tl.constexpr,
    FAST: tl.constexpr,
):
    PA: tl.constexpr = 2 if FA == "e2m1" else 1
    PB: tl.constexpr = 2 if FB == "e2m1" else 1
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K // 32)
    ka, kb = tl.arange(0, K // PA), tl.arange(0, K // PB)
    x = tl.load(a + m[:, None] * (K // PA) + ka[None, :])
    y = tl.load(b + kb[:, None] * N + n[None, :])
    xs = None if sa is None else tl.load(sa + m[:, None] * (K // 32) + k[None, :])
    ys = None if sb is None else tl.load(sb + n[:, None] * (K // 32) + k[None, :])
    tl.store(c + m[:, None] * N + n[None, :], tl.dot_scaled(x, xs, FA, y, ys, FB, fast_math=FAST))


@triton.jit
def int4(a, b, scales, c, am, bk, cm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, N: tl.constexpr):
    rm, rn, rk, half = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK), tl.arange(0, BK // 2)
    acc = tl.zeros((BM, BN), tl.float32)
    for i in range(0, N, BK):
        packed = tl.load(a + rm[:, None] * am + (i // 2 + half)[None, :])
        low, high = (packed << 4) >> 4, packed >> 4
        x = tl.reshape(tl.join(low, high), (BM, BK)).to(b.dtype.element_ty)
        scale = tl.load(scales + rm * (N // BK) + i // BK)
        y = tl.load(b + (i + rk)[:, None] * bk + rn[None, :])
        acc = tl.dot(x * scale[:, None], y, acc)
    tl.store(c + rm[:, None] * cm + rn[None, :], acc)


def _case(kernel: Any, types: str, warps: int = 4, **constants: Any) -> tuple[Any, str, int, dict[str, Any]]:
    return kernel, types, warps, constants


_HELD = {"e2m1": "*u8", "e4m3": "*fp8e4nv", "e5m2": "*fp8e5", "bf16": "*bf16", "fp16": "*fp16"}
_SIZES = "i32 i32 i32 i32 i32 i32"
CASES: dict[str, tuple[Any, str, int, dict[str, Any]]] = {
    **{
        f"matmul of {element}, {m}x{n}x{k}, {warps} warps": _case(
            matmul, f"*{element} *{element} *{out} {_SIZES}", warps, BM=m, BN=n, BK=k, PRECISION=precision
        )
        for element, out, precision in (
            ("fp16", "fp32", "tf32"), ("bf16", "fp32", "tf32"), ("fp32", "fp32", "tf32"), ("fp8e4nv", "fp32", "tf32"),
            ("fp8e5", "fp32", "tf32"), ("i8", "i32", "tf32"), ("fp64", "fp64", "tf32"), ("fp32", "fp32", "ieee"),
        )
        for m, n, k, warps in ((128, 256, 64, 8), (64, 64, 32, 4), (16, 16, 32, 1), (128, 16, 64, 4))
        if (element, precision, m * n) != ("fp32", "ieee", 128 * 256)
    },
    **{
        f"matmul by {precision}": _case(
            matmul, f"*fp32 *fp32 *fp32 {_SIZES}", BM=64, BN=64, BK=32, PRECISION=precision
        )
        for precision in ("tf32x3", "bf16x3", "bf16x6")
    },
    **{f"transposed, {e}": _case(transposed, f"*{e} *{e} *fp32 i32 i32 i32", B=64, K=64) for e in ("fp16", "fp32", "fp8e5", "i8")},
    **{f"{e} widened": _case(widened, f"*{e} *bf16 *fp32 i32 i32 i32", BM=128, BN=128, BK=64, N=512) for e in ("i8", "fp8e5", "fp16")},
    **{f"chained, {b} wide": _case(chained, "*fp16 *fp16 *fp16 *fp32 i32", B=b, D=64) for b in (64, 128)},
    **{f"batched, {e}": _case(batched, f"*{e} *{e} *fp32", G=4, B=32) for e in ("fp16", "fp32")},
    "descriptors": _case(descriptors, "*fp16 *fp16 *fp16 i32 i32 i32", 8, BM=128, BN=256, BK=64),
    "int4": _case(int4, "*i8 *bf16 *bf16 *fp32 i32 i32 i32", BM=64, BN=128, BK=64, N=512),
    **{
        f"scaled {a} by {b}, {'fast' if fast else 'NaN kept'}": _case(
            scaled, f"{_HELD[a]} *u8 {_HELD[b]} {'*u8' if both else 'None'} *fp32", M=64, N=64, K=64, FA=a, FB=b, FAST=fast
        )
        for a, b, both, fast in (
            ("e2m1", "e2m1", True, False), ("e4m3", "e5m2", True, True), ("e2m1", "bf16", False, False), ("e5m2", "fp16", False, False),
        )
    },
}  # fmt: skip
"""Kernel, types of its runtime arguments, warps, constants. Integers and pointers are divisible by 16."""
