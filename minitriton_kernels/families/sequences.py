"""Attention in the many forms in which models mix positions: recurrent, paged, split, in windows, over ragged batches."""

import itertools

import numpy as np
import triton
import triton.language as tl

from minitriton.lab.corpus.case import collector, f32, i32, integers, normal, uniform

CASES, case = collector(__file__)


def softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def recurrence(q: np.ndarray, k: np.ndarray, v: np.ndarray, gates: np.ndarray | None = None) -> np.ndarray:
    """Linear attention step by step: the state decays by `gates`, one for each row of it, and takes the outer product of k and v."""
    state = np.zeros((q.shape[0], q.shape[2], v.shape[2]))
    out = np.zeros(v.shape)
    for t in range(q.shape[1]):
        kept = state if gates is None else state * gates[:, t, :, None]
        state = kept + k[:, t, :, None].astype(np.float64) * v[:, t, None, :]
        out[:, t] = np.einsum("bk,bkv->bv", q[:, t].astype(np.float64), state)
    return out


@case(
    inputs=lambda rng: [normal(rng, 3, 20, 16), normal(rng, 3, 20, 16), normal(rng, 3, 20, 32), f32(3, 20, 32), 20],
    expected=lambda q, k, v, *_: {3: recurrence(q, k, v)},
    tolerance=1e-4,
    grid=(3, 2),
    K=16,
    V=16,
)
@triton.jit
def linear_attention(q_ptr, k_ptr, v_ptr, out_ptr, steps, K: tl.constexpr, V: tl.constexpr):
    batch = tl.program_id(0)
    width = V * tl.num_programs(1)
    row = tl.arange(0, K)
    column = tl.program_id(1) * V + tl.arange(0, V)
    state = tl.zeros([K, V], tl.float32)
    for t in range(steps):
        at = batch * steps + t
        k = tl.load(k_ptr + at * K + row)
        v = tl.load(v_ptr + at * width + column)
        state += k[:, None] * v[None, :]
        q = tl.load(q_ptr + at * K + row)
        tl.store(out_ptr + at * width + column, tl.sum(q[:, None] * state, 0))


@case(
    inputs=lambda rng: [
        normal(rng, 2, 24, 64), normal(rng, 2, 24, 64), normal(rng, 2, 24, 16), uniform(rng, -2, 0, 2, 24, 64), f32(2, 24, 16), 24,
    ],
    expected=lambda q, k, v, g, *_: {4: recurrence(q, k, v, np.exp(g.astype(np.float64)))},
    tolerance=1e-4,
    grid=(2,),
    num_warps=2,
    K=64,
    V=16,
)  # fmt: skip
@triton.jit
def gated_linear_attention(q_ptr, k_ptr, v_ptr, g_ptr, out_ptr, steps, K: tl.constexpr, V: tl.constexpr):
    row = tl.arange(0, K)
    column = tl.arange(0, V)
    start = tl.program_id(0) * steps
    q_at = q_ptr + start * K + row
    k_at = k_ptr + start * K + row
    g_at = g_ptr + start * K + row
    v_at = v_ptr + start * V + column
    out_at = out_ptr + start * V + column
    state = tl.zeros([V, K], tl.float32)
    for _ in range(steps):
        state = state * tl.exp(tl.load(g_at))[None, :] + tl.load(k_at)[None, :] * tl.load(v_at)[:, None]
        tl.store(out_at, tl.sum(state * tl.load(q_at)[None, :], 1))
        q_at += K
        k_at += K
        g_at += K
        v_at += V
        out_at += V


def delta_rule_reference(q: np.ndarray, k: np.ndarray, v: np.ndarray, beta: np.ndarray) -> dict[int, np.ndarray]:
    state = np.zeros((q.shape[0], q.shape[2], v.shape[2]))
    out = np.zeros(v.shape)
    for t in range(q.shape[1]):
        wrong = v[:, t] - np.einsum("bk,bkv->bv", k[:, t], state)
        state = state + k[:, t, :, None] * (beta[:, t, None] * wrong)[:, None, :]
        out[:, t] = np.einsum("bk,bkv->bv", q[:, t], state)
    return {4: out, 5: state}


