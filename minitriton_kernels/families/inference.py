"""Serving of large models: quantised dots, adapters, mixtures of experts, sampling, caches."""

import itertools

import numpy as np
import triton
import triton.language as tl

from minitriton.lab.corpus.case import collector, f32, i32, integers, normal, uniform

CASES, case = collector(__file__)

TABLE_OF_NORMALS = np.array(
    [-1.0, -0.6962, -0.5251, -0.3949, -0.2844, -0.1848, -0.0911, 0.0, 0.0796, 0.1609, 0.2461, 0.3379, 0.4407, 0.5626, 0.7230, 1.0],
    np.float32,
)  # fmt: skip


@case(
    inputs=lambda rng: [integers(rng, 0, 256, 200, dtype=np.uint8), uniform(rng, 0.1, 3, 7), TABLE_OF_NORMALS, f32(400), 200],
    expected=lambda q, scale, table, *_: {
        3: table[np.stack([q >> 4, q & 15], 1).ravel()] * np.repeat(scale, 64)[:400],
    },
    grid=(4,),
    BLOCK=64,
)  # fmt: skip
@triton.jit
def looked_up_nibbles(q_ptr, scale_ptr, table_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    q = tl.load(q_ptr + at, mask=at < n, other=0)
    scale = tl.load(scale_ptr + at // 32, mask=at < n, other=0.0)
    high = tl.load(table_ptr + (q >> 4)) * scale
    low = tl.load(table_ptr + (q & 15)) * scale
    wide = tl.program_id(0) * 2 * BLOCK + tl.arange(0, 2 * BLOCK)
    tl.store(out_ptr + wide, tl.interleave(high, low), mask=wide < 2 * n)


def nearest_codes(x: np.ndarray, codes: np.ndarray) -> dict[int, np.ndarray]:
    scale = np.abs(x).max(1)
    return {2: np.abs((x / scale[:, None])[..., None] - codes).argmin(-1), 3: scale}


@case(
    inputs=lambda rng: [normal(rng, 6, 64), np.sort(uniform(rng, -1, 1, 32)), np.zeros((6, 64), np.uint8), f32(6)],
    expected=lambda x, codes, *_: nearest_codes(x, codes),
    grid=(6,),
    num_warps=2,
    N=64,
    CODES=32,
)
@triton.jit
def quantize_by_codes(x_ptr, code_ptr, q_ptr, scale_ptr, N: tl.constexpr, CODES: tl.constexpr):
    at = tl.program_id(0) * N + tl.arange(0, N)
    x = tl.load(x_ptr + at)
    scale = tl.max(tl.abs(x), 0)
    codes = tl.load(code_ptr + tl.arange(0, CODES))
    scaled = tl.div_rn(x, tl.broadcast_to(scale, [N]))
    nearest = tl.argmin(tl.abs(scaled[:, None] - codes[None, :]), 1)
    tl.store(q_ptr + at, nearest.to(tl.uint8))
    tl.store(scale_ptr + tl.program_id(0), scale)


def unpacked_weights(q: np.ndarray, scale: np.ndarray, zero: np.ndarray) -> np.ndarray:
    each = np.stack([(q >> (4 * i)) & 15 for i in range(8)], 1).reshape(-1, q.shape[1])
    return (each - np.repeat(zero, 32, 0)) * np.repeat(scale, 32, 0).astype(np.float64)


@case(
    inputs=lambda rng: [
        normal(rng, 16, 64), integers(rng, -(2**31), 2**31 - 1, 8, 32), uniform(rng, 0.1, 1, 2, 32), integers(rng, 0, 16, 2, 32),
        f32(16, 32), 64,
    ],
    expected=lambda a, q, scale, zero, *_: {4: a @ unpacked_weights(q, scale, zero)},
    tolerance=1e-4,
    M=16,
    N=32,
    K=32,
)  # fmt: skip
@triton.jit
def matmul_of_packed_weights(
    a_ptr, q_ptr, scale_ptr, zero_ptr, c_ptr, inner, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr
):
    m = tl.arange(0, M)[:, None]
    n = tl.arange(0, N)[None, :]
    k = tl.arange(0, K)
    total = tl.zeros([M, N], tl.float32)
    for group in range(inner // K):
        a = tl.load(a_ptr + m * inner + group * K + k[None, :])
        packed = tl.load(q_ptr + (group * K + k[:, None]) // 8 * N + n)
        nibbles = (packed >> (k[:, None] % 8 * 4)) & 15
        scale = tl.load(scale_ptr + group * N + n)
        zero = tl.load(zero_ptr + group * N + n)
        total = tl.dot(a, (nibbles - zero).to(tl.float32) * scale, total, input_precision="ieee")
    tl.store(c_ptr + m * N + n, total)


@case(
    inputs=lambda rng: [
        integers(rng, -128, 128, 32, 96, dtype=np.int8), integers(rng, -128, 128, 96, 32, dtype=np.int8), uniform(rng, 0.01, 0.1, 32),
        uniform(rng, 0.01, 0.1, 32), f32(32, 32), 96,
    ],
    expected=lambda a, b, rows, columns, *_: {
        4: (a.astype(np.int64) @ b.astype(np.int64)) * rows[:, None].astype(np.float64) * columns,
    },
    M=32,
    N=32,
    K=32,
)  # fmt: skip
@triton.jit
def scaled_matmul_of_bytes(
    a_ptr, b_ptr, row_ptr, column_ptr, c_ptr, inner, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr
):
    m = tl.arange(0, M)
    n = tl.arange(0, N)
    total = tl.zeros([M, N], tl.int32)
    for start in range(0, inner, K):
        k = start + tl.arange(0, K)
        a = tl.load(a_ptr + m[:, None] * inner + k[None, :])
        b = tl.load(b_ptr + k[:, None] * N + n[None, :])
        total = tl.dot(a, b, total, out_dtype=tl.int32)
    scaled = total.to(tl.float32) * tl.load(row_ptr + m)[:, None] * tl.load(column_ptr + n)[None, :]
    tl.store(c_ptr + m[:, None] * N + n[None, :], scaled)


def rounded_to_e4m3(x: np.ndarray) -> np.ndarray:
    step = np.exp2(np.maximum(np.floor(np.log2(np.maximum(np.abs(x), 1e-30))), -6) - 3)
    return np.rint(x / step) * step


def scaled_groups(x: np.ndarray) -> dict[int, np.ndarray]:
    groups = x.reshape(-1, 32)
    scale = np.maximum(np.abs(groups).max(1), np.float32(1e-10)) / np.float32(448)
    return {
        1: rounded_to_e4m3((groups / scale[:, None]).astype(np.float64)).reshape(x.shape),
        2: scale.reshape(len(x), -1),
    }


@case(
    inputs=lambda rng: [normal(rng, 5, 96), f32(5, 96), f32(5, 3)],
    expected=lambda x, *_: scaled_groups(x),
    grid=(5, 3),
    num_warps=1,
    GROUP=32,
)
@triton.jit
def quantize_groups(x_ptr, out_ptr, scale_ptr, GROUP: tl.constexpr):
    group = tl.program_id(0) * tl.num_programs(1) + tl.program_id(1)
    at = group * GROUP + tl.arange(0, GROUP)
    x = tl.load(x_ptr + at)
    scale = tl.div_rn(tl.maximum(tl.max(tl.abs(x), 0), 1e-10), 448.0)
    q = tl.div_rn(x, tl.broadcast_to(scale, [GROUP])).to(tl.float8e4nv)
    tl.store(out_ptr + at, q.to(tl.float32))
    tl.store(scale_ptr + group, scale)


@case(
    inputs=lambda rng: [
        normal(rng, 5, 100), normal(rng, 3, 16, 100), np.array([2, -1, 0, 2, 1], np.int32), f32(5, 16), 100,
    ],
    expected=lambda x, w, adapter, *_: {
        3: np.stack([w[a].astype(np.float64) @ row if a >= 0 else np.zeros(16) for a, row in zip(adapter, x, strict=True)]),
    },
    tolerance=1e-4,
    grid=(5,),
    RANK=16,
    BLOCK=64,
)  # fmt: skip
@triton.jit
def into_adapters(x_ptr, w_ptr, adapter_ptr, out_ptr, columns, RANK: tl.constexpr, BLOCK: tl.constexpr):
    token = tl.program_id(0)
    adapter = tl.load(adapter_ptr + token)
    if adapter == -1:
        return
    rank = tl.arange(0, RANK)
    total = tl.zeros([RANK], tl.float32)
    for start in range(0, columns, BLOCK):
        c = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + token * columns + c, mask=c < columns, other=0.0)
        at = (adapter * RANK + rank[:, None]) * columns + c[None, :]
        total += tl.sum(tl.load(w_ptr + at, mask=c[None, :] < columns, other=0.0) * x[None, :], 1)
    tl.store(out_ptr + token * RANK + rank, total)


@case(
    inputs=lambda rng: [integers(rng, 0, 6, 100), i32(6), i32(7), 100],
    expected=lambda expert, *_: {
        1: np.bincount(expert, minlength=6), 2: np.cumsum([0, *(-(-np.bincount(expert, minlength=6) // 16) * 16)]),
    },
    EXPERTS=8,
    BLOCK=32,
)  # fmt: skip
@triton.jit
def tokens_of_experts(expert_ptr, count_ptr, start_ptr, tokens, EXPERTS: tl.constexpr, BLOCK: tl.constexpr):
    e = tl.arange(0, EXPERTS)
    counts = tl.zeros([EXPERTS], tl.int32)
    for first in range(0, tokens, BLOCK):
        t = first + tl.arange(0, BLOCK)
        chosen = tl.load(expert_ptr + t, mask=t < tokens, other=-1)
        counts += tl.sum((chosen[:, None] == e[None, :]).to(tl.int32), 0)
    padded = tl.cdiv(counts, 16) * 16
    tl.store(count_ptr + e, counts, mask=e < 6)
    tl.store(start_ptr + e + 1, tl.cumsum(padded, 0), mask=e < 6)
    tl.store(start_ptr, 0)


@case(
    inputs=lambda rng: [
        normal(rng, 20, 48), normal(rng, 3, 48, 32), np.array([*range(0, 20, 2), 99, 99, 99, 99, 99, 99, *range(1, 17, 2), *[99] * 8], np.int32),
        np.array([1, 2], np.int32), f32(20, 32), 20, 48,
    ],
    expected=lambda x, w, order, *_: {
        4: np.where((np.arange(20) % 2 == 0)[:, None], x.astype(np.float64) @ w[1], np.where((np.arange(20) < 17)[:, None], x.astype(np.float64) @ w[2], 0)),
    },
    tolerance=1e-4,
    grid=(2, 2),
    M=16,
    N=16,
    K=32,
)  # fmt: skip
@triton.jit
def matmuls_of_experts(
    x_ptr, w_ptr, order_ptr, expert_ptr, out_ptr, tokens, inner, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr
):
    token = tl.load(order_ptr + tl.program_id(0) * M + tl.arange(0, M))
    there = token < tokens
    n = tl.program_id(1) * N + tl.arange(0, N)
    width = N * tl.num_programs(1)
    weights = w_ptr + tl.load(expert_ptr + tl.program_id(0)).to(tl.int64) * inner * width
    total = tl.zeros([M, N], tl.float32)
    for start in range(tl.cdiv(inner, K)):
        k = start * K + tl.arange(0, K)
        x = tl.load(x_ptr + token[:, None] * inner + k[None, :], mask=there[:, None] & (k[None, :] < inner), other=0.0)
        w = tl.load(weights + k[:, None] * width + n[None, :], mask=k[:, None] < inner, other=0.0)
        total = tl.dot(x, w, total, input_precision="ieee")
    tl.store(out_ptr + token[:, None] * width + n[None, :], total, mask=there[:, None])


def two_best(x: np.ndarray) -> dict[int, np.ndarray]:
    p = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    order = np.argsort(-p, axis=1, kind="stable")[:, :2]
    best = np.take_along_axis(p, order, 1)
    return {1: order, 2: best / best.sum(1, keepdims=True)}


@case(
    inputs=lambda rng: [normal(rng, 10, 12), i32(10, 2), f32(10, 2), 12],
    expected=lambda x, *_: two_best(x),
    grid=(10,),
    num_warps=1,
    E=16,
)
@triton.jit
def two_best_experts(x_ptr, expert_ptr, weight_ptr, experts, E: tl.constexpr):
    row = tl.program_id(0)
    e = tl.arange(0, E)
    x = tl.load(x_ptr + row * experts + e, mask=e < experts, other=-float("inf"))
    p = tl.exp(x - tl.max(x, 0))
    first = tl.argmax(p, 0)
    others = tl.where(e == first, -1.0, p)
    second = tl.argmax(others, 0)
    high = tl.max(p, 0)
    low = tl.max(others, 0)
    tl.store(expert_ptr + row * 2, first)
    tl.store(expert_ptr + row * 2 + 1, second)
    tl.store(weight_ptr + row * 2, high / (high + low))
    tl.store(weight_ptr + row * 2 + 1, low / (high + low))


def nucleus(x: np.ndarray) -> dict[int, np.ndarray]:
    p = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    p = -np.sort(-p / p.sum(1, keepdims=True), 1)
    count = ((np.cumsum(p, 1) - p) < 0.7).sum(1)
    return {1: p[np.arange(len(p)), count - 1], 2: count}


@case(
    inputs=lambda rng: [2 * normal(rng, 4, 64), f32(4), i32(4)],
    expected=lambda x, *_: nucleus(x),
    grid=(4,),
    num_warps=2,
    N=64,
)
@triton.jit
def nucleus_of_samples(x_ptr, least_ptr, count_ptr, N: tl.constexpr):
    row = tl.program_id(0)
    x = tl.load(x_ptr + row * N + tl.arange(0, N))
    p = tl.exp(x - tl.max(x, 0))
    ordered = tl.sort(p / tl.sum(p, 0), descending=True)
    kept = tl.cumsum(ordered, 0) - ordered < 0.7
    tl.store(least_ptr + row, tl.min(tl.where(kept, ordered, 2.0), 0))
    tl.store(count_ptr + row, tl.sum(kept.to(tl.int32), 0))


def discouraged(x: np.ndarray, seen: np.ndarray) -> np.ndarray:
    out = x.copy()
    for row, tokens in enumerate(seen):
        for token in set(tokens[tokens >= 0]):
            out[row, token] = (
                out[row, token] * np.float32(1.25) if out[row, token] < 0 else out[row, token] / np.float32(1.25)
            )
    return out


def distinct(rng: np.random.Generator) -> np.ndarray:
    seen = np.stack([rng.permutation(60)[:20] for _ in range(3)]).astype(np.int32)
    seen[:, 15:] = -1
    return seen


@case(
    inputs=lambda rng: [normal(rng, 3, 60), distinct(rng), 60, 20],
    expected=lambda x, seen, *_: {0: discouraged(x, seen)},
    grid=(3,),
    num_warps=1,
    BLOCK=32,
)
@triton.jit
def penalty_of_repetition(x_ptr, seen_ptr, columns, length, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    token = tl.load(seen_ptr + row * length + at, mask=at < length, other=-1)
    x = tl.load(x_ptr + row * columns + token, mask=token >= 0, other=0.0)
    tl.store(x_ptr + row * columns + token, tl.where(x < 0, x * 1.25, tl.div_rn(x, 1.25)), mask=token >= 0)


def cached(k: np.ndarray, slots: np.ndarray, cache: np.ndarray) -> np.ndarray:
    out = cache.copy().reshape(-1, 40)
    out[slots[slots >= 0]] = k[slots >= 0]
    return out.reshape(cache.shape)


@case(
    inputs=lambda rng: [
        rng.standard_normal((6, 40)).astype(np.float16), np.array([3, -1, 17, 8, 30, 0], np.int64), np.zeros((8, 4, 40), np.float16), 40,
    ],
    expected=lambda k, slots, cache, _: {2: cached(k, slots, cache)},
    tolerance=0,
    grid=(6,),
    num_warps=1,
    BLOCK=64,
)  # fmt: skip
@triton.jit
def rows_into_the_cache(k_ptr, slot_ptr, cache_ptr, columns, BLOCK: tl.constexpr):
    slot = tl.load(slot_ptr + tl.program_id(0))
    if slot >= 0:
        c = tl.arange(0, BLOCK)
        row = tl.load(k_ptr + tl.program_id(0) * columns + c, mask=c < columns)
        tl.store(cache_ptr + slot // 4 * 4 * columns + slot % 4 * columns + c, row, mask=c < columns)


@case(
    inputs=lambda rng: [normal(rng, 23, 16), np.array([0, 5, 5, 19, 23], np.int64), np.full((4, 16, 16), 7, np.float32), 16],
    expected=lambda x, bounds, *_: {
        2: np.stack([np.pad(x[s:e][:16], ((0, max(16 - (e - s), 0)), (0, 0))) for s, e in itertools.pairwise(bounds)]),
    },
    tolerance=0,
    grid=(4, 2),
    M=8,
    D=16,
)  # fmt: skip
@triton.jit
def padded_from_ragged(x_ptr, bound_ptr, out_ptr, steps, M: tl.constexpr, D: tl.constexpr):
    start = tl.load(bound_ptr + tl.program_id(0))
    length = tl.load(bound_ptr + tl.program_id(0) + 1) - start
    m = tl.program_id(1) * M + tl.arange(0, M)[:, None]
    d = tl.arange(0, D)[None, :]
    x = tl.load(x_ptr + (start + m) * D + d, mask=m < length, other=0.0)
    tl.store(out_ptr + (tl.program_id(0) * steps + m) * D + d, x)


@case(
    inputs=lambda rng: [normal(rng, 2, 30), i32(2), f32(2), 30, 0.5],
    expected=lambda x, *_: {1: x.argmax(1), 2: (x.max(1) * 2)},
    grid=(2,),
    num_warps=1,
    BLOCK=8,
)
@triton.jit
def greedy_choice(x_ptr, token_ptr, score_ptr, columns, temperature, BLOCK: tl.constexpr):
    best = -float("inf")
    token = -1
    for start in range(0, columns, BLOCK):
        c = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + tl.program_id(0) * columns + c, mask=c < columns, other=-float("inf"))
        here, index = tl.max(x, 0, return_indices=True)
        if here > best:
            best = here
            token = start + index
    tl.store(token_ptr + tl.program_id(0), token)
    tl.store(score_ptr + tl.program_id(0), best / temperature)
