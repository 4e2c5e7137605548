"""What Hopper does asynchronously: dots of warp groups, tensor copies, warp specialization, and dots of several CTAs."""

import numpy as np
import triton
import triton.language as tl

from minitriton.lab.corpus.case import collector, f32, integers, normal, uniform

CASES, case = collector(__file__)


def halves(rng, *shape):
    return uniform(rng, -1, 1, *shape).astype(np.float16)


def operands(m=64, n=64, k=192, make=halves):
    """Of `(a, b, c, m, n, k)`, with b stored by columns: K-major."""
    return lambda rng: [make(rng, m, k), make(rng, n, k), f32(m, n), m, n, k]


def by_columns(a, b, *_):
    return {2: a.astype(np.float64) @ b.T.astype(np.float64)}


def attended(q, k, v, *_):
    scores = q.astype(np.float64) @ k.T.astype(np.float64)
    weights = np.exp(scores - scores.max(1, keepdims=True))
    return {3: weights / weights.sum(1, keepdims=True) @ v.astype(np.float64)}


@case(inputs=operands(), expected=by_columns, tolerance=1e-3, M=64, N=64, K=64)
@triton.jit
def copied_matmul(a_ptr, b_ptr, c_ptr, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    a = tl.make_tensor_descriptor(a_ptr, [m, k], [k, 1], [M, K])
    b = tl.make_tensor_descriptor(b_ptr, [n, k], [k, 1], [N, K])
    c = tl.make_tensor_descriptor(c_ptr, [m, n], [n, 1], [M, N])
    acc = tl.zeros([M, N], tl.float32)
    for start in range(0, k, K):
        acc = tl.dot(a.load([0, start]), b.load([0, start]).T, acc)
    c.store([0, 0], acc)


@case(inputs=operands(128), expected=by_columns, tolerance=1e-3, M=128, N=64, K=64)
@triton.jit
def specialized_matmul(a_ptr, b_ptr, c_ptr, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    a = tl.make_tensor_descriptor(a_ptr, [m, k], [k, 1], [M, K])
    b = tl.make_tensor_descriptor(b_ptr, [n, k], [k, 1], [N, K])
    acc = tl.zeros([M, N], tl.float32)
    for start in tl.range(0, k, K, warp_specialize=True):
        acc = tl.dot(a.load([0, start]), b.load([0, start]).T, acc)
    tl.store(c_ptr + tl.arange(0, M)[:, None] * n + tl.arange(0, N)[None, :], acc)


@case(inputs=operands(256), expected=by_columns, tolerance=1e-3, M=128, N=64, K=64)
@triton.jit
def specialized_tiles(a_ptr, b_ptr, c_ptr, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    a = tl.make_tensor_descriptor(a_ptr, [m, k], [k, 1], [M, K])
    b = tl.make_tensor_descriptor(b_ptr, [n, k], [k, 1], [N, K])
    c = tl.make_tensor_descriptor(c_ptr, [m, n], [n, 1], [M, N])
    for tile in tl.range(0, tl.cdiv(m, M), warp_specialize=True):
        acc = tl.zeros([M, N], tl.float32)
        for start in range(0, k, K):
            acc = tl.dot(a.load([tile * M, start]), b.load([0, start]).T, acc)
        c.store([tile * M, 0], acc)


@triton.jit
def _attend(q, k, v, start, top, total, out):
    scores = tl.dot(q, k.load([start, 0]).T)
    higher = tl.maximum(top, tl.max(scores, 1))
    weights = tl.exp(scores - higher[:, None])
    fade = tl.exp(top - higher)
    out = tl.dot(weights.to(tl.float16), v.load([start, 0]), out * fade[:, None])
    return higher, total * fade + tl.sum(weights, 1), out


def attention_inputs(m):
    return lambda rng: [halves(rng, m, 64) * 0.25, halves(rng, 128, 64), halves(rng, 128, 64), f32(m, 64), m, 128]


@case(
    inputs=attention_inputs(128), expected=attended, tolerance=1e-2, exact_order=False, num_warps=8, M=128, N=64, D=64
)
@case(
    name="copied_attention", inputs=attention_inputs(64), expected=attended, tolerance=1e-2, exact_order=False,
    M=64, N=32, D=64,
)  # fmt: skip
@triton.jit
def attention_of_two_groups(q_ptr, k_ptr, v_ptr, o_ptr, m, n, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    k = tl.make_tensor_descriptor(k_ptr, [n, D], [D, 1], [N, D])
    v = tl.make_tensor_descriptor(v_ptr, [n, D], [D, 1], [N, D])
    at = tl.arange(0, M)[:, None] * D + tl.arange(0, D)[None, :]
    q = tl.load(q_ptr + at)
    top, total, out = tl.full([M], -float("inf"), tl.float32), tl.zeros([M], tl.float32), tl.zeros([M, D], tl.float32)
    for start in range(0, n, N):
        top, total, out = _attend(q, k, v, start, top, total, out)
    tl.store(o_ptr + at, out / total[:, None])


@case(inputs=attention_inputs(128), expected=attended, tolerance=1e-2, exact_order=False, M=128, N=64, D=64)
@triton.jit
def specialized_attention(q_ptr, k_ptr, v_ptr, o_ptr, m, n, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    k = tl.make_tensor_descriptor(k_ptr, [n, D], [D, 1], [N, D])
    v = tl.make_tensor_descriptor(v_ptr, [n, D], [D, 1], [N, D])
    out_rows = tl.make_tensor_descriptor(o_ptr, [m, D], [D, 1], [M, D])
    q = tl.make_tensor_descriptor(q_ptr, [m, D], [D, 1], [M, D]).load([0, 0])
    top, total, out = tl.full([M], -float("inf"), tl.float32), tl.zeros([M], tl.float32), tl.zeros([M, D], tl.float32)
    for start in tl.range(0, n, N, warp_specialize=True):
        top, total, out = _attend(q, k, v, start, top, total, out)
    out_rows.store([0, 0], out / total[:, None])


@triton.jit
def _by_pointers(a_ptr, b_ptr, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, WIDE: tl.constexpr):
    rows, columns, depth = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :], tl.arange(0, K)
    acc = tl.zeros([M, N], tl.float32)
    for start in range(0, k, K):
        a = tl.load(a_ptr + rows * k + (start + depth)[None, :])
        b = tl.load(b_ptr + (start + depth)[:, None] + columns * k)
        acc = tl.dot(a.to(WIDE), b.to(WIDE), acc)
    return acc


def signed_bytes(rng, *shape):
    return integers(rng, -8, 8, *shape, dtype=np.int8)


def a_of_bytes(rng):
    return [signed_bytes(rng, 64, 192), halves(rng, 64, 192), f32(64, 64), 64, 64, 192]


@case(inputs=a_of_bytes, expected=by_columns, tolerance=1e-3, M=64, N=64, K=64, WIDE=tl.float16)
@triton.jit
def widened_matmul(a_ptr, b_ptr, c_ptr, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, WIDE: tl.constexpr):
    acc = _by_pointers(a_ptr, b_ptr, k, M, N, K, WIDE)
    tl.store(c_ptr + tl.arange(0, M)[:, None] * n + tl.arange(0, N)[None, :], acc)


@case(inputs=operands(make=normal), expected=by_columns, tolerance=2e-2, exact_order=False, M=64, N=64, K=32)
@triton.jit
def tf32_matmul(a_ptr, b_ptr, c_ptr, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    acc = _by_pointers(a_ptr, b_ptr, k, M, N, K, tl.float32)
    tl.store(c_ptr + tl.arange(0, M)[:, None] * n + tl.arange(0, N)[None, :], acc)


@case(inputs=operands(128, 64), expected=by_columns, tolerance=1e-3, num_ctas=2, M=128, N=64, K=64)
@triton.jit
def matmul_of_clusters(a_ptr, b_ptr, c_ptr, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    acc = _by_pointers(a_ptr, b_ptr, k, M, N, K, tl.float16)
    tl.store(c_ptr + tl.arange(0, M)[:, None] * n + tl.arange(0, N)[None, :], acc)


def scaled_twice(a, b, *_):
    return {2: 3 * np.abs(a.astype(np.float64)) @ b.T.astype(np.float64)}


@case(inputs=operands(), expected=scaled_twice, tolerance=1e-2, exact_order=False, M=64, N=64, K=64)
@triton.jit
def two_dots_of_one_load(a_ptr, b_ptr, c_ptr, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    a = tl.make_tensor_descriptor(a_ptr, [m, k], [k, 1], [M, K])
    b = tl.make_tensor_descriptor(b_ptr, [n, k], [k, 1], [N, K])
    acc, other = tl.zeros([M, N], tl.float32), tl.zeros([M, N], tl.float32)
    for start in range(0, k, K):
        x, y = tl.abs(a.load([0, start])), b.load([0, start]).T
        acc = tl.dot(x, y, acc)
        other = tl.dot(x * 2, y, other)
    tl.store(c_ptr + tl.arange(0, M)[:, None] * n + tl.arange(0, N)[None, :], acc + other)


def chained(a, b, *_):
    wide = a.astype(np.float64) @ b.T.astype(np.float64)
    return {2: wide.astype(np.float16).astype(np.float64) @ b.astype(np.float64)}


@case(
    inputs=lambda rng: [halves(rng, 64, 64), halves(rng, 64, 64), f32(64, 64)],
    expected=chained, tolerance=2e-2, exact_order=False, N=64,
)  # fmt: skip
@triton.jit
def chained_dots(a_ptr, b_ptr, c_ptr, N: tl.constexpr):
    at = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    a, b = tl.load(a_ptr + at), tl.load(b_ptr + at)
    tl.store(c_ptr + at, tl.dot(tl.dot(a, b.T).to(tl.float16), b))


@case(inputs=lambda rng: [halves(rng, 96, 64), f32(96, 64), 96], expected=lambda x, *_: {1: x * 2.0}, R=32, C=64)
@triton.jit
def doubled_by_copies(x_ptr, out_ptr, rows, R: tl.constexpr, C: tl.constexpr):
    x = tl.make_tensor_descriptor(x_ptr, [rows, C], [C, 1], [R, C])
    out = tl.make_tensor_descriptor(out_ptr, [rows, C], [C, 1], [R, C])
    for row in range(0, rows, R):
        out.store([row, 0], x.load([row, 0]).to(tl.float32) * 2)


@case(inputs=lambda rng: [normal(rng, 64, 32), f32(64, 32), 64], expected=lambda x, *_: {1: 2 * x}, R=32, C=32)
@triton.jit
def added_by_copies(x_ptr, out_ptr, rows, R: tl.constexpr, C: tl.constexpr):
    x = tl.make_tensor_descriptor(x_ptr, [rows, C], [C, 1], [R, C])
    out = tl.make_tensor_descriptor(out_ptr, [rows, C], [C, 1], [R, C])
    for row in range(0, rows, R):
        block = x.load([row, 0])
        out.atomic_add([row, 0], block)
        out.atomic_add([row, 0], block)


@case(inputs=lambda rng: [normal(rng, 64, 64), f32(64, 64), 64], expected=lambda x, *_: {1: x.T}, N=64)
@triton.jit
def transposed_by_copies(x_ptr, out_ptr, n, N: tl.constexpr):
    x = tl.make_tensor_descriptor(x_ptr, [n, n], [n, 1], [N, N])
    out = tl.make_tensor_descriptor(out_ptr, [n, n], [n, 1], [N, N])
    out.store([0, 0], x.load([0, 0]).T)