@case(
    inputs=lambda rng: [
        normal(rng, 2, 12, 16), normal(rng, 2, 12, 16) / 4, normal(rng, 2, 12, 16), uniform(rng, 0, 1, 2, 12), f32(2, 12, 16),
        f32(2, 16, 16), 12,
    ],
    expected=lambda q, k, v, beta, *_: delta_rule_reference(q, k, v, beta),
    tolerance=1e-4,
    grid=(2,),
    num_warps=1,
    D=16,
)  # fmt: skip
@triton.jit
def delta_rule(q_ptr, k_ptr, v_ptr, beta_ptr, out_ptr, state_ptr, steps, D: tl.constexpr):
    row = tl.arange(0, D)
    state = tl.zeros([D, D], tl.float32)
    for t in range(steps):
        at = tl.program_id(0) * steps + t
        k = tl.load(k_ptr + at * D + row)
        remembered = tl.sum(k[:, None] * state, 0)
        correction = tl.load(beta_ptr + at) * (tl.load(v_ptr + at * D + row) - remembered)
        state += k[:, None] * correction[None, :]
        tl.store(out_ptr + at * D + row, tl.sum(tl.load(q_ptr + at * D + row)[:, None] * state, 0))
    tl.store(state_ptr + tl.program_id(0) * D * D + row[:, None] * D + row[None, :], state)


@case(
    inputs=lambda rng: [normal(rng, 64, 16), normal(rng, 64, 16), normal(rng, 64, 16), f32(64, 16), 4],
    expected=lambda q, k, v, *_: {
        3: (q.astype(np.float64) @ k.T * np.tril(0.9 ** (np.arange(64)[:, None] - np.arange(64)).clip(0))) @ v,
    },
    tolerance=2e-4,
    C=16,
    D=16,
)  # fmt: skip
@triton.jit
def retention_by_chunks(q_ptr, k_ptr, v_ptr, out_ptr, chunks, C: tl.constexpr, D: tl.constexpr):
    position = tl.arange(0, C)
    at = position[:, None] * D + tl.arange(0, D)[None, :]
    rate = -0.15200309344504997
    apart = position[:, None] - position[None, :]
    within = tl.where(apart >= 0, tl.exp2(apart * rate), 0.0)
    state = tl.zeros([D, D], tl.float32)
    for chunk in range(chunks):
        q = tl.load(q_ptr + chunk * C * D + at)
        k = tl.load(k_ptr + chunk * C * D + at)
        v = tl.load(v_ptr + chunk * C * D + at)
        scores = tl.dot(q, tl.trans(k), input_precision="ieee") * within
        out = tl.dot(scores, v, input_precision="ieee")
        before = q * tl.exp2((position + 1) * rate)[:, None]
        out = tl.dot(before, state, out, input_precision="ieee")
        tl.store(out_ptr + chunk * C * D + at, out)
        fading = k * tl.exp2((C - 1 - position) * rate)[:, None]
        state = state * tl.exp2(C * rate) + tl.dot(tl.trans(fading), v, input_precision="ieee")


