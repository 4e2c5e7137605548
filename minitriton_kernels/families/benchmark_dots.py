"""The benchmark's dots: a small launch to evaluate, a large one of the same work a program to time."""

import numpy as np
import triton
import triton.language as tl

from minitriton.lab.corpus.case import collector, f32, repeated

CASES, case = collector(__file__)

SQUARE = {"sizes": {"m": 64, "n": 64, "k": 128}, "large": {"m": 2048, "n": 2048, "k": 128}}
DOT = {"num_warps": (2, 4, 8), "num_stages": (1, 2, 3, 4), "M": (32, 64, 128), "N": (32, 64, 128), "K": (16, 32, 64)}


def tiles(m, n, M, N):
    return triton.cdiv(m, M), triton.cdiv(n, N)


@case(
    **SQUARE,
    grid=tiles,
    inputs=lambda rng, m, n, k: [
        repeated(rng, m, k, dtype=np.float16), repeated(rng, k, n, dtype=np.float16), f32(m, n), m, n, k,
    ],
    expected=lambda a, b, *_: {2: a.astype(np.float64) @ b},
    tolerance=1e-3,
    M=64,
    N=64,
    K=32,
    choices=DOT,
)  # fmt: skip
@triton.jit
def bench_matmul(a_ptr, b_ptr, c_ptr, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    r = (tl.program_id(0) * M + tl.arange(0, M))[:, None]
    c = (tl.program_id(1) * N + tl.arange(0, N))[None, :]
    total = tl.zeros([M, N], tl.float32)
    for start in range(0, k, K):
        i = start + tl.arange(0, K)
        a = tl.load(a_ptr + r * k + i[None, :], mask=(r < m) & (i[None, :] < k), other=0.0)
        b = tl.load(b_ptr + i[:, None] * n + c, mask=(i[:, None] < k) & (c < n), other=0.0)
        total = tl.dot(a, b, total)
    tl.store(c_ptr + r * n + c, total, mask=(r < m) & (c < n))


@case(
    **SQUARE,
    grid=tiles,
    inputs=lambda rng, m, n, k: [repeated(rng, m, k), repeated(rng, k, n), repeated(rng, n), f32(m, n), m, n, k],
    expected=lambda a, b, bias, *_: {3: np.maximum(a.astype(np.float64) @ b + bias, 0)},
    tolerance=2e-2,
    exact_order=False,
    M=64,
    N=64,
    K=32,
    choices=DOT,
)
@triton.jit
def bench_linear_relu(a_ptr, b_ptr, bias_ptr, c_ptr, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    r = (tl.program_id(0) * M + tl.arange(0, M))[:, None]
    c = (tl.program_id(1) * N + tl.arange(0, N))[None, :]
    total = tl.zeros([M, N], tl.float32)
    for start in range(0, k, K):
        i = start + tl.arange(0, K)
        a = tl.load(a_ptr + r * k + i[None, :], mask=(r < m) & (i[None, :] < k), other=0.0)
        b = tl.load(b_ptr + i[:, None] * n + c, mask=(i[:, None] < k) & (c < n), other=0.0)
        total = tl.dot(a, b, total)
    total = tl.maximum(total + tl.load(bias_ptr + c, mask=c < n), 0.0)
    tl.store(c_ptr + r * n + c, total, mask=(r < m) & (c < n))


@case(
    sizes={"rows": 32, "cols": 1024},
    large={"rows": 32768, "cols": 1024},
    grid=lambda rows, R: (triton.cdiv(rows, R),),
    inputs=lambda rng, rows, cols: [repeated(rng, rows, cols), repeated(rng, cols), f32(rows), rows, cols],
    expected=lambda a, x, *_: {2: a.astype(np.float64) @ x},
    tolerance=1e-3,
    R=8,
    C=256,
    choices={"num_warps": (1, 2, 4, 8), "num_stages": (1, 2, 3), "R": (1, 4, 8, 16, 32), "C": (128, 256, 512)},
)
@triton.jit
def bench_matrix_vector(a_ptr, x_ptr, out_ptr, rows, cols, R: tl.constexpr, C: tl.constexpr):
    r = tl.program_id(0) * R + tl.arange(0, R)
    total = tl.zeros([R, C], tl.float32)
    for start in range(0, cols, C):
        c = start + tl.arange(0, C)
        a = tl.load(a_ptr + r[:, None] * cols + c[None, :], mask=r[:, None] < rows, other=0.0)
        total += a * tl.load(x_ptr + c)[None, :]
    tl.store(out_ptr + r, tl.sum(total, 1), mask=r < rows)


@case(
    sizes={"batch": 3, "n": 32},
    large={"batch": 16384, "n": 32},
    grid=lambda batch: (batch,),
    inputs=lambda rng, batch, n: [
        repeated(rng, batch, n, n, dtype=np.float16), repeated(rng, batch, n, n, dtype=np.float16), f32(batch, n, n),
    ],
    expected=lambda a, b, _: {2: a.astype(np.float64) @ b.astype(np.float64)},
    tolerance=1e-3,
    N=32,
    choices={"num_warps": (1, 2, 4, 8)},
)  # fmt: skip
@triton.jit
def bench_small_matmuls(a_ptr, b_ptr, c_ptr, N: tl.constexpr):
    at = tl.program_id(0) * N * N + tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(c_ptr + at, tl.dot(tl.load(a_ptr + at), tl.load(b_ptr + at)))


def attention(q, k, v):
    s = q.astype(np.float64) @ k.astype(np.float64).transpose(0, 2, 1) / 8
    e = np.exp(s - s.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True) @ v.astype(np.float64)


@case(
    sizes={"heads": 1, "length": 128},
    large={"heads": 256, "length": 128},
    grid=lambda heads, length, M: (triton.cdiv(length, M), heads),
    inputs=lambda rng, heads, length: [
        *(repeated(rng, heads, length, 64, dtype=np.float16) for _ in range(3)), f32(heads, length, 64), length,
    ],
    expected=lambda q, k, v, *_: {3: attention(q, k, v)},
    tolerance=1e-2,
    exact_order=False,
    M=64,
    N=32,
    D=64,
    choices={"num_warps": (2, 4, 8), "num_stages": (1, 2, 3), "M": (32, 64, 128), "N": (16, 32, 64)},
)  # fmt: skip
@triton.jit
def bench_attention(q_ptr, k_ptr, v_ptr, out_ptr, length, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    head = tl.program_id(1) * length * D
    r = tl.program_id(0) * M + tl.arange(0, M)
    d = tl.arange(0, D)
    q = tl.load(q_ptr + head + r[:, None] * D + d[None, :])
    top = tl.full([M], -float("inf"), tl.float32)
    total = tl.zeros([M], tl.float32)
    out = tl.zeros([M, D], tl.float32)
    for start in range(0, length, N):
        c = start + tl.arange(0, N)
        s = tl.dot(q, tl.load(k_ptr + head + c[None, :] * D + d[:, None])) * 0.125
        larger = tl.maximum(top, tl.max(s, 1))
        e = tl.exp(s - larger[:, None])
        shrink = tl.exp(top - larger)
        total = total * shrink + tl.sum(e, 1)
        v = tl.load(v_ptr + head + c[:, None] * D + d[None, :])
        out = tl.dot(e.to(tl.float16), v, out * shrink[:, None])
        top = larger
    tl.store(out_ptr + head + r[:, None] * D + d[None, :], out / total[:, None])