def paged_reference(q: np.ndarray, cache: np.ndarray, table: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    rows = [cache[table[b]].reshape(-1, 2, q.shape[1])[: lengths[b]].astype(np.float64) for b in range(len(q))]
    return np.stack([softmax(q[b] @ rows[b][:, 0].T * 0.25) @ rows[b][:, 1] for b in range(len(q))])


@case(
    inputs=lambda rng: [
        normal(rng, 4, 16), normal(rng, 12, 16, 2, 16), rng.permutation(12).reshape(4, 3).astype(np.int32),
        np.array([5, 48, 16, 33], np.int32), f32(4, 16), 3,
    ],
    expected=lambda q, cache, table, lengths, *_: {4: paged_reference(q, cache, table, lengths)},
    grid=(4,),
    num_warps=1,
    PAGE=16,
    D=16,
)  # fmt: skip
@triton.jit
def paged_decoding(q_ptr, cache_ptr, table_ptr, length_ptr, out_ptr, pages, PAGE: tl.constexpr, D: tl.constexpr):
    batch = tl.program_id(0)
    d = tl.arange(0, D)
    slot = tl.arange(0, PAGE)
    length = tl.load(length_ptr + batch)
    q = tl.load(q_ptr + batch * D + d) * 0.25
    top = -float("inf")
    total = 0.0
    out = tl.zeros([D], tl.float32)
    for page in range(tl.cdiv(length, PAGE)):
        number = tl.load(table_ptr + batch * pages + page).to(tl.int64)
        at = cache_ptr + number * PAGE * 2 * D + slot[:, None] * 2 * D + d[None, :]
        there = page * PAGE + slot < length
        k = tl.load(at, mask=there[:, None], other=0.0)
        scores = tl.where(there, tl.sum(q[None, :] * k, 1), -float("inf"))
        higher = tl.maximum(top, tl.max(scores, 0))
        weights = tl.exp(scores - higher)
        fade = tl.exp(top - higher)
        v = tl.load(at + D, mask=there[:, None], other=0.0)
        out = out * fade + tl.sum(weights[:, None] * v, 0)
        total = total * fade + tl.sum(weights, 0)
        top = higher
    tl.store(out_ptr + batch * D + d, out / total)


@case(
    inputs=lambda rng: [normal(rng, 6, 5, 32), normal(rng, 6, 5), f32(6, 32), f32(6), 5],
    expected=lambda parts, weights, *_: {
        2: np.einsum("bs,bsd->bd", softmax(weights.astype(np.float64)), parts),
        3: np.log(np.exp(weights.astype(np.float64)).sum(1)),
    },
    exact_order=False,  # the logarithm is a polynomial of our own
    grid=(6,),
    num_warps=1,
    S=8,
    D=32,
)
@triton.jit
def merge_of_splits(part_ptr, weight_ptr, out_ptr, all_ptr, splits, S: tl.constexpr, D: tl.constexpr):
    batch = tl.program_id(0)
    s = tl.arange(0, S)
    d = tl.arange(0, D)
    weight = tl.load(weight_ptr + batch * splits + s, mask=s < splits, other=-float("inf"))
    top = tl.max(weight, 0)
    share = tl.exp(weight - top)
    total = tl.sum(share, 0)
    at = (batch * splits + s[:, None]) * D + d[None, :]
    parts = tl.load(part_ptr + at, mask=s[:, None] < splits, other=0.0)
    tl.store(out_ptr + batch * D + d, tl.sum(parts * share[:, None], 0) / total)
    tl.store(all_ptr + batch, top + tl.log(total))


def windowed_reference(q: np.ndarray, k: np.ndarray, v: np.ndarray, slopes: np.ndarray) -> np.ndarray:
    distance = np.arange(32)[:, None] - np.arange(32)
    scores = np.einsum("hnd,hmd->hnm", q, k).astype(np.float64) * 0.25 - slopes[:, None, None] * distance
    return softmax(np.where((distance >= 0) & (distance < 12), scores, -1e30)) @ v


@case(
    inputs=lambda rng: [
        normal(rng, 2, 32, 16), normal(rng, 2, 32, 16), normal(rng, 2, 32, 16), np.array([0.5, 0.25], np.float32),
        f32(2, 32, 16), 32, 12,
    ],
    expected=lambda q, k, v, slopes, *_: {4: windowed_reference(q, k, v, slopes)},
    tolerance=1e-4,
    grid=(2, 2),
    M=16,
    N=16,
    D=16,
)  # fmt: skip
@triton.jit
def attention_in_a_window(
    q_ptr, k_ptr, v_ptr, slope_ptr, out_ptr, length, window, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr
):
    head = tl.program_id(1) * length * D
    d = tl.arange(0, D)[None, :]
    first = tl.program_id(0) * M
    m = first + tl.arange(0, M)[:, None]
    q = tl.load(q_ptr + head + m * D + d)
    slope = tl.load(slope_ptr + tl.program_id(1))
    top = tl.full([M], -1e30, tl.float32)
    total = tl.zeros([M], tl.float32)
    out = tl.zeros([M, D], tl.float32)
    for start in range(tl.maximum(first - window + 1, 0) // N * N, first + M, N):
        n = start + tl.arange(0, N)
        k = tl.load(k_ptr + head + n[:, None] * D + d)
        distance = m - n[None, :]
        scores = tl.dot(q, tl.trans(k), input_precision="ieee") * 0.25 - slope * distance
        scores = tl.where((distance >= 0) & (distance < window), scores, -float("inf"))
        higher = tl.maximum(top, tl.max(scores, 1))
        weights = tl.exp(scores - higher[:, None])
        fade = tl.exp(top - higher)
        v = tl.load(v_ptr + head + n[:, None] * D + d)
        out = tl.dot(weights, v, out * fade[:, None], input_precision="ieee")
        total = total * fade + tl.sum(weights, 1)
        top = higher
    tl.store(out_ptr + head + m * D + d, out / total[:, None])


def rotated_pairs(x: np.ndarray, angle: np.ndarray) -> np.ndarray:
    rotated = (x[..., 0::2] + 1j * x[..., 1::2]) * np.exp(1j * angle.astype(np.float64))
    return np.stack([rotated.real, rotated.imag], -1).reshape(x.shape)


@case(
    inputs=lambda rng: [normal(rng, 6, 2, 64), uniform(rng, -3, 3, 6, 32), f32(6, 2, 64)],
    expected=lambda x, angle, _: {2: rotated_pairs(x, angle[:, None])},
    tolerance=1e-4,
    exact_order=False,  # sine and cosine are of our own
    grid=(6, 2),
    num_warps=2,
    HALF=32,
)
@triton.jit
def rotary_in_pairs(x_ptr, angle_ptr, out_ptr, HALF: tl.constexpr):
    start = (tl.program_id(0) * 2 + tl.program_id(1)) * 2 * HALF
    at = tl.arange(0, 2 * HALF)
    even, odd = tl.split(tl.reshape(tl.load(x_ptr + start + at), [HALF, 2]))
    angle = tl.load(angle_ptr + tl.program_id(0) * HALF + tl.arange(0, HALF))
    cos = tl.cos(angle)
    sin = tl.sin(angle)
    tl.store(out_ptr + start + at, tl.interleave(even * cos - odd * sin, even * sin + odd * cos))


@case(
    inputs=lambda rng: [
        rng.standard_normal((40, 32)).astype(np.float16), rng.standard_normal((40, 32)).astype(np.float16), f32(40), 40,
    ],
    expected=lambda out, grad, *_: {2: (out.astype(np.float64) * grad).sum(1)},
    tolerance=1e-4,
    grid=(3,),
    M=16,
    D=32,
)  # fmt: skip
@triton.jit
def rows_by_gradients(out_ptr, grad_ptr, delta_ptr, rows, M: tl.constexpr, D: tl.constexpr):
    m = tl.program_id(0) * M + tl.arange(0, M)
    at = m[:, None] * D + tl.arange(0, D)[None, :]
    out = tl.load(out_ptr + at, mask=m[:, None] < rows, other=0.0).to(tl.float32)
    grad = tl.load(grad_ptr + at, mask=m[:, None] < rows, other=0.0).to(tl.float32)
    tl.store(delta_ptr + m, tl.sum(out * grad, 1), mask=m < rows)


RAGGED = np.array([0, 9, 9, 32, 40], np.int32)


def ragged_reference(q: np.ndarray, k: np.ndarray, v: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    out = np.zeros(v.shape)
    for start, end in itertools.pairwise(bounds):
        scores = q[start:end].astype(np.float64) @ k[start:end].T * 0.25
        out[start:end] = np.tril(scores / (1 + np.exp(-scores))) / 32 @ v[start:end]
    return out


@case(
    inputs=lambda rng: [normal(rng, 40, 16), normal(rng, 40, 16), normal(rng, 40, 16), RAGGED.copy(), f32(40, 16)],
    expected=lambda q, k, v, bounds, _: {4: ragged_reference(q, k, v, bounds)},
    tolerance=1e-4,
    grid=(2, 4),
    N=16,
    D=16,
)
@triton.jit
def ragged_attention(q_ptr, k_ptr, v_ptr, bound_ptr, out_ptr, N: tl.constexpr, D: tl.constexpr):
    start = tl.load(bound_ptr + tl.program_id(1))
    length = tl.load(bound_ptr + tl.program_id(1) + 1) - start
    first = tl.program_id(0) * N
    if first >= length:
        return
    m = first + tl.arange(0, N)
    d = tl.arange(0, D)
    q = tl.load(q_ptr + (start + m[:, None]) * D + d[None, :], mask=m[:, None] < length, other=0.0)
    out = tl.zeros([N, D], tl.float32)
    for begin in range(0, tl.minimum(first + N, length), N):
        n = begin + tl.arange(0, N)
        at = (start + n[:, None]) * D + d[None, :]
        k = tl.load(k_ptr + at, mask=n[:, None] < length, other=0.0)
        scores = tl.dot(q, tl.trans(k), input_precision="ieee") * 0.25
        scores = tl.where((m[:, None] >= n[None, :]) & (n[None, :] < length), scores * tl.sigmoid(scores) / 32, 0.0)
        v = tl.load(v_ptr + at, mask=n[:, None] < length, other=0.0)
        out = tl.dot(scores, v, out, input_precision="ieee")
    tl.store(out_ptr + (start + m[:, None]) * D + d[None, :], out, mask=m[:, None] < length)


def wkv_reference(w: np.ndarray, u: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
    above, below, out = np.zeros(w.shape), np.zeros(w.shape), np.zeros(k.shape)
    for t in range(len(k)):
        now = np.exp(u.astype(np.float64) + k[t])
        out[t] = (above + now * v[t]) / (below + now)
        above = above * np.exp(w.astype(np.float64)) + np.exp(k[t].astype(np.float64)) * v[t]
        below = below * np.exp(w.astype(np.float64)) + np.exp(k[t].astype(np.float64))
    return out


@case(
    inputs=lambda rng: [
        uniform(rng, -2, -0.1, 70), normal(rng, 70), normal(rng, 18, 70), normal(rng, 18, 70), f32(18, 70), 18, 70,
    ],
    expected=lambda w, u, k, v, *_: {4: wkv_reference(w, u, k, v)},
    grid=(3,),
    num_warps=1,
    BLOCK=32,
)  # fmt: skip
@triton.jit
def weighted_keys_and_values(w_ptr, u_ptr, k_ptr, v_ptr, out_ptr, steps, channels, BLOCK: tl.constexpr):
    channel = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    there = channel < channels
    w = tl.load(w_ptr + channel, mask=there, other=0.0)
    u = tl.load(u_ptr + channel, mask=there, other=0.0)
    above = tl.zeros([BLOCK], tl.float32)
    below = tl.zeros([BLOCK], tl.float32)
    scale = tl.full([BLOCK], -1e30, tl.float32)
    for t in range(steps):
        k = tl.load(k_ptr + t * channels + channel, mask=there, other=0.0)
        v = tl.load(v_ptr + t * channels + channel, mask=there, other=0.0)
        top = tl.maximum(scale, u + k)
        old = tl.exp(scale - top)
        new = tl.exp(u + k - top)
        tl.store(out_ptr + t * channels + channel, (old * above + new * v) / (old * below + new), mask=there)
        top = tl.maximum(scale + w, k)
        old = tl.exp(scale + w - top)
        new = tl.exp(k - top)
        above = old * above + new * v
        below = old * below + new
        scale = top


def selective_reference(x: np.ndarray, dt: np.ndarray, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    state, out = np.zeros(a.shape), np.zeros(x.shape)
    for t in range(len(x)):
        state = state * np.exp(dt[t, :, None] * a.astype(np.float64)) + (dt[t] * x[t])[:, None] * b[t]
        out[t] = state @ c[t]
    return out


@case(
    inputs=lambda rng: [
        normal(rng, 15, 48), uniform(rng, 0.01, 0.5, 15, 48), -uniform(rng, 0.5, 4, 48, 16), normal(rng, 15, 16),
        normal(rng, 15, 16), f32(15, 48), 15, 48,
    ],
    expected=lambda x, dt, a, b, c, *_: {5: selective_reference(x, dt, a, b, c)},
    tolerance=1e-4,
    grid=(2,),
    BLOCK=32,
    STATE=16,
)  # fmt: skip
@triton.jit
def selective_scan(
    x_ptr, dt_ptr, a_ptr, b_ptr, c_ptr, out_ptr, steps, channels, BLOCK: tl.constexpr, STATE: tl.constexpr
):
    channel = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    there = channel < channels
    n = tl.arange(0, STATE)
    a = tl.load(a_ptr + channel[:, None] * STATE + n[None, :], mask=there[:, None], other=0.0)
    state = tl.zeros([BLOCK, STATE], tl.float32)
    for t in range(steps):
        at = t * channels + channel
        dt = tl.load(dt_ptr + at, mask=there, other=0.0)
        x = tl.load(x_ptr + at, mask=there, other=0.0)
        b = tl.load(b_ptr + t * STATE + n)
        c = tl.load(c_ptr + t * STATE + n)
        state = state * tl.exp(dt[:, None] * a) + (dt * x)[:, None] * b[None, :]
        tl.store(out_ptr + at, tl.sum(state * c[None, :], 1), mask=there)


@case(
    inputs=lambda rng: [integers(rng, 0, 50, 3, 30), integers(rng, 0, 50, 3, 30), i32(3), 30],
    expected=lambda drafted, chosen, *_: {
        2: [[*(d == c), False].index(False) for d, c in zip(drafted, chosen, strict=True)]
    },
    grid=(3,),
    num_warps=1,
)
@triton.jit
def accepted_drafts(draft_ptr, chosen_ptr, out_ptr, length):
    row = tl.program_id(0) * length
    count = 0
    going = length > 0
    while going:
        same = tl.load(draft_ptr + row + count) == tl.load(chosen_ptr + row + count)
        count += same.to(tl.int32)
        going = same & (count < length)
    tl.store(out_ptr + tl.program_id(0), count)
